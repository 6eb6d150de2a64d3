//! The link to a plug-in: its current process, started again when it is gone.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loci_core::{BackendDescriptor, Error, ErrorKind, Result};
use serde::de::DeserializeOwned;

use super::errors::{broken_error, call_error, closed_error};
use super::options::PluginOptions;
use super::process::PluginProcess;
use super::talk::{AnswerListener, CallFault, CallPlan, make_call};
use crate::frame::{FrameKind, encode_frame, split_body};
use crate::wire::WireResult;
use crate::wire::answer::ValueAnswer;
use crate::wire::call::{CallHeader, WireCall};
use crate::wire::request::millis;

/// The way to a plug-in, whichever process it runs in.
#[derive(Debug)]
pub(super) struct PluginLink {
    pub(super) descriptor: BackendDescriptor,
    /// The plug-in's own version.
    pub(super) version: String,
    pub(super) options: PluginOptions,
    program: PathBuf,
    arguments: Vec<String>,
    current: Mutex<CurrentProcess>,
    closed: AtomicBool,
}

#[derive(Debug)]
struct CurrentProcess {
    process: Arc<PluginProcess>,
    started: u64,
}

impl PluginLink {
    /// Starts a plug-in and learns what it offers.
    pub(super) fn start(
        name: &str,
        program: PathBuf,
        arguments: Vec<String>,
        options: PluginOptions,
    ) -> Result<Self> {
        let process = PluginProcess::start(name, &program, &arguments, &options, 1)?;
        Ok(Self {
            descriptor: process.hello.check_versions(name)?,
            version: process.hello.version.clone(),
            options,
            program,
            arguments,
            current: Mutex::new(CurrentProcess { process, started: 1 }),
            closed: AtomicBool::new(false),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.descriptor.name
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed_error(&format!("the backend {:?}", self.name())));
        }
        Ok(())
    }

    /// Returns the process if it can take calls, without starting one.
    pub(super) fn living_process(&self) -> Option<Arc<PluginProcess>> {
        let current = self.current.lock().expect("no holder of this lock panics");
        Some(Arc::clone(&current.process)).filter(|process| process.is_alive() && self.check_open().is_ok())
    }

    /// Returns a process that can take calls, started anew if the last one is gone.
    pub(super) fn process(&self) -> Result<Arc<PluginProcess>> {
        self.check_open()?;
        let mut current = self.current.lock().expect("no holder of this lock panics");
        if current.process.is_alive() {
            return Ok(Arc::clone(&current.process));
        }
        // A plug-in that answered well and broke the protocol afterwards would otherwise never be found out.
        if let Some(words) = current.process.take_untold() {
            return Err(broken_error(self.name(), &words));
        }
        let generation = current.started + 1;
        let process = PluginProcess::start(
            self.name(),
            &self.program,
            &self.arguments,
            &self.options,
            generation,
        )?;
        if process.hello.check_versions(self.name())? != self.descriptor {
            let message = format!(
                "the plug-in {:?} was started again and offers something else now",
                self.name()
            );
            return Err(Error::new(ErrorKind::Unavailable, message)
                .with_hint("nothing was changed; run the command again"));
        }
        *current = CurrentProcess {
            process: Arc::clone(&process),
            started: generation,
        };
        // A close that came meanwhile found the old process.
        self.check_open()?;
        Ok(process)
    }

    /// Returns the frame of a call; refuses one that is too long for the plug-in.
    pub(super) fn encode_call(
        &self,
        process: &PluginProcess,
        plan: &CallPlan,
        call: WireCall<'_>,
        blob: &[u8],
    ) -> Result<Vec<u8>> {
        let header = CallHeader {
            deadline_ms: millis(plan.time),
            call,
        };
        let bytes = encode_frame(FrameKind::Call, 0, &header, blob);
        check_length(self.name(), &bytes, process)?;
        Ok(bytes)
    }

    /// Makes a call on the process that `encode` chooses, and once more on a new one if the first died and the call may
    /// be repeated.
    pub(super) fn call(
        &self,
        plan: &CallPlan,
        encode: &mut dyn FnMut() -> Result<(Arc<PluginProcess>, Vec<u8>)>,
        listener: &mut dyn AnswerListener,
    ) -> Result<()> {
        let mut repeats = plan.repeats;
        loop {
            let (process, bytes) = encode()?;
            match make_call(&process, &self.options, plan, bytes, listener) {
                Ok(()) => return Ok(()),
                // Not after a hang or garbage: the time is used up, and a liar is not cured by a second start.
                Err(CallFault::Died(_)) if repeats => {
                    self.check_open()?;
                    repeats = false;
                    listener.start_over();
                }
                Err(fault) => {
                    // The process ended because it was closed; then that is the reason.
                    if matches!(fault, CallFault::Died(_)) {
                        self.check_open()?;
                    }
                    return Err(call_error(self.name(), plan, fault));
                }
            }
        }
    }

    /// Makes a call that answers with one value and needs no handle.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        plan: &CallPlan,
        make: impl Fn() -> Result<WireCall<'static>>,
    ) -> Result<T> {
        let mut answer = ValueListener(None);
        let mut encode = || {
            let process = self.process()?;
            let bytes = self.encode_call(&process, plan, make()?, &[])?;
            Ok((process, bytes))
        };
        self.call(plan, &mut encode, &mut answer)?;
        answer.into_value(self.name())
    }

    pub(super) fn close(&self) {
        if self.closed.swap(true, Ordering::SeqCst) {
            return;
        }
        let current = self.current.lock().expect("no holder of this lock panics");
        let process = Arc::clone(&current.process);
        drop(current);
        process.say_bye(self.options.bye_time);
    }
}

impl Drop for PluginLink {
    fn drop(&mut self) {
        self.close();
    }
}

/// Refuses a frame that is longer than the plug-in accepts.
pub(super) fn check_length(name: &str, bytes: &[u8], process: &PluginProcess) -> Result<()> {
    let limit = process.hello.frame_limit as usize;
    if bytes.len() - 4 <= limit {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the request has {} bytes; the plug-in {name:?} accepts at most {limit} at once",
        bytes.len()
    ))
    .with_hint("nothing was written; write fewer drawers at once"))
}

/// Takes an answer of one value.
pub(super) struct ValueListener<T>(pub(super) Option<T>);

impl<T: DeserializeOwned> AnswerListener for ValueListener<T> {
    fn start_over(&mut self) {
        self.0 = None;
    }

    fn take_body(&mut self, body: &[u8]) -> WireResult<()> {
        let (answer, blob) = split_body::<ValueAnswer<T>>(body)?;
        blob.check_end()?;
        self.0 = Some(answer.value);
        Ok(())
    }
}

impl<T> ValueListener<T> {
    pub(super) fn into_value(self, name: &str) -> Result<T> {
        self.0.ok_or_else(|| broken_error(name, "an answer is empty"))
    }
}
