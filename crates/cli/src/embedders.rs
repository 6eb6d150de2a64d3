//! The embedders of this machine, found by name or by a stored identity.

use std::sync::Arc;

use loci_core::{CollectionInfo, Embedder, EmbedderIdentity, Error, ErrorKind, IdentityState, Result};
use loci_embed::CheckedEmbedder;
use loci_embed::builtin::{self, BuiltinEmbedder};
use loci_embed::http::EmbeddingServer;
use loci_embed::minilm::{self, MinilmEmbedder};
use loci_embed::models::ModelFolder;
use loci_engine::EmbedderCatalog;

use crate::environment::ProcessEnvironment;

/// The name that leaves a palace to keywords and to vectors its user brings.
pub(crate) const NONE: &str = "none";

/// The embedders of this machine.
#[derive(Debug)]
pub(crate) struct InstalledEmbedders {
    models: Option<ModelFolder>,
}

impl InstalledEmbedders {
    /// Those this build carries and those in the models folder.
    pub(crate) fn new(environment: &ProcessEnvironment) -> Self {
        Self {
            models: environment.models.clone().map(ModelFolder::in_folder),
        }
    }

    /// The models folder.
    pub(crate) fn models(&self) -> Result<&ModelFolder> {
        self.models.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                "this user has no home folder to keep models in",
            )
            .with_hint("name a folder with the variable LOCI_MODELS")
        })
    }

    /// The embedder called `name`; `None` for `none`.
    pub(crate) fn find_by_name(&self, name: &str) -> Result<Option<Arc<dyn Embedder>>> {
        match name {
            NONE => Ok(None),
            builtin::NAME => Ok(Some(Arc::new(CheckedEmbedder::new(BuiltinEmbedder::new()?)))),
            minilm::NAME => {
                let folder = self.models()?.installed_folder(minilm::NAME)?;
                Ok(Some(Arc::new(CheckedEmbedder::new(MinilmEmbedder::new(&folder)))))
            }
            name => Ok(Some(Arc::new(CheckedEmbedder::new(self.find_server(name)?)))),
        }
    }

    /// The models of this machine that may have made vectors whose model is not recorded: MemPalace recorded none
    /// before 3.11, and used this one unless told otherwise.
    pub(crate) fn list_candidates(&self) -> Vec<Arc<dyn Embedder>> {
        self.find_by_name(minilm::NAME)
            .ok()
            .flatten()
            .into_iter()
            .collect()
    }

    /// The command line that makes a collection searchable by meaning, if it is not: by its own vectors where the
    /// model that made them is known or likely, else by new ones. `choice` names the palace and the collection.
    pub(crate) fn suggest_meaning(&self, info: &CollectionInfo, choice: &str) -> Option<String> {
        let install = format!("loci model install {}", minilm::NAME);
        let anew = format!("loci embedder switch {} {choice}", builtin::NAME);
        match &info.identity {
            _ if info.coverage.nearest == 0 => None,
            IdentityState::Known(identity) if self.find_embedder(identity).is_ok() => None,
            IdentityState::Known(identity) => Some(match by_other_name(identity) {
                Some(_) => install,
                None => anew,
            }),
            // An installed model was compared already.
            IdentityState::Unknown if info.dimension == Some(WIDTH) && self.list_candidates().is_empty() => {
                Some(format!(
                    "{install} && loci embedder set {} {choice}",
                    minilm::NAME
                ))
            }
            IdentityState::Unknown => Some(anew),
            IdentityState::Unset => None,
        }
    }

    /// The server called `name`.
    pub(crate) fn find_server(&self, name: &str) -> Result<EmbeddingServer> {
        let known = self.models()?.read_server(name);
        let config = known.map_err(|error| match error.kind() {
            ErrorKind::NotFound => refuse_unknown(name, &self.list_names()),
            _ => error,
        })?;
        EmbeddingServer::new(config)
    }

    /// Every name that can be typed.
    pub(crate) fn list_names(&self) -> Vec<String> {
        let mut names: Vec<String> = [builtin::NAME, minilm::NAME, NONE].map(String::from).to_vec();
        let servers = self.models.as_ref().and_then(|models| models.list_servers().ok());
        names.extend(servers.into_iter().flatten().map(|(name, _)| name));
        names
    }

    /// The server whose vectors are those of `identity`.
    fn find_serving(&self, identity: &EmbedderIdentity) -> Result<Option<EmbeddingServer>> {
        let Some(models) = &self.models else {
            return Ok(None);
        };
        for (_, config) in models.list_servers()? {
            // An unreadable entry cannot be the one looked for; `loci model list` reports it.
            let server = config.and_then(EmbeddingServer::new);
            if let Ok(server) = server
                && server.identity() == identity
            {
                return Ok(Some(server));
            }
        }
        Ok(None)
    }
}

impl EmbedderCatalog for InstalledEmbedders {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        self.find_by_name(builtin::NAME)
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        if let Some(name) = by_other_name(identity)
            && let Some(own) = self.find_by_name(name)?
        {
            return Ok(own);
        }
        let own = match identity.model.as_str() {
            builtin::NAME | minilm::NAME => self.find_by_name(&identity.model)?,
            _ => match self.find_serving(identity)? {
                Some(server) => Some(Arc::new(CheckedEmbedder::new(server)) as Arc<dyn Embedder>),
                None => return Err(refuse_missing(identity)),
            },
        };
        match own.filter(|own| own.identity() == identity) {
            Some(own) => Ok(own),
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("this build cannot make the vectors of {identity}, which this palace holds"),
            )
            .with_hint(format!(
                "re-embed it with `loci embedder switch {}`",
                identity.model
            ))),
        }
    }
}

/// The dimension of all-MiniLM-L6-v2.
const WIDTH: usize = 384;

/// The name here of a model that MemPalace recorded. It runs the same weights but records no revision.
fn by_other_name(identity: &EmbedderIdentity) -> Option<&'static str> {
    let name = identity.model.rsplit('/').next()?.to_ascii_lowercase();
    let same = matches!(name.as_str(), "minilm" | "all-minilm-l6-v2" | "default");
    (identity.revision == "mempalace" && same && identity.dimension == WIDTH).then_some(minilm::NAME)
}

fn refuse_unknown(name: &str, known: &[String]) -> Error {
    Error::invalid(format!("{name:?} is not a known embedder")).with_hint(format!(
        "nothing was changed; known: {}; add a server with `loci model install {name} --url URL`",
        known.join(", ")
    ))
}

fn refuse_missing(identity: &EmbedderIdentity) -> Error {
    let message = format!("nothing on this machine makes vectors of {identity}");
    Error::new(ErrorKind::NotFound, message).with_hint("`loci model list` shows the installed models")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mempalace_calls_a_model_is_the_one_of_the_same_weights() {
        let recorded = |model: &str, revision: &str, dimension| {
            by_other_name(&EmbedderIdentity {
                model: model.to_owned(),
                revision: revision.to_owned(),
                dimension,
            })
        };
        assert_eq!(recorded("minilm", "mempalace", 384), Some("minilm"));
        assert_eq!(
            recorded("sentence-transformers/all-MiniLM-L6-v2", "mempalace", 384),
            Some("minilm")
        );
        assert_eq!(recorded("embeddinggemma", "mempalace", 384), None);
        assert_eq!(
            recorded("minilm", "1", 384),
            None,
            "another revision is another model"
        );
        assert_eq!(recorded("minilm", "mempalace", 768), None);
    }
}
