//! A few contacts that stand for all nodes near: patches of pressure, and sentinels for what is next.
//!
//! Thread: simulation or collision (no heap once the buffers have grown). Deterministic.
//!
//! **Patches.** Nodes that carry are gathered about centres that stay from look to look, so that a patch keeps its number
//! and its force is a warm start for the next step. Places and normals count: two flanks of one thread are two patches. A patch is stood
//! for by a point of the surface: the node nearest to the middle of its pressure, moved towards the middle of the pressure on the nodes
//! beside it and put back on the exact surface. On a round part the middle is taken in cylindrical coordinates, along the
//! surface and not through it: the chord of a quarter turn would lie a tenth of the radius inside, and friction on it would have a
//! tenth too short an arm. As pressure moves from one node to the next the point moves with it, so facets are not felt.
//!
//! **Missed.** What these points would let in is added ([`super::missed`]).
//!
//! **Sentinels.** For each of twelve small motions, along and about each axis, the node that would stop it first.
//!
//! **Watch.** For a tool that moves on by itself between two looks, as far as `ρ`: nodes whose planes bound all others, worst first. If
//! node `j` is kept out, node `i` goes in by no more than
//!
//! ```text
//! EQ-WATCH-1  p_i ≤ g_j − g_i + |J_i − J_j| ρ       for every motion ζ with |ζ| ≤ ρ
//! ```
//!
//! **The baseline**, as published: k-means of the nodes that overlap, and the deepest of each cluster (seed 001 IV).

use super::super::Side;
use super::missed::Missed;
use super::near::{Holder, Near, Way};
use super::pressure::Press;
use super::touch::{Touch, gap, put_back, slide};
use crate::math::{Pose, Vec3, Vec6};

/// How nodes are reduced to contacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Patches of pressure, then sentinels.
    #[default]
    Pressure,
    /// k-means of the nodes that would overlap, the deepest of each cluster.
    KMeans,
}

/// Most contacts of one pair that can be asked for.
pub(in super::super) const MOST: usize = 24;
/// Numbers of sentinels begin here; those of patches below.
const SENTINELS: usize = 64;
/// Numbers of watched nodes begin here.
const WATCHED: usize = 128;
/// Share of the contacts that patches may take, when sentinels want some.
const PATCHES: f64 = 2.0 / 3.0;

/// A centre farther than this from every node that carries is given up, in sizes of the part.
const LOST: f64 = 0.5;
/// A node farther than this from every centre begins a patch of its own, in sizes of the part.
const APART: f64 = 0.12;
/// Two centres nearer than this are one.
const TOGETHER: f64 = 0.04;
/// Times the centres move at most in one look.
const ROUNDS: usize = 2;
/// Nodes that carry less than this part of all do not count.
const NOTHING: f64 = 1e-5;
/// Nodes that patches are made of, about.
const SAMPLE: usize = 256;
/// Change of the gap per unit of a motion below which a node stops nothing: it hardly sees the motion.
const SEES: f64 = 0.05;
/// The same from which a patch can be relied on to stop it.
const STOPS: f64 = 0.3;
/// How much less deep than the deepest node of its patch the point that stands for it may be, m.
const SHALLOWER: f64 = 5e-7;
/// How much deeper, m, the nodes of one side must be to stand for a patch in place of those of the side that has more.
const DEEPER: f64 = 2e-7;

/// Depth, m, to which what is watched may let others in.
const CLOSED: f64 = 5e-6;
/// How far a part moves within another that confines it, m, but for where it is free and all rows look the same.
const CONFINED: f64 = 1.5e-3;
/// How far a hand can turn a tool from its way until the next look, m.
const TURNS: f64 = 5e-3;
/// Contacts of a pair that are kept for what is far off.
const FAR_OFF: usize = 8;

/// A node that may go in before the next look.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// With angles in sizes of the part.
    row: Vec6,
    gap: f64,
    /// How deep at most, m.
    depth: f64,
}

/// What can still go in once a node is kept out (EQ-WATCH-1).
fn close(open: &mut [Open], kept: usize, reach: f64) {
    let Open { row, gap, .. } = open[kept];
    for node in open {
        node.depth = node.depth.min(gap - node.gap + (node.row - row).norm() * reach);
    }
}

/// A contact chosen: a point of `side`'s surface.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Chosen {
    /// Tells it from the others of its pair, from look to look.
    pub(in super::super) number: usize,
    pub(in super::super) side: Side,
    /// In the frame of the side's shape.
    pub(in super::super) point: Vec3,
    /// How it touches, where that is known already.
    pub(in super::super) touch: Option<Touch>,
}

