//! Cavities: air between a soft body and whatever it is pressed against.
//!
//! Thread: simulation.
//!
//! At the start of a step the surface of every soft body is compared with every tool and every body that does not deform
//! ([`crate::geometry::cavity`]): closed parts are found, and cavities of the step before are recognised in them by their vertices. Each cavity is one
//! row, whose law is that of its gas: violation is its volume at the end of the step over a fixed area, force its pressure above the ambient one
//! times that area.
//!
//! The amount of air is kept as `E = n R T_w`, J, with the temperature `T_w` of the walls, and in a ledger: air comes in with a new cavity, by leaks
//! and by nothing else; it goes when the pressure reaches its bound, when a cavity is opened and by leaks. Merged cavities have the sum, the parts of
//! one that is split share by volume. What the law has no row for, a difference between the volume that the row predicted and that of the surface
//! at the start of the next step, changes the pressure and not the amount.
//!
//! Rows in units of length and force are as large as those of contacts. The area is that of the first patch of the cavity and stays, so that
//! snapshots can be compared.

use super::super::assemble::Assembly;
use super::super::body::rigid::Mover;
use super::super::body::surface::SoftSkin;
use super::super::body::{Anchor, Body};
use super::super::constraint::{Constraint, End, Span, Wall};
use super::super::ids::{BodyId, HandId, MoverId, PerMover};
use super::super::model::AirModel;
use crate::geometry::Surface;
use crate::geometry::cavity::{Found, Measure, Net, Seats};
use crate::math::{Pose, Vec3};
use crate::mechanism::{ADIABATIC_INDEX, BlockId, Law};
use crate::shared::{SuctionView, ToolSample};
use std::sync::Arc;

/// Part of the area over which a new cavity is a dent of the mesh and no cavity, as a depth in sealing distances.
const DENT: f64 = 1.0;

/// Air that came and went since the beginning, as `n R T`, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AirLedger {
    /// With new cavities.
    pub enclosed_j: f64,
    /// Through leaks; negative when more went out than came in.
    pub leaked_j: f64,
    /// Squeezed out at the largest pressure.
    pub squeezed_j: f64,
    /// Lost when cavities were opened or vanished.
    pub released_j: f64,
}

impl AirLedger {
    /// What must be in the cavities now.
    #[must_use]
    pub fn held_j(&self) -> f64 {
        self.enclosed_j + self.leaked_j - self.squeezed_j - self.released_j
    }
}

/// A cavity as observers see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CavityState {
    /// Its number, which it keeps.
    pub number: u32,
    /// The soft body.
    pub body: BodyId,
    /// Absolute pressure at the end of the step, Pa.
    pub pressure_pa: f64,
    /// Volume at the end of the step, m³.
    pub volume_m3: f64,
    /// Air as `n R T` at the temperature of the walls, J.
    pub air_j: f64,
    /// Temperature over that of the walls.
    pub heat: f64,
    /// Area of its wall on the soft body, m².
    pub area_m2: f64,
    /// Mean direction in which the pressure acts on the soft body, with the projected area as its length, m².
    pub pull_m2: Vec3,
}

/// A cavity.
#[derive(Clone, Debug)]
struct Cavity {
    state: CavityState,
    other: MoverId,
    seats: Seats,
    /// Area that volume and pressure are scaled by, m².
    scale_m2: f64,
    law: Law,
    measure: Measure,
    /// Places of the wall on the other body are measured at this pose.
    at: Pose,
}

/// A soft body whose surface can enclose air.
struct Cup {
    body: BodyId,
    skin: Arc<SoftSkin>,
    net: Net,
}

/// See the file's head.
#[derive(Default)]
pub(in crate::sim) struct Cavities {
    model: Option<AirModel>,
    cups: Vec<Cup>,
    cavities: Vec<Cavity>,
    next: u32,
    ledger: AirLedger,
    shown: Vec<CavityState>,
    points: Vec<Vec3>,
    feet: Vec<Vec3>,
    gaps: Vec<f64>,
}

impl Cavities {
    /// For the bodies of a scene.
    pub(in crate::sim) fn new(model: Option<AirModel>, bodies: &[Body]) -> Self {
        let cup = |(index, body): (usize, &Body)| {
            let Body::Corotational(body) = body else { return None };
            let skin = body.model().surface.clone();
            let net = Net::new(skin.nodes.len(), skin.surface.triangles());
            Some(Cup { body: BodyId(index), skin, net })
        };
        let cups = bodies.iter().enumerate().filter_map(cup).filter(|_| model.is_some()).collect();
        Self { model, cups, ..Self::default() }
    }

