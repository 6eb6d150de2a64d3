//! The JSON schemas of types that are written as one string.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{Capability, CollectionName, DrawerId, MaintenanceKind, Metadata, MetadataValue, Timestamp};

// Inlined, because a reference to a definition would be longer than the string it stands for.
macro_rules! string_schemas {
    ($($name:ident => $schema:expr),+ $(,)?) => {
        $(impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        })+
    };
}

string_schemas! {
    DrawerId => json_schema!({ "type": "string" }),
    CollectionName => json_schema!({ "type": "string" }),
    Capability => json_schema!({ "type": "string" }),
    MaintenanceKind => json_schema!({ "type": "string" }),
    Timestamp => json_schema!({ "type": "string", "format": "date-time" }),
}

impl JsonSchema for Metadata {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Metadata".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        // Written as a plain map; the type only adds checks that JSON cannot express.
        std::collections::BTreeMap::<String, MetadataValue>::json_schema(generator)
    }
}
