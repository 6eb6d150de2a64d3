//! A running plug-in: its process, the threads that move its bytes, and the calls that wait for it.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::Result;

use super::errors::{broken_error, silent_error, start_error};
use super::options::{PluginListener, PluginOptions};
use crate::frame::{
    CALL_WINDOW, FrameFault, FrameKind, ReceivedFrame, encode_frame, encode_signal, read_frame, split_body,
};
use crate::hello::{HostHello, PluginHello};

/// The longest line of standard error that is passed on, in bytes.
const LONGEST_LINE: u64 = 4 << 10;

/// The most lines of standard error that are passed on for one process.
const MOST_LINES: usize = 1000;

/// The time a process that closed its output has to end by itself.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// The reason why a process answers no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProcessFault {
    /// It ended by itself or was killed from outside.
    Died(String),
    /// It broke the protocol and was ended.
    Broke(String),
    /// It did not answer in time and was ended.
    Hung,
}

/// A frame of a call: its kind and its body.
pub(super) type CallFrame = (FrameKind, Vec<u8>);

/// One process of a plug-in.
#[derive(Debug)]
pub(super) struct PluginProcess {
    pub(super) hello: PluginHello,
    /// Tells the processes of one plug-in apart.
    pub(super) generation: u64,
    outgoing: Mutex<Option<Sender<Vec<u8>>>>,
    shared: Arc<ProcessShare>,
}

#[derive(Debug)]
struct ProcessShare {
    child: Mutex<Child>,
    calls: Mutex<WaitingCalls>,
}

#[derive(Debug, Default)]
struct WaitingCalls {
    last: u32,
    waiting: HashMap<u32, WaitingCall>,
    /// Calls whose answer no one waits for any more; their frames are dropped.
    abandoned: HashSet<u32>,
    fault: Option<ProcessFault>,
    /// Whether a call has been told of the fault.
    told: bool,
}

#[derive(Debug)]
struct WaitingCall {
    frames: Sender<CallFrame>,
    /// Frames that were sent and not yet taken; more than the window are a flood.
    unpaid: u32,
}

