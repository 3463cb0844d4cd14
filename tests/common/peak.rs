//! An allocator that knows how much memory this thread has and has had, for tests of what an input may take.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes taken and not given back on this thread, and the most since they were last looked at. Constant and without a destructor:
    /// counting allocates nothing.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// Sizes of objects are below `isize::MAX` (see `Layout`).
fn note(bytes: isize) {
    HELD.set(HELD.get() + bytes);
    MOST.set(MOST.get().max(HELD.get()));
}

/// Begins to measure; gives what is held now.
pub(crate) fn begin() -> isize {
    MOST.set(HELD.get());
    HELD.get()
}

/// The most that was held beyond `before`, bytes.
pub(crate) fn since(before: isize) -> usize {
    (MOST.get() - before).max(0).cast_unsigned()
}

struct Measuring;

// SAFETY: hands every call on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Measuring {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(-layout.size().cast_signed());
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;
