//! The channel of a needle, in the tissue at rest.
//!
//! Thread: simulation.
//!
//! A channel is a line of material points from its entry to its end. It grows at its end alone. Its direction there is carried on from
//! what was cut before, turned by the curvature of a bevelled tip (Webster et al. 2006: a bevel steers along a circle), and drawn to
//! the direction of the needle over a short way, so that a needle which is tilted in the tissue cuts where it points. The deviation of the two is
//! taken at the last point of the shaft and not at the tip: a beam has no bending moment at its end and is always a little
//! straighter there than the channel.

use super::super::super::body::Point;
use super::super::super::body::tissue::Tissue;
use super::super::super::ids::BodyId;
use crate::math::Vec3;

/// Way over which a channel takes on the direction of the needle, m.
const TAKES_ON_M: f64 = 0.01;
/// Length of a piece of the line, m.
const PIECE_M: f64 = 1e-3;
/// Where the first point along the shaft is, and how far the tip must be past a point for it to count, in spacings.
const FIRST: f64 = 0.1;
const PAST: f64 = 0.25;

/// A point along the channel at which it holds the shaft.
#[derive(Clone, Debug)]
pub(super) struct Knot {
    pub id: u64,
    /// Way along the channel, m.
    pub at_m: f64,
    pub point: Point,
    /// Way along the needle that is here, from the hub, m.
    pub needle_m: f64,
    /// Friction of the last step, as a share of what it can be.
    pub share: f64,
}

/// See the file's head.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub tissue: BodyId,
    /// At rest, from the entry on; the last one is the end.
    line: Vec<Vec3>,
    /// Way to each of them, m.
    ways: Vec<f64>,
    pub knots: Vec<Knot>,
    pub end: Point,
    /// Direction at the end, at rest.
    direction: Vec3,
    /// It leads out again at its end.
    pub through: bool,
    /// The needle is in it.
    pub occupied: bool,
    /// The layer that its end has broken into and not yet reached.
    pub broken_into: Option<usize>,
    spacing_m: f64,
    spread_m: f64,
}

/// How a needle cuts on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steer {
    /// Direction of the needle less that of the channel, in the world.
    pub deviation: Vec3,
    /// What a bevel adds for each metre, in the world, 1/m.
    pub bevel: Vec3,
}

impl Path {
    /// A channel that begins at a point of the tissue and goes in `direction` of the world.
    pub(super) fn begin(tissue: BodyId, body: &Tissue, entry: Point, direction: &Vec3, sizes: (f64, f64)) -> Self {
        Self {
            tissue,
            line: vec![entry.rest],
            ways: vec![0.0],
            knots: Vec::new(),
            end: entry,
            direction: body.inwards(direction),
            through: false,
            occupied: true,
            broken_into: None,
            spacing_m: sizes.0,
            spread_m: sizes.1,
        }
    }

    pub(super) fn length_m(&self) -> f64 {
        self.ways.last().copied().unwrap_or(0.0)
    }

    pub(super) fn entry(&self) -> Vec3 {
        self.line[0]
    }

    /// Direction of the channel at its end, in the world.
    pub(super) fn heading(&self, body: &Tissue) -> Vec3 {
        let before = body.point(self.end.rest - self.direction * PIECE_M, self.spread_m);
        let way = body.now(&self.end) - body.now(&before);
        way.try_normalize(1e-9).unwrap_or_else(|| body.pose().rotation * self.direction)
    }

    /// Direction of the channel at a knot, in the world.
    pub(super) fn heading_at(&self, body: &Tissue, at_m: f64) -> Vec3 {
        let here = body.point(self.at(at_m + PIECE_M), self.spread_m);
        let before = body.point(self.at(at_m - PIECE_M), self.spread_m);
        let way = body.now(&here) - body.now(&before);
        way.try_normalize(1e-9).unwrap_or_else(|| body.pose().rotation * self.direction)
    }

