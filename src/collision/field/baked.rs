//! A model made beforehand, in the coordinates of its part's symmetry, clipped by the planes and cones that end the part.
//!
//! Thread: simulation or collision (no heap); made cold.
//!
//! The distance is the greater of the model's and those of the cuts: exact inside and where a face is nearest, too small
//! beyond a rim, never too large by more than the model's error.

use super::coordinates::Turn;
use super::cut::farthest;
use super::lanes::{LANES, dispatch};
use super::profile::ProfileQuery;
use super::{Answers, BlockGrid, Cut, Distance, DistanceField, FEATURES, Floor, Network, Nodes, SourceHash, Symmetry};
use crate::geometry::Aabb;
use crate::math::Vec3;

/// What stands for the surface.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// A grid over two coordinates.
    Profile(BlockGrid<2>),
    /// A grid over three.
    Space(BlockGrid<3>),
    /// A network.
    Network(Box<Network>),
}

/// A baked field.
#[derive(Clone, Debug, PartialEq)]
pub struct Baked {
    /// Symmetry of the part.
    pub symmetry: Symmetry,
    /// What ends it.
    pub cuts: Vec<Cut>,
    /// Its surface between the ends.
    pub model: Model,
    /// Farthest distance that the model knows, m; beyond it answers are bounds.
    pub band: f64,
    /// Box around the part.
    pub bounds: Aabb,
    /// Hash of the description it was made from.
    pub source: SourceHash,
}

impl Baked {
    /// Distance and derivatives by the coordinates, without the cuts.
    fn model_value(&self, at: &[f64; 3]) -> (f64, [f64; 3]) {
        match &self.model {
            Model::Profile(grid) => {
                let (value, [a, b]) = grid.value(&[at[0], at[1]]);
                (value, [a, b, 0.0])
            }
            Model::Space(grid) => grid.value(at),
            Model::Network(network) => {
                if let Some(bound) = network.input().outside(at) {
                    return bound;
                }
                let (value, slopes) = network.value(at);
                (value.clamp(-self.band, self.band), slopes)
            }
        }
    }

    /// Memory that a query may touch, bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.model {
            Model::Profile(grid) => grid.size(),
            Model::Space(grid) => grid.size(),
            Model::Network(_) => size_of::<Network>(),
        }
    }

    /// A cut alone settles it where the part is farther than the band.
    fn settled(&self, cut: Option<Distance>) -> Option<Distance> {
        cut.filter(|c| c.value > self.band)
    }

    /// The greater of model and cut.
    fn clipped(&self, point: &Vec3, (value, slopes): (f64, [f64; 3]), cut: Option<Distance>) -> Distance {
        match cut {
            Some(cut) if cut.value >= value => cut,
            _ => Distance { value, gradient: self.symmetry.gradient(point, &slopes) },
        }
    }

    fn query_network(&self, network: &Network, nodes: &Nodes<'_>, within: f32, out: &mut Answers<'_>) {
        let mut batch = Batch::new();
        for k in 0..nodes.len().min(out.room()) {
            let point = nodes.point(k);
            let cut = farthest(&self.cuts, &point);
            if let Some(distance) = self.settled(cut) {
                out.set(k, &distance);
                continue;
            }
            let at = self.symmetry.coordinates(&point);
            if let Some(bound) = network.input().outside(&at) {
                out.set(k, &self.clipped(&point, bound, cut));
                continue;
            }
            batch.push(k, point, cut, at, network);
            if batch.count == LANES {
                self.flush(network, &mut batch, within, out);
            }
        }
        self.flush(network, &mut batch, within, out);
    }

    fn flush(&self, network: &Network, batch: &mut Batch, within: f32, out: &mut Answers<'_>) {
        let input = network.input();
        let found = network.values(&batch.features, (f64::from(within) / input.unit) as f32);
        for lane in 0..batch.count {
            let Waiting { node, point, cut, at } = batch.waiting[lane];
            let value = (f64::from(found.value[lane]) * input.unit).clamp(-self.band, self.band);
            let slopes = input
                .tangents(&at)
                .map(|t| (0..FEATURES).map(|f| t[f] * f64::from(found.by_feature[f][lane])).sum::<f64>());
            out.set(node, &self.clipped(&point, (value, slopes), cut));
        }
        batch.count = 0;
    }
}

/// A point that waits for the others of its batch.
#[derive(Clone, Copy)]
struct Waiting {
    node: usize,
    point: Vec3,
    cut: Option<Distance>,
    at: [f64; 3],
}

struct Batch {
    waiting: [Waiting; LANES],
    features: [[f32; LANES]; FEATURES],
    count: usize,
}

impl Batch {
    fn new() -> Self {
        let empty = Waiting { node: 0, point: Vec3::zeros(), cut: None, at: [0.0; 3] };
        Self { waiting: [empty; LANES], features: [[0.0; LANES]; FEATURES], count: 0 }
    }

    fn push(&mut self, node: usize, point: Vec3, cut: Option<Distance>, at: [f64; 3], network: &Network) {
        let features = network.input().features(&at);
        for k in 0..FEATURES {
            self.features[k][self.count] = features[k] as f32;
        }
        self.waiting[self.count] = Waiting { node, point, cut, at };
        self.count += 1;
    }
}

impl DistanceField for Baked {
    fn distance(&self, point: &Vec3) -> Distance {
        let cut = farthest(&self.cuts, point);
        if let Some(distance) = self.settled(cut) {
            return distance;
        }
        self.clipped(point, self.model_value(&self.symmetry.coordinates(point)), cut)
    }

    fn query(&self, nodes: &Nodes<'_>, within: f32, out: &mut Answers<'_>) {
        if let Model::Network(network) = &self.model {
            return self.query_network(network, nodes, within, out);
        }
        if let (Model::Profile(grid), Some(turn)) = (&self.model, Turn::new(&self.symmetry)) {
            return dispatch(ProfileQuery { field: self, grid, turn, nodes, within, out });
        }
        for k in 0..nodes.len().min(out.room()) {
            out.set(k, &self.distance(&nodes.point(k)));
        }
    }

    /// The greater of what cuts and model say. A model that is off by `e` from a distance gives at least that of the
    /// centre less the radius and `2 e` anywhere in the ball; but beyond the band it may say as little as the band.
    fn ball(&self, center: &Vec3, radius: f64) -> f64 {
        let r = (center.x * center.x + center.y * center.y).sqrt();
        let cuts = self.cuts.iter().map(|c| c.value(center, r) - c.steepness() * radius);
        let at = self.symmetry.coordinates(center);
        let model = match &self.model {
            Model::Profile(grid) => grid.value(&[at[0], at[1]]).0 - radius - 2.0 * grid.reserve(),
            Model::Space(grid) => grid.value(&at).0 - radius - 2.0 * grid.reserve(),
            // Of a network it is only known that what lies outside of its box is on the side of its centre.
            Model::Network(network) => {
                let input = network.input();
                let outside = input.outside(&at).filter(|(bound, _)| bound - input.clearance > radius);
                outside.map_or(f64::NEG_INFINITY, |(bound, _)| bound - radius)
            }
        };
        cuts.fold(model.min(self.band), f64::max)
    }

    fn floor(&self) -> Option<Floor> {
        Floor::new(self)
    }

    fn bounds(&self) -> Aabb {
        self.bounds
    }
}
