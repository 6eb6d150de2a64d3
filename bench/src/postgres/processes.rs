//! The memory of a server: its first process and those that it started.

use std::fs;

/// Returns the memory of a process and its children in MB, each shared page counted once.
pub(super) fn sum_memory_mb(server: u32) -> f64 {
    let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children
        .chain([server])
        .map(proportional_kb)
        .sum::<f64>()
        .max(0.0)
        / 1024.0
}

/// Returns a process's share of the memory that it maps; the shares of all processes add up to what is used.
fn proportional_kb(process: u32) -> f64 {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find(|line| line.starts_with("Pss:"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1));
    kb.and_then(|kb| kb.parse().ok()).unwrap_or(0.0)
}
