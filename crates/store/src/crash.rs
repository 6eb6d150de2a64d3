//! Named points at which a test can end the process, as a power cut or kill −9 would, or count how often they are
//! reached. Empty in every real build.

/// Ends the process here if a test asked for it; does nothing without the feature `crash-points`.
#[inline]
pub(crate) fn point(name: &str) {
    #[cfg(feature = "crash-points")]
    armed::point(name);
    #[cfg(not(feature = "crash-points"))]
    let _ = name;
}

#[cfg(feature = "crash-points")]
#[allow(clippy::disallowed_methods, reason = "only test builds have this feature")]
mod armed {
    use std::io::Write as _;
    use std::sync::atomic::{AtomicU64, Ordering};

    static PASSED: AtomicU64 = AtomicU64::new(0);

    /// `LOCI_CRASH_AT=name:n` aborts at the n-th passing of the point `name`, counted from 1. `LOCI_POINTS_TO=file`
    /// appends the name of each point that is passed.
    pub(super) fn point(name: &str) {
        if let Some(file) = std::env::var_os("LOCI_POINTS_TO") {
            let opened = std::fs::File::options().create(true).append(true).open(file);
            let written = opened.and_then(|mut file| writeln!(file, "{name}"));
            written.expect("the file for passed points can be written");
        }
        let Ok(wanted) = std::env::var("LOCI_CRASH_AT") else {
            return;
        };
        let (wanted, nth) = wanted.split_once(':').unwrap_or((&wanted, "1"));
        if wanted == name && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == nth.parse().unwrap_or(1) {
            std::process::abort();
        }
    }
}