/// Number of a node that is a contact as itself.
pub(super) fn watched(side: Side, node: usize) -> usize {
    WATCHED + 2 * node + usize::from(side == Side::B)
}

/// What is remembered of a pair from one look to the next.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Reducer {
    /// Centres of the patches: place in the frame of B's shape, normal likewise.
    centers: [Option<Place>; MOST],
    press: Press,
    missed: Missed,
    /// Nodes that carry, or an even part of them.
    active: Vec<u32>,
    /// Patch of each.
    owner: Vec<u8>,
    /// By side and node of its part: force on it.
    carries: [Vec<f64>; 2],
    /// Motions, as sentinels count them, that a patch stops.
    stopped: [bool; 12],
    chosen: Vec<Chosen>,
    open: Vec<Open>,
}

/// A place and a way out.
#[derive(Clone, Copy, Debug)]
struct Place {
    point: Vec3,
    normal: Vec3,
}

impl Place {
    fn apart(&self, other: &Self, size: f64) -> f64 {
        (self.point - other.point).norm_squared() + size * size * (self.normal - other.normal).norm_squared()
    }
}

/// What one look is made with.
#[derive(Clone, Copy)]
pub(in super::super) struct View<'a> {
    pub(in super::super) near: &'a Near,
    /// What is farther than that, for those who watch.
    pub(in super::super) far: &'a Near,
    pub(in super::super) way: &'a Way,
    pub(in super::super) a: &'a Holder<'a>,
    pub(in super::super) b: &'a Holder<'a>,
    pub(in super::super) origin: &'a Vec3,
    /// Half the size of the smaller part, m.
    pub(in super::super) size: f64,
}

impl View<'_> {
    pub(super) fn holder(&self, side: Side) -> &Holder<'_> {
        if side == Side::A { self.a } else { self.b }
    }

    fn place(&self, node: usize) -> Place {
        Place { point: self.near.point[node], normal: self.near.normal[node] }
    }

    /// A place in the frame of B's shape.
    fn in_b(&self, place: &Place) -> Place {
        moved(place, &self.b.pose.inverse(), self.origin)
    }

    /// And back.
    fn out_of_b(&self, place: &Place) -> Place {
        let turn = &self.b.pose.rotation;
        Place { point: turn * place.point + self.b.pose.translation.vector - self.origin, normal: turn * place.normal }
    }
}

fn moved(place: &Place, to: &Pose, origin: &Vec3) -> Place {
    Place { point: to.rotation * (place.point + origin) + to.translation.vector, normal: to.rotation * place.normal }
}

impl Reducer {
    /// Chooses at most `most` contacts.
    pub(in super::super) fn choose(&mut self, view: &View<'_>, reduction: Reduction, most: usize) -> &[Chosen] {
        self.chosen.clear();
        self.stopped = [false; 12];
        let most = most.min(MOST);
        match reduction {
            Reduction::Pressure => {
                if self.press.spread(view.near, view.way, view.size) {
                    self.patches(view, ((most as f64 * PATCHES) as usize).max(1));
                    if !self.chosen.is_empty() {
                        self.missed.add(view, &mut self.press, &mut self.chosen, most);
                    }
                }
                self.sentinels(view, most);
            }
            Reduction::KMeans => self.k_means(view, most),
        }
        &self.chosen
    }

    fn patches(&mut self, view: &View<'_>, most: usize) {
        self.gather(view);
        if self.active.is_empty() {
            self.centers = [None; MOST];
            return;
        }
        let mut centers = self.recall(view, most);
        self.grow(view, &mut centers, most);
        for _ in 0..ROUNDS {
            self.assign(view, &centers);
            self.recentre(view, &mut centers);
        }
        for first in 0..MOST {
            for second in first + 1..MOST {
                if let (Some(a), Some(b)) = (&centers[first], &centers[second])
                    && a.apart(b, view.size) < (TOGETHER * view.size).powi(2)
                {
                    centers[second] = None;
                }
            }
        }
        self.assign(view, &centers);
        for number in 0..MOST {
            if let Some(chosen) = centers[number].and_then(|_| self.stand_for(view, number)) {
                self.chosen.push(chosen);
            } else {
                centers[number] = None;
            }
        }
        self.centers = centers.map(|center| center.map(|center| view.in_b(&center)));
    }

