//! Nodes that the contacts chosen so far would let in.
//!
//! Thread: simulation or collision (no heap once the buffers have grown). Deterministic.
//!
//! A nut on the flanks of its bolt is held by a thousand nodes, and eight points that carry its load now may leave a way out: with all of
//! them on one diagonal it tips about the other, and a few micrometres on it is kicked back. So it is tried where the chosen
//! contacts alone would let the bodies go, as rigid as [`super::pressure`] can make them; the node that this motion takes in
//! deepest is added, and it is tried again.
//!
//! ```text
//! EQ-MISS-1  worst = min over i:  max(0, g_i) + J_i ζ(chosen)        added while worst < −τ
//! ```

use super::super::Side;
use super::near::Near;
use super::pressure::Press;
use super::reduce::{Chosen, View, watched};
use super::touch::Touch;
use crate::math::{Vec3, Vec6};

/// Depth, m, to which a node may be let in.
const LET_IN: f64 = 5e-8;
/// Nodes that are asked for their exact distance, at most, for each contact that is added.
const ASKED: usize = 2;

/// Room for the work, kept from look to look.
#[derive(Clone, Debug, Default)]
pub(super) struct Missed {
    /// Gap of each node near, as far as it is known.
    gap: Vec<f64>,
    /// Rows, with angles in sizes of the part, and gaps of the chosen contacts.
    contacts: Vec<(Vec6, f64)>,
}

impl Missed {
    /// Adds what the contacts in `chosen` would let in, until there are `most`.
    pub(super) fn add(&mut self, view: &View<'_>, press: &mut Press, chosen: &mut Vec<Chosen>, most: usize) {
        self.contacts.clear();
        for contact in chosen.iter_mut() {
            self.contacts.push(row_of(view, contact));
        }
        self.gap.clear();
        self.gap.extend(view.near.gap.iter().map(|gap| gap.max(0.0)));
        let mut asked = ASKED * most.saturating_sub(chosen.len());
        while asked > 0 && chosen.len() < most {
            let Some(motion) = press.foresee(&self.contacts, view.way, view.size) else { return };
            while asked > 0 {
                let Some(index) = self.worst(view.near, &motion, view.size) else { return };
                asked -= 1;
                let (side, node) = (view.near.side[index], view.near.node[index] as usize);
                let Some(part) = view.holder(side).part else { return };
                let point = part.nodes[node].position;
                let mut contact = Chosen { number: watched(side, node), side, point, touch: None };
                let (row, gap) = row_of(view, &mut contact);
                self.gap[index] = gap.max(0.0);
                if gap + row.dot(&motion) < -LET_IN {
                    self.contacts.push((row, gap));
                    chosen.push(contact);
                    break;
                }
            }
        }
    }

    /// The node that a motion takes in deepest, if any.
    fn worst(&self, near: &Near, motion: &Vec6, size: f64) -> Option<usize> {
        let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|k| if k < 3 { motion[k] } else { motion[k] / size });
        let (mut least, mut worst) = (-LET_IN, None);
        for (index, (row, gap)) in near.row.iter().zip(&self.gap).enumerate() {
            let after = gap + a * row[0] + b * row[1] + c * row[2] + d * row[3] + e * row[4] + f * row[5];
            if after < least {
                (least, worst) = (after, Some(index));
            }
        }
        worst
    }
}

/// Row and gap of a contact, which keeps how it touches.
fn row_of(view: &View<'_>, contact: &mut Chosen) -> (Vec6, f64) {
    let (holder, target) = (view.holder(contact.side), view.holder(contact.side.other()));
    let touch = *contact.touch.get_or_insert_with(|| Touch::of(holder, target, &contact.point));
    let of_b = touch.flipped == (contact.side == Side::B);
    let normal: Vec3 = if of_b { touch.outward } else { -touch.outward };
    let moment = (touch.point - view.origin).cross(&normal) / view.size;
    (Vec6::new(normal.x, normal.y, normal.z, moment.x, moment.y, moment.z), touch.gap.max(0.0))
}
