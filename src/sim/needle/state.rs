//! A needle and the tissue it goes into, step by step.
//!
//! Thread: simulation.
//!
//! 1. breathe: supports where they are at the end of the step
//! 2. hear: what the haptic thread has broken and cut since
//! 3. free: needle carried along by its hub, tissue towards its equilibrium, both without constraint
//! 4. gather: tip, shaft and organs as constraints, with the compliance of needle and tissue together
//! 5. solve: forces by the laws
//! 6. correct: needle and tissue give way
//! 7. cut: what the tip breaks and cuts by this solve; with a haptic thread it has done so already
//! 8. tell: figures of the task

use super::organs::Pair;
use super::path::{Path, Steer};
use super::rows::{Constraint, Constraints, Mover};
use super::tissue::{Point, Tissue};
use super::{Layer, NeedleModel, TissueModel};
use crate::fem::{BeamBody, BeamError, FemError};
use crate::math::{Pose, Vec3, steady_tangents};
use crate::mechanism::solver::{Outcome, Settings};
use crate::mechanism::{BlockId, Law};
use crate::shared::{NeedleView, TipReport};
use std::sync::Arc;

/// Bounds of the solve in a step.
const SOLVER: Settings = Settings { iterations: 100, tolerance: 1e-9, relaxation: 1.3 };
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
    tissue: usize,
    point: Point,
    normal: Vec3,
    /// Way from the tip along the needle, m.
    ahead_m: f64,
}

/// See the file's head.
pub struct NeedleState {
    pub(super) model: Arc<NeedleModel>,
    pub(super) tissues: Vec<Tissue>,
    pub(super) beam: BeamBody,
    pub(super) constraints: Constraints,
    pub(super) known: TipReport,
    /// Place of the tip's constraint among them.
    pub(super) tip_at: Option<usize>,
    pub(super) tip_grows: f64,
    paths: Vec<Path>,
    tip: Whereabouts,
    surface: Option<Surface>,
    pairs: Vec<Pair>,
    next_id: u64,
    time_s: f64,
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

impl NeedleState {
    /// The needle at `tool`, outside of all tissue; tissues by their place among the bodies of the scene.
    ///
    /// # Errors
    /// When a part makes no sense; the scene reader has checked that.
    pub fn new(
        model: Arc<NeedleModel>,
        tissues: &[(usize, Arc<TissueModel>, Pose)],
        tool: &Pose,
    ) -> Result<Self, NeedleError> {
        let beam = BeamBody::new(model.beam, &(tool * model.pose_tool_hub))?;
        let made: Result<Vec<Tissue>, FemError> =
            tissues.iter().map(|(index, tissue, pose)| Tissue::new(tissue.clone(), *index, *pose)).collect();
        let tissues = made?;
        let mut pairs = Vec::new();
        for a in 0..tissues.len() {
            pairs.extend((a + 1..tissues.len()).filter_map(|b| Pair::new(&tissues, a, b)));
        }
        Ok(Self {
            model,
            tissues,
            beam,
            constraints: Constraints::default(),
            known: TipReport::default(),
            tip_at: None,
            tip_grows: 0.0,
            paths: Vec::new(),
            tip: Whereabouts::Outside,
            surface: None,
            pairs,
            next_id: 1,
            time_s: 0.0,
            figures: NeedleView::default(),
            in_forbidden: false,
        })
    }

    /// Figures of the last step.
    #[must_use]
    pub fn figures(&self) -> &NeedleView {
        &self.figures
    }

    /// The needle.
    #[must_use]
    pub fn beam(&self) -> &BeamBody {
        &self.beam
    }

    /// Displacements of the tissue that is body `index` of the scene, and where breathing has that body.
    #[must_use]
    pub fn displacements(&self, index: usize) -> Option<(&[f64], &Pose)> {
        let tissue = self.tissues.iter().find(|tissue| tissue.index == index)?;
        Some((tissue.body.position(), &tissue.pose))
    }

    /// The channel the tip is in, from its entry to the tip, in the world; with those before it that the needle is in.
    pub fn channel(&self, each: &mut dyn FnMut(Vec3)) {
        for path in self.paths.iter().filter(|path| path.occupied) {
            let tissue = &self.tissues[path.tissue];
            let pieces = (path.length_m() / 4e-3).ceil().max(1.0);
            for k in 0..=pieces as usize {
                each(tissue.now(&path.point(tissue, path.length_m() * k as f64 / pieces)));
            }
        }
    }

