//! Which embedders this machine has, and which of them a name or a stored identity means.

use std::sync::Arc;

use loci_core::{Embedder, EmbedderIdentity, Error, ErrorKind, Result};
use loci_embed::Checked;
use loci_embed::builtin::{self, Builtin};
use loci_embed::http::Server;
use loci_embed::minilm::{self, Minilm};
use loci_embed::models::Models;
use loci_engine::EmbedderCatalog;

use crate::environment::Environment;

/// The name that leaves a palace to keywords and to vectors its user brings.
pub(crate) const NONE: &str = "none";

/// The embedders of this machine.
#[derive(Debug)]
pub(crate) struct Installed {
    models: Option<Models>,
}

impl Installed {
    /// Those this build carries and those in the models folder.
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            models: environment.models.clone().map(Models::at),
        }
    }

    /// The models folder.
    pub(crate) fn models(&self) -> Result<&Models> {
        self.models.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                "this user has no home folder to keep models in",
            )
            .hint("name a folder with the variable LOCI_MODELS")
        })
    }

    /// The embedder called `name`; `None` for `none`.
    pub(crate) fn named(&self, name: &str) -> Result<Option<Arc<dyn Embedder>>> {
        match name {
            NONE => Ok(None),
            builtin::NAME => Ok(Some(Arc::new(Checked::new(Builtin::new()?)))),
            minilm::NAME => {
                let folder = self.models()?.installed(minilm::NAME)?;
                Ok(Some(Arc::new(Checked::new(Minilm::new(&folder)))))
            }
            name => Ok(Some(Arc::new(Checked::new(self.server(name)?)))),
        }
    }

    /// The server called `name`.
    pub(crate) fn server(&self, name: &str) -> Result<Server> {
        let known = self.models()?.server(name);
        let config = known.map_err(|error| match error.kind() {
            ErrorKind::NotFound => unknown(name, &self.names()),
            _ => error,
        })?;
        Server::new(config)
    }

    /// Every name that can be typed.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = [builtin::NAME, minilm::NAME, NONE].map(String::from).to_vec();
        let servers = self.models.as_ref().and_then(|models| models.servers().ok());
        names.extend(servers.into_iter().flatten().map(|(name, _)| name));
        names
    }

    /// The server whose vectors are those of `identity`.
    fn serving(&self, identity: &EmbedderIdentity) -> Result<Option<Server>> {
        let Some(models) = &self.models else {
            return Ok(None);
        };
        for (_, config) in models.servers()? {
            // A file that cannot be read is said by `loci model list`; here it only cannot be the one.
            let server = config.and_then(Server::new);
            if let Ok(server) = server
                && server.identity() == identity
            {
                return Ok(Some(server));
            }
        }
        Ok(None)
    }
}

impl EmbedderCatalog for Installed {
    fn usual(&self) -> Result<Option<Arc<dyn Embedder>>> {
        self.named(builtin::NAME)
    }

    fn find(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        if let Some(name) = by_other_name(identity)
            && let Some(own) = self.named(name)?
        {
            return Ok(own);
        }
        let own = match identity.model.as_str() {
            builtin::NAME | minilm::NAME => self.named(&identity.model)?,
            _ => match self.serving(identity)? {
                Some(server) => Some(Arc::new(Checked::new(server)) as Arc<dyn Embedder>),
                None => return Err(nobody(identity)),
            },
        };
        match own.filter(|own| own.identity() == identity) {
            Some(own) => Ok(own),
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("this build makes other vectors than {identity}, which this palace holds"),
            )
            .hint(format!(
                "bring it up to date with `loci embedder switch {}`",
                identity.model
            ))),
        }
    }
}

/// How many values the vectors of all-MiniLM-L6-v2 have.
const WIDTH: usize = 384;

/// What a model is called here that MemPalace recorded: it runs the same weights, and records no revision.
fn by_other_name(identity: &EmbedderIdentity) -> Option<&'static str> {
    let name = identity.model.rsplit('/').next()?.to_ascii_lowercase();
    let same = matches!(name.as_str(), "minilm" | "all-minilm-l6-v2" | "default");
    (identity.revision == "mempalace" && same && identity.dimension == WIDTH).then_some(minilm::NAME)
}

fn unknown(name: &str, known: &[String]) -> Error {
    Error::invalid(format!("there is no embedder called {name:?}")).hint(format!(
        "nothing was changed; there are: {}; a server is added with `loci model install {name} --url URL`",
        known.join(", ")
    ))
}

fn nobody(identity: &EmbedderIdentity) -> Error {
    let message = format!("nothing on this machine makes vectors of {identity}");
    Error::new(ErrorKind::NotFound, message).hint("see what there is with `loci model list`")
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
