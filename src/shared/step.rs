//! What a step of the simulation depended on, beside the scene: with it a run on real threads can be run again.
//!
//! Thread: written by simulation, read by whoever records.

use super::MonoNs;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepInput {
    /// Which step: the sequence of the mechanism it published.
    pub sequence: u64,
    /// When it began.
    pub began: MonoNs,
    /// The tick whose tool it took; zero before the first.
    pub tool: u64,
    /// The same of the second hand; zero where there is none.
    pub second_tool: u64,
    /// The material order in force; zero before the first.
    pub materials: u64,
    /// Computing time of the step before, ns; zero at the first.
    pub took_ns: u64,
}
