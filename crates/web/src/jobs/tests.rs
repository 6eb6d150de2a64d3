//! Jobs: progress, stopping, panics, and how many are kept.

use std::sync::mpsc;

use super::*;

fn now() -> Timestamp {
    "2026-05-01T09:30:00Z".parse().unwrap()
}

/// Starts a job that waits for the sender, and then ends.
fn start_waiting(board: &JobBoard) -> (JobNumber, mpsc::Sender<()>) {
    let (send, wait) = mpsc::channel::<()>();
    let run = move |_: &JobHandle| {
        let _ = wait.recv();
        Ok(JobOutcome::from_sentence("waited"))
    };
    (board.start(JobPlan::new("Wait"), now(), run).unwrap(), send)
}

/// Waits until a job has ended.
fn ended(board: &JobBoard, number: JobNumber) -> JobState {
    loop {
        match board.find(number).unwrap().state {
            JobState::Running(_) => thread::yield_now(),
            state => return state,
        }
    }
}

#[test]
fn a_job_reports_progress_and_keeps_its_outcome() {
    let board = JobBoard::default();
    let (told, heard) = mpsc::channel::<()>();
    let (send, wait) = mpsc::channel::<()>();
    let run = move |job: &JobHandle| {
        job.report(SiteJobProgress {
            done: 3,
            total: Some(7),
            note: "drawers".into(),
        });
        told.send(()).unwrap();
        let _ = wait.recv();
        Ok(JobOutcome::from_sentence("7 drawers"))
    };
    let number = board.start(JobPlan::new("Count"), now(), run).unwrap();
    heard.recv().unwrap();
    let JobState::Running(progress) = board.find(number).unwrap().state else {
        panic!("it waits")
    };
    assert_eq!((progress.done, progress.total), (3, Some(7)));
    drop(send);
    assert_eq!(
        ended(&board, number),
        JobState::Done(Box::new(JobOutcome::from_sentence("7 drawers")))
    );
}

#[test]
fn a_panic_ends_a_job_as_failed() {
    let board = JobBoard::default();
    let run = |_: &JobHandle| -> Result<JobOutcome> { panic!("a bug, on purpose") };
    let number = board.start(JobPlan::new("Break"), now(), run).unwrap();
    let JobState::Failed(message, hint) = ended(&board, number) else {
        panic!("it cannot have succeeded")
    };
    assert!(message.contains("bug") && hint.is_some(), "{message}");
}

#[test]
fn a_stop_is_asked_for_and_shown_until_the_job_ends() {
    let board = JobBoard::default();
    let run = |job: &JobHandle| {
        while !job.stop_signal().is_requested() {
            thread::yield_now();
        }
        Err(Error::new(ErrorKind::Conflict, "stopped").with_hint("all is kept"))
    };
    let number = board.start(JobPlan::new("Run"), now(), run).unwrap();
    assert!(board.stop(number));
    assert_eq!(
        ended(&board, number),
        JobState::Failed("stopped".into(), Some("all is kept".into()))
    );
    assert!(!board.find(number).unwrap().is_stopping);
    assert!(!board.stop(99));
}

#[test]
fn no_more_run_at_once_than_allowed_and_the_oldest_ended_are_dropped() {
    let board = JobBoard::default();
    let mut waiting: Vec<_> = (0..MOST_RUNNING).map(|_| start_waiting(&board)).collect();
    let refused = board.start(JobPlan::new("One more"), now(), |_| Ok(JobOutcome::default()));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
    let (first, send) = waiting.remove(0);
    drop(send);
    ended(&board, first);
    for _ in 0..MOST_ENDED + 5 {
        board.keep_outcome("Export", now(), JobOutcome::from_sentence("done"));
    }
    // Running jobs are never dropped.
    assert_eq!(board.list().len(), MOST_ENDED + waiting.len());
    assert!(waiting.iter().all(|(number, _)| board.find(*number).is_some()));
    assert!(board.find(first).is_none());
}
