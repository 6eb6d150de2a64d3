//! What a tool is: a name, what it does, typed arguments and a typed result.

use std::sync::Arc;

use loci_core::Result;
use loci_engine::Palace;
use loci_engine::mine::Stop;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{arguments, reply, schema};

/// What a tool does to a palace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Reads,
    /// It files more; doing it again files nothing more.
    Adds,
    /// It changes what is there; doing it again changes nothing more.
    Changes,
    /// It takes away.
    Removes,
}

/// A tool.
pub(crate) trait Tool {
    /// What agents call it.
    const NAME: &'static str;
    /// What it does and when to use it.
    const ABOUT: &'static str;
    /// What it does to a palace.
    const EFFECT: Effect;
    /// Its arguments.
    type Input: DeserializeOwned + JsonSchema;
    /// What it returns.
    type Output: Serialize + JsonSchema;

    /// Does it.
    fn call(input: Self::Input, call: &Call<'_>) -> Result<Reply<Self::Output>>;
}

/// What a tool answers: the same twice, as words and as a value.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    /// For people, and for agents that read no values.
    pub(crate) text: String,
    /// For everyone else.
    pub(crate) value: T,
}

/// One call of a tool.
pub(crate) struct Call<'a> {
    /// The palace.
    pub(crate) palace: &'a Palace,
    /// Who calls, as it calls itself.
    pub(crate) client: Option<String>,
    /// Whether the caller no longer waits.
    pub(crate) stop: Stop,
    /// Hears how far it is: done, of how many where that is known, and in words.
    pub(crate) progress: &'a (dyn Fn(f64, Option<f64>, String) + Sync),
}

/// Runs a tool whose types are forgotten.
pub(crate) type RunTool = dyn Fn(Map<String, Value>, &Call<'_>) -> Result<Reply<Value>> + Send + Sync;

/// A tool in a list of tools.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) effect: Effect,
    pub(crate) input: Map<String, Value>,
    pub(crate) output: Map<String, Value>,
    pub(crate) run: Arc<RunTool>,
}

impl Entry {
    /// The entry of one tool.
    pub(crate) fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            about: T::ABOUT,
            effect: T::EFFECT,
            input: schema::taken::<T::Input>(),
            output: schema::given::<T::Output>(),
            run: Arc::new(|arguments, call| {
                let input = arguments::read(arguments, &schema::taken::<T::Input>())?;
                let reply = T::call(input, call)?;
                Ok(Reply {
                    text: reply.text,
                    value: reply::value(&reply.value)?,
                })
            }),
        }
    }

    /// Calls the tool.
    pub(crate) fn call(&self, arguments: Map<String, Value>, call: &Call<'_>) -> Result<Reply<Value>> {
        (self.run)(arguments, call)
    }
}
