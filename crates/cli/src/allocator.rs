//! Memory that the system refuses (`ulimit -v`, strict accounting): an error and 78, no abort.
//!
//! Large arrays are asked for in ways that may fail and are an error then. Small lists are not: the
//! library aborts the process when there is nothing for them. So the allocator of the command notes
//! when it was refused something, and the signal of an abort that follows ends the process with
//! words and the code of a budget instead; so does an abort at a moment when there is no memory at
//! all. An abort for any other reason stays one.
#![expect(unsafe_code, reason = "an allocator, and a handler of a signal")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use signal_hook::consts::SIGABRT;
use signal_hook::low_level;

/// The exit code of a budget that does not do.
const BUDGET: i32 = 78;

const WORDS: &[u8] = b"error: the system refused memory (a limit such as ulimit -v, or no more of \
it); raise the limit, or take fewer --threads or a smaller --memory\n";

thread_local! {
    /// Whether the allocator was refused something on this thread.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, which notes refusals.
#[derive(Debug)]
pub struct Noting;

fn noted(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        REFUSED.set(true);
    }
    memory
}

// SAFETY: all is left to the system's allocator, which keeps the contract, and noting allocates
// nothing.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this function, which is that of the other.
        noted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this function, which is that of the other.
        noted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this function, which is that of the other.
        noted(unsafe { System.realloc(memory, layout, bytes) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of this function, which is that of the other.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Bytes of address space that the C library asks for when it has no memory for a small list.
const ROOM_BYTES: usize = 1 << 20;

/// Whether the system refuses memory at this moment: the C library aborts by itself where a thread
/// that begins has no memory for the list of its destructors, and asks no allocator of ours.
fn is_refused_now() -> bool {
    let (room, ours) = (ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a new mapping that is never read; the process ends or aborts right after.
    unsafe { mmap_anonymous(std::ptr::null_mut(), ROOM_BYTES, room, ours) }.is_err()
}

/// Lets an abort of a thread that was refused memory end the process with words.
pub(crate) fn end_with_words() {
    let ended = || {
        if REFUSED.get() || is_refused_now() {
            // Standard error that cannot be written changes nothing.
            let _ = rustix::io::write(std::io::stderr(), WORDS);
            low_level::exit(BUDGET);
        }
    };
    // SAFETY: the handler reads a cell of its thread that has no destructor, asks for a mapping by
    // a bare system call, writes and exits, which signal handlers may. Where it cannot be set an
    // abort stays one.
    let _ = unsafe { low_level::register(SIGABRT, ended) };
}
