//! Reading one found thing: what it is, what it says, and what must change for it.

use std::path::Path;

use loci_core::{Error, Result, SourceRecord, Timestamp};

use super::compare::{self, Change, Terms};
use super::conversation::{Conversation, Note};
use super::cut;
use super::decode::{self, Decoded, NotText};
use super::draft::file::FileBody;
use super::draft::talk::TalkBody;
use super::draft::{Body, Draft, Shelf};
use super::formats::{self, Chosen, Given, Sink, TextFormat};
use super::found::seen_of;
use super::group::{Ends, Waiting, Work};
use super::keys::Keys;
use super::miner::{Dealt, Job, Miner, Trouble};
use super::stamp::{Look, READING, Seen, Stamp, Within};
use super::stat;
use super::walk::Found;
use super::{Planned, SourceNote, name};

/// A source that was read, before it is compared.
struct Read<'a> {
    ticket: usize,
    path: &'a Path,
    root: &'a Path,
    /// The name of the file or bundle.
    source: &'a str,
    expects: Option<u64>,
    before: Option<&'a Stamp>,
    look: Look,
    hash: String,
    /// Somebody said what it is, and it does not look like it.
    insisted: bool,
}

impl Read<'_> {
    fn as_container(&self) -> Within {
        Within {
            file: self.source.to_owned(),
            hash: self.hash.clone(),
        }
    }
}

/// How the conversations of a file are read.
type Parse<'a> = dyn FnOnce(&mut Sink<'_>) -> Result<Vec<Note>> + 'a;

