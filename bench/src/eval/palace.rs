//! A set as a real palace: its sessions written out as transcripts, mined wing by wing, opened to be searched.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionName, Drawer, Filter, MetadataScalar, MetadataValue, OpenOptions,
    PalaceRef, Timestamp,
};
use loci_engine::mine::MineRequest;
use loci_engine::{self as engine, PalaceAddress};
use loci_store::EmbeddedBackend;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::embedding::EvalEmbedder;
use super::sets::{EvalSession, EvalSet, turn};
use super::{EvalResult, WingLayout};
use crate::measure::{MeasuredCost, cost};

/// A mined set.
#[derive(Debug)]
pub(crate) struct EvalPalace {
    pub(crate) collection: Arc<dyn Collection>,
    /// How many drawers it holds.
    pub(crate) drawers: u64,
    /// What mining cost.
    pub(crate) mined: MeasuredCost,
    /// The session each source is.
    session_of: HashMap<String, String>,
    /// Holds the files; they go with it.
    _folder: TempDir,
}

impl EvalPalace {
    /// Writes the set out and mines it.
    pub(crate) fn of(set: &EvalSet, wings: WingLayout, embedders: &EvalEmbedder) -> EvalResult<Self> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        let backend = Arc::new(EmbeddedBackend::new());
        let reference = PalaceRef::local(root.join("palace"));
        let name = CollectionName::new(CollectionName::DEFAULT)?;
        let address = PalaceAddress {
            backend: backend.clone(),
            reference: reference.clone(),
        };
        let palace = engine::Palace::new(address, Arc::new(embedders.clone()), now);
        let mut session_of = HashMap::new();
        let mut mined = MeasuredCost { cpu: 0.0, wall: 0.0 };
        for (wing, sessions) in set.wings(wings) {
            let files = root.join("files").join(wing);
            let sessions = sessions.iter().filter_map(|at| set.sessions.get(*at));
            write(&files, sessions, &mut session_of)?;
            let (done, spent) = cost(|| mine_wing(&palace, wing, &files));
            done?;
            mined.cpu += spent.cpu;
            mined.wall += spent.wall;
        }
        let collection = backend.open(&reference, &name, &OpenOptions::default())?;
        Ok(Self {
            drawers: collection.count(&Filter::All.into())?,
            collection,
            mined,
            session_of,
            _folder: folder,
        })
    }

    /// The sources that are these sessions.
    pub(crate) fn sources_of(&self, sessions: &[String]) -> Vec<String> {
        let of_sessions = self
            .session_of
            .iter()
            .filter(|(_, session)| sessions.contains(session));
        of_sessions.map(|(source, _)| source.clone()).collect()
    }

    /// The session and the message a drawer is of.
    pub(crate) fn origin(&self, drawer: &Drawer) -> EvalResult<(String, String)> {
        let source = drawer.place.source.as_deref().unwrap_or_default();
        let session = self.session_of.get(source);
        let session = session.ok_or_else(|| format!("{source:?} is no session's file"))?;
        let message = drawer
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get("message_id"));
        match message {
            Some(MetadataValue::One(MetadataScalar::Text(message))) => {
                Ok((session.clone(), turn(session, message)))
            }
            _ => Err(format!("the drawer {} does not say which message it is of", drawer.id).into()),
        }
    }
}

/// Mines one folder into one wing, and refuses to go on with less than all of it.
fn mine_wing(palace: &engine::Palace, wing: &str, files: &Path) -> EvalResult<()> {
    let mut request = MineRequest::for_paths([files.to_owned()]);
    request.wing = Some(wing.to_owned());
    let report = palace.mine(&request, &mut |_| {})?;
    let left = report.sources_failed.len() + report.skipped.len();
    if left > 0 || report.without_vector > 0 || report.sources_mined == 0 {
        return Err(format!("{wing} was not mined whole: {}", serde_json::to_string(&report)?).into());
    }
    Ok(())
}

/// One file for each session, as model interfaces take messages.
fn write<'a>(
    folder: &Path,
    sessions: impl Iterator<Item = &'a EvalSession>,
    session_of: &mut HashMap<String, String>,
) -> EvalResult<()> {
    fs::create_dir_all(folder)?;
    for session in sessions {
        // In one wing, sessions of several conversations have the same last name.
        let path = folder.join(format!("{}.json", session.id.replace('/', "-")));
        fs::write(&path, transcript(session).to_string())?;
        session_of.insert(path.to_string_lossy().into_owned(), session.id.clone());
    }
    Ok(())
}

fn transcript(session: &EvalSession) -> Json {
    let message = |message: &super::sets::EvalMessage| {
        let mut written = json!({ "id": message.id, "role": message.role, "content": message.content });
        let optional = [
            ("name", message.name.clone()),
            ("timestamp", message.at.map(|at| at.to_string())),
        ];
        for (key, value) in optional {
            if let (Some(written), Some(value)) = (written.as_object_mut(), value) {
                written.insert(key.to_owned(), Json::String(value));
            }
        }
        written
    };
    session.messages.iter().map(message).collect()
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Timestamp::from_micros(since.as_micros() as i64).expect("the clock stands between the years")
}