    /// Lists the nodes that carry, at most about [`SAMPLE`] of them, evenly.
    fn gather(&mut self, view: &View<'_>) {
        let near = view.near;
        for (carries, holder) in self.carries.iter_mut().zip([view.a, view.b]) {
            carries.clear();
            carries.resize(holder.part.map_or(0, |part| part.nodes.len()), 0.0);
        }
        let pressure = &self.press.pressure;
        let least = NOTHING * pressure.iter().sum::<f64>();
        self.active.clear();
        for index in (0..near.len()).filter(|index| pressure[*index] > least) {
            self.carries[near.side[index] as usize][near.node[index] as usize] = pressure[index];
            self.active.push(index as u32);
        }
        let stride = self.active.len().div_ceil(SAMPLE).max(1);
        if stride > 1 {
            let kept = self.active.len() / stride;
            for k in 0..kept {
                self.active[k] = self.active[k * stride];
            }
            self.active.truncate(kept);
        }
    }

    /// The centres of the last look that still have something near them.
    fn recall(&self, view: &View<'_>, most: usize) -> [Option<Place>; MOST] {
        let mut kept = 0;
        self.centers.map(|center| {
            let center = view.out_of_b(&center?);
            let reach = (LOST * view.size).powi(2);
            let near = self.active.iter().any(|i| view.place(*i as usize).apart(&center, view.size) < reach);
            kept += usize::from(near);
            (near && kept <= most).then_some(center)
        })
    }

    /// Adds centres where nodes carry far from all there are: the one with the most load times distance first.
    fn grow(&self, view: &View<'_>, centers: &mut [Option<Place>; MOST], most: usize) {
        while centers.iter().flatten().count() < most {
            let mut best: Option<(f64, usize)> = None;
            for index in &self.active {
                let index = *index as usize;
                let place = view.place(index);
                let apart = nearest(centers, &place, view.size).map_or(f64::INFINITY, |(_, apart)| apart);
                if apart < (APART * view.size).powi(2) {
                    continue;
                }
                let score = self.press.pressure[index] * apart.min(1e3);
                if best.is_none_or(|(most, _)| score > most) {
                    best = Some((score, index));
                }
            }
            let Some((_, index)) = best else { return };
            let Some(free) = centers.iter().position(Option::is_none) else { return };
            centers[free] = Some(view.place(index));
        }
    }

    fn assign(&mut self, view: &View<'_>, centers: &[Option<Place>; MOST]) {
        self.owner.clear();
        for index in &self.active {
            let found = nearest(centers, &view.place(*index as usize), view.size);
            self.owner.push(found.map_or(u8::MAX, |(number, _)| number as u8));
        }
    }

    fn recentre(&self, view: &View<'_>, centers: &mut [Option<Place>; MOST]) {
        let mut sums = [(0.0, Vec3::zeros(), Vec3::zeros()); MOST];
        for (index, owner) in self.active.iter().zip(&self.owner) {
            let (index, owner) = (*index as usize, usize::from(*owner));
            if let Some(sum) = sums.get_mut(owner) {
                let weight = self.press.pressure[index];
                sum.0 += weight;
                sum.1 += view.near.point[index] * weight;
                sum.2 += view.near.normal[index] * weight;
            }
        }
        for (center, (weight, point, normal)) in centers.iter_mut().zip(sums) {
            *center = (weight > 0.0).then(|| Place { point: point / weight, normal: normal / weight });
        }
    }