    /// The cavities after the last step.
    pub(in crate::sim) fn shown(&self) -> &[CavityState] {
        &self.shown
    }

    /// What can be seen of all of them; none in a scene without air.
    pub(in crate::sim) fn view(&self) -> Option<SuctionView> {
        let ambient = self.model?.pressure_pa;
        let least = self.shown.iter().map(|cavity| cavity.pressure_pa).fold(ambient, f64::min);
        Some(SuctionView {
            cavities: self.shown.len() as u32,
            pressure_pa: least,
            suction_pa: ambient - least,
            volume_m3: self.shown.iter().map(|cavity| cavity.volume_m3).sum(),
            air_j: self.shown.iter().map(|cavity| cavity.air_j).sum(),
        })
    }

    /// Account of the air.
    pub(in crate::sim) fn ledger(&self) -> &AirLedger {
        &self.ledger
    }

    /// Finds the cavities at the start of the step.
    pub(in crate::sim) fn find(&mut self, bodies: &[Body], movers: &PerMover<Mover>, step_s: f64) {
        let Some(model) = self.model else { return };
        let cups = std::mem::take(&mut self.cups);
        for cup in &cups {
            for other in movers.ids() {
                let is_soft = match other {
                    // The shape of a tool that is soft touches nothing.
                    MoverId::Tool(hand) => bodies.iter().any(|body| body.hand() == Some(hand)),
                    MoverId::Body(body) => bodies[body].is_soft(),
                };
                if !is_soft {
                    self.find_between(&model, cup, other, bodies, movers);
                }
            }
        }
        self.cups = cups;
        for cavity in &mut self.cavities {
            self.ledger.leaked_j += cavity.leak(&model, step_s);
            cavity.make_law(&model, step_s);
        }
    }

    fn find_between(&mut self, model: &AirModel, cup: &Cup, other: MoverId, bodies: &[Body], movers: &PerMover<Mover>) {
        let mine = |cavity: &Cavity| cavity.state.body == cup.body && cavity.other == other;
        let (old, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.cavities).into_iter().partition(mine);
        self.cavities = kept;
        let mover = &movers[other];
        if !self.place(model, cup, mover, bodies) {
            self.ledger.released_j += old.iter().map(|cavity| cavity.state.air_j).sum::<f64>();
            return;
        }
        let before: Vec<Seats> = old.iter().map(|cavity| cavity.seats.clone()).collect();
        let (found, _) = cup.net.track(&before, &self.gaps, model.seal_m);
        let measure = |found: &Found| cup.net.measure(&found.seats, &self.points, &self.feet, &self.gaps, model.seal_m);
        let measures: Vec<Measure> = found.iter().map(measure).collect();
        let named = |at: &usize| found.iter().any(|found| found.from.contains(at));
        self.ledger.released_j += (0..old.len()).filter(|at| !named(at)).map(|at| old[at].state.air_j).sum::<f64>();
        let shares = shares(&old, &found, &measures);
        for ((found, measure), air) in found.iter().zip(measures).zip(shares) {
            self.go_on(model, (cup.body, other), &old, found, (measure, air), mover.pose);
        }
    }

    /// Places of the surface, and its distances from a mover; false where nothing touches.
    fn place(&mut self, model: &AirModel, cup: &Cup, mover: &Mover, bodies: &[Body]) -> bool {
        let body = &bodies[cup.body];
        let (Some(fem), Some(frame)) = (body.fem(), body.frame()) else { return false };
        let pose = &frame.before;
        let shape = mover.pose * mover.pose_body_shape;
        let inverse = shape.inverse();
        self.points.clear();
        self.feet.clear();
        self.gaps.clear();
        for node in &cup.skin.nodes {
            let local = fem.rest()[*node as usize] + body.node_shifts(*node)[0];
            let point = pose.rotation * local + pose.translation.vector;
            let found = mover.shape.signed_distance(&(inverse.rotation * point + inverse.translation.vector));
            self.points.push(point);
            self.feet.push(point - shape.rotation * found.normal * found.distance);
            self.gaps.push(found.distance);
        }
        self.gaps.iter().any(|gap| *gap <= model.seal_m)
    }

