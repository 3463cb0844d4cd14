//! The source of a needle's constraints: its tip, its shaft, the channel it cuts.
//!
//! Thread: simulation.
//!
//! 1. `hear`: takes over what the haptic tick has broken and cut since the last step
//! 2. `gather`: tip and shaft as constraints between the beam and tissue
//! 3. `cut_by_own_solve`: what the tip breaks and cuts by the solve of the step; with a haptic tick it has done so already
//! 4. `tell`: figures of the task

use super::super::super::assemble::Assembly;
use super::super::super::body::tissue::Tissue;
use super::super::super::body::{Anchor, Body, Point};
use super::super::super::constraint::{Constraint, End, Span};
use super::super::super::ids::BodyId;
use super::path::{Path, Steer};
use super::{Layer, NeedleModel};
use crate::fem::{BeamBody, BeamError, FemError};
use crate::math::{Vec3, steady_tangents};
use crate::mechanism::{BlockId, Law};
use crate::shared::{NeedleView, TipReport};
use std::sync::Arc;

/// How far ahead of the tip, and behind it, a surface is looked for, m.
const AHEAD_M: f64 = 0.015;
const BEHIND_M: f64 = 0.015;
/// A surface that the needle grazes more flatly than this (cosine) is not what its tip meets.
const FACES: f64 = 0.2;
/// Distance from an old entry within which the tip falls into it, in diameters of the needle.
const FALLS_IN: f64 = 1.5;
/// How far ahead of the tip the skin of a layer is felt, m: more than a piece of the channel, which ends before it.
const LAYER_AHEAD_M: f64 = 1.2e-3;
/// How far the tip must be beyond the end of its channel for the simulation to cut by itself although a haptic thread does, m. Both
/// would cut for the other's errors, and what is cut stays cut.
const LEFT_TO_HAND_M: f64 = 1e-3;
/// How near to its bound a force is at it, as a share of it.
const AT_BOUND: f64 = 1e-9;

/// Where the tip is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whereabouts {
    Outside,
    In(usize),
}

/// A surface in front of the tip.
#[derive(Clone, Debug)]
struct Surface {
    tissue: BodyId,
    point: Point,
    normal: Vec3,
    /// Way from the tip along the needle, m.
    ahead_m: f64,
}

/// See the file's head.
pub(in crate::sim) struct NeedleSource {
    model: Arc<NeedleModel>,
    /// Place of the beam among the bodies.
    beam: BodyId,
    pub(in crate::sim) known: TipReport,
    /// Constraint of the tip in this step.
    pub(in crate::sim) tip_id: Option<BlockId>,
    pub(in crate::sim) tip_grows: f64,
    paths: Vec<Path>,
    tip: Whereabouts,
    surface: Option<Surface>,
    next_id: u64,
    figures: NeedleView,
    in_forbidden: bool,
}

