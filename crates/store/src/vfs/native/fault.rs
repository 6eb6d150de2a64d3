//! Memory maps that survive the truncation of their file: a lost page becomes zeros and is reported, not fatal.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// A guarded part of memory. Entries are never freed, only used again, since a signal handler may walk them at any time.
struct GuardedRange {
    /// The first address; zero while the entry is free.
    start: AtomicUsize,
    length: AtomicUsize,
    /// Set when a page of the range was lost; owned by the map.
    lost: AtomicPtr<AtomicBool>,
    next: AtomicPtr<GuardedRange>,
}

static FIRST: AtomicPtr<GuardedRange> = AtomicPtr::new(std::ptr::null_mut());
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// One page-aligned shared map of a part of a file, guarded until it is dropped.
#[derive(Debug)]
pub(super) struct GuardedMap {
    start: NonNull<c_void>,
    length: usize,
    entry: &'static GuardedRange,
}

impl std::fmt::Debug for GuardedRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GuardedRange").finish_non_exhaustive()
    }
}

impl GuardedMap {
    /// Maps `length` bytes of a file from `offset`, for writing too if `writable`. A page that is touched while the
    /// file is too short for it reads as zeros, and `lost` is set.
    ///
    /// # Safety
    /// `lost` must outlive the map.
    pub(super) unsafe fn new(
        file: &std::fs::File,
        offset: u64,
        length: usize,
        writable: bool,
        lost: NonNull<AtomicBool>,
    ) -> std::io::Result<Self> {
        install_handler()?;
        let mut access = rustix::mm::ProtFlags::READ;
        if writable {
            access |= rustix::mm::ProtFlags::WRITE;
        }
        // SAFETY: a new map at an address the kernel chooses touches no other memory.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                access,
                rustix::mm::MapFlags::SHARED,
                file,
                offset,
            )?
        };
        let start =
            NonNull::new(start).ok_or_else(|| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
        let entry = claim_entry();
        entry.lost.store(lost.as_ptr(), Ordering::SeqCst);
        entry.length.store(length, Ordering::SeqCst);
        entry.start.store(start.as_ptr().addr(), Ordering::SeqCst);
        Ok(Self { start, length, entry })
    }

    pub(super) fn start(&self) -> NonNull<c_void> {
        self.start
    }
}

impl Drop for GuardedMap {
    fn drop(&mut self) {
        // SAFETY: the map is ours; SQLite holds no pointer into it any more. Unmapped before the entry is freed, so
        // that the address cannot belong to another map while the entry names it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr(), self.length) };
        self.entry.start.store(0, Ordering::SeqCst);
        self.entry.length.store(0, Ordering::SeqCst);
    }
}

/// Returns a free entry, or a new one. A claimed entry has length 1 until it is filled.
fn claim_entry() -> &'static GuardedRange {
    let mut at = FIRST.load(Ordering::SeqCst);
    // SAFETY: entries are leaked, so every pointer in the list stays valid.
    while let Some(entry) = unsafe { at.as_ref() } {
        let free = entry
            .length
            .compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst);
        if free.is_ok() {
            return entry;
        }
        at = entry.next.load(Ordering::SeqCst);
    }
    let entry: &'static GuardedRange = Box::leak(Box::new(GuardedRange {
        start: AtomicUsize::new(0),
        length: AtomicUsize::new(1),
        lost: AtomicPtr::new(std::ptr::null_mut()),
        next: AtomicPtr::new(std::ptr::null_mut()),
    }));
    let pointer = std::ptr::from_ref(entry).cast_mut();
    let mut first = FIRST.load(Ordering::SeqCst);
    loop {
        entry.next.store(first, Ordering::SeqCst);
        match FIRST.compare_exchange(first, pointer, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => return entry,
            Err(now) => first = now,
        }
    }
}

/// Puts our handler in front of the one that is there, once per process.
fn install_handler() -> std::io::Result<()> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        // SAFETY: zeros are a valid `sigaction`; both calls get pointers to values that outlive them.
        unsafe {
            let mut previous: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut previous) != 0 {
                return false;
            }
            // Saved before ours is installed: the handler reads it.
            let _ = PREVIOUS.set(previous);
            let mut ours: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_bus_error;
            ours.sa_sigaction = handler as libc::sighandler_t;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigemptyset(&raw mut ours.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut()) == 0
        }
    });
    if *installed {
        Ok(())
    } else {
        Err(std::io::Error::other(
            "no handler can be installed for lost pages",
        ))
    }
}

/// Gives the interrupted instruction zeros to work on if it touched a guarded map; else puts the earlier handler back,
/// under which the instruction faults again. Only calls that are safe in a signal handler are made.
extern "C" fn on_bus_error(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel passes a valid description of the signal; entries of the list are never freed.
    unsafe {
        let address = (*info).si_addr().addr();
        let mut at = FIRST.load(Ordering::SeqCst);
        while let Some(entry) = at.as_ref() {
            let start = entry.start.load(Ordering::SeqCst);
            let length = entry.length.load(Ordering::SeqCst);
            if start != 0 && (start..start.saturating_add(length)).contains(&address) {
                if let Some(lost) = entry.lost.load(Ordering::SeqCst).as_ref() {
                    lost.store(true, Ordering::SeqCst);
                }
                let mapped = libc::mmap(
                    std::ptr::with_exposed_provenance_mut(start),
                    length,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                );
                if mapped != libc::MAP_FAILED {
                    return;
                }
            }
            at = entry.next.load(Ordering::SeqCst);
        }
        if let Some(previous) = PREVIOUS.get() {
            libc::sigaction(libc::SIGBUS, previous, std::ptr::null_mut());
            // One that another process sent does not come again by itself.
            if (*info).si_code <= 0 {
                libc::raise(libc::SIGBUS);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_lost_its_file_reads_as_zeros_and_says_so() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(65_536).unwrap();
        let lost = AtomicBool::new(false);
        // SAFETY: the flag outlives the map.
        let map = unsafe { GuardedMap::new(&file, 32_768, 32_768, true, NonNull::from(&lost)) }.unwrap();
        let byte = map.start().cast::<u8>();
        // SAFETY: the map is 32,768 bytes long, and nothing else points into it.
        unsafe {
            byte.write_volatile(7);
            assert_eq!(byte.read_volatile(), 7);
            file.set_len(0).unwrap();
            assert!(!lost.load(Ordering::SeqCst));
            assert_eq!(byte.read_volatile(), 0);
            assert!(lost.load(Ordering::SeqCst));
            byte.add(20_000).write_volatile(1);
        }
    }
}
