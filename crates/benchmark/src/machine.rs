//! The machine that figures were taken on, and the memory of this process.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine, as far as the kernel tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineFacts {
    /// The model of the processor.
    pub processor: String,
    /// The number of threads it runs at once.
    pub cores: usize,
    /// Its memory in megabytes; 0 if it is not known.
    pub memory_mb: u64,
    /// The operating system and architecture.
    pub system: String,
}

impl MachineFacts {
    /// Reads the facts of this machine.
    pub fn read() -> Self {
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Self {
            processor: find_field(&processors, "model name")
                .unwrap_or("unknown")
                .to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mb: kilobytes(&memory, "MemTotal").map_or(0, |kilobytes| kilobytes / 1024),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// Returns the most memory that this process has used so far, in megabytes, if the kernel tells.
pub(crate) fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    Some(kilobytes(&status, "VmHWM")? as f64 / 1024.0)
}

/// Returns the most memory that the processes below this one have used so far, in megabytes; `None` if there are none.
///
/// A plug-in runs in one, and what it needs would be missing from the memory of this process.
pub(crate) fn peak_memory_below_mb() -> Option<f64> {
    let own = std::process::id();
    let statuses = std::fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
        // Of all entries only those of processes have a status; a process may end while it is looked at.
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let parent: u32 = find_field(&status, "PPid")?.trim().parse().ok()?;
        (parent == own).then(|| kilobytes(&status, "VmHWM")).flatten()
    });
    let sum: u64 = statuses.sum();
    (sum > 0).then(|| sum as f64 / 1024.0)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    find_field(text, name)?.split_whitespace().next()?.parse().ok()
}

fn find_field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(key, _)| key.trim() == name)?;
    Some(value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_kernel_are_read() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2: fast\nMemTotal:       2048 kB\n";
        assert_eq!(find_field(text, "model name"), Some("Some CPU @ 2: fast"));
        assert_eq!(kilobytes(text, "MemTotal"), Some(2048));
        assert_eq!(kilobytes(text, "VmHWM"), None);
    }
}
