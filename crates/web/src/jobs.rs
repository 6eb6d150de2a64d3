//! Long operations in the background, with progress and a way to stop them.
//!
//! A job is a thread. What it did until it is stopped stays, because every step of an operation is one transaction.

mod outcome;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use loci_core::{Error, ErrorKind, Result, Timestamp};
use loci_engine::mine::StopSignal;

pub(crate) use outcome::{JobOutcome, OutcomeList};

/// The most jobs that run at once.
const MOST_RUNNING: usize = 4;
/// The most ended jobs that are remembered.
const MOST_ENDED: usize = 20;

/// The number of a job, counted from 1.
pub(crate) type JobNumber = u64;

/// How far a job has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SiteJobProgress {
    /// The steps done.
    pub(crate) done: u64,
    /// All steps, if they are known.
    pub(crate) total: Option<u64>,
    /// What is counted, or being done now.
    pub(crate) note: String,
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobState {
    Running(SiteJobProgress),
    Done(Box<JobOutcome>),
    /// It failed, with the message and the hint of its error.
    Failed(String, Option<String>),
}

/// A job as pages show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobView {
    pub(crate) number: JobNumber,
    /// What it does, such as `Mine notes`.
    pub(crate) title: String,
    pub(crate) began: Timestamp,
    pub(crate) state: JobState,
    /// Whether it was asked to stop.
    pub(crate) is_stopping: bool,
    /// Whether it stops when it is asked to.
    pub(crate) can_stop: bool,
}

impl JobView {
    /// Returns whether it has not ended yet.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, JobState::Running(_))
    }
}

/// What is to be done in the background.
#[derive(Debug, Clone)]
pub(crate) struct JobPlan {
    title: String,
    can_stop: bool,
}

impl JobPlan {
    /// Returns what the job does.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Plans a job that stops when its signal asks it to.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            can_stop: true,
        }
    }

    /// Plans a job that runs to its end.
    #[must_use]
    pub(crate) fn without_stop(mut self) -> Self {
        self.can_stop = false;
        self
    }
}

/// What the function of a job uses to report.
#[derive(Debug, Clone)]
pub(crate) struct JobHandle {
    number: JobNumber,
    stop: StopSignal,
    jobs: Arc<Mutex<JobTable>>,
}

impl JobHandle {
    /// Reports how far the job has come.
    pub(crate) fn report(&self, progress: SiteJobProgress) {
        let mut jobs = lock(&self.jobs);
        if let Some(job) = jobs.all.get_mut(&self.number) {
            job.view.state = JobState::Running(progress);
        }
    }

    /// Reports the steps done, all of them if they are known, and what is counted.
    pub(crate) fn report_steps(&self, done: u64, total: Option<u64>, note: impl Into<String>) {
        self.report(SiteJobProgress {
            done,
            total,
            note: note.into(),
        });
    }

    /// Returns the signal that asks the job to stop.
    pub(crate) fn stop_signal(&self) -> &StopSignal {
        &self.stop
    }
}

#[derive(Debug)]
struct KeptJob {
    view: JobView,
    stop: StopSignal,
}

#[derive(Debug, Default)]
struct JobTable {
    last: JobNumber,
    all: BTreeMap<JobNumber, KeptJob>,
}

/// The jobs of a site. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobBoard {
    jobs: Arc<Mutex<JobTable>>,
}

impl JobBoard {
    /// Starts a job. If it panics, it has failed, and the site goes on.
    pub(crate) fn start(
        &self,
        plan: JobPlan,
        now: Timestamp,
        run: impl FnOnce(&JobHandle) -> Result<JobOutcome> + Send + 'static,
    ) -> Result<JobNumber> {
        let handle = self.add(plan, now)?;
        let number = handle.number;
        let spawned = thread::Builder::new()
            .name(format!("job {number}"))
            .spawn(move || {
                // The palace recovers from a thread that died: it reopens what a failed commit left behind.
                let ended = catch_unwind(AssertUnwindSafe(|| run(&handle)));
                end(&handle, ended.unwrap_or_else(|_| Err(panicked())));
            });
        if let Err(cause) = spawned {
            lock(&self.jobs).all.remove(&number);
            return Err(Error::new(ErrorKind::Io, "the system gives no thread for this").caused_by(cause));
        }
        Ok(number)
    }