/// Why there is no such state.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NeedleError {
    /// Of the needle.
    #[error("{0}")]
    Beam(#[from] BeamError),
    /// Of the tissue.
    #[error("{0}")]
    Tissue(#[from] FemError),
}

/// The tissue that is body `index`. Surfaces and paths name bodies that are tissue.
fn tissue(bodies: &[Body], index: BodyId) -> &Tissue {
    bodies[index].tissue().expect("paths and surfaces lie in tissue")
}

impl NeedleSource {
    /// The source of the needle whose beam is body `beam`, outside of all tissue.
    pub(in crate::sim) fn new(model: Arc<NeedleModel>, beam: BodyId) -> Self {
        Self {
            model,
            beam,
            known: TipReport::default(),
            tip_id: None,
            tip_grows: 0.0,
            paths: Vec::new(),
            tip: Whereabouts::Outside,
            surface: None,
            next_id: 1,
            figures: NeedleView::default(),
            in_forbidden: false,
        }
    }

    /// Figures of the last step.
    pub(in crate::sim) fn figures(&self) -> &NeedleView {
        &self.figures
    }

    /// Calls `each` with points along the channels that the needle is in, from the entry to the end, in the world.
    pub(in crate::sim) fn channel(&self, bodies: &[Body], each: &mut dyn FnMut(Vec3)) {
        for path in self.paths.iter().filter(|path| path.occupied) {
            let tissue = tissue(bodies, path.tissue);
            let pieces = (path.length_m() / 4e-3).ceil().max(1.0);
            for k in 0..=pieces as usize {
                each(tissue.now(&path.point(tissue, path.length_m() * k as f64 / pieces)));
            }
        }
    }

    fn beam<'a>(&self, bodies: &'a [Body]) -> &'a BeamBody {
        bodies[self.beam].beam().expect("the needle is a beam").body()
    }

    /// Takes over what the haptic tick has broken and cut.
    pub(in crate::sim) fn hear(&mut self, report: &TipReport, bodies: &[Body]) {
        let way = report.advanced_m - self.known.advanced_m;
        let broke = report.breaks > self.known.breaks;
        // A haptic thread that began anew counts from zero.
        self.known = *report;
        if broke {
            self.break_through(bodies);
        }
        if way > 0.0 && way.is_finite() {
            self.cut(way, bodies);
        }
    }

    /// The tip breaks what is in front of it: a surface, or the skin of the next layer.
    fn break_through(&mut self, bodies: &[Body]) {
        match self.tip {
            Whereabouts::Outside => {
                let Some(surface) = self.surface.take() else { return };
                let direction = self.beam(bodies).tangent(self.length_m());
                let sizes = (self.model.spacing_m, self.model.spread_m);
                let body = tissue(bodies, surface.tissue);
                let path = Path::begin(surface.tissue, body, surface.point, &direction, sizes);
                self.paths.push(path);
                self.tip = Whereabouts::In(self.paths.len() - 1);
            }
            Whereabouts::In(at) => {
                let path = &mut self.paths[at];
                path.broken_into = path.skin_ahead(tissue(bodies, path.tissue), LAYER_AHEAD_M);
            }
        }
        self.figures.punctures += 1;
    }

    fn cut(&mut self, way_m: f64, bodies: &[Body]) {
        let Whereabouts::In(at) = self.tip else { return };
        let steer = self.steer(at, bodies);
        let path = &mut self.paths[at];
        let body = tissue(bodies, path.tissue);
        path.cut(body, way_m, &steer, &mut self.next_id);
        let here = body.model.layer_at(&path.end.rest);
        if here == path.broken_into {
            path.broken_into = None;
        }
    }

    fn steer(&self, at: usize, bodies: &[Body]) -> Steer {
        let beam = self.beam(bodies);
        let path = &self.paths[at];
        let tissue = tissue(bodies, path.tissue);
        let last = path.holding(path.length_m()).last();
        let (needle, channel) = match last {
            Some((k, _)) => {
                let knot = &path.knots[k];
                (beam.tangent(knot.needle_m), path.heading_at(tissue, knot.at_m))
            }
            None => (beam.tangent(self.length_m()), path.heading(tissue)),
        };
        let across = |v: Vec3| v - channel * channel.dot(&v);
        let bevel = across(beam.frame(self.length_m()) * Vec3::x()) * self.model.curvature_per_m;
        Steer { deviation: across(needle), bevel }
    }

    fn length_m(&self) -> f64 {
        self.model.beam.length_m
    }

    /// How far the tip is along the channel it is in, m.
    fn tip_along(&self, path: &Path, bodies: &[Body]) -> f64 {
        let end = tissue(bodies, path.tissue).now(&path.end);
        let (length, beam) = (self.length_m(), self.beam(bodies));
        path.length_m() - (end - beam.point(length)).dot(&beam.tangent(length))
    }

    /// Everything that holds the needle.
    pub(in crate::sim) fn gather(&mut self, bodies: &[Body], assembly: &mut Assembly) {
        self.find_tip(bodies);
        self.tip_id = None;
        match self.tip {
            Whereabouts::Outside => self.gather_surface(bodies, assembly),
            Whereabouts::In(at) => self.gather_tip(at, bodies, assembly),
        }
        for at in 0..self.paths.len() {
            if self.paths[at].occupied {
                self.gather_shaft(at, bodies, assembly);
            }
        }
    }

    /// A constraint between the beam at an arc length and tissue.
    fn between(&self, at_m: f64, tissue: BodyId, anchor: Anchor, directions: [Vec3; 3]) -> Span {
        let beam = End::Soft { body: self.beam, anchor: Anchor::Along(at_m) };
        Span::new([beam, End::Soft { body: tissue, anchor }], directions)
    }

    /// Where the tip has got to, by being drawn back or by coming out on the far side.
    fn find_tip(&mut self, bodies: &[Body]) {
        if let Whereabouts::In(at) = self.tip {
            let path = &self.paths[at];
            let along = self.tip_along(path, bodies);
            if along < 0.0 {
                self.paths[at].occupied = false;
                self.tip = Whereabouts::Outside;
            } else if path.through && along > path.length_m() {
                self.tip = Whereabouts::Outside;
            }
        }
        if self.tip == Whereabouts::Outside {
            // Drawn back into the last channel it came through.
            if let Some(at) = self.paths.iter().rposition(|path| path.occupied)
                && self.tip_along(&self.paths[at], bodies) < self.paths[at].length_m()
            {
                self.tip = Whereabouts::In(at);
                return;
            }
            self.surface = self.look_ahead(bodies);
            self.fall_in();
        }
    }

    /// Goes into an old channel whose entry is in front of the tip, without breaking anything.
    fn fall_in(&mut self) {
        let Some(surface) = &self.surface else { return };
        let reach = FALLS_IN * self.model.beam.outer_m;
        let old = self.paths.iter().position(|path| {
            path.tissue == surface.tissue && !path.occupied && (path.entry() - surface.point.rest).norm() < reach
        });
        if let Some(at) = old {
            if surface.ahead_m < 0.0 {
                self.paths[at].occupied = true;
                self.tip = Whereabouts::In(at);
            }
            self.surface = None;
        }
    }

    /// The surface that the needle's line meets first.
    fn look_ahead(&self, bodies: &[Body]) -> Option<Surface> {
        let (length, beam) = (self.length_m(), self.beam(bodies));
        let (tip, direction) = (beam.point(length), beam.tangent(length));
        let occupied = |tissue: BodyId| self.paths.iter().any(|path| path.occupied && path.tissue == tissue);
        let mut best: Option<Surface> = None;
        let tissues = bodies.iter().enumerate().filter_map(|(index, body)| Some((BodyId(index), body.tissue()?)));
        for (index, tissue) in tissues.filter(|(index, _)| !occupied(*index)) {
            let Some((ahead_m, normal, rest)) = tissue.meets(&tip, &direction, (-BEHIND_M, AHEAD_M), FACES) else {
                continue;
            };
            if best.as_ref().is_none_or(|best| ahead_m < best.ahead_m) {
                let point = tissue.point(rest, self.model.spread_m);
                best = Some(Surface { tissue: index, point, normal, ahead_m });
            }
        }
        best
    }

    fn gather_surface(&mut self, bodies: &[Body], assembly: &mut Assembly) {
        let Some(surface) = &self.surface else { return };
        let tissue = tissue(bodies, surface.tissue);
        let Some(layer) = tissue.model.layer_at(&(surface.point.rest - tissue.inwards(&surface.normal) * 1e-4)) else {
            return;
        };
        let layer = &tissue.model.layers[layer];
        let law = Law::Puncture {
            friction: self.model.friction,
            most_n: layer.enter_n.max(layer.cut_n),
            then_n: layer.cut_n,
            compliance: layer.yield_m_per_n,
        };
        let (t1, t2) = steady_tangents(&surface.normal);
        let anchor = Anchor::Point(surface.point.clone());
        let span = self.between(self.length_m(), surface.tissue, anchor, [surface.normal, t1, t2]);
        let id = BlockId::Surface(surface.tissue.0 as u16);
        self.tip_grows = layer.friction_n_per_m;
        self.tip_id = Some(id);
        assembly.constraints.push(Constraint::of_span(id, law, span));
    }

    /// How far a piece of shaft moves in the tissue around it beyond what the mesh shows, m/N: a line of force in an elastic body moves
    /// by `(1+ν)(3−4ν) / (4π (1−ν) E) · ln(R/r)` for each newton on a metre, `R` being where the mesh takes over (Kelvin's solution in
    /// the plane).
    fn local_yield(&self, layer: &Layer, piece_m: f64) -> f64 {
        let nu = layer.material.poisson;
        let line = (1.0 + nu) * (3.0 - 4.0 * nu) / (4.0 * std::f64::consts::PI * (1.0 - nu) * layer.material.young_pa);
        let ratio = (2.0 * self.model.spread_m / self.model.beam.outer_m).max(1.0);
        line * ratio.ln() / piece_m.max(0.25 * self.model.spacing_m)
    }

    /// What holds the tip along its channel at most, and what that falls to once it has given way, N.
    fn tip_bounds(&self, path: &Path, bodies: &[Body]) -> (f64, f64) {
        if path.through {
            return (0.0, 0.0);
        }
        let tissue = tissue(bodies, path.tissue);
        let layers = &tissue.model.layers;
        let cut = tissue.model.layer_at(&path.end.rest).map_or(0.0, |here| layers[here].cut_n);
        match path.skin_ahead(tissue, LAYER_AHEAD_M) {
            Some(next) => (layers[next].enter_n, layers[next].cut_n.min(layers[next].enter_n)),
            None => (cut, cut),
        }
    }

    fn gather_tip(&mut self, at: usize, bodies: &[Body], assembly: &mut Assembly) {
        let path = &self.paths[at];
        let tissue = tissue(bodies, path.tissue);
        let tangent = self.beam(bodies).tangent(self.length_m());
        let (most_n, then_n) = self.tip_bounds(path, bodies);
        let across = path.point(tissue, self.tip_along(path, bodies).clamp(0.0, path.length_m()));
        let layer = &tissue.model.layers[tissue.model.layer_at(&path.end.rest).unwrap_or(0)];
        let compliance = self.local_yield(layer, 0.5 * self.model.spacing_m);
        let (t1, t2) = steady_tangents(&tangent);
        let anchor = Anchor::Points(Box::new([path.end.clone(), across.clone(), across]));
        let span = self.between(self.length_m(), path.tissue, anchor, [-tangent, t1, t2]);
        let law = Law::Channel { least_n: 0.0, most_n, then_n, friction: 0.0, slides: false, compliance };
        let id = BlockId::Tip(at as u32);
        self.tip_grows = layer.friction_n_per_m;
        self.tip_id = Some(id);
        assembly.constraints.push(Constraint::of_span(id, law, span));
    }

    fn gather_shaft(&mut self, at: usize, bodies: &[Body], assembly: &mut Assembly) {
        let inside = self.tip == Whereabouts::In(at);
        let path = &self.paths[at];
        let (tissue, beam) = (tissue(bodies, path.tissue), self.beam(bodies));
        let tip_m = if inside { self.tip_along(path, bodies) } else { f64::INFINITY };
        let holding: Vec<(usize, f64)> = path.holding(tip_m).collect();
        let length = self.length_m();
        let tip_place = beam.point(length);
        // A new point takes over from the one before it, at the same share of what it can bear.
        let mut share = 0.0;
        for (k, piece_m) in holding {
            let path = &self.paths[at];
            let knot = &path.knots[k];
            let place = tissue.now(&knot.point);
            let guess = length - (tip_place - place).norm();
            let needle_m = beam.nearest(&place, guess.clamp(0.0, length));
            let layer = &tissue.model.layers[tissue.model.layer_at(&knot.point.rest).unwrap_or(0)];
            let most_n = layer.friction_n_per_m * piece_m;
            let law = Law::Channel {
                least_n: -most_n,
                most_n,
                then_n: most_n,
                friction: self.model.friction,
                slides: true,
                compliance: self.local_yield(layer, piece_m),
            };
            let direction = -beam.tangent(needle_m);
            let (t1, t2) = steady_tangents(&direction);
            let anchor = Anchor::Point(knot.point.clone());
            let span = self.between(needle_m, path.tissue, anchor, [direction, t1, t2]);
            let id = BlockId::Knot(knot.id);
            assembly.suggest(id, [share * most_n, 0.0, 0.0]);
            assembly.constraints.push(Constraint::of_span(id, law, span));
            let knot = &mut self.paths[at].knots[k];
            knot.needle_m = needle_m;
            share = knot.share;
        }
    }

    /// Breaks and cuts what the solve of the step says, beyond `left_m`, which the haptic tick cuts.
    pub(in crate::sim) fn cut_by_own_solve(&mut self, left_m: f64, bodies: &[Body], assembly: &mut Assembly) {
        let tip = assembly.constraints.iter().position(|constraint| Some(constraint.id) == self.tip_id);
        let Some(at) = tip else { return };
        let (law, row) = (assembly.constraints[at].law, assembly.constraints[at].first);
        let Some(most_n) = law.bound_n() else { return };
        let force = assembly.lambda[row];
        let gap = assembly.violation(row) + law.compliance() * force;
        let open_ended = matches!(self.tip, Whereabouts::In(path) if self.paths[path].through);
        if force >= most_n * (1.0 - AT_BOUND) && gap < -left_m && !open_ended {
            if law.broken() != law {
                self.break_through(bodies);
                assembly.constraints[at].law = law.broken();
            }
            self.cut(-gap - left_m, bodies);
        }
    }

    /// How far the tip must be beyond the end of its channel for the simulation to cut, m. `heard`: a haptic tick cuts as well; both would
    /// cut for the other's errors, and what is cut stays cut.
    pub(in crate::sim) fn left_m(heard: bool) -> f64 {
        if heard { LEFT_TO_HAND_M } else { 0.0 }
    }

    /// Figures of the step.
    pub(in crate::sim) fn tell(&mut self, bodies: &[Body], assembly: &Assembly) {
        let beam = self.beam;
        self.figures.tip = self.beam(bodies).point(self.length_m());
        let figures = &mut self.figures;
        (figures.tip_n, figures.shaft_n, figures.across_n, figures.force) = (0.0, 0.0, 0.0, Vec3::zeros());
        for constraint in &assembly.constraints {
            if constraint.soft_end(0).is_none_or(|(body, _)| body != beam) {
                continue;
            }
            let force = &assembly.lambda[constraint.rows()];
            if let (true, Some(most_n)) = (constraint.law.slides(0), constraint.law.bound_n()) {
                let knots = self.paths.iter_mut().flat_map(|path| &mut path.knots);
                for knot in knots.filter(|knot| BlockId::Knot(knot.id) == constraint.id) {
                    knot.share = (force[0] / most_n.max(1e-9)).clamp(-1.0, 1.0);
                }
            }
            let tip = self.tip_id == Some(constraint.id);
            *if tip { &mut figures.tip_n } else { &mut figures.shaft_n } += force[0];
            figures.across_n += force[1].hypot(force[2]);
            figures.force += constraint.directions().iter().zip(force).map(|(d, f)| d * *f).sum::<Vec3>();
        }
        let mut depth_m = 0.0;
        let mut tip = None;
        for (at, path) in self.paths.iter().enumerate().filter(|(_, path)| path.occupied) {
            let inside = self.tip == Whereabouts::In(at);
            let along = if inside { self.tip_along(path, bodies) } else { path.length_m() };
            depth_m += along.clamp(0.0, path.length_m());
            if inside {
                tip = Some((path.tissue, path.at(along)));
            }
        }
        figures_of_tip(&mut self.figures, &mut self.in_forbidden, bodies, tip);
        self.figures.depth_m = depth_m;
    }
}

/// How far the tip is from the target of the tissue it is in, and whether it is where it must not be.
fn figures_of_tip(figures: &mut NeedleView, in_forbidden: &mut bool, bodies: &[Body], tip: Option<(BodyId, Vec3)>) {
    figures.target_m = None;
    let aimed =
        bodies.iter().find_map(|body| body.tissue()?.model.target.as_ref().map(|target| (body.tissue(), target)));
    figures.target = aimed.and_then(|(tissue, target)| tissue.map(|t| t.now(&t.point(target.center, 0.0))));
    let mut inside = false;
    if let Some((index, rest)) = tip {
        let model = &tissue(bodies, index).model;
        if let Some(target) = &model.target {
            figures.target_m = Some((rest - target.center).norm());
        }
        inside = model.forbidden.iter().any(|piece| piece.distance_m(&rest) < 0.0);
    }
    figures.forbidden += u32::from(inside && !*in_forbidden);
    *in_forbidden = inside;
}