    /// A cavity of now, from those of before.
    fn go_on(
        &mut self,
        model: &AirModel,
        (body, other): (BodyId, MoverId),
        old: &[Cavity],
        found: &Found,
        (measure, (air_j, heat)): (Measure, (f64, f64)),
        at: Pose,
    ) {
        let largest = found.from.iter().map(|at| &old[*at]).max_by(|a, b| a.state.air_j.total_cmp(&b.state.air_j));
        let taken = |number: u32| self.cavities.iter().any(|cavity| cavity.state.number == number);
        let pull_m2 = measure.gradient.iter().map(|(_, part)| part).sum();
        let mut state = CavityState {
            number: self.next,
            body,
            pressure_pa: model.pressure_pa,
            volume_m3: measure.volume_m3.max(0.0),
            air_j,
            heat,
            area_m2: measure.area_m2,
            pull_m2,
        };
        let mut scale_m2 = measure.area_m2;
        match largest {
            Some(before) => {
                scale_m2 = before.scale_m2;
                state.pressure_pa = before.state.pressure_pa;
                if !taken(before.state.number) {
                    state.number = before.state.number;
                }
            }
            None => {
                // Dents between nodes in contact hold no air worth a row.
                if measure.volume_m3 <= DENT * model.seal_m * measure.area_m2 {
                    return;
                }
                state.air_j = model.pressure_pa * measure.volume_m3;
                self.ledger.enclosed_j += state.air_j;
            }
        }
        self.next += u32::from(state.number == self.next);
        let law = Law::Bilateral { rows: 1, compliance: 0.0 };
        self.cavities.push(Cavity { state, other, seats: found.seats.clone(), scale_m2, law, measure, at });
    }

    /// Adds the rows.
    pub(in crate::sim) fn gather(
        &self,
        bodies: &[Body],
        movers: &PerMover<Mover>,
        tools: &[ToolSample],
        out: &mut Vec<Constraint>,
    ) {
        for cavity in &self.cavities {
            let Some(cup) = self.cups.iter().find(|cup| cup.body == cavity.state.body) else { continue };
            let share = 1.0 / cavity.scale_m2;
            let part = |(vertex, part): &(u32, Vec3)| (cup.skin.nodes[*vertex as usize], part * share);
            let parts: Arc<[(u32, Vec3)]> = cavity.measure.gradient.iter().map(part).collect();
            let wall = cavity.wall(&cup.skin, bodies, share);
            let own = End::Soft { body: cup.body, anchor: Anchor::Area(parts) };
            let on_tool = bodies[cup.body].hand().is_some();
            let other = match cavity.other {
                mover @ MoverId::Tool(HandId(hand)) => End::LedWall { mover, wall, end: tools[hand].pose_world_tool },
                mover if movers[mover].yields() && on_tool => End::LedWall { mover, wall, end: wall.at },
                mover if movers[mover].yields() => End::Wall { mover, wall, rows: Default::default() },
                mover => End::Still { body: mover.body(), point: Vec3::zeros() },
            };
            let mut span = Span::new([own, other], [Vec3::x(); 3]);
            span.offset = cavity.measure.volume_m3 * share - span.at_start(bodies);
            out.push(Constraint::of_span(BlockId::Cavity(cavity.state.number), cavity.law, span));
        }
    }

    /// Takes what the solve of the step has found.
    pub(in crate::sim) fn take(&mut self, assembly: &Assembly, step_s: f64) {
        let Some(model) = self.model else { return };
        for constraint in &assembly.constraints {
            let BlockId::Cavity(number) = constraint.id else { continue };
            let Some(cavity) = self.cavities.iter_mut().find(|cavity| cavity.state.number == number) else { continue };
            let force = assembly.lambda[constraint.first];
            let volume_m3 = assembly.violation(constraint.first) * cavity.scale_m2;
            self.ledger.squeezed_j += cavity.take(&model, force, volume_m3, step_s);
        }
        self.shown.clear();
        self.shown.extend(self.cavities.iter().map(|cavity| cavity.state));
    }
}