    /// Keeps the outcome of something that ended already, to be shown with the jobs.
    pub(crate) fn keep_outcome(&self, title: impl Into<String>, now: Timestamp, outcome: JobOutcome) {
        let mut jobs = lock(&self.jobs);
        jobs.drop_oldest();
        let handle = jobs.insert(JobPlan::new(title), now, &self.jobs);
        drop(jobs);
        end(&handle, Ok(outcome));
    }

    fn add(&self, plan: JobPlan, now: Timestamp) -> Result<JobHandle> {
        let mut jobs = lock(&self.jobs);
        let running = jobs.count_running();
        if running >= MOST_RUNNING {
            let error = Error::new(
                ErrorKind::Conflict,
                format!("{running} operations are running already"),
            );
            return Err(error.with_hint("nothing was started; wait until one has ended, or stop one"));
        }
        jobs.drop_oldest();
        Ok(jobs.insert(plan, now, &self.jobs))
    }

    /// Asks a job to stop; returns whether there is such a job.
    pub(crate) fn stop(&self, number: JobNumber) -> bool {
        let mut jobs = lock(&self.jobs);
        let Some(job) = jobs.all.get_mut(&number) else {
            return false;
        };
        job.stop.request_stop();
        job.view.is_stopping = job.view.is_running();
        true
    }

    /// Asks every job to stop.
    pub(crate) fn stop_all(&self) {
        for job in lock(&self.jobs).all.values() {
            job.stop.request_stop();
        }
    }

    /// Returns a job.
    pub(crate) fn find(&self, number: JobNumber) -> Option<JobView> {
        lock(&self.jobs).all.get(&number).map(|job| job.view.clone())
    }

    /// Returns the job of this title that is running, if there is one.
    pub(crate) fn find_running(&self, title: &str) -> Option<JobNumber> {
        let jobs = lock(&self.jobs);
        let mut running = jobs.all.values().filter(|job| job.view.is_running());
        running
            .find(|job| job.view.title == title)
            .map(|job| job.view.number)
    }

    /// Lists the jobs, the newest first.
    pub(crate) fn list(&self) -> Vec<JobView> {
        let jobs = lock(&self.jobs);
        jobs.all.values().rev().map(|job| job.view.clone()).collect()
    }
}

impl JobTable {
    fn count_running(&self) -> usize {
        self.all.values().filter(|job| job.view.is_running()).count()
    }

    /// Makes room for one more job.
    fn drop_oldest(&mut self) {
        let running = self.count_running();
        while self.all.len() - running >= MOST_ENDED {
            let Some(oldest) = self.all.values().find(|job| !job.view.is_running()) else {
                break;
            };
            let oldest = oldest.view.number;
            self.all.remove(&oldest);
        }
    }

    fn insert(&mut self, plan: JobPlan, now: Timestamp, jobs: &Arc<Mutex<Self>>) -> JobHandle {
        self.last += 1;
        let (number, stop) = (self.last, StopSignal::default());
        let view = JobView {
            number,
            title: plan.title,
            began: now,
            state: JobState::Running(SiteJobProgress::default()),
            is_stopping: false,
            can_stop: plan.can_stop,
        };
        let kept = KeptJob {
            view,
            stop: stop.clone(),
        };
        self.all.insert(number, kept);
        JobHandle {
            number,
            stop,
            jobs: Arc::clone(jobs),
        }
    }
}

fn panicked() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the operation broke off because of a bug in loci",
    )
    .with_hint("what it had committed is kept; verify the palace on this page, then try again")
}

fn end(handle: &JobHandle, ended: Result<JobOutcome>) {
    let mut jobs = lock(&handle.jobs);
    let Some(job) = jobs.all.get_mut(&handle.number) else {
        return;
    };
    job.view.is_stopping = false;
    job.view.state = match ended {
        Ok(outcome) => JobState::Done(Box::new(outcome)),
        Err(error) => JobState::Failed(error.to_string(), error.hint_text().map(str::to_owned)),
    };
}

fn lock(jobs: &Mutex<JobTable>) -> MutexGuard<'_, JobTable> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
