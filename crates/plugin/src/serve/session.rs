//! One session with a host: reads frames, starts calls, and writes what they answer.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use loci_core::{Backend, Error, ErrorKind, Result};

use super::answering::CallAnswering;
use super::handles::ServedHandles;
use super::host_error;
use super::inbox::CallInbox;
use super::workers::CallWorkers;
use crate::frame::{FrameFault, FrameKind, ReceivedFrame, encode_frame, read_frame, split_body};
use crate::hello::{HostHello, PROTOCOL_VERSION, PluginHello};
use crate::wire::call::CallHeader;
use crate::{FRAME_LIMIT, wire::failure::WireFailure};

/// The state that the calls of a session share.
pub(super) struct ServeSession {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) handles: ServedHandles,
    /// The longest frame that the host accepts.
    pub(super) host_limit: u32,
    output: Mutex<Box<dyn Write + Send>>,
    inboxes: Mutex<HashMap<u32, Arc<CallInbox>>>,
}

impl ServeSession {
    /// Exchanges hellos.
    pub(super) fn begin(
        backend: Arc<dyn Backend>,
        version: &str,
        input: &mut impl Read,
        mut output: Box<dyn Write + Send>,
    ) -> Result<Arc<Self>> {
        let own = PluginHello::from_descriptor(backend.descriptor(), version);
        let hello = encode_frame(FrameKind::Hello, 0, &own, &[]);
        let written = output.write_all(&hello).and_then(|()| output.flush());
        written.map_err(|error| host_error(format!("the hello cannot be written: {error}")))?;
        let frame = match read_frame(input, FRAME_LIMIT) {
            Ok(frame) if frame.kind == FrameKind::Hello => frame,
            Ok(frame) => return Err(host_error(format!("{} came before a hello", frame.kind.name()))),
            Err(FrameFault::Ended) => return Err(host_error("it said nothing")),
            Err(FrameFault::Broken(words)) => return Err(host_error(words)),
        };
        let (host, _) = split_body::<HostHello>(&frame.body).map_err(host_error)?;
        if host.protocol.0 != PROTOCOL_VERSION.0 {
            let message = format!(
                "the host speaks protocol {}; this plug-in speaks {PROTOCOL_VERSION}",
                host.protocol
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(Arc::new(Self {
            backend,
            handles: ServedHandles::default(),
            host_limit: host.frame_limit,
            output: Mutex::new(output),
            inboxes: Mutex::default(),
        }))
    }

    /// Serves until the host says goodbye or is gone; returns whether it said goodbye.
    pub(super) fn run(self: &Arc<Self>, input: &mut impl Read) -> Result<bool> {
        let workers = CallWorkers::new();
        let ended = loop {
            match read_frame(input, FRAME_LIMIT) {
                Ok(frame) if frame.kind == FrameKind::Bye => break Ok(true),
                Ok(frame) => {
                    if let Err(error) = self.take_frame(&workers, frame) {
                        break Err(error);
                    }
                }
                Err(FrameFault::Ended) => break Ok(false),
                Err(FrameFault::Broken(words)) => break Err(host_error(words)),
            }
        };
        if matches!(ended, Ok(true)) {
            workers.wait_until_idle();
            self.backend.close();
        } else {
            let inboxes = self.inboxes.lock().expect("no holder of this lock panics");
            inboxes.values().for_each(|inbox| inbox.give_up());
        }
        ended
    }

    fn take_frame(self: &Arc<Self>, workers: &CallWorkers, frame: ReceivedFrame) -> Result<()> {
        match frame.kind {
            FrameKind::Call => {
                let inbox = Arc::new(CallInbox::new());
                let mut inboxes = self.inboxes.lock().expect("no holder of this lock panics");
                if inboxes.insert(frame.call, Arc::clone(&inbox)).is_some() {
                    return Err(host_error(format!("the call {} was begun twice", frame.call)));
                }
                drop(inboxes);
                let session = Arc::clone(self);
                workers.run(Box::new(move || session.run_call(frame, &inbox)));
            }
            // A frame for a call that is done crossed its answer on the way.
            FrameKind::Credit => self.with_inbox(frame.call, CallInbox::add_credit),
            FrameKind::Cancel => self.with_inbox(frame.call, CallInbox::give_up),
            FrameKind::Part => self.with_inbox(frame.call, |inbox| inbox.add_part(frame.body)),
            other => return Err(host_error(format!("it sent a {}", other.name()))),
        }
        Ok(())
    }

    fn with_inbox(&self, call: u32, act: impl FnOnce(&CallInbox)) {
        let inboxes = self.inboxes.lock().expect("no holder of this lock panics");
        if let Some(inbox) = inboxes.get(&call) {
            act(inbox);
        }
    }

    fn run_call(self: &Arc<Self>, frame: ReceivedFrame, inbox: &CallInbox) {
        let answering = CallAnswering {
            session: self,
            inbox,
            call: frame.call,
        };
        let run = catch_unwind(AssertUnwindSafe(|| {
            let (header, blob) = split_body::<CallHeader<'_>>(&frame.body).map_err(host_error)?;
            // The body of the frame is held until the call is done; its rows have been copied out of it.
            answering.run(header.call, blob)
        }));
        let failure = match run {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            // A revision whose parts stopped coming: there is no one left to tell.
            Err(_) if inbox.is_given_up() => None,
            Err(_) => Some(Error::new(ErrorKind::Internal, "the backend panicked")),
        };
        // Numbers are not used twice while a session lasts, so frames that still come for this one are dropped.
        self.inboxes
            .lock()
            .expect("no holder of this lock panics")
            .remove(&frame.call);
        if let Some(error) = failure {
            self.send(&encode_frame(
                FrameKind::Failure,
                frame.call,
                &WireFailure::from_error(&error),
                &[],
            ));
        }
    }

    /// Writes a frame. A host that is gone is noticed where its frames are read.
    pub(super) fn send(&self, bytes: &[u8]) {
        let mut output = self.output.lock().expect("no holder of this lock panics");
        drop(output.write_all(bytes).and_then(|()| output.flush()));
    }
}