impl Miner<'_> {
    /// Reads something found and hands over what must change for it.
    pub(crate) fn read(
        &mut self,
        ticket: usize,
        job: &Job,
        expects: Option<u64>,
        before: Option<&Stamp>,
    ) -> Dealt {
        match &job.found {
            Found::File { path, root, .. } => {
                let (bytes, stat) = stat::read_whole(path, self.request.max_bytes)
                    .map_err(|failure| Trouble::Source(failure.to_string()))?;
                let read = Read {
                    ticket,
                    path,
                    root,
                    source: &job.source,
                    expects,
                    before,
                    look: self.look_of(Seen::File(stat), &[stat]),
                    hash: blake3::hash(&bytes).to_hex().to_string(),
                    insisted: false,
                };
                self.read_file(read, bytes, time_of(stat.modified))
            }
            Found::Bundle {
                path,
                root,
                format,
                files,
            } => {
                let stats: Vec<_> = files.iter().map(|(_, stat)| *stat).collect();
                let seen = seen_of(&job.found);
                let hash = match &seen {
                    Seen::Files { hash, .. } => hash.clone(),
                    Seen::File(_) => String::new(),
                };
                let read = Read {
                    ticket,
                    path,
                    root,
                    source: &job.source,
                    expects,
                    before,
                    hash,
                    insisted: false,
                    look: self.look_of(seen, &stats),
                };
                let parse = format.parse;
                self.read_talks(&read, format.name, Box::new(move |sink| parse(path, sink)))
            }
            Found::Skipped { .. } | Found::LeftOut { .. } => Ok(()),
        }
    }

    fn read_file(&mut self, mut read: Read<'_>, bytes: Vec<u8>, modified: Option<Timestamp>) -> Dealt {
        if let Some(within) = read.before.and_then(|before| before.within.as_ref()) {
            return Err(Trouble::Source(format!(
                "its name is also that of a conversation in {}; give it another name",
                within.file
            )));
        }
        if let Some(before) = read.before
            && before.hash == read.hash
            && before.meets(&self.asked)
        {
            let stamp = Stamp {
                look: read.look.clone(),
                ..before.clone()
            };
            return Ok(self.refresh(&read, &stamp)?);
        }
        let decoded = decode::decode(bytes).map_err(|not| Trouble::Skip(not_text(not, read.before)))?;
        let given = Given {
            path: read.path,
            text: &decoded.text,
        };
        let format = match self.chosen {
            Some(Chosen::Text(format)) => {
                read.insisted = !(format.recognise)(&given);
                Some(format)
            }
            Some(Chosen::File | Chosen::Bundle(_)) => None,
            None => formats::recognise(&given),
        };
        if let Some(Chosen::Bundle(bundle)) = self.chosen {
            return Err(Trouble::Source(format!(
                "it holds no {} conversation",
                bundle.name
            )));
        }
        let Some(format) = format else {
            self.refuse_to_forget(&read)?;
            return Ok(self.read_plain(&read, decoded, modified)?);
        };
        match self.read_talk_file(&read, format, &given) {
            // What only looked like a conversation is still text, and no word of it is lost.
            Err(Trouble::Source(why)) if self.chosen.is_none() => {
                self.refuse_to_forget(&read)?;
                let note = Note::new(format!("not read as {}: {why}", format.name));
                self.report.notes.push(SourceNote::new(read.source, note));
                Ok(self.read_plain(&read, decoded, modified)?)
            }
            done => done,
        }
    }

    /// A conversation that is none any more was caught half-written, or something else has its name now: what was said
    /// is not given up for it unless somebody insists.
    fn refuse_to_forget(&self, read: &Read<'_>) -> Dealt {
        match read.before {
            Some(before)
                if self.chosen.is_none() && before.drawers > 0 && formats::is_talk(&before.format) =>
            {
                Err(Trouble::Source(format!(
                    "it was a {} conversation and is none now; what was filed of it is kept (--as {} files it as it is)",
                    before.format,
                    formats::FILE
                )))
            }
            _ => Ok(()),
        }
    }

    fn read_talk_file(&mut self, read: &Read<'_>, format: TextFormat, given: &Given<'_>) -> Dealt {
        let parse = format.parse;
        self.read_talks(read, format.name, Box::new(move |sink| parse(given, sink)))
    }

    fn read_plain(&mut self, read: &Read<'_>, decoded: Decoded, modified: Option<Timestamp>) -> Result<()> {
        let (shelf, label) = self.shelving.of_file(read.path, read.root, self.request);
        let shape = cut::shape_of(read.path, &decoded.text);
        let body = FileBody::new(decoded, shape, label, modified, &self.request.cutting);
        let draft = Draft::new(read.source.to_owned(), shelf, Body::File(body));
        let stamp = self.stamp(read, shape.name(), read.hash.clone(), draft.len());
        self.hand_over(read, draft, read.expects, stamp, Ends::Mined)
    }

    /// Reads conversations: a file that is one, or one that holds several.
    fn read_talks(&mut self, read: &Read<'_>, format: &'static str, parse: Box<Parse<'_>>) -> Dealt {
        let (mut keys, mut drawers) = (Keys::default(), 0_u64);
        let mut fatal = None;
        let parsed = parse(&mut |talk| {
            let filed = match keys.next(talk.key.as_deref()) {
                None => self.file_whole(read, format, talk),
                Some(key) => self.file_one(read, format, talk, &key),
            };
            match filed {
                Ok(filed) => drawers += filed,
                Err(error) => {
                    fatal = Some(error);
                    return Err(Error::invalid("filing ended"));
                }
            }
            Ok(())
        });
        if let Some(error) = fatal {
            return Err(Trouble::Fatal(error));
        }
        let notes = match parsed {
            Ok(notes) => notes,
            Err(error) => return Err(Trouble::Source(error.to_string())),
        };
        let silent = (drawers == 0 && notes.is_empty()).then(|| Note::new("nothing is said in it"));
        let notes = notes.into_iter().chain(silent);
        let notes = notes.map(|note| SourceNote::new(read.source, note));
        self.report.notes.extend(notes);
        match (keys.whole(), keys.is_empty()) {
            (true, _) => Ok(()),
            (false, true) if read.insisted => {
                Err(Trouble::Source(format!("it holds no {format} conversation")))
            }
            (false, _) => Ok(self.close(read, format, drawers)?),
        }
    }

    /// Files the one conversation that a file is.
    fn file_whole(&mut self, read: &Read<'_>, format: &'static str, talk: Conversation) -> Result<u64> {
        let shelf = self.shelving.of_talk(&talk, read.path, read.root, self.request);
        let body = TalkBody::new(talk, format, self.request.since, &self.request.cutting);
        let draft = Draft::new(read.source.to_owned(), shelf, Body::Talk(body));
        let drawers = draft.len();
        let stamp = self.stamp(read, format, read.hash.clone(), drawers);
        self.hand_over(read, draft, read.expects, stamp, Ends::Mined)?;
        Ok(drawers as u64)
    }

    /// Files one of the conversations that a file holds.
    fn file_one(
        &mut self,
        read: &Read<'_>,
        format: &'static str,
        talk: Conversation,
        key: &str,
    ) -> Result<u64> {
        let (source, record) = self.name_within(read, key)?;
        let hash = words_hash(&talk);
        let before = record.as_ref().and_then(|record| Stamp::from_text(&record.stamp));
        let expects = record.map(|record| record.revision);
        if let Some(before) = before.filter(|before| before.hash == hash && before.meets(&self.asked)) {
            let drawers = before.drawers;
            if self.request.dry_run {
                return Ok(drawers);
            }
            let stamp = Stamp {
                look: read.look.clone(),
                within: Some(read.as_container()),
                ..before
            };
            self.wait(read, source, expects, &stamp, Work::none(), drawers, Ends::No)?;
            return Ok(drawers);
        }
        let shelf = self.shelving.of_talk(&talk, read.path, read.root, self.request);
        let body = TalkBody::new(talk, format, self.request.since, &self.request.cutting);
        let draft = Draft::new(source, shelf, Body::Talk(body));
        let drawers = draft.len();
        let stamp = Stamp {
            within: Some(read.as_container()),
            ..self.stamp(read, format, hash, drawers)
        };
        self.hand_over(read, draft, expects, stamp, Ends::No)?;
        Ok(drawers as u64)
    }

    /// The name of a conversation within a file, and its record; one that a file has already is passed over.
    fn name_within(&self, read: &Read<'_>, key: &str) -> Result<(String, Option<SourceRecord>)> {
        let source = name::within(read.source, key);
        let record = self.record(&source)?;
        let stamp = record.as_ref().and_then(|record| Stamp::from_text(&record.stamp));
        match stamp.is_some_and(|stamp| stamp.within.is_none()) {
            true => self.name_within(read, &format!("{key}~")),
            false => Ok((source, record)),
        }
    }

    /// Remembers a file that holds several conversations, once they are all durable. What was filed of the file as a
    /// whole, before it was taken for several conversations, goes.
    fn close(&mut self, read: &Read<'_>, format: &'static str, drawers: u64) -> Result<()> {
        if self.request.dry_run {
            return Ok(());
        }
        self.flush()?;
        if self.is_overtaken(read.ticket) {
            return Ok(());
        }
        let nothing = TalkBody::new(Conversation::default(), format, None, &self.request.cutting);
        let shelf = Shelf {
            wing: String::new(),
            room: String::new(),
        };
        let draft = Draft::new(read.source.to_owned(), shelf, Body::Talk(nothing));
        let stamp = Stamp {
            drawers,
            ..self.stamp(read, format, read.hash.clone(), 0)
        };
        *self.report.formats.entry(format.to_owned()).or_default() += 1;
        self.compare_and_wait(read, draft, read.expects, &stamp, Ends::Mined)
    }

    /// Compares a draft with what is stored, and lets it wait for its commit; of a dry run only writes it down.
    fn hand_over(
        &mut self,
        read: &Read<'_>,
        draft: Draft,
        expects: Option<u64>,
        stamp: Stamp,
        ends: Ends,
    ) -> Result<()> {
        if ends == Ends::Mined {
            *self.report.formats.entry(stamp.format.clone()).or_default() += 1;
        }
        match self.request.dry_run {
            true => self.plan(draft, stamp),
            false => self.compare_and_wait(read, draft, expects, &stamp, ends),
        }
    }

    fn compare_and_wait(
        &mut self,
        read: &Read<'_>,
        mut draft: Draft,
        expects: Option<u64>,
        stamp: &Stamp,
        ends: Ends,
    ) -> Result<()> {
        let change = self.compare(&mut draft)?;
        if change.gone > 0 {
            let note = format!(
                "{} messages are no longer in it; their drawers were kept",
                change.gone
            );
            self.report
                .notes
                .push(SourceNote::new(&draft.source, Note::new(note)));
        }
        let kept = change.kept;
        let stamp = Stamp {
            drawers: match ends {
                Ends::Mined if draft.len() == 0 => stamp.drawers,
                _ => kept + change.adds.len() as u64,
            },
            ..stamp.clone()
        };
        let source = draft.source.clone();
        self.wait(read, source, expects, &stamp, Work::of(change, draft), kept, ends)
    }

    fn compare(&mut self, draft: &mut Draft) -> Result<Change> {
        let terms = Terms {
            refile_wing: self.request.wing.is_some(),
            refile_room: self.request.room.is_some(),
            remove: self.request.since.is_none(),
        };
        match &self.collection {
            Some(collection) => compare::compare(collection.as_ref(), draft, terms),
            None => Ok(Change {
                adds: (0..draft.len()).collect(),
                ..Change::default()
            }),
        }
    }

    fn plan(&mut self, mut draft: Draft, stamp: Stamp) -> Result<()> {
        let change = self.compare(&mut draft)?;
        let planned = Planned {
            drawers: draft.len() as u64,
            new: change.adds.len() as u64,
            source: draft.source,
            format: stamp.format,
            wing: draft.shelf.wing,
            room: draft.shelf.room,
        };
        self.report.plan.get_or_insert_default().push(planned);
        Ok(())
    }

    /// Remembers that a source looks different and says the same.
    fn refresh(&mut self, read: &Read<'_>, stamp: &Stamp) -> Result<()> {
        if self.request.dry_run {
            self.report.sources_unchanged += 1;
            self.report.drawers_kept += stamp.drawers;
            return Ok(());
        }
        self.wait(
            read,
            read.source.to_owned(),
            read.expects,
            stamp,
            Work::none(),
            stamp.drawers,
            Ends::Unchanged,
        )
    }

    #[allow(clippy::too_many_arguments, reason = "one call for each field of what waits")]
    fn wait(
        &mut self,
        read: &Read<'_>,
        source: String,
        expects: Option<u64>,
        stamp: &Stamp,
        work: Work,
        kept: u64,
        ends: Ends,
    ) -> Result<()> {
        self.push(Waiting {
            source,
            ticket: read.ticket,
            expects,
            stamp: stamp.to_text(),
            work,
            kept,
            ends,
        })
    }

    fn stamp(&self, read: &Read<'_>, format: &str, hash: String, drawers: usize) -> Stamp {
        Stamp {
            reading: READING,
            look: read.look.clone(),
            hash,
            format: format.to_owned(),
            asked: self.asked.after(read.before.map(|before| &before.asked)),
            drawers: drawers as u64,
            within: None,
        }
    }
}

fn not_text(not: NotText, before: Option<&Stamp>) -> String {
    let mut reason = match not {
        NotText::Empty => "empty".to_owned(),
        NotText::Binary(what) => what.to_string(),
    };
    if before.is_some_and(|before| before.drawers > 0) {
        reason.push_str("; what was filed of it before is kept");
    }
    reason
}

fn time_of(nanoseconds: i64) -> Option<Timestamp> {
    Timestamp::from_micros(nanoseconds.div_euclid(1000)).ok()
}

/// A hash of everything drawers are made of.
fn words_hash(talk: &Conversation) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for text in [&talk.id, &talk.title, &talk.cwd, &talk.parent] {
        part(text.as_deref().unwrap_or("\0"));
    }
    for message in &talk.messages {
        for text in [&message.id, &message.thread, &message.speaker] {
            part(text.as_deref().unwrap_or("\0"));
        }
        part(message.kind.name());
        part(&message.at.map_or(String::new(), |at| at.to_string()));
        part(&message.text);
        part(&serde_json::to_string(&message.about).unwrap_or_default());
    }
    hasher.finalize().to_hex().to_string()
}