    /// The point that stands for patch `number`.
    fn stand_for(&mut self, view: &View<'_>, number: usize) -> Option<Chosen> {
        let own = || {
            self.active
                .iter()
                .zip(&self.owner)
                .filter(move |(_, o)| usize::from(**o) == number)
                .map(|(i, _)| *i as usize)
        };
        // Load and least gap of either side's nodes.
        let mut sides = [(0.0, f64::INFINITY); 2];
        for index in own() {
            let side = &mut sides[usize::from(view.near.side[index] == Side::B)];
            *side = (side.0 + self.press.pressure[index], side.1.min(view.near.gap[index]));
        }
        let [a, b] = sides;
        if !(a.0 + b.0 > 0.0) {
            return None;
        }
        let a_has_more = a.0 >= b.0;
        let a_is_deeper = a.1 < b.1 - if a_has_more { -DEEPER } else { DEEPER };
        let side = if a_is_deeper { Side::A } else { Side::B };
        let part = view.holder(side).part?;
        let nodes = || own().filter(|index| view.near.side[*index] == side);
        let at = |index: usize| &part.nodes[view.near.node[index] as usize].position;
        let load = |index: usize| self.press.pressure[index];
        let middle = Middle::of(nodes().map(|index| (*at(index), load(index))), part.is_round);
        let best = nodes().min_by(|a, b| middle.apart(at(*a)).total_cmp(&middle.apart(at(*b))))?;
        // Towards the middle of the pressure on the nodes beside it, and back to the surface.
        let own_node = view.near.node[best];
        let beside = part.beside(own_node as usize);
        let carries = &self.carries[side as usize];
        let around = beside.iter().chain([&own_node]).map(|n| (part.nodes[*n as usize].position, carries[*n as usize]));
        let local = Middle::of(around, part.is_round).point();
        let spacing = beside.iter().map(|n| (part.nodes[*n as usize].position - at(best)).norm());
        let reach = spacing.fold(0.0, f64::max);
        let sound = |p: &Vec3| (p - local).norm() < 0.25 * reach && (p - at(best)).norm() < reach;
        let point = put_back(&*part.surface, &local).filter(sound).unwrap_or(*at(best));
        let (holder, target) = (view.holder(side), view.holder(side.other()));
        let point = if part.nodes[view.near.node[best] as usize].is_edge {
            point
        } else {
            slide(holder, target, &point, 0.5 * reach)
        };
        // Whatever else it stands for, it must stand for the deepest.
        let deepest = nodes().min_by(|a, b| view.near.gap[*a].total_cmp(&view.near.gap[*b]))?;
        let gap = |p: &Vec3| gap(holder, target, p);
        let point = if gap(&point) < gap(at(deepest)) + SHALLOWER { point } else { *at(deepest) };
        let row = view.near.row[best];
        for axis in 0..6 {
            let speed = if axis < 3 { row[axis] } else { row[axis] / view.size };
            self.stopped[2 * axis + usize::from(speed > 0.0)] |= speed.abs() > STOPS;
        }
        Some(Chosen { number, side, point, touch: None })
    }