    /// One step of `step_s`, with the tool at `tool` at the end of it and the report of the haptic thread that moves it, if one does.
    pub fn step(&mut self, tool: &Pose, report: Option<&TipReport>, step_s: f64) -> Outcome {
        // 1 breathe
        self.time_s += step_s;
        for tissue in &mut self.tissues {
            tissue.breathe(self.time_s);
        }
        // 2 hear
        if let Some(report) = report {
            self.hear(report);
        }
        // 3 free
        let hub = tool * self.model.pose_tool_hub;
        let carried = *self.beam.hub() * hub.inverse();
        self.beam.move_hub(&hub);
        self.beam.prepare();
        let mut outcome = Outcome { converged: true, ..Outcome::default() };
        for tissue in &mut self.tissues {
            if tissue.body.prepare().is_err() {
                return Outcome { converged: false, ..outcome };
            }
        }
        // 4 gather
        self.gather();
        // 5 solve
        if !self.constraints.list.is_empty() {
            self.constraints.fill_compliance(&self.beam, &mut self.tissues);
            self.constraints.fill_free(&self.beam, &self.tissues, &carried);
            outcome = self.constraints.solve(&SOLVER);
            // 6 correct
            self.constraints.apply(&mut self.beam, &mut self.tissues);
        } else {
            self.constraints.lambda.clear();
        }
        self.beam.finish();
        for tissue in &mut self.tissues {
            outcome.converged &= tissue.body.finish(step_s);
        }
        // 7 cut
        self.cut_by_own_solve(if report.is_some() { LEFT_TO_HAND_M } else { 0.0 });
        // 8 tell
        self.tell();
        outcome
    }

    /// Stage 2.
    fn hear(&mut self, report: &TipReport) {
        let way = report.advanced_m - self.known.advanced_m;
        let broke = report.breaks > self.known.breaks;
        // A haptic thread that began anew counts from zero.
        self.known = *report;
        if broke {
            self.break_through();
        }
        if way > 0.0 && way.is_finite() {
            self.cut(way);
        }
    }

    /// The tip breaks what is in front of it: a surface, or the skin of the next layer.
    fn break_through(&mut self) {
        match self.tip {
            Whereabouts::Outside => {
                let Some(surface) = self.surface.take() else { return };
                let direction = self.beam.tangent(self.length_m());
                let sizes = (self.model.spacing_m, self.model.spread_m);
                let tissue = &self.tissues[surface.tissue];
                let path = Path::begin(surface.tissue, tissue, surface.point, &direction, sizes);
                self.paths.push(path);
                self.tip = Whereabouts::In(self.paths.len() - 1);
            }
            Whereabouts::In(at) => {
                let path = &mut self.paths[at];
                path.broken_into = path.skin_ahead(&self.tissues[path.tissue], LAYER_AHEAD_M);
            }
        }
        self.figures.punctures += 1;
    }

    fn cut(&mut self, way_m: f64) {
        let Whereabouts::In(at) = self.tip else { return };
        let steer = self.steer(at);
        let path = &mut self.paths[at];
        path.cut(&self.tissues[path.tissue], way_m, &steer, &mut self.next_id);
        let here = self.tissues[path.tissue].model.layer_at(&path.end.rest);
        if here == path.broken_into {
            path.broken_into = None;
        }
    }

    fn steer(&self, at: usize) -> Steer {
        let path = &self.paths[at];
        let tissue = &self.tissues[path.tissue];
        let last = path.holding(path.length_m()).last();
        let (needle, channel) = match last {
            Some((k, _)) => {
                let knot = &path.knots[k];
                (self.beam.tangent(knot.needle_m), path.heading_at(tissue, knot.at_m))
            }
            None => (self.beam.tangent(self.length_m()), path.heading(tissue)),
        };
        let across = |v: Vec3| v - channel * channel.dot(&v);
        let bevel = across(self.beam.frame(self.length_m()) * Vec3::x()) * self.model.curvature_per_m;
        Steer { deviation: across(needle), bevel }
    }

    fn length_m(&self) -> f64 {
        self.model.beam.length_m
    }

    /// How far the tip is along the channel it is in, m.
    fn tip_along(&self, path: &Path) -> f64 {
        let end = self.tissues[path.tissue].now(&path.end);
        let length = self.length_m();
        path.length_m() - (end - self.beam.point(length)).dot(&self.beam.tangent(length))
    }