impl PluginProcess {
    /// Starts the executable and exchanges hellos.
    pub(super) fn start(
        name: &str,
        program: &Path,
        arguments: &[String],
        options: &PluginOptions,
        generation: u64,
    ) -> Result<Arc<Self>> {
        let mut command = Command::new(program);
        command.args(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| start_error(name, format!("{}: {error}", program.display())))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(start_error(name, "it has no pipes"));
        };
        widen_pipe(&stdin);
        widen_pipe(&stdout);
        let shared = Arc::new(ProcessShare {
            child: Mutex::new(child),
            calls: Mutex::default(),
        });
        let outgoing = start_writer(stdin);
        start_listener(stderr, options.listener.clone());
        drop(outgoing.send(encode_frame(
            FrameKind::Hello,
            0,
            &HostHello::new(options.frame_limit),
            &[],
        )));
        let hello = start_reader(stdout, Arc::clone(&shared), options.frame_limit);
        let hello = match hello.recv_timeout(options.hello_time) {
            Ok(hello) => hello,
            Err(RecvTimeoutError::Timeout) => {
                shared.fail(ProcessFault::Hung);
                return Err(silent_error(name, options.hello_time));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(match shared.fault() {
                    ProcessFault::Died(words) => {
                        start_error(name, format!("it ended before its hello: {words}"))
                    }
                    ProcessFault::Broke(words) => broken_error(name, &words),
                    ProcessFault::Hung => silent_error(name, options.hello_time),
                });
            }
        };
        Ok(Arc::new(Self {
            hello,
            generation,
            outgoing: Mutex::new(Some(outgoing)),
            shared,
        }))
    }

    /// Returns whether it can still take calls.
    pub(super) fn is_alive(&self) -> bool {
        self.shared.lock_calls().fault.is_none()
    }

    /// Returns the words of a broken protocol that no call was told of yet.
    pub(super) fn take_untold(&self) -> Option<String> {
        let mut calls = self.shared.lock_calls();
        let untold = !calls.told;
        calls.told = true;
        match &calls.fault {
            Some(ProcessFault::Broke(words)) if untold => Some(words.clone()),
            _ => None,
        }
    }

    /// Begins a call: writes its frame under a new number and returns the frames that answer it.
    pub(super) fn begin_call(&self, mut bytes: Vec<u8>) -> (u32, Receiver<CallFrame>) {
        let (frames, receiver) = channel();
        let mut calls = self.shared.lock_calls();
        calls.last = calls.last.wrapping_add(1);
        let number = calls.last;
        // In a process that is gone, the sender is dropped here, which the receiver notices at once.
        if calls.fault.is_none() {
            calls.waiting.insert(number, WaitingCall { frames, unpaid: 0 });
        }
        drop(calls);
        number_frame(&mut bytes, number);
        self.send(bytes);
        (number, receiver)
    }

    /// Sends a call whose answer no one waits for.
    pub(super) fn notify(&self, bytes: Vec<u8>) {
        let (number, _) = self.begin_call(bytes);
        self.abandon(number);
    }

    /// Drops the remaining frames of a call.
    pub(super) fn abandon(&self, number: u32) {
        let mut calls = self.shared.lock_calls();
        if calls.waiting.remove(&number).is_some() {
            calls.abandoned.insert(number);
        }
    }

    /// Takes note that a frame of a call was taken, and allows one more.
    pub(super) fn pay_frame(&self, number: u32) {
        let mut calls = self.shared.lock_calls();
        if let Some(call) = calls.waiting.get_mut(&number) {
            call.unpaid = call.unpaid.saturating_sub(1);
        }
        drop(calls);
        self.send(encode_signal(FrameKind::Credit, number));
    }

    pub(super) fn send(&self, bytes: Vec<u8>) {
        let outgoing = self.outgoing.lock().expect("no holder of this lock panics");
        if let Some(outgoing) = outgoing.as_ref() {
            // A writer that is gone has a process that is gone, which every waiting call is told.
            drop(outgoing.send(bytes));
        }
    }

    /// Ends the process for a reason; calls that wait for it are told.
    pub(super) fn fail(&self, fault: ProcessFault) {
        self.shared.fail(fault);
    }

    /// Returns why it answers no more.
    pub(super) fn fault(&self) -> ProcessFault {
        self.shared.lock_calls().told = true;
        self.shared.fault()
    }

    /// Asks the process to end, and kills it if it has not after `time`.
    pub(super) fn say_bye(&self, time: Duration) {
        self.send(encode_signal(FrameKind::Bye, 0));
        // Closes its input after the goodbye, for plug-ins that only notice that.
        self.outgoing
            .lock()
            .expect("no holder of this lock panics")
            .take();
        self.shared.wait_for_end(time);
        self.shared.fail(ProcessFault::Died("it was closed".to_owned()));
    }

    /// Returns the number of the operating system for the process.
    pub(super) fn process_id(&self) -> u32 {
        self.shared.lock_child().id()
    }
}

impl Drop for PluginProcess {
    fn drop(&mut self) {
        self.shared.fail(ProcessFault::Died("it was closed".to_owned()));
    }
}

