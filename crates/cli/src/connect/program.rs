//! What tools are told to run: this very program, and which palace it is to open.

use std::path::Path;

use loci_core::{Error, Result};

use super::entries::Hook;
use super::json::Plain;
use super::line;

/// What tools are told to run.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// The program, by its whole path: tools started from a desktop know another PATH than a shell does, and a name
    /// would run whatever is found first there.
    path: String,
    /// Which palace and collection it is to open, as arguments.
    palace: Vec<String>,
    /// What narrows the server, as arguments.
    server: Vec<String>,
    /// Whether hooks are to recall.
    recall: bool,
}

impl Program {
    /// The program at `path`.
    pub(crate) fn new(path: &Path, palace: Vec<String>, server: Vec<String>, recall: bool) -> Result<Self> {
        let path = path.to_str().ok_or_else(|| {
            Error::invalid(format!(
                "the path of this program is not UTF-8: {}",
                path.display()
            ))
            .hint("configs hold text; put the program somewhere else. Nothing was changed")
        })?;
        if !line::is_program(path) {
            let error = Error::invalid(format!("this program is called {path}, and not loci"));
            return Err(error.hint(
                "its entries would not be recognised again; give it a name that begins with loci. \
                 Nothing was changed",
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            palace,
            server,
            recall,
        })
    }

    /// The path.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The arguments that start the server.
    pub(super) fn server(&self) -> Vec<String> {
        let mut args = vec!["mcp".to_owned()];
        args.extend(self.palace.iter().chain(&self.server).cloned());
        args
    }

    /// The server as most tools describe it.
    pub(super) fn entry(&self) -> Vec<(String, Plain)> {
        vec![
            ("command".to_owned(), Plain::text(&self.path)),
            ("args".to_owned(), Plain::texts(&self.server())),
        ]
    }

    /// The server as tools describe it that ask for its kind.
    pub(super) fn typed_entry(&self) -> Vec<(String, Plain)> {
        let mut entry = vec![("type".to_owned(), Plain::text("stdio"))];
        entry.extend(self.entry());
        entry
    }

    /// The hooks of a harness: `saving` always, and `recalling` where that is asked for.
    pub(super) fn hooks(
        &self,
        harness: &str,
        saving: &[&'static str],
        recalling: &[&'static str],
        timeout: u64,
    ) -> Vec<Hook> {
        let recalling = if self.recall { recalling } else { &[] };
        let hook = |event: &'static str, recall: bool| Hook {
            event,
            command: self.line(harness, event, recall),
            timeout,
        };
        let saving = saving.iter().map(|event| hook(event, false));
        let recalling = recalling.iter().map(|event| hook(event, true));
        recalling.chain(saving).collect()
    }

    fn line(&self, harness: &str, event: &str, recall: bool) -> String {
        let mut words = vec![self.path.clone()];
        words.extend(["hook", harness, event].map(str::to_owned));
        words.extend(recall.then(|| "--recall".to_owned()));
        words.extend(self.palace.iter().cloned());
        line::written(&words)
    }
}
