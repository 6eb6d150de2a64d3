//! The bodies of Chroma's requests and answers.

use loci_core::Metric;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value as Json};

use crate::base64::encode_vector;

/// The limits of a server.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct PreflightAnswer {
    /// The most records in one write.
    pub(crate) max_batch_size: usize,
    /// Whether it takes vectors as Base64.
    #[serde(default)]
    pub(crate) supports_base64_encoding: bool,
}

/// A collection as the server describes it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CollectionAnswer {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) metadata: Option<Map<String, Json>>,
    #[serde(default)]
    pub(crate) dimension: Option<usize>,
    #[serde(default, rename = "configuration_json")]
    configuration: Option<Json>,
}

impl CollectionAnswer {
    /// Returns a text of its metadata.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.metadata.as_ref()?.get(key)?.as_str()
    }

    /// Returns a whole number of its metadata.
    pub(crate) fn number(&self, key: &str) -> Option<usize> {
        let number = self.metadata.as_ref()?.get(key)?.as_u64()?;
        usize::try_from(number).ok()
    }

    /// Returns its metric: that of the metadata, which releases before 1.0 obey, else that of the configuration.
    pub(crate) fn metric(&self) -> Metric {
        let configured = |part: &str| self.configuration.as_ref()?.get(part)?.get("space")?.as_str();
        let named = self
            .text("hnsw:space")
            .or_else(|| configured("hnsw"))
            .or_else(|| configured("spann"))
            .or_else(|| configured("hnsw_configuration"));
        // Chroma's default where nothing names a metric.
        named
            .and_then(|name| Metric::parse(name).ok())
            .unwrap_or(Metric::L2)
    }
}

/// Asks for records.
#[derive(Debug, Default, Serialize)]
pub(crate) struct GetQuestion<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ids: Option<Vec<&'a str>>,
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub(crate) condition: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<usize>,
    pub(crate) include: Vec<&'static str>,
}

/// The records that were asked for, one list for each part.
#[derive(Debug, Deserialize)]
pub(crate) struct GetAnswer {
    pub(crate) ids: Vec<String>,
    #[serde(default)]
    embeddings: Option<Vec<Option<Vec<Option<f32>>>>>,
    #[serde(default)]
    documents: Option<Vec<Option<String>>>,
    #[serde(default)]
    metadatas: Option<Vec<Option<Map<String, Json>>>>,
}

/// Asks for the records nearest to one vector.
#[derive(Debug, Serialize)]
pub(crate) struct NearestQuestion<'a> {
    pub(crate) query_embeddings: [ExactVector<'a>; 1],
    pub(crate) n_results: usize,
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub(crate) condition: Option<&'a Json>,
    pub(crate) include: Vec<&'static str>,
}

/// The nearest records, one list for each vector that was asked.
#[derive(Debug, Deserialize)]
pub(crate) struct NearestAnswer {
    pub(crate) ids: Vec<Vec<String>>,
}

/// One record.
#[derive(Debug)]
pub(crate) struct RecordAnswer {
    pub(crate) id: String,
    pub(crate) embedding: Option<Vec<f32>>,
    pub(crate) document: Option<String>,
    pub(crate) metadata: Map<String, Json>,
}

impl GetAnswer {
    /// Returns the records one by one.
    pub(crate) fn into_records(self) -> impl Iterator<Item = RecordAnswer> {
        let mut embeddings = self.embeddings.unwrap_or_default().into_iter();
        let mut documents = self.documents.unwrap_or_default().into_iter();
        let mut metadatas = self.metadatas.unwrap_or_default().into_iter();
        self.ids.into_iter().map(move |id| RecordAnswer {
            id,
            embedding: embeddings.next().flatten().map(read_values),
            document: documents.next().flatten(),
            metadata: metadatas.next().flatten().unwrap_or_default(),
        })
    }
}

/// JSON has no infinite or undefined numbers: Chroma writes null where scaling a normalised vector back overflowed.
fn read_values(values: Vec<Option<f32>>) -> Vec<f32> {
    values
        .into_iter()
        .map(|value| value.unwrap_or(f32::NAN))
        .collect()
}

/// A vector in the form that a server reads back bit for bit.
#[derive(Debug)]
pub(crate) struct ExactVector<'a> {
    pub(crate) values: &'a [f32],
    /// Whether the server takes Base64, which is shorter and faster.
    pub(crate) as_base64: bool,
}

impl Serialize for ExactVector<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.as_base64 {
            return serializer.serialize_str(&encode_vector(self.values));
        }
        // As double precision: the shortest text of a single-precision number may be read as its neighbour by way of
        // the double-precision number nearest to that text.
        serializer.collect_seq(self.values.iter().map(|value| f64::from(*value)))
    }
}

/// Writes records.
#[derive(Debug, Default, Serialize)]
pub(crate) struct UpsertQuestion<'a> {
    pub(crate) ids: Vec<String>,
    pub(crate) embeddings: Vec<ExactVector<'a>>,
    pub(crate) documents: Vec<&'a str>,
    pub(crate) metadatas: Vec<Map<String, Json>>,
}

/// Removes records.
#[derive(Debug, Default, Serialize)]
pub(crate) struct DeleteQuestion {
    pub(crate) ids: Vec<String>,
}