    /// The material point so far along, at rest; carried on straight before the entry and behind the end.
    pub(super) fn at(&self, at_m: f64) -> Vec3 {
        let upper = self.ways.partition_point(|way| *way < at_m).clamp(1, self.ways.len().max(2) - 1);
        let (Some(to), Some(from)) = (self.line.get(upper), self.line.get(upper - 1)) else {
            return self.line[0] + self.direction * at_m;
        };
        let length = (self.ways[upper] - self.ways[upper - 1]).max(1e-12);
        from + (to - from) * ((at_m - self.ways[upper - 1]) / length)
    }

    /// A point of the channel, for rows.
    pub(super) fn point(&self, body: &Tissue, at_m: f64) -> Point {
        body.point(self.at(at_m), self.spread_m)
    }

    /// Cuts on by `way_m` of the world, as far as the skin of the next layer if that is not broken.
    pub(super) fn cut(&mut self, body: &Tissue, way_m: f64, steer: &Steer, next_id: &mut u64) {
        let mut left = way_m;
        while left > 1e-12 && !self.through {
            let piece = left.min(PIECE_M);
            left -= piece;
            if !self.cut_piece(body, piece, steer) {
                break;
            }
        }
        let due = |path: &Self| path.spacing_m * (path.knots.len() as f64 + FIRST);
        while due(self) < self.length_m() {
            let at_m = due(self);
            let point = self.point(body, at_m);
            self.knots.push(Knot { id: *next_id, at_m, point, needle_m: 0.0, share: 0.0 });
            *next_id += 1;
        }
    }

    /// The layer that begins at most `ahead_m` behind the end, if its skin has to be broken first: by its index.
    pub(super) fn skin_ahead(&self, body: &Tissue, ahead_m: f64) -> Option<usize> {
        self.skin_before(body, &self.at(self.length_m() + ahead_m))
    }

    fn skin_before(&self, body: &Tissue, point: &Vec3) -> Option<usize> {
        let layers = &body.model.layers;
        let (here, next) = (body.model.layer_at(&self.end.rest)?, body.model.layer_at(point)?);
        (next != here && self.broken_into != Some(next) && layers[next].enter_n > layers[here].cut_n).then_some(next)
    }

    /// One piece; false when there is something to break first.
    fn cut_piece(&mut self, body: &Tissue, piece: f64, steer: &Steer) -> bool {
        let heading = self.heading(body);
        let bend = steer.bevel * piece + steer.deviation * (piece / TAKES_ON_M).min(1.0);
        let turned = (heading + bend).try_normalize(1e-9).unwrap_or(heading);
        let goal = body.now(&self.end) + turned * piece;
        let end = body.behind(&goal, &(self.end.rest + self.direction * piece), self.spread_m);
        if self.skin_before(body, &end.rest).is_some() {
            return false;
        }
        if body.model.layer_at(&end.rest).is_none() {
            self.through = true;
            return false;
        }
        if let Some(direction) = (end.rest - self.end.rest).try_normalize(1e-9) {
            self.direction = direction;
        }
        let way = (end.rest - self.end.rest).norm();
        let last = self.length_m();
        // The last piece grows until it is whole.
        if self.ways.len() > 1 && last - self.ways[self.ways.len() - 2] + way <= PIECE_M {
            self.line.pop();
            self.ways.pop();
        }
        self.line.push(end.rest);
        self.ways.push(last + way);
        self.end = end;
        true
    }

    /// Knots that hold the shaft when the tip is so far along, each with the length of shaft it stands for.
    pub(super) fn holding(&self, tip_m: f64) -> impl Iterator<Item = (usize, f64)> + '_ {
        let past = PAST * self.spacing_m;
        let count = self.knots.iter().take_while(|knot| knot.at_m + past < tip_m).count();
        let inside = tip_m.min(self.length_m());
        (0..count).map(move |k| {
            let at = |k: usize| self.knots[k].at_m;
            let low = if k == 0 { 0.0 } else { 0.5 * (at(k - 1) + at(k)) };
            let high = if k + 1 == count { inside } else { 0.5 * (at(k) + at(k + 1)) };
            (k, (high - low).max(0.0))
        })
    }
}
