//! Once its memory has grown, the robust solver neither allocates nor frees, whatever it has to do.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hapticd::math::Random;
use hapticd::mechanism::newton::{Workspace, solve_robustly};
use hapticd::mechanism::samples::{Extras, Kind, sample_with};
use hapticd::mechanism::solver::Settings;

thread_local! {
    /// Calls of the allocator on this thread. Constant and without a destructor: counting allocates nothing.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: hands every call on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_workspace_that_has_met_a_problem_solves_its_like_without_the_heap() {
    let mut random = Random::new(1);
    let mut work = Workspace::default();
    let settings = Settings { iterations: 30, tolerance: 1e-9, relaxation: 1.3 };
    let mut most_work = 0;
    for (kind, joints) in [(Kind::OneBody, false), (Kind::MixedPile, false), (Kind::Tower, false), (Kind::Pile, true)] {
        let extras = Extras { joints, ..Extras::default() };
        let problems: Vec<_> =
            (0..60).map(|i| sample_with(kind, 8 + i % 20, extras, &mut || random.uniform())).collect();
        for round in 0..2 {
            for sample in &problems {
                let mut lambda = vec![0.0; sample.free.len()];
                let before = CALLS.get();
                let outcome = solve_robustly(&sample.problem(), &mut lambda, &settings, &mut work, || false);
                let calls = CALLS.get() - before;
                assert!(round == 0 || calls == 0, "{kind:?}: {calls} calls of the allocator in {outcome:?}");
                most_work = most_work.max(outcome.iterations);
            }
        }
    }
    assert!(most_work > 60, "the path around a fold was among it: {most_work} iterations");
}