/// Writes the number of a call into the bytes of its frame.
fn number_frame(bytes: &mut [u8], number: u32) {
    if let Some(place) = bytes.get_mut(5..9) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

impl ProcessShare {
    fn lock_calls(&self) -> std::sync::MutexGuard<'_, WaitingCalls> {
        self.calls.lock().expect("no holder of this lock panics")
    }

    fn lock_child(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().expect("no holder of this lock panics")
    }

    /// Records the first fault, tells the waiting calls, and makes sure that the process is gone.
    fn fail(&self, fault: ProcessFault) {
        let mut calls = self.lock_calls();
        calls.fault.get_or_insert(fault);
        // Dropping the senders wakes the callers, who then read the fault.
        let waiting = std::mem::take(&mut calls.waiting);
        calls.told |= !waiting.is_empty();
        drop(calls);
        drop(waiting);
        let mut child = self.lock_child();
        drop(child.kill());
        // Reaped here, so that no process is left behind; a killed one ends at once.
        drop(child.wait());
    }

    fn fault(&self) -> ProcessFault {
        let fault = self.lock_calls().fault.clone();
        fault.unwrap_or_else(|| ProcessFault::Died("its output ended".to_owned()))
    }

    /// Waits for the process to end by itself and returns how it did.
    fn wait_for_end(&self, time: Duration) -> Option<String> {
        let until = Instant::now() + time;
        let mut pause = Duration::from_micros(200);
        loop {
            if let Ok(Some(status)) = self.lock_child().try_wait() {
                return Some(status.to_string());
            }
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    /// Passes a frame on to its call; an error says which rule it breaks.
    fn take_frame(&self, frame: ReceivedFrame) -> std::result::Result<(), String> {
        let last = match frame.kind {
            FrameKind::Answer | FrameKind::Failure => true,
            FrameKind::Piece | FrameKind::Next | FrameKind::Progress => false,
            other => {
                return Err(format!(
                    "it sent a frame of kind {}, which only a host sends",
                    other.name()
                ));
            }
        };
        let mut calls = self.lock_calls();
        if calls.abandoned.contains(&frame.call) {
            if last {
                calls.abandoned.remove(&frame.call);
            }
            return Ok(());
        }
        let Some(call) = calls.waiting.get_mut(&frame.call) else {
            return Err(format!(
                "it answered the call {}, which was never made or was answered before",
                frame.call
            ));
        };
        if !last {
            call.unpaid += 1;
            if call.unpaid > CALL_WINDOW {
                return Err(format!(
                    "it sent more than {CALL_WINDOW} frames of one call without credit"
                ));
            }
        }
        let sent = call.frames.send((frame.kind, frame.body));
        if last {
            calls.waiting.remove(&frame.call);
        } else if sent.is_err() {
            calls.waiting.remove(&frame.call);
            calls.abandoned.insert(frame.call);
        }
        Ok(())
    }
}

/// Lets a pipe hold more than the usual 64 KiB: each time it is full, both processes must be woken.
#[cfg(target_os = "linux")]
fn widen_pipe(pipe: impl std::os::fd::AsFd) {
    // As much as any user may ask for by default. Refused where less is allowed; then the pipe stays as it was.
    const WIDE: usize = 1 << 20;
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, WIDE);
}

#[cfg(not(target_os = "linux"))]
fn widen_pipe<T>(_pipe: &T) {}

/// Writes frames in order; a plug-in that does not read blocks this thread and no caller.
fn start_writer(mut stdin: ChildStdin) -> Sender<Vec<u8>> {
    let (sender, frames) = channel::<Vec<u8>>();
    thread::spawn(move || {
        for bytes in frames {
            if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

/// Reads frames until the output ends; returns where the hello arrives.
fn start_reader(stdout: ChildStdout, shared: Arc<ProcessShare>, limit: u32) -> Receiver<PluginHello> {
    let (sender, hello) = channel();
    thread::spawn(move || {
        let mut stdout = BufReader::with_capacity(64 << 10, stdout);
        let ended = match read_hello(&mut stdout, limit) {
            Ok(hello) => {
                // No one waits for it any more if it came too late; then the process is gone as well.
                drop(sender.send(hello));
                read_answers(&mut stdout, &shared, limit)
            }
            Err(fault) => fault,
        };
        let fault = match ended {
            FrameFault::Ended => {
                let status = shared.wait_for_end(LAST_MOMENT);
                ProcessFault::Died(status.unwrap_or_else(|| "it closed its output".to_owned()))
            }
            FrameFault::Broken(words) => ProcessFault::Broke(words),
        };
        shared.fail(fault);
        drop(sender);
    });
    hello
}

fn read_hello(stdout: &mut impl Read, limit: u32) -> std::result::Result<PluginHello, FrameFault> {
    let frame = read_frame(stdout, limit)?;
    if frame.kind != FrameKind::Hello {
        let words = format!("its first frame is a {} and not a hello", frame.kind.name());
        return Err(FrameFault::Broken(words));
    }
    let (hello, _) = split_body(&frame.body).map_err(FrameFault::Broken)?;
    Ok(hello)
}

fn read_answers(stdout: &mut impl Read, shared: &ProcessShare, limit: u32) -> FrameFault {
    loop {
        let frame = match read_frame(stdout, limit) {
            Ok(frame) => frame,
            Err(fault) => return fault,
        };
        if let Err(words) = shared.take_frame(frame) {
            return FrameFault::Broken(words);
        }
    }
}

/// Passes standard error on, line by line, without ever holding more than one.
fn start_listener(stderr: ChildStderr, listener: Option<PluginListener>) {
    thread::spawn(move || {
        let mut stderr = BufReader::new(stderr);
        for count in 0_usize.. {
            let mut line = Vec::new();
            match stderr.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(read) if read > 0 => {}
                _ => return,
            }
            // Read on without passing on: a plug-in that talks without end must not block on a full pipe.
            let Some(listener) = listener.as_ref().filter(|_| count <= MOST_LINES) else {
                continue;
            };
            if count == MOST_LINES {
                listener("(more lines are not shown)");
            } else {
                listener(String::from_utf8_lossy(&line).trim_end());
            }
        }
    });
}
