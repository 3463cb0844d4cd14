//! Angular momentum of rigid bodies that are pushed apart.
//!
//! Thread: simulation.
//!
//! A shift of a body that moves changes its angular momentum by `Δx × m v`, and a rotation turns that of its spin. Bodies that touch nothing but each
//! other get it back: all bodies of such a cluster are given one more motion as of one rigid body about its centre of mass. That changes neither
//! the linear momentum nor a velocity at a contact between them. Where a cluster may touch a tool, a soft body or what does not move, or where joints hold
//! it, the others take the momentum.

use super::SimData;
use super::body::Body;
use super::body::rigid::Mover;
use super::constraint::Constraint;
use super::ids::{BodyId, MoverId, PerMover};
use super::source::contact::Contact;
use crate::math::{Mat3, Pose, Vec3, join, split};

/// Clusters of bodies that contacts connect.
struct Clusters {
    root: Vec<usize>,
    /// The cluster touches more than rigid bodies that yield.
    is_held: Vec<bool>,
}

impl Clusters {
    fn of<'a>(
        contacts: impl Iterator<Item = &'a Contact>,
        constraints: &[Constraint],
        movers: &PerMover<Mover>,
        bodies: usize,
    ) -> Self {
        let mut all = Self { root: (0..bodies).collect(), is_held: vec![false; bodies] };
        let free = |mover: MoverId| mover.body().filter(|_| movers[mover].yields()).map(|body| body.0);
        for contact in contacts {
            match contact.movers.map(free) {
                [Some(a), Some(b)] => {
                    let (a, b) = (all.find(a), all.find(b));
                    all.root[b] = a;
                    all.is_held[a] |= all.is_held[b];
                }
                [Some(one), None] | [None, Some(one)] => {
                    let one = all.find(one);
                    all.is_held[one] = true;
                }
                [None, None] => {}
            }
        }
        for constraint in constraints.iter().filter(|constraint| constraint.span().is_some()) {
            for one in constraint.yielding(movers).into_iter().flatten() {
                let one = all.find(one.0);
                all.is_held[one] = true;
            }
        }
        all
    }

    fn find(&self, mut at: usize) -> usize {
        while self.root[at] != at {
            at = self.root[at];
        }
        at
    }
}

/// What moves as one.
#[derive(Clone, Default)]
struct Sum {
    mass_kg: f64,
    /// Sum of mass times place.
    moment: Vec3,
    lost: Vec3,
}

/// Gives bodies that were moved away from the poses in `moved` the angular momentum back that this has taken.
pub(super) fn give_back(moved: &[(BodyId, Pose)], data: &mut SimData) {
    let contacts = data.contacts.iter().chain(&data.tool_contacts);
    let clusters = Clusters::of(contacts, &data.assembly.constraints, &data.movers, data.bodies.len());
    let bodies = &mut data.bodies;
    let mut sums = vec![Sum::default(); bodies.len()];
    for (BodyId(index), before) in moved {
        let Some(body) = bodies[*index].rigid() else { continue };
        let (sum, (v, w)) = (&mut sums[clusters.find(*index)], split(body.twist()));
        let (mass_kg, now) = (body.inertia().mass_kg(), body.pose());
        let spin = body.inertia().inertia_body() * w;
        let way = now.translation.vector - before.translation.vector;
        sum.mass_kg += mass_kg;
        sum.moment += now.translation.vector * mass_kg;
        sum.lost -= way.cross(&v) * mass_kg + now.rotation * spin - before.rotation * spin;
    }
    let mut inertias = vec![Mat3::zeros(); bodies.len()];
    for (BodyId(index), _) in moved {
        let Some(body) = bodies[*index].rigid() else { continue };
        let cluster = clusters.find(*index);
        let turn = body.pose().rotation.to_rotation_matrix();
        let arm = body.pose().translation.vector - sums[cluster].moment / sums[cluster].mass_kg;
        let around = Mat3::identity() * arm.norm_squared() - arm * arm.transpose();
        inertias[cluster] +=
            turn * body.inertia().inertia_body() * turn.transpose() + around * body.inertia().mass_kg();
    }
    for (BodyId(index), _) in moved {
        let cluster = clusters.find(*index);
        let sum = &sums[cluster];
        let (Body::Rigid(body), false) = (&mut bodies[*index], clusters.is_held[cluster]) else { continue };
        let Some(rate) = inertias[cluster].try_inverse().map(|inverse| inverse * sum.lost) else { continue };
        let arm = body.pose().translation.vector - sum.moment / sum.mass_kg;
        let turning = body.pose().rotation.inverse_transform_vector(&rate);
        body.strike(body.twist() + join(&rate.cross(&arm), &turning));
    }
}