/// Air and temperature of each cavity of now: what the old ones had, those that were split by volume.
fn shares(old: &[Cavity], found: &[Found], measures: &[Measure]) -> Vec<(f64, f64)> {
    let volume = |at: usize| measures[at].volume_m3.max(0.0) + f64::MIN_POSITIVE;
    let of_all = |at: &usize| (0..found.len()).filter(|now| found[*now].from.contains(at)).map(volume).sum::<f64>();
    let share = |now: usize| {
        let air = |at: &usize| old[*at].state.air_j * (volume(now) / of_all(at));
        let sum: f64 = found[now].from.iter().map(air).sum();
        let warm: f64 = found[now].from.iter().map(|at| air(at) * old[*at].state.heat).sum();
        (sum, if sum > 0.0 { warm / sum } else { 1.0 })
    };
    (0..found.len()).map(share).collect()
}

impl Cavity {
    /// The wall on the other body: the opposite of the sum over the soft one, so that the two forces are equal and opposite.
    fn wall(&self, skin: &SoftSkin, bodies: &[Body], share: f64) -> Wall {
        let (mut area, mut moment) = (Vec3::zeros(), Vec3::zeros());
        let body = &bodies[self.state.body];
        let (Some(fem), Some(frame)) = (body.fem(), body.frame()) else {
            return Wall { area, moment, at: self.at };
        };
        let pose = &frame.before;
        for (vertex, part) in &self.measure.gradient {
            let node = skin.nodes[*vertex as usize];
            let local = fem.rest()[node as usize] + body.node_shifts(node)[0];
            let arm = pose.rotation * local + pose.translation.vector - self.at.translation.vector;
            area += part * share;
            moment += arm.cross(part) * share;
        }
        Wall { area, moment, at: self.at }
    }

    /// Air that comes in through the leak in a step, J. A leak evens the pressures out without going beyond.
    fn leak(&mut self, model: &AirModel, step_s: f64) -> f64 {
        let (ambient, volume, before) = (model.pressure_pa, self.state.volume_m3, self.state.air_j);
        let slit = model.leak_per_pa_s;
        if slit > 0.0 && volume > 0.0 {
            // dp/dt = (k/V) (p₀² − p²), with the volume as it is.
            let ratio = before / (ambient * volume);
            let (rate, even) = (slit * ambient * step_s / volume, 1.0);
            let grown = (rate * even).tanh();
            self.state.air_j = ambient * volume * (ratio + grown) / (1.0 + ratio * grown);
        } else if slit > 0.0 {
            self.state.air_j = before + slit * ambient * ambient * step_s;
        }
        self.state.air_j = (self.state.air_j + model.leak_w * step_s).max(0.0);
        self.state.air_j - before
    }

    /// Share of the heat that the gas keeps over a step.
    fn kept(model: &AirModel, step_s: f64) -> f64 {
        if model.relaxation_s > 0.0 { (-step_s / model.relaxation_s).exp() } else { 0.0 }
    }

    fn make_law(&mut self, model: &AirModel, step_s: f64) {
        let kept = Self::kept(model, step_s);
        let air = self.state.air_j;
        let depth_m = self.state.volume_m3.max(self.measure.volume_m3) / self.scale_m2;
        let kept_j = if depth_m > 0.0 { air * self.state.heat * kept } else { 0.0 };
        self.law = Law::Gas {
            ambient_n: model.pressure_pa * self.scale_m2,
            most_n: model.excess_pa * self.scale_m2,
            bath_j: air * (1.0 - kept),
            kept_j,
            depth_m,
            compliance: 0.0,
        };
    }

    /// State at the end of the step; gives the air that was squeezed out, J.
    fn take(&mut self, model: &AirModel, force_n: f64, volume_m3: f64, step_s: f64) -> f64 {
        let Law::Gas { depth_m, .. } = self.law else { return 0.0 };
        let kept = Self::kept(model, step_s);
        let fallen = if !(volume_m3 > 0.0) || depth_m <= 0.0 || kept == 0.0 {
            1.0
        } else {
            (depth_m * self.scale_m2 / volume_m3).powf(ADIABATIC_INDEX - 1.0)
        };
        self.state.heat = (1.0 - kept) + kept * self.state.heat * fallen;
        self.state.pressure_pa = (model.pressure_pa + force_n / self.scale_m2).max(0.0);
        self.state.volume_m3 = volume_m3.max(0.0);
        // At most what fills the volume at the largest pressure.
        let most_pa = model.pressure_pa + model.excess_pa;
        let left = (most_pa * self.state.volume_m3 / self.state.heat).min(self.state.air_j);
        let lost = self.state.air_j - left;
        self.state.air_j = left;
        lost
    }
}
