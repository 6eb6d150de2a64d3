//! The configuration of an embedding server: its address, model and API.

use std::fmt;
use std::str::FromStr;

use loci_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// The API of an embedding server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddingApi {
    /// `POST {base}/v1/embeddings`, as most servers have it.
    OpenAi,
    /// `POST {base}/api/embed`.
    Ollama,
}

impl EmbeddingApi {
    /// Returns the name that is typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }
}

impl fmt::Display for EmbeddingApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EmbeddingApi {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "openai" => Ok(Self::OpenAi),
            "ollama" => Ok(Self::Ollama),
            _ => Err(Error::invalid(format!("{name:?} is not a known embedding API"))
                .with_hint("use `openai` or `ollama`")),
        }
    }
}

/// A registered embedding server. It contains no secret: the key is referred to by its environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// The name given by the user.
    pub name: String,
    /// Its address: the base, with or without `/v1`, or the whole path of the request.
    pub url: String,
    /// The model to request from it.
    pub model: String,
    /// Its API.
    pub api: EmbeddingApi,
    /// The environment variable that holds its key, if it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// True if texts may leave this machine for it.
    #[serde(default)]
    pub allow_remote: bool,
    /// The digest that pins the model's weights, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The number of values in its vectors.
    pub dimension: usize,
    /// The text that the model expects before a query.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query_prefix: String,
    /// The text that the model expects before a stored text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub passage_prefix: String,
}

/// The revision of a model that is not pinned.
pub const UNPINNED: &str = "unpinned";

/// The longest vectors a server may be registered with.
pub const MAX_DIMENSION: usize = 65_536;

impl ServerConfig {
    /// Refuses names and numbers that no server can have. The address is checked on use.
    pub(super) fn check_values(&self) -> Result<()> {
        check_name(&self.name)?;
        check_model(&self.name, &self.model)?;
        if let Some(variable) = &self.key_env {
            check_variable(&self.name, variable)?;
        }
        if self
            .revision
            .as_deref()
            .is_some_and(|revision| !is_plain_text(revision))
        {
            return Err(invalid_server(
                &self.name,
                "its revision is empty or not plain text",
            ));
        }
        if self.dimension == 0 || self.dimension > MAX_DIMENSION {
            let what = format!(
                "its vectors cannot have {} values, only 1 to {MAX_DIMENSION}",
                self.dimension
            );
            return Err(invalid_server(&self.name, &what));
        }
        Ok(())
    }
}

/// Refuses a name that cannot be shown in a message.
pub(super) fn check_name(name: &str) -> Result<()> {
    if is_plain_text(name) {
        return Ok(());
    }
    Err(Error::invalid("an embedding server needs a name of plain text")
        .with_hint("nothing was changed; give it a short name such as `desk`"))
}

/// Refuses a model name that no server can know.
pub(super) fn check_model(server: &str, model: &str) -> Result<()> {
    if is_plain_text(model) {
        return Ok(());
    }
    Err(invalid_server(
        server,
        "it needs the name of a model, as the server knows it",
    ))
}

/// Refuses an invalid variable name without repeating it: it may be the key itself.
pub(super) fn check_variable(server: &str, variable: &str) -> Result<()> {
    let starts = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(invalid_server(
        server,
        "the given name of the environment variable for its key is not a valid variable name",
    )
    .with_hint("nothing was changed; put the key into a variable such as EMBED_KEY and give that name, never the key"))
}

/// Returns an error about the configuration of `server`.
pub(super) fn invalid_server(server: &str, what: &str) -> Error {
    Error::invalid(format!("the embedding server {server:?} cannot be used: {what}"))
        .with_hint("nothing was sent; correct how the server is registered")
}

// Names end up in messages and in terminals: control characters could forge either.
fn is_plain_text(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= 512 && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> ServerConfig {
        ServerConfig {
            name: "desk".into(),
            url: "http://localhost:11434".into(),
            model: "m".into(),
            api: EmbeddingApi::Ollama,
            key_env: None,
            allow_remote: false,
            revision: None,
            dimension: 4,
            query_prefix: String::new(),
            passage_prefix: String::new(),
        }
    }

    #[test]
    fn it_is_stored_as_plain_json_and_read_back() {
        let short = r#"{"name":"desk","url":"http://localhost:11434","model":"m","api":"ollama","allow_remote":false,"dimension":4}"#;
        assert_eq!(serde_json::to_string(&config()).unwrap(), short);
        assert_eq!(serde_json::from_str::<ServerConfig>(short).unwrap(), config());
        for api in [EmbeddingApi::OpenAi, EmbeddingApi::Ollama] {
            assert_eq!(api.name().parse::<EmbeddingApi>().unwrap(), api);
            assert_eq!(serde_json::to_value(api).unwrap(), api.name());
        }
    }

    #[test]
    fn what_no_server_can_have_is_refused() {
        assert!(config().check_values().is_ok());
        let wrong: [fn(&mut ServerConfig); 6] = [
            |c| c.name = " ".into(),
            |c| c.model = "a\nb".into(),
            |c| c.dimension = 0,
            |c| c.dimension = MAX_DIMENSION + 1,
            |c| c.revision = Some(String::new()),
            |c| c.key_env = Some("1KEY".into()),
        ];
        for (at, spoil) in wrong.iter().enumerate() {
            let mut config = config();
            spoil(&mut config);
            assert!(config.check_values().is_err(), "{at}");
        }
    }

    #[test]
    fn a_key_in_the_place_of_its_variable_is_not_repeated() {
        let mut config = config();
        config.key_env = Some("sk-very-secret".into());
        let error = config.check_values().unwrap_err();
        assert!(!format!("{error:?}").contains("very-secret"), "{error:?}");
    }
}
