//! The tables of Chroma that are salvaged, and the possible content of each column.

use super::record::ColumnValue;

/// A table whose rows are salvaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ChromaTable {
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

impl ChromaTable {
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

    /// Returns its name in the file.
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

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Returns whether every release has it, so that a file without it must have lost it.
    pub(super) fn is_in_every_release(self) -> bool {
        !matches!(
            self,
            Self::EmbeddingMetadataArray | Self::Databases | Self::Tenants
        )
    }

    /// Returns the columns that identify a row, apart from its rowid.
    pub(super) fn key_columns(self) -> &'static [&'static str] {
        match self {
            Self::EmbeddingMetadata => &["id", "key"],
            Self::Embeddings => &["segment_id", "embedding_id"],
            Self::CollectionMetadata => &["collection_id", "key"],
            Self::MaxSeqId => &["segment_id"],
            Self::Segments | Self::Collections | Self::Databases | Self::Tenants => &["id"],
            // Arrays repeat id and key on purpose; in the other two the rowid itself is the key.
            Self::EmbeddingMetadataArray | Self::Queue | Self::Documents => &[],
        }
    }

    /// Returns the column that is an alias of the rowid.
    pub(super) fn rowid_column(self) -> Option<&'static str> {
        match self {
            Self::Embeddings | Self::Documents => Some("id"),
            Self::Queue => Some("seq_id"),
            _ => None,
        }
    }

    /// Returns the columns of its releases with their types, the newest release first. Columns that a later release
    /// appended are included, since a row may be shorter than its table.
    pub(super) fn release_columns(self) -> &'static [&'static [(&'static str, &'static str)]] {
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

    /// Returns the columns that all releases have.
    pub(super) fn lasting_columns(self) -> impl Iterator<Item = &'static str> {
        // Columns that some release added: a table without them is old, not damaged.
        let later = [
            "bool_value",
            "dimension",
            "database_id",
            "config_json_str",
            "schema_str",
        ];
        let newest = self
            .release_columns()
            .first()
            .into_iter()
            .flat_map(|columns| columns.iter());
        newest
            .map(|(name, _)| *name)
            .filter(move |name| !later.contains(name))
    }

    /// Returns the possible content of a column; an unknown column may hold anything.
    pub(super) fn column_content(self, column: &str) -> ColumnContent {
        if self.rowid_column() == Some(column) {
            return ColumnContent::Rowid;
        }
        match (self, column) {
            (Self::EmbeddingMetadata | Self::EmbeddingMetadataArray, "id") => ColumnContent::Number,
            // Here the id is the user's own text, not a UUID.
            (Self::Queue, "id") | (Self::Tenants, "id") => ColumnContent::Name,
            (_, "id" | "segment_id" | "collection_id") => ColumnContent::Uuid,
            (_, "key" | "name" | "embedding_id" | "type" | "tenant_id") => ColumnContent::Name,
            (Self::Queue, "operation") => ColumnContent::Number,
            (Self::Queue, "topic") => ColumnContent::Topic,
            (_, "topic") => ColumnContent::TopicOrNull,
            (_, "scope") => ColumnContent::Scope,
            (_, "collection" | "database_id") => ColumnContent::UuidOrNull,
            (_, "seq_id") => ColumnContent::Sequence,
            (_, "created_at") => ColumnContent::Time,
            (_, "dimension" | "int_value" | "bool_value") => ColumnContent::NumberOrNull,
            (_, "float_value") => ColumnContent::RealOrNull,
            (_, "vector") => ColumnContent::BlobOrNull,
            (_, "string_value" | "str_value" | "encoding" | "metadata" | "c0") => ColumnContent::TextOrNull,
            (_, "config_json_str" | "schema_str") => ColumnContent::TextOrNull,
            _ => ColumnContent::Anything,
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

/// The possible content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnContent {
    /// The rowid, which a row stores as NULL.
    Rowid,
    Uuid,
    UuidOrNull,
    /// A text that identifies something.
    Name,
    /// The topic of a queue.
    Topic,
    TopicOrNull,
    /// The scope of a segment, in capitals.
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

impl ColumnContent {
    /// Returns whether a column may hold this value.
    pub(super) fn allows(self, value: ColumnValue<'_>) -> bool {
        let null = value == ColumnValue::Null;
        match self {
            Self::Rowid => null,
            Self::Uuid | Self::Name | Self::Topic | Self::Scope => value.as_text().is_some(),
            Self::UuidOrNull | Self::TopicOrNull => null || value.as_text().is_some(),
            Self::TextOrNull => null || matches!(value, ColumnValue::Text(_)),
            Self::Number => matches!(value, ColumnValue::Int(_)),
            // SQLite writes a float without fraction as an integer to save space.
            Self::NumberOrNull | Self::RealOrNull => {
                null || matches!(value, ColumnValue::Int(_) | ColumnValue::Real(_))
            }
            Self::BlobOrNull => null || matches!(value, ColumnValue::Blob(_)),
            Self::Sequence => null || matches!(value, ColumnValue::Int(_) | ColumnValue::Blob(_)),
            Self::Time => {
                null || matches!(value, ColumnValue::Int(_) | ColumnValue::Real(_))
                    || value.as_text().is_some()
            }
            Self::Anything => true,
        }
    }

    /// Returns whether Chroma writes such values there, which distinguishes rows of different tables.
    pub(super) fn is_usual(self, value: ColumnValue<'_>) -> bool {
        let null = value == ColumnValue::Null;
        match self {
            Self::Uuid => is_uuid(value),
            Self::UuidOrNull => null || is_uuid(value),
            Self::Topic => is_topic(value),
            Self::TopicOrNull => null || is_topic(value),
            Self::Scope => value.as_text().is_some_and(is_scope),
            Self::Name => value.as_text().is_some_and(|text| !text.is_empty()),
            Self::Time => value.as_text().is_some_and(is_time),
            // Releases before 1.0 write eight bytes, later ones an integer.
            Self::Sequence => match value {
                ColumnValue::Blob(bytes) => bytes.len() == 8,
                _ => matches!(value, ColumnValue::Int(_)),
            },
            _ => self.allows(value),
        }
    }
}

fn is_uuid(value: ColumnValue<'_>) -> bool {
    let ColumnValue::Text(bytes) = value else {
        return false;
    };
    let fits = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    bytes.len() == 36 && bytes.iter().enumerate().all(fits)
}

fn is_topic(value: ColumnValue<'_>) -> bool {
    value.as_text().is_some_and(|text| text.contains('/'))
}

fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Returns whether a text begins like `2024-05-01 12:00:00`.
fn is_time(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.by_ref().take(4).all(|byte| byte.is_ascii_digit()) && bytes.next() == Some(b'-')
}