    /// Stage 4: everything that holds the needle, and where organs touch.
    fn gather(&mut self) {
        self.find_tip();
        self.constraints.begin();
        self.tip_at = None;
        match self.tip {
            Whereabouts::Outside => self.gather_surface(),
            Whereabouts::In(at) => self.gather_tip(at),
        }
        for at in 0..self.paths.len() {
            if self.paths[at].occupied {
                self.gather_shaft(at);
            }
        }
        let Self { pairs, tissues, constraints, .. } = self;
        for pair in pairs {
            pair.contacts(tissues, &mut |constraint| constraints.push(constraint));
        }
    }

    /// Where the tip has got to, by being drawn back or by coming out on the far side.
    fn find_tip(&mut self) {
        if let Whereabouts::In(at) = self.tip {
            let path = &self.paths[at];
            let along = self.tip_along(path);
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
                && self.tip_along(&self.paths[at]) < self.paths[at].length_m()
            {
                self.tip = Whereabouts::In(at);
                return;
            }
            self.surface = self.look_ahead();
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
    fn look_ahead(&self) -> Option<Surface> {
        let length = self.length_m();
        let (tip, direction) = (self.beam.point(length), self.beam.tangent(length));
        let occupied = |tissue: usize| self.paths.iter().any(|path| path.occupied && path.tissue == tissue);
        let mut best: Option<Surface> = None;
        for (index, tissue) in self.tissues.iter().enumerate().filter(|(index, _)| !occupied(*index)) {
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

    fn gather_surface(&mut self) {
        let Some(surface) = &self.surface else { return };
        let tissue = &self.tissues[surface.tissue];
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
        let point = surface.point.clone();
        self.tip_at = Some(self.constraints.list.len());
        self.tip_grows = layer.friction_n_per_m;
        let id = BlockId::Surface(surface.tissue as u16);
        self.constraints.push(Constraint {
            id,
            law,
            mover: Mover::Needle(self.length_m()),
            tissue: surface.tissue,
            points: [point.clone(), point.clone(), point],
            directions: [surface.normal, t1, t2],
            lambda: [0.0; 3],
        });
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
    fn tip_bounds(&self, path: &Path) -> (f64, f64) {
        if path.through {
            return (0.0, 0.0);
        }
        let tissue = &self.tissues[path.tissue];
        let layers = &tissue.model.layers;
        let cut = tissue.model.layer_at(&path.end.rest).map_or(0.0, |here| layers[here].cut_n);
        match path.skin_ahead(tissue, LAYER_AHEAD_M) {
            Some(next) => (layers[next].enter_n, layers[next].cut_n.min(layers[next].enter_n)),
            None => (cut, cut),
        }
    }

    fn gather_tip(&mut self, at: usize) {
        let path = &self.paths[at];
        let tissue = &self.tissues[path.tissue];
        let tangent = self.beam.tangent(self.length_m());
        let (most_n, then_n) = self.tip_bounds(path);
        let across = path.point(tissue, self.tip_along(path).clamp(0.0, path.length_m()));
        let layer = &tissue.model.layers[tissue.model.layer_at(&path.end.rest).unwrap_or(0)];
        self.tip_grows = layer.friction_n_per_m;
        let compliance = self.local_yield(layer, 0.5 * self.model.spacing_m);
        let (t1, t2) = steady_tangents(&tangent);
        self.tip_at = Some(self.constraints.list.len());
        self.constraints.push(Constraint {
            id: BlockId::Tip(at as u32),
            law: Law::Channel { least_n: 0.0, most_n, then_n, friction: 0.0, slides: false, compliance },
            mover: Mover::Needle(self.length_m()),
            tissue: path.tissue,
            points: [path.end.clone(), across.clone(), across],
            directions: [-tangent, t1, t2],
            lambda: [0.0; 3],
        });
    }

    fn gather_shaft(&mut self, at: usize) {
        let inside = self.tip == Whereabouts::In(at);
        let path = &self.paths[at];
        let tip_m = if inside { self.tip_along(path) } else { f64::INFINITY };
        let holding: Vec<(usize, f64)> = path.holding(tip_m).collect();
        let length = self.length_m();
        let tip_place = self.beam.point(length);
        // A new point takes over from the one before it, at the same share of what it can bear.
        let mut share = 0.0;
        for (k, piece_m) in holding {
            let path = &self.paths[at];
            let tissue = &self.tissues[path.tissue];
            let knot = &path.knots[k];
            let place = tissue.now(&knot.point);
            let guess = length - (tip_place - place).norm();
            let needle_m = self.beam.nearest(&place, guess.clamp(0.0, length));
            let layer = &tissue.model.layers[tissue.model.layer_at(&knot.point.rest).unwrap_or(0)];
            let most_n = layer.friction_n_per_m * piece_m;
            let direction = -self.beam.tangent(needle_m);
            let (t1, t2) = steady_tangents(&direction);
            let constraint = Constraint {
                id: BlockId::Knot(knot.id),
                law: Law::Channel {
                    least_n: -most_n,
                    most_n,
                    then_n: most_n,
                    friction: self.model.friction,
                    slides: true,
                    compliance: self.local_yield(layer, piece_m),
                },
                mover: Mover::Needle(needle_m),
                tissue: path.tissue,
                points: [knot.point.clone(), knot.point.clone(), knot.point.clone()],
                directions: [direction, t1, t2],
                lambda: [share * most_n, 0.0, 0.0],
            };
            self.constraints.push(constraint);
            let knot = &mut self.paths[at].knots[k];
            knot.needle_m = needle_m;
            share = knot.share;
        }
    }

    /// Stage 7.
    fn cut_by_own_solve(&mut self, left_m: f64) {
        let Some(at) = self.tip_at else { return };
        let law = self.constraints.list[at].law;
        let Some(most_n) = law.bound_n() else { return };
        let force = self.constraints.lambda[3 * at];
        let gap = self.constraints.violation(3 * at) + law.compliance() * force;
        let open_ended = matches!(self.tip, Whereabouts::In(path) if self.paths[path].through);
        if force >= most_n * (1.0 - AT_BOUND) && gap < -left_m && !open_ended {
            if law.broken() != law {
                self.break_through();
                self.constraints.list[at].law = law.broken();
            }
            self.cut(-gap - left_m);
        }
    }

    /// Stage 8.
    fn tell(&mut self) {
        let tip_place = self.beam.point(self.length_m());
        let figures = &mut self.figures;
        figures.tip = tip_place;
        (figures.tip_n, figures.shaft_n, figures.across_n, figures.force) = (0.0, 0.0, 0.0, Vec3::zeros());
        for (index, (constraint, force)) in
            self.constraints.list.iter().zip(self.constraints.lambda.chunks_exact(3)).enumerate()
        {
            if let Mover::Organ(..) = constraint.mover {
                continue;
            }
            if let (true, Some(most_n)) = (constraint.law.slides(0), constraint.law.bound_n()) {
                let knots = self.paths.iter_mut().flat_map(|path| &mut path.knots);
                for knot in knots.filter(|knot| BlockId::Knot(knot.id) == constraint.id) {
                    knot.share = (force[0] / most_n.max(1e-9)).clamp(-1.0, 1.0);
                }
            }
            let along = if self.tip_at == Some(index) { &mut figures.tip_n } else { &mut figures.shaft_n };
            *along += force[0];
            figures.across_n += force[1].hypot(force[2]);
            figures.force += (0..3).map(|k| constraint.directions[k] * force[k]).sum::<Vec3>();
        }
        let mut depth_m = 0.0;
        let mut tip = None;
        for (at, path) in self.paths.iter().enumerate().filter(|(_, path)| path.occupied) {
            let inside = self.tip == Whereabouts::In(at);
            let along = if inside { self.tip_along(path) } else { path.length_m() };
            depth_m += along.clamp(0.0, path.length_m());
            if inside {
                tip = Some((path.tissue, path.at(along)));
            }
        }
        figures_of_tip(&mut self.figures, &mut self.in_forbidden, &self.tissues, tip);
        self.figures.depth_m = depth_m;
    }
}

/// How far the tip is from the target of the tissue it is in, and whether it is where it must not be.
fn figures_of_tip(figures: &mut NeedleView, in_forbidden: &mut bool, tissues: &[Tissue], tip: Option<(usize, Vec3)>) {
    figures.target_m = None;
    let aimed = tissues.iter().find_map(|tissue| Some((tissue, tissue.model.target.as_ref()?)));
    figures.target = aimed.map(|(tissue, target)| tissue.now(&tissue.point(target.center, 0.0)));
    let mut inside = false;
    if let Some((tissue, rest)) = tip {
        let model = &tissues[tissue].model;
        if let Some(target) = &model.target {
            figures.target_m = Some((rest - target.center).norm());
        }
        inside = model.forbidden.iter().any(|piece| piece.distance_m(&rest) < 0.0);
    }
    figures.forbidden += u32::from(inside && !*in_forbidden);
    *in_forbidden = inside;
}
