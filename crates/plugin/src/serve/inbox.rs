//! The frames that arrive for a call while it runs: credits, parts, its cancellation.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::frame::CALL_WINDOW;

/// What has arrived for one call.
pub(super) struct CallInbox {
    state: Mutex<InboxState>,
    changed: Condvar,
}

struct InboxState {
    credits: u32,
    parts: VecDeque<Vec<u8>>,
    /// No more frames of this call are wanted, or can be had.
    given_up: bool,
}

impl CallInbox {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(InboxState {
                credits: CALL_WINDOW,
                parts: VecDeque::new(),
                given_up: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn change(&self, change: impl FnOnce(&mut InboxState)) {
        change(&mut self.state.lock().expect("no holder of this lock panics"));
        self.changed.notify_all();
    }

    pub(super) fn add_credit(&self) {
        self.change(|state| state.credits = state.credits.saturating_add(1));
    }

    pub(super) fn add_part(&self, body: Vec<u8>) {
        self.change(|state| state.parts.push_back(body));
    }

    pub(super) fn give_up(&self) {
        self.change(|state| state.given_up = true);
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.state.lock().expect("no holder of this lock panics").given_up
    }

    fn wait_while(&self, mut waits: impl FnMut(&InboxState) -> bool) -> MutexGuard<'_, InboxState> {
        let state = self.state.lock().expect("no holder of this lock panics");
        let waited = self
            .changed
            .wait_while(state, |state| !state.given_up && waits(state));
        waited.expect("no holder of this lock panics")
    }

    /// Waits for a credit and takes it; `false` if the call was given up.
    pub(super) fn take_credit(&self) -> bool {
        let mut state = self.wait_while(|state| state.credits == 0);
        if state.given_up {
            return false;
        }
        state.credits -= 1;
        true
    }

    /// Takes a credit if one is there.
    pub(super) fn try_credit(&self) -> bool {
        let mut state = self.state.lock().expect("no holder of this lock panics");
        let there = state.credits > 0 && !state.given_up;
        state.credits -= u32::from(there);
        there
    }

    /// Waits for a part; `None` if the call was given up.
    pub(super) fn take_part(&self) -> Option<Vec<u8>> {
        let mut state = self.wait_while(|state| state.parts.is_empty());
        state.parts.pop_front()
    }
}
