//! The tables of Chroma that are worth saving, and what each of their columns may hold.

use super::record::Value;

/// A table whose rows are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Table {
    EmbeddingMetadata,
    EmbeddingMetadataArray,
    Embeddings,
    Queue,
    Documents,
    Segments,
    Collections,
    CollectionMetadata,
    MaxSeqId,
    Databases,
    Tenants,
}

impl Table {
    pub(super) const ALL: [Self; 11] = [
        Self::EmbeddingMetadata,
        Self::EmbeddingMetadataArray,
        Self::Embeddings,
        Self::Queue,
        Self::Documents,
        Self::Segments,
        Self::Collections,
        Self::CollectionMetadata,
        Self::MaxSeqId,
        Self::Databases,
        Self::Tenants,
    ];

    /// The name it has in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::EmbeddingMetadata => "embedding_metadata",
            Self::EmbeddingMetadataArray => "embedding_metadata_array",
            Self::Embeddings => "embeddings",
            Self::Queue => "embeddings_queue",
            Self::Documents => "embedding_fulltext_search_content",
            Self::Segments => "segments",
            Self::Collections => "collections",
            Self::CollectionMetadata => "collection_metadata",
            Self::MaxSeqId => "max_seq_id",
            Self::Databases => "databases",
            Self::Tenants => "tenants",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Whether a file that does not name it must have lost it.
    pub(super) fn is_in_every_release(self) -> bool {
        !matches!(
            self,
            Self::EmbeddingMetadataArray | Self::Databases | Self::Tenants
        )
    }

    /// The columns by which a row is known, beside its rowid.
    pub(super) fn key(self) -> &'static [&'static str] {
        match self {
            Self::EmbeddingMetadata => &["id", "key"],
            Self::Embeddings => &["segment_id", "embedding_id"],
            Self::CollectionMetadata => &["collection_id", "key"],
            Self::MaxSeqId => &["segment_id"],
            Self::Segments | Self::Collections | Self::Databases | Self::Tenants => &["id"],
            Self::EmbeddingMetadataArray | Self::Queue | Self::Documents => &[],
        }
    }

    /// The column that is the rowid itself.
    pub(super) fn rowid(self) -> Option<&'static str> {
        match self {
            Self::Embeddings | Self::Documents => Some("id"),
            Self::Queue => Some("seq_id"),
            _ => None,
        }
    }

    /// What its releases called its columns, with their types, the newest release first. Columns that a later
    /// release appended are there, since a row may be shorter than its table.
    pub(super) fn columns(self) -> &'static [&'static [(&'static str, &'static str)]] {
        match self {
            Self::EmbeddingMetadata | Self::EmbeddingMetadataArray => &[METADATA],
            Self::Embeddings => &[EMBEDDINGS],
            Self::Queue => &[QUEUE],
            Self::Documents => &[&[("id", "INTEGER"), ("c0", "")]],
            Self::Segments => &[SEGMENTS, SEGMENTS_WITH_TOPIC],
            Self::Collections => &[COLLECTIONS, COLLECTIONS_WITH_TOPIC],
            Self::CollectionMetadata => &[COLLECTION_METADATA],
            Self::MaxSeqId => &[&[("segment_id", "TEXT"), ("seq_id", "")]],
            Self::Databases => &[&[("id", "TEXT"), ("name", "TEXT"), ("tenant_id", "TEXT")]],
            Self::Tenants => &[&[("id", "TEXT")]],
        }
    }

    /// The columns that all releases have.
    pub(super) fn lasting_columns(self) -> impl Iterator<Item = &'static str> {
        let later = [
            "bool_value",
            "dimension",
            "database_id",
            "config_json_str",
            "schema_str",
        ];
        let newest = self
            .columns()
            .first()
            .into_iter()
            .flat_map(|columns| columns.iter());
        newest
            .map(|(name, _)| *name)
            .filter(move |name| !later.contains(name))
    }

    /// What a column may hold; one that no release is known to have may hold anything.
    pub(super) fn content(self, column: &str) -> Content {
        if self.rowid() == Some(column) {
            return Content::Rowid;
        }
        match (self, column) {
            (Self::EmbeddingMetadata | Self::EmbeddingMetadataArray, "id") => Content::Number,
            (Self::Queue, "id") | (Self::Tenants, "id") => Content::Name,
            (_, "id" | "segment_id" | "collection_id") => Content::Uuid,
            (_, "key" | "name" | "embedding_id" | "type" | "tenant_id") => Content::Name,
            (Self::Queue, "operation") => Content::Number,
            (Self::Queue, "topic") => Content::Topic,
            (_, "topic") => Content::TopicOrNull,
            (_, "scope") => Content::Scope,
            (_, "collection" | "database_id") => Content::UuidOrNull,
            (_, "seq_id") => Content::Sequence,
            (_, "created_at") => Content::Time,
            (_, "dimension" | "int_value" | "bool_value") => Content::NumberOrNull,
            (_, "float_value") => Content::RealOrNull,
            (_, "vector") => Content::BlobOrNull,
            (_, "string_value" | "str_value" | "encoding" | "metadata" | "c0") => Content::TextOrNull,
            (_, "config_json_str" | "schema_str") => Content::TextOrNull,
            _ => Content::Anything,
        }
    }
}

