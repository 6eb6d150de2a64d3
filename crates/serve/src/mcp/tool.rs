//! The definition of a tool: a name, a description, typed arguments and a typed result.

use std::sync::Arc;

use loci_core::Result;
use loci_engine::Palace;
use loci_engine::mine::StopSignal;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::schema::ToolTypes;
use super::{arguments, reply, schema, words};

/// The effect of a tool on a palace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    /// It changes nothing.
    Reads,
    /// It files drawers; a repetition files nothing more.
    Adds,
    /// It changes drawers without losing anything; a repetition changes nothing more.
    Changes,
    /// It overwrites; what was there before is lost.
    Overwrites,
    /// It removes.
    Removes,
}

/// A tool.
pub(crate) trait PalaceTool {
    /// The name agents call it by.
    const NAME: &'static str;
    /// The description for agents: its purpose and when to use it.
    const ABOUT: &'static str;
    /// Its effect on a palace.
    const EFFECT: ToolEffect;
    /// Its arguments.
    type Input: DeserializeOwned + JsonSchema;
    /// Its result.
    type Output: Serialize + JsonSchema;

    /// Runs the tool.
    fn call(input: Self::Input, call: &CallContext<'_>) -> Result<ToolReply<Self::Output>>;
}

/// The answer of a tool: the same content as text and as a value.
#[derive(Debug)]
pub(crate) struct ToolReply<T> {
    /// The text, for people and for clients that do not read structured content.
    pub(crate) text: String,
    /// The structured content, for all other clients.
    pub(crate) value: T,
}

/// One call of a tool.
pub(crate) struct CallContext<'a> {
    /// The palace.
    pub(crate) palace: &'a Palace,
    /// The client's own name, if it gave one.
    pub(crate) client: Option<String>,
    /// Set once the caller no longer waits.
    pub(crate) stop: StopSignal,
    /// Receives progress: units done, their total if known, and a message.
    pub(crate) progress: &'a (dyn Fn(f64, Option<f64>, String) + Sync),
}

/// Runs a tool behind erased types.
pub(crate) type RunTool =
    dyn Fn(Map<String, Value>, &CallContext<'_>) -> Result<ToolReply<Value>> + Send + Sync;

/// A tool in a list of tools.
#[derive(Clone)]
pub(crate) struct ToolEntry {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) effect: ToolEffect,
    pub(crate) input: Map<String, Value>,
    pub(crate) output: Map<String, Value>,
    /// Its types, unless they are those of another product.
    pub(crate) types: Option<ToolTypes>,
    pub(crate) run: Arc<RunTool>,
}

impl ToolEntry {
    /// Makes the entry of a tool.
    pub(crate) fn from_tool<T: PalaceTool>() -> Self {
        let takes = schema::input_schema::<T::Input>();
        Self {
            name: T::NAME,
            about: T::ABOUT,
            effect: T::EFFECT,
            input: takes.clone(),
            output: schema::output_schema::<T::Output>(),
            types: Some(ToolTypes {
                input: |generator| generator.subschema_for::<T::Input>(),
                output: |generator| generator.subschema_for::<T::Output>(),
            }),
            // The types end here: past this closure every tool, ours or MemPalace's, is JSON in and JSON out.
            run: Arc::new(move |arguments, call| {
                let input = arguments::parse_arguments(arguments, &takes)?;
                let ToolReply { mut text, value } = T::call(input, call)?;
                let mut value = reply::to_reply_json(&value)?;
                let told = reply::add_damage(&mut value, &call.palace.list_damage());
                words::append_ending(&mut text, &told, None);
                Ok(ToolReply { text, value })
            }),
        }
    }

    /// Calls the tool.
    pub(crate) fn call(
        &self,
        arguments: Map<String, Value>,
        call: &CallContext<'_>,
    ) -> Result<ToolReply<Value>> {
        (self.run)(arguments, call)
    }
}
