//! What a user says about an embedding server: its address, its model and how to speak to it.

use std::fmt;
use std::str::FromStr;

use loci_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Which requests a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// `POST {base}/v1/embeddings`, as most servers have it.
    OpenAi,
    /// `POST {base}/api/embed`.
    Ollama,
}

impl Api {
    /// The name that is typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Api {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "openai" => Ok(Self::OpenAi),
            "ollama" => Ok(Self::Ollama),
            _ => Err(
                Error::invalid(format!("there is no embedding API called {name:?}"))
                    .hint("the known ones are `openai` and `ollama`"),
            ),
        }
    }
}

/// An embedding server the user named. It holds no secret: a key is named by the variable that has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// What the user calls it.
    pub name: String,
    /// Its address: the base, with or without `/v1`, or the whole path of the request.
    pub url: String,
    /// The model it is asked for.
    pub model: String,
    /// Which requests it understands.
    pub api: Api,
    /// The environment variable that holds its key, where it wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Whether texts may leave this machine for it.
    #[serde(default)]
    pub allow_remote: bool,
    /// What pins the model's weights, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// How many values its vectors have.
    pub dimension: usize,
    /// What the model wants before a question.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query_prefix: String,
    /// What the model wants before a text that is stored.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub passage_prefix: String,
}

/// The revision of a model nobody pinned.
pub const UNPINNED: &str = "unpinned";

/// The longest vectors a server may be registered with.
pub const MAX_DIMENSION: usize = 65_536;

impl ServerConfig {
    /// Refuses names and numbers no server can have. The address is checked where it is used.
    pub(super) fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        check_model(&self.name, &self.model)?;
        if let Some(variable) = &self.key_env {
            check_variable(&self.name, variable)?;
        }
        if self.revision.as_deref().is_some_and(|revision| !plain(revision)) {
            return Err(invalid(&self.name, "its revision is empty or not plain text"));
        }
        if self.dimension == 0 || self.dimension > MAX_DIMENSION {
            let what = format!(
                "its vectors cannot have {} values, only 1 to {MAX_DIMENSION}",
                self.dimension
            );
            return Err(invalid(&self.name, &what));
        }
        Ok(())
    }
}

/// Refuses a name that cannot be said in a message.
pub(super) fn check_name(name: &str) -> Result<()> {
    if plain(name) {
        return Ok(());
    }
    Err(Error::invalid("an embedding server needs a name of plain text")
        .hint("nothing was changed; give it a short name such as `desk`"))
}

/// Refuses a model's name that no server can know.
pub(super) fn check_model(server: &str, model: &str) -> Result<()> {
    if plain(model) {
        return Ok(());
    }
    Err(invalid(
        server,
        "it needs the name of a model, as the server knows it",
    ))
}

/// Refuses what is not the name of a variable, without repeating it: it may be the key itself.
pub(super) fn check_variable(server: &str, variable: &str) -> Result<()> {
    let starts = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(invalid(
        server,
        "what should name the environment variable with its key is no name of a variable",
    )
    .hint("nothing was changed; put the key into a variable such as EMBED_KEY and give that name, never the key"))
}

/// An error of the configuration of `server`.
pub(super) fn invalid(server: &str, what: &str) -> Error {
    Error::invalid(format!("the embedding server {server:?} cannot be used: {what}"))
        .hint("nothing was sent; correct how the server is registered")
}

fn plain(text: &str) -> bool {
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
            api: Api::Ollama,
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
        for api in [Api::OpenAi, Api::Ollama] {
            assert_eq!(api.name().parse::<Api>().unwrap(), api);
            assert_eq!(serde_json::to_value(api).unwrap(), api.name());
        }
    }

    #[test]
    fn what_no_server_can_have_is_refused() {
        assert!(config().check().is_ok());
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
            assert!(config.check().is_err(), "{at}");
        }
    }

    #[test]
    fn a_key_in_the_place_of_its_variable_is_not_repeated() {
        let mut config = config();
        config.key_env = Some("sk-very-secret".into());
        let error = config.check().unwrap_err();
        assert!(!format!("{error:?}").contains("very-secret"), "{error:?}");
    }
}
