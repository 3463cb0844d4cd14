//! Memory that is handed over between threads, as the model checker sees it: an access that is not ordered after the one before it
//! ends the test, whatever values were read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

type Track = loom::cell::UnsafeCell<()>;

/// Stands in the place of `core::cell::UnsafeCell`.
#[derive(Debug)]
pub struct UnsafeCell<T> {
    track: Track,
    inner: core::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    pub fn new(value: T) -> Self {
        Self { track: Track::new(()), inner: core::cell::UnsafeCell::new(value) }
    }

    pub fn get(&self) -> *mut T {
        self.track.with_mut(|_| ());
        self.inner.get()
    }
}

/// What has been touched in one run of the model; it begins empty in each.
struct Touched(RefCell<HashMap<usize, Arc<Track>>>);

// SAFETY: the checker runs one thread of a model at a time, all of them on one thread of the system.
unsafe impl Sync for Touched {}

loom::lazy_static! {
    static ref TOUCHED: Touched = Touched(RefCell::default());
}

/// Begins to follow what is touched. Must be called before a model starts its threads, for the list itself orders nobody.
pub fn follow() {
    TOUCHED.0.borrow_mut().clear();
}

/// Notes an access to the memory there.
pub fn touch<T>(place: *mut T) -> *mut T {
    let track = TOUCHED.0.borrow_mut().entry(place.addr()).or_insert_with(|| Arc::new(Track::new(()))).clone();
    track.with_mut(|_| ());
    place
}
