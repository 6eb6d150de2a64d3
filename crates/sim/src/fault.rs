//! The faults that a seed chooses: calls that fail, a full disk, slow syncs, kills and the power cut.

use std::ops::Range;

use loci_testkit::SeededRandom;

/// A call of the file layer, by what may happen to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    Open,
    Read,
    Write,
    Truncate,
    Sync,
    Delete,
    Lock,
    /// A step that gives something up; even a process that has just been killed takes it.
    Release,
    /// Everything else: it never fails by chance.
    Plain,
}

/// The answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallFate {
    /// It is carried out.
    Proceed,
    /// The process is dead: nothing is carried out.
    Dead,
    /// It fails with an I/O error and has no effect, or only a part of it.
    Fail,
    /// It fails because the disk is full; a part of a write is carried out.
    Full,
}

/// The moment at which something happens, counted in calls of the file layer.
#[derive(Debug, Clone, Default)]
pub(crate) struct FaultPlan {
    /// One of so many calls fails; none if zero.
    pub(crate) one_in: usize,
    /// The calls among which they fail.
    pub(crate) window: Range<u64>,
    /// The calls during which the disk is full.
    pub(crate) full: Range<u64>,
    /// One of so many syncs takes seconds; none if zero.
    pub(crate) slow_one_in: usize,
    /// Whether a sync that fails loses what it should have made safe.
    pub(crate) lossy_syncs: bool,
    /// The calls at which the calling process is killed.
    pub(crate) kills: Vec<u64>,
    /// The call at which the power fails.
    pub(crate) cut: Option<u64>,
}

impl FaultPlan {
    /// Chooses the faults of one life of the machine that makes about `calls` calls.
    pub(crate) fn choose(random: &mut SeededRandom, calls: u64) -> Self {
        let mut plan = Self::default();
        let moment = |random: &mut SeededRandom| random.next_bits() % calls.max(1);
        if random.below(3) == 0 {
            plan.one_in = random.pick(&[20, 60, 200, 600]);
            let (from, to) = (moment(random), moment(random));
            plan.window = from.min(to)..from.max(to);
            plan.lossy_syncs = random.toss_coin();
        }
        if random.below(6) == 0 {
            let (from, to) = (moment(random), moment(random));
            plan.full = from.min(to)..from.max(to);
        }
        if random.below(4) == 0 {
            plan.slow_one_in = random.pick(&[2, 10]);
        }
        if random.below(3) == 0 {
            plan.kills = (0..=random.below(3)).map(|_| moment(random)).collect();
        }
        if random.below(4) != 0 {
            plan.cut = Some(moment(random));
        }
        plan
    }

    /// Decides about the call with this number, made by a live process.
    pub(crate) fn judge_call(&self, call: u64, kind: CallKind, random: &mut SeededRandom) -> CallFate {
        if matches!(kind, CallKind::Release | CallKind::Plain) {
            return CallFate::Proceed;
        }
        if kind == CallKind::Write && self.full.contains(&call) {
            return CallFate::Full;
        }
        if self.one_in > 0 && self.window.contains(&call) && random.below(self.one_in) == 0 {
            return CallFate::Fail;
        }
        CallFate::Proceed
    }
}
