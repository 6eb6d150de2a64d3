//! The command in the settings of tools: the program's path and its arguments.

use std::path::Path;

use loci_core::{Error, Result};

use crate::entries::HookCommand;
use crate::json::JsonValue;
use crate::shell_line::{is_loci_program, quote_line};

/// The command that tools are to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCommand {
    /// An absolute path: a tool started from a desktop has another PATH than a shell, and a bare name would
    /// run whichever program is found first there.
    path: String,
    palace_args: Vec<String>,
    server_args: Vec<String>,
    recall: bool,
}

impl ProgramCommand {
    /// The program at `path`, without further arguments.
    ///
    /// Fails if the path is not UTF-8, or if the name of the file does not begin with `loci`: by that name
    /// hooks are recognised when they are updated or removed.
    pub fn new(path: &Path) -> Result<Self> {
        let text = path.to_str().ok_or_else(|| {
            Error::invalid(format!(
                "the path of this program is not UTF-8: {}",
                path.display()
            ))
            .with_hint("settings files hold text; move the program. Nothing was changed")
        })?;
        // Refused now rather than at the undo, when entries under another name could no longer be found.
        if !is_loci_program(text) {
            let error = Error::invalid(format!("this program is called {text}, not loci"));
            return Err(error.with_hint(
                "its entries would not be recognised again; give it a name that begins with loci. \
                 Nothing was changed",
            ));
        }
        Ok(Self {
            path: text.to_owned(),
            palace_args: Vec::new(),
            server_args: Vec::new(),
            recall: false,
        })
    }

    /// Sets the arguments that name the palace, for the server and the hooks.
    #[must_use]
    pub fn with_palace_args(mut self, args: Vec<String>) -> Self {
        self.palace_args = args;
        self
    }

    /// Sets the arguments that restrict the server.
    #[must_use]
    pub fn with_server_args(mut self, args: Vec<String>) -> Self {
        self.server_args = args;
        self
    }

    /// Sets whether hooks also recall, at the start of a session and on prompts.
    #[must_use]
    pub fn with_recall(mut self, recall: bool) -> Self {
        self.recall = recall;
        self
    }

    /// The path of the program.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The arguments that start the server.
    pub(crate) fn server_args(&self) -> Vec<String> {
        let mut args = vec!["mcp".to_owned()];
        args.extend(self.palace_args.iter().chain(&self.server_args).cloned());
        args
    }

    /// The server as most tools describe it.
    pub(crate) fn server_fields(&self) -> Vec<(String, JsonValue)> {
        vec![
            ("command".to_owned(), JsonValue::text(&self.path)),
            ("args".to_owned(), JsonValue::texts(&self.server_args())),
        ]
    }

    /// The server as tools describe it that ask for its type.
    pub(crate) fn typed_server_fields(&self) -> Vec<(String, JsonValue)> {
        let mut fields = vec![("type".to_owned(), JsonValue::text("stdio"))];
        fields.extend(self.server_fields());
        fields
    }

    /// The hooks of a harness. Those of `recall_events` are left out unless recall was asked for.
    pub(crate) fn hook_commands(
        &self,
        harness: &str,
        save_events: &[&'static str],
        recall_events: &[&'static str],
        timeout: u64,
    ) -> Vec<HookCommand> {
        // Left out and not kept from before: connecting without recall takes an earlier recall back.
        let recall_events = if self.recall { recall_events } else { &[] };
        let command = |event: &'static str, recall: bool| HookCommand {
            event,
            line: self.hook_line(harness, event, recall),
            timeout,
        };
        let save = save_events.iter().map(|event| command(event, false));
        let recall = recall_events.iter().map(|event| command(event, true));
        recall.chain(save).collect()
    }

    /// The shell line of one hook.
    fn hook_line(&self, harness: &str, event: &str, recall: bool) -> String {
        let mut words = vec![self.path.clone()];
        words.extend(["hook", harness, event].map(str::to_owned));
        words.extend(recall.then(|| "--recall".to_owned()));
        words.extend(self.palace_args.iter().cloned());
        quote_line(&words)
    }
}
