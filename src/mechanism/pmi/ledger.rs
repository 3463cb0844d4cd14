//! Where every joule of a body went.
//!
//! Thread: any (RT safe).
//!
//! `E_N − E_0 = Σ T fᵀv̂ + Σ T f_cᵀv̂ − Σ T v̂ᵀD v̂` (seed 000, eq. 6, with the slack written out). A body steps, then
//! enters what flowed and what it holds now; [`EnergyLedger::balance`] is what does not add up. The running sums are
//! compensated (Neumaier 1974): a plain sum of 1e6 terms would by itself lose the digits the balance is meant to show.

use super::twofold::two_sum;

/// A running sum whose error does not grow with the number of terms.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        let sum = two_sum(self.sum, term);
        self.sum = sum.high;
        self.lost += sum.low;
    }

    /// The sum so far.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.sum + self.lost
    }
}

/// What flowed during one step, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyFlow {
    /// Work done on the body by external forces, `T fᵀv̂`.
    pub work_in_j: f64,
    /// Work done on the body by constraints, `T f_cᵀv̂`; negative where a contact takes energy.
    pub contact_work_j: f64,
    /// Turned into heat by dampers, `T v̂ᵀD v̂`.
    pub dissipated_j: f64,
}

/// Energy of one body since it was last set down.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnergyLedger {
    initial_j: f64,
    kinetic_j: f64,
    potential_j: f64,
    work_in: CompensatedSum,
    contact_work: CompensatedSum,
    dissipated: CompensatedSum,
}

impl EnergyLedger {
    /// A ledger that opens with what the body holds now.
    #[must_use]
    pub fn open(kinetic_j: f64, potential_j: f64) -> Self {
        Self { initial_j: kinetic_j + potential_j, kinetic_j, potential_j, ..Self::default() }
    }

    /// Enters one step: what flowed, and what the body holds after it.
    pub fn record(&mut self, flow: &EnergyFlow, kinetic_j: f64, potential_j: f64) {
        self.work_in.add(flow.work_in_j);
        self.contact_work.add(flow.contact_work_j);
        self.dissipated.add(flow.dissipated_j);
        self.kinetic_j = kinetic_j;
        self.potential_j = potential_j;
    }

    /// Energy the ledger opened with, J.
    #[must_use]
    pub fn initial_j(&self) -> f64 {
        self.initial_j
    }

    /// Kinetic energy now, J.
    #[must_use]
    pub fn kinetic_j(&self) -> f64 {
        self.kinetic_j
    }

    /// Potential energy now, J.
    #[must_use]
    pub fn potential_j(&self) -> f64 {
        self.potential_j
    }

    /// Kinetic and potential energy now, J.
    #[must_use]
    pub fn total_j(&self) -> f64 {
        self.kinetic_j + self.potential_j
    }

    /// Work external forces have done on the body, J.
    #[must_use]
    pub fn work_in_j(&self) -> f64 {
        self.work_in.value()
    }

    /// Work constraints have done on the body, J.
    #[must_use]
    pub fn contact_work_j(&self) -> f64 {
        self.contact_work.value()
    }

    /// Heat, J; never falls when every damper is passive.
    #[must_use]
    pub fn dissipated_j(&self) -> f64 {
        self.dissipated.value()
    }

    /// What does not add up, J: `E − E_0 − work in − contact work + dissipated`. Round-off for a sound body.
    #[must_use]
    pub fn balance(&self) -> f64 {
        let mut sum = CompensatedSum::default();
        for term in [
            self.kinetic_j,
            self.potential_j,
            -self.initial_j,
            -self.work_in_j(),
            -self.contact_work_j(),
            self.dissipated_j(),
        ] {
            sum.add(term);
        }
        sum.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_tenths_add_up_where_a_plain_sum_does_not() {
        let (mut sum, mut plain) = (CompensatedSum::default(), 0.0);
        for _ in 0..1_000_000 {
            sum.add(0.1);
            plain += 0.1;
        }
        assert_eq!(sum.value(), 1e5);
        assert!((plain - 1e5_f64).abs() > 1e-7);
    }

    #[test]
    fn a_small_term_survives_beside_a_large_one_of_either_order() {
        let mut sum = CompensatedSum::default();
        for term in [1.0, 1e100, 1.0, -1e100] {
            sum.add(term);
        }
        assert_eq!(sum.value(), 2.0);
    }

    #[test]
    fn the_balance_shows_energy_that_nobody_paid_for() {
        let mut ledger = EnergyLedger::open(2.0, 1.0);
        let flow = EnergyFlow { work_in_j: 0.5, contact_work_j: -0.25, dissipated_j: 0.125 };
        ledger.record(&flow, 2.0, 1.125);
        assert_eq!(ledger.balance(), 0.0);
        ledger.record(&EnergyFlow::default(), 2.0, 1.375);
        assert_eq!(ledger.balance(), 0.25);
    }
}
