//! Threads that run calls: as many as there are calls at once, kept for the next ones.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

type CallJob = Box<dyn FnOnce() + Send>;

/// Runs jobs at once, each on a thread of its own.
pub(super) struct CallWorkers {
    idle: Arc<Mutex<Vec<Sender<CallJob>>>>,
    busy: Arc<BusyCount>,
}

#[derive(Default)]
struct BusyCount {
    jobs: Mutex<usize>,
    changed: Condvar,
}

impl CallWorkers {
    pub(super) fn new() -> Self {
        Self {
            idle: Arc::default(),
            busy: Arc::default(),
        }
    }

    /// Starts a job on an idle thread, or on a new one.
    pub(super) fn run(&self, job: CallJob) {
        *self.busy.jobs.lock().expect("no holder of this lock panics") += 1;
        let idle = self.idle.lock().expect("no holder of this lock panics").pop();
        let job = match idle {
            Some(worker) => match worker.send(job) {
                Ok(()) => return,
                Err(returned) => returned.0,
            },
            None => job,
        };
        let (sender, receiver) = channel();
        let (idle, busy) = (Arc::clone(&self.idle), Arc::clone(&self.busy));
        thread::spawn(move || work(job, &sender, &receiver, &idle, &busy));
    }

    /// Waits until every job is done.
    pub(super) fn wait_until_idle(&self) {
        let jobs = self.busy.jobs.lock().expect("no holder of this lock panics");
        let waited = self.busy.changed.wait_while(jobs, |jobs| *jobs > 0);
        drop(waited.expect("no holder of this lock panics"));
    }
}

fn work(
    mut job: CallJob,
    own: &Sender<CallJob>,
    jobs: &Receiver<CallJob>,
    idle: &Mutex<Vec<Sender<CallJob>>>,
    busy: &BusyCount,
) {
    loop {
        job();
        idle.lock()
            .expect("no holder of this lock panics")
            .push(own.clone());
        *busy.jobs.lock().expect("no holder of this lock panics") -= 1;
        busy.changed.notify_all();
        match jobs.recv() {
            Ok(next) => job = next,
            Err(_) => return,
        }
    }
}
