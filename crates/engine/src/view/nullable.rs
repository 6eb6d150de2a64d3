//! The schema of a field that may be absent, and null where it is present.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Stands in a schema for `Option<Option<T>>`: absent if it was not asked for, null if there is no value.
#[derive(Debug, Default)]
pub(crate) struct NullableValue<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for NullableValue<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Nullable{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        // An `Option` becomes a type with null, which readers of a schema drop from fields that may be absent.
        json_schema!({ "oneOf": [value, { "type": "null" }] })
    }
}