const METADATA: &[(&str, &str)] = &[
    ("id", "INTEGER"),
    ("key", "TEXT"),
    ("string_value", "TEXT"),
    ("int_value", "INTEGER"),
    ("float_value", "REAL"),
    ("bool_value", "INTEGER"),
];

const EMBEDDINGS: &[(&str, &str)] = &[
    ("id", "INTEGER"),
    ("segment_id", "TEXT"),
    ("embedding_id", "TEXT"),
    ("seq_id", "BLOB"),
    ("created_at", "TIMESTAMP"),
];

const QUEUE: &[(&str, &str)] = &[
    ("seq_id", "INTEGER"),
    ("created_at", "TIMESTAMP"),
    ("operation", "INTEGER"),
    ("topic", "TEXT"),
    ("id", "TEXT"),
    ("vector", "BLOB"),
    ("encoding", "TEXT"),
    ("metadata", "TEXT"),
];

const SEGMENTS: &[(&str, &str)] = &[
    ("id", "TEXT"),
    ("type", "TEXT"),
    ("scope", "TEXT"),
    ("collection", "TEXT"),
];

const SEGMENTS_WITH_TOPIC: &[(&str, &str)] = &[
    ("id", "TEXT"),
    ("type", "TEXT"),
    ("scope", "TEXT"),
    ("topic", "TEXT"),
    ("collection", "TEXT"),
];

const COLLECTIONS: &[(&str, &str)] = &[
    ("id", "TEXT"),
    ("name", "TEXT"),
    ("dimension", "INTEGER"),
    ("database_id", "TEXT"),
    ("config_json_str", "TEXT"),
    ("schema_str", "TEXT"),
];

const COLLECTIONS_WITH_TOPIC: &[(&str, &str)] = &[
    ("id", "TEXT"),
    ("name", "TEXT"),
    ("topic", "TEXT"),
    ("dimension", "INTEGER"),
    ("database_id", "TEXT"),
];

const COLLECTION_METADATA: &[(&str, &str)] = &[
    ("collection_id", "TEXT"),
    ("key", "TEXT"),
    ("str_value", "TEXT"),
    ("int_value", "INTEGER"),
    ("float_value", "REAL"),
    ("bool_value", "INTEGER"),
];

/// What a column may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// The rowid, which is not written into the row.
    Rowid,
    Uuid,
    UuidOrNull,
    /// A text that tells rows apart.
    Name,
    /// The address of a queue.
    Topic,
    TopicOrNull,
    /// What a segment is for, in capitals.
    Scope,
    TextOrNull,
    Number,
    NumberOrNull,
    RealOrNull,
    BlobOrNull,
    /// A sequence number: a number, or eight bytes.
    Sequence,
    Time,
    Anything,
}

impl Content {
    /// Whether a column with this value can be a column of a row of its table.
    pub(super) fn allows(self, value: Value<'_>) -> bool {
        let null = value == Value::Null;
        match self {
            Self::Rowid => null,
            Self::Uuid | Self::Name | Self::Topic | Self::Scope => value.text().is_some(),
            Self::UuidOrNull | Self::TopicOrNull => null || value.text().is_some(),
            Self::TextOrNull => null || matches!(value, Value::Text(_)),
            Self::Number => matches!(value, Value::Int(_)),
            Self::NumberOrNull | Self::RealOrNull => null || matches!(value, Value::Int(_) | Value::Real(_)),
            Self::BlobOrNull => null || matches!(value, Value::Blob(_)),
            Self::Sequence => null || matches!(value, Value::Int(_) | Value::Blob(_)),
            Self::Time => null || matches!(value, Value::Int(_) | Value::Real(_)) || value.text().is_some(),
            Self::Anything => true,
        }
    }

    /// Whether the value is what Chroma writes there, so that a row can be told from a row of another table.
    pub(super) fn is_usual(self, value: Value<'_>) -> bool {
        let null = value == Value::Null;
        match self {
            Self::Uuid => is_uuid(value),
            Self::UuidOrNull => null || is_uuid(value),
            Self::Topic => is_topic(value),
            Self::TopicOrNull => null || is_topic(value),
            Self::Scope => value.text().is_some_and(is_scope),
            Self::Name => value.text().is_some_and(|text| !text.is_empty()),
            Self::Time => value.text().is_some_and(is_time),
            Self::Sequence => match value {
                Value::Blob(bytes) => bytes.len() == 8,
                _ => matches!(value, Value::Int(_)),
            },
            _ => self.allows(value),
        }
    }
}

fn is_uuid(value: Value<'_>) -> bool {
    let Value::Text(bytes) = value else { return false };
    let fits = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    bytes.len() == 36 && bytes.iter().enumerate().all(fits)
}

fn is_topic(value: Value<'_>) -> bool {
    value.text().is_some_and(|text| text.contains('/'))
}

fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// `2024-05-01 12:00:00`, or so.
fn is_time(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.by_ref().take(4).all(|byte| byte.is_ascii_digit()) && bytes.next() == Some(b'-')
}