    /// Adds the nodes that would stop each of twelve motions first, unless a patch does, nearest first, while there is room.
    fn sentinels(&mut self, view: &View<'_>, most: usize) {
        let mut found: [(f64, usize, usize); 12] = [(f64::INFINITY, 0, 0); 12];
        for index in 0..view.near.len() {
            let (row, gap) = (&view.near.row[index], view.near.gap[index].max(0.0));
            for axis in 0..6 {
                let speed = if axis < 3 { row[axis] } else { row[axis] / view.size };
                let motion = 2 * axis + usize::from(speed > 0.0);
                let travel = if speed.abs() > SEES { gap / speed.abs() } else { f64::INFINITY };
                if travel < found[motion].0 {
                    found[motion] = (travel, index, motion);
                }
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        for (travel, index, motion) in found {
            if self.chosen.len() >= most || !travel.is_finite() {
                return;
            }
            if self.stopped[motion] {
                continue;
            }
            let side = view.near.side[index];
            let Some(part) = view.holder(side).part else { continue };
            let point = part.nodes[view.near.node[index] as usize].position;
            let near = |chosen: &Chosen| chosen.side == side && (chosen.point - point).norm() < TOGETHER * view.size;
            if !self.chosen.iter().any(near) {
                self.chosen.push(Chosen { number: SENTINELS + motion, side, point, touch: None });
            }
        }
    }

    /// Adds nodes to watch, of those near and then of those farther off, for a body that goes on as in `outlooks` of its outlooks, but for
    /// what the hand changes meanwhile.
    pub(in super::super) fn watch(&mut self, view: &View<'_>, outlooks: f64, most: usize) -> &[Chosen] {
        let near = view.near;
        self.begin_to_watch(near, &Vec6::zeros(), CONFINED, view.size);
        for at in 0..self.chosen.len() {
            let chosen = self.chosen[at];
            let pose = &view.holder(chosen.side).pose;
            let place = pose.rotation * chosen.point + pose.translation.vector - view.origin;
            let own = (0..near.len()).filter(|i| near.side[*i] == chosen.side);
            let apart = |i: &usize| (near.point[*i] - place).norm_squared();
            if let Some(index) = own.min_by(|a, b| apart(a).total_cmp(&apart(b))) {
                close(&mut self.open, index, CONFINED);
            }
        }
        self.watch_worst(view, near, CONFINED, most - FAR_OFF.min(most));
        let scale = Vec6::new(1.0, 1.0, 1.0, view.size, view.size, view.size);
        // Half way, and as far again either way.
        let half_way = view.way.free.component_mul(&scale) * (0.5 * outlooks);
        let reach = half_way.norm() + TURNS;
        self.begin_to_watch(view.far, &half_way, reach, view.size);
        self.watch_worst(view, view.far, reach, most);
        &self.chosen
    }

    /// Lists the nodes as they are after the motion `ahead`.
    fn begin_to_watch(&mut self, near: &Near, ahead: &Vec6, reach: f64, size: f64) {
        self.open.clear();
        for (index, gap) in near.gap.iter().enumerate() {
            let [a, b, c, d, e, f] = near.row[index];
            let row = Vec6::new(a, b, c, d / size, e / size, f / size);
            let gap = gap.max(0.0) + row.dot(ahead);
            self.open.push(Open { row, gap, depth: row.norm() * reach - gap });
        }
    }

    /// Watches the node that can go in deepest, again and again, until there are `most` contacts.
    fn watch_worst(&mut self, view: &View<'_>, near: &Near, reach: f64, most: usize) {
        while self.chosen.len() < most {
            let worst = (0..near.len()).max_by(|a, b| self.open[*a].depth.total_cmp(&self.open[*b].depth));
            let Some(index) = worst.filter(|index| self.open[*index].depth > CLOSED) else { return };
            close(&mut self.open, index, reach);
            let (side, node) = (near.side[index], near.node[index] as usize);
            let Some(part) = view.holder(side).part else { continue };
            let point = part.nodes[node].position;
            self.chosen.push(Chosen { number: watched(side, node), side, point, touch: None });
        }
    }

    /// The baseline.
    fn k_means(&mut self, view: &View<'_>, most: usize) {
        let near = view.near;
        let ahead = |index: usize| near.gap[index] + Vec6::from_column_slice(&near.row[index]).dot(&view.way.free);
        self.active.clear();
        self.active.extend((0..near.len() as u32).filter(|index| ahead(*index as usize) < 0.0));
        self.press.pressure.clear();
        self.press.pressure.resize(near.len(), 1.0);
        let mut centers = self.recall(view, most);
        self.grow(view, &mut centers, most);
        for _ in 0..ROUNDS {
            self.assign(view, &centers);
            self.recentre(view, &mut centers);
        }
        for number in 0..MOST {
            let own = self.active.iter().zip(&self.owner).filter(|(_, owner)| usize::from(**owner) == number);
            let deepest = own.map(|(i, _)| *i as usize).min_by(|a, b| near.gap[*a].total_cmp(&near.gap[*b]));
            if let Some(index) = deepest
                && let Some(part) = view.holder(near.side[index]).part
            {
                let point = part.nodes[near.node[index] as usize].position;
                self.chosen.push(Chosen { number, side: near.side[index], point, touch: None });
            }
        }
        self.centers = centers.map(|center| center.map(|center| view.in_b(&center)));
    }
}

/// The nearest centre and the square of its distance.
fn nearest(centers: &[Option<Place>; MOST], place: &Place, size: f64) -> Option<(usize, f64)> {
    let mut best = None;
    for (number, center) in centers.iter().enumerate() {
        let Some(center) = center else { continue };
        let apart = center.apart(place, size);
        if best.is_none_or(|(_, least)| apart < least) {
            best = Some((number, apart));
        }
    }
    best
}

/// Middle of weighted points, along the surface of a round part.
struct Middle {
    is_round: bool,
    /// Radius, angle, height; or x, y, z.
    at: Vec3,
}

impl Middle {
    fn of(points: impl Iterator<Item = (Vec3, f64)>, is_round: bool) -> Self {
        let (mut sum, mut weight, mut turn) = (Vec3::zeros(), 0.0, (0.0, 0.0));
        for (p, w) in points {
            if is_round {
                let r = p.x.hypot(p.y);
                sum += Vec3::new(r, 0.0, p.z) * w;
                if r > 0.0 {
                    turn.0 += w * p.x / r;
                    turn.1 += w * p.y / r;
                }
            } else {
                sum += p * w;
            }
            weight += w;
        }
        let mut at = sum / weight;
        if is_round {
            at.y = f64::atan2(turn.1, turn.0);
        }
        Self { is_round, at }
    }

    fn point(&self) -> Vec3 {
        if self.is_round {
            Vec3::new(self.at.x * self.at.y.cos(), self.at.x * self.at.y.sin(), self.at.z)
        } else {
            self.at
        }
    }

    /// Square of the distance along the surface, near enough.
    fn apart(&self, p: &Vec3) -> f64 {
        if !self.is_round {
            return (p - self.at).norm_squared();
        }
        let mut angle = f64::atan2(p.y, p.x) - self.at.y;
        angle -= std::f64::consts::TAU * (angle / std::f64::consts::TAU).round();
        let (r, along) = (p.x.hypot(p.y) - self.at.x, angle * self.at.x);
        r * r + along * along + (p.z - self.at.z).powi(2)
    }
}
