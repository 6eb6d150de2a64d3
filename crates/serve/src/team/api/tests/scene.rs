//! A real palace in a temporary folder, and calls of its tools.

use std::sync::Arc;

use loci_core::{Embedder, EmbedderIdentity, Error, FilingDoor, PalaceRef, Result, Timestamp};
use loci_embed::builtin::BuiltinEmbedder;
use loci_engine::keys::KeyFolder;
use loci_engine::mine::StopSignal;
use loci_engine::{AccessPolicy, EmbedderCatalog, Palace, PalaceAddress};
use loci_store::EmbeddedBackend;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::team::api::{ApiCall, ApiReply, run_api_call};

/// The embedder of the binary and no other.
#[derive(Debug)]
struct OneEmbedder(Arc<dyn Embedder>);

impl EmbedderCatalog for OneEmbedder {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(Some(Arc::clone(&self.0)))
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        if self.0.identity() == identity {
            Ok(Arc::clone(&self.0))
        } else {
            Err(Error::invalid(format!("the vectors are of {identity}")))
        }
    }
}

/// A palace and its caller.
pub(super) struct ApiScene {
    pub(super) folder: TempDir,
    pub(super) palace: Palace,
}

impl ApiScene {
    /// Makes an empty palace whose caller may do everything.
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now: Timestamp = "2026-06-01T09:00:00Z".parse().unwrap();
        let address = PalaceAddress {
            backend: Arc::new(EmbeddedBackend::new()),
            reference: PalaceRef::local(folder.path().join("palace")),
        };
        let builtin: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::new().unwrap());
        let palace = Palace::new(address, Arc::new(OneEmbedder(builtin)), move || now)
            .entering_through(FilingDoor::Terminal)
            .with_keys(KeyFolder::new(folder.path().join("keys")));
        Self { folder, palace }
    }

    /// Returns the same palace for a caller with other rights.
    pub(super) fn restricted_to(&self, access: AccessPolicy) -> Palace {
        self.palace.clone().restricted_to(access)
    }

    /// Calls a tool.
    pub(super) fn call(&self, tool: &str, arguments: &Value) -> ApiReply {
        call_in(&self.palace, tool, arguments)
    }

    /// Calls a tool that must succeed, and returns its value.
    #[track_caller]
    pub(super) fn value(&self, tool: &str, arguments: &Value) -> Value {
        let reply = self.call(tool, arguments);
        assert_eq!(reply.status, 200, "{tool}: {}", reply.value);
        reply.value
    }

    /// Files a note and returns its id.
    #[track_caller]
    pub(super) fn add(&self, wing: &str, text: &str) -> String {
        let filed = self.value("add", &json!({"text": text, "wing": wing, "room": "notes"}));
        filed["id"].as_str().unwrap().to_owned()
    }
}

/// Calls a tool of a palace with its caller's rights.
pub(super) fn call_in(palace: &Palace, tool: &str, arguments: &Value) -> ApiReply {
    let call = ApiCall::from_body(tool, arguments.to_string().as_bytes()).unwrap();
    run_api_call(palace, call, Some("anna".to_owned()), StopSignal::default())
}
