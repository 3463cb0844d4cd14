//! The tip of a needle between two snapshots: surfaces break and channels grow at the haptic rate.
//!
//! Thread: haptic (RT).
//!
//! The simulation knows the needle's channel as it was at its last step. What is broken and cut since is summed up here, moves the
//! end of the channel in the rows of the tip at once, and goes back with the tool: the simulation cuts the same way into its
//! tissue and says in its next snapshot how much of it is in there.

use crate::mechanism::{Block, MAX_BLOCKS, MAX_ROWS, MechanismSnapshot};
use crate::shared::TipReport;

/// How near to its bound a force must be to be at it, as a share of it.
const AT_BOUND: f64 = 1e-9;
/// Farthest that is cut in one tick, m: a needle that goes through all of a body at once is a fault of the numbers.
const MOST_M: f64 = 0.02;

/// See the file's head.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tip {
    done: TipReport,
    /// What the snapshot in use knows of it.
    known: TipReport,
    grows_n_per_m: f64,
    /// There is something to break before it cuts.
    whole: bool,
    /// The tip's block in the snapshot, and its first row.
    place: Option<(usize, usize)>,
}

impl Tip {
    pub(super) fn report(&self) -> TipReport {
        self.done
    }

    /// First row of the tip's block.
    pub(super) fn row(&self) -> Option<usize> {
        self.place.map(|(_, row)| row)
    }

    /// How much farther the channel goes than the snapshot says, m.
    pub(super) fn ahead_m(&self) -> f64 {
        (self.done.advanced_m - self.known.advanced_m).max(0.0)
    }

    /// Finds the tip in a new snapshot.
    pub(super) fn adopt(&mut self, snapshot: &MechanismSnapshot) {
        self.place = None;
        let Some(mark) = snapshot.tip else { return };
        let found = snapshot.blocks().iter().position(|block| block.id == mark.block && block.law.breaks());
        self.place = found.map(|index| (index, snapshot.blocks[index].first));
        (self.known, self.grows_n_per_m) = (mark.known, mark.grows_n_per_m);
        self.whole = found.is_some_and(|index| snapshot.blocks[index].law.broken() != snapshot.blocks[index].law);
    }

    /// Gives the tip the law it has by now.
    pub(super) fn sharpen(&self, snapshot: &MechanismSnapshot, blocks: &mut [Block; MAX_BLOCKS]) {
        let Some((index, _)) = self.place.filter(|(index, _)| *index < snapshot.block_count) else { return };
        let given = snapshot.blocks[index].law;
        let law = if self.done.breaks > self.known.breaks { given.broken() } else { given };
        let law = law.strengthened(self.grows_n_per_m * self.ahead_m());
        blocks[index].law = law.giving(blocks[index].law.compliance());
    }

    /// Lets the channel grow where the tip's force is at its bound; the violation there is then none.
    pub(super) fn cut(&mut self, blocks: &[Block], lambda: &[f64], gaps: &mut [f64; MAX_ROWS]) {
        let Some((index, row)) = self.place else { return };
        let Some(law) = blocks.get(index).map(|block| block.law) else { return };
        let Some(most_n) = law.bound_n() else { return };
        // What the tissue in front of the tip gives way by is no channel.
        let beyond = -(gaps[row] + law.compliance() * lambda[row]);
        if lambda[row] >= most_n * (1.0 - AT_BOUND) && beyond > 0.0 {
            self.done.breaks += u64::from(self.whole && self.done.breaks == self.known.breaks);
            let way = beyond.min(MOST_M);
            self.done.advanced_m += way;
            gaps[row] += way;
        }
    }
}
