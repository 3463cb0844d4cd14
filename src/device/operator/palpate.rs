//! Palpation: press on a grid of places, compare their stiffness by feel, go to where it is greatest.
//!
//! Thread: haptic (RT).
//!
//! ```text
//!  for each place:  go above it ─► touch: press lightly, hold ─► press, hold ─► lift
//!  judgement        k = ΔF / Δd between the two holds, by felt force and place of the hand alone
//!  at the end       go above the middle of the places that are stiffer than halfway between softest and stiffest
//! ```
//!
//! Stiffness is judged with an error in proportion to it (`HandModel::stiffness_error`). The screen serves to move from place to place,
//! as in other phases; what lies below the surface is not perceived.

use super::{Operator, Perceived, Plan};
use crate::math::{Pose, Vec3};

/// Most places of one palpation.
pub const MAX_PLACES: usize = 64;
/// Share of the pressing force that the hand touches with: above the friction of a device, well below the whole.
const TOUCH_SHARE: f64 = 0.35;
/// Share of the force meant from which the hand holds: the friction of a device may take the rest.
const HOLD_SHARE: f64 = 0.6;
/// Time from there until the muscle has built up the force and the body has come to rest, s.
const SETTLE_S: f64 = 0.2;
/// Time over which force and depth are averaged then, s: two periods of the slowest tremor and more.
const HOLD_S: f64 = 0.3;
/// Time after which the hand goes on even if nothing pushes back, s.
const PRESS_MAX_S: f64 = 2.0;
/// The hand is above a place when the tool is this near, scene m: a fraction of the spacing of a grid that a finger can tell apart.
const ABOVE_M: f64 = 2e-3;
/// Places within this many spacings of the stiffest count as of the same lump: its eight neighbours.
const NEIGHBOURS: f64 = 1.5;
/// Least depth of a press, scene m: with less the surface counts as this stiff.
const DEPTH_MIN_M: f64 = 1e-4;

/// A grid of places across a force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PalpationGrid {
    /// Middle of the grid: the tool's place in the scene where it touches nothing. None: where the tool is when the phase begins.
    pub middle: Option<Vec3>,
    /// Number of places along the first and the second axis of the grid.
    pub counts: [usize; 2],
    /// Distance between two places, scene m.
    pub spacing: f64,
}

impl PalpationGrid {
    /// How many places it has.
    #[must_use]
    pub fn places(&self) -> usize {
        self.counts[0] * self.counts[1]
    }
}

/// Where a palpation is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Go,
    Touch,
    Press,
    Lift,
    /// Over all places: to the one found.
    Return,
}

/// Depth and force of a hold, summed over time.
#[derive(Clone, Copy, Debug, Default)]
struct Hold {
    time: f64,
    depth: f64,
    force: f64,
}

impl Hold {
    /// Mean depth and force; none of a hold that has not been.
    fn mean(&self) -> Option<(f64, f64)> {
        (self.time > 0.0).then(|| (self.depth / self.time, self.force / self.time))
    }
}

/// A palpation that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Palpation {
    grid: PalpationGrid,
    middle: Pose,
    /// Axes of the grid and the direction of the press, in the scene.
    axes: [Vec3; 2],
    down: Vec3,
    /// The force to press with, in the device's frame, as misjudged.
    push: Vec3,
    speed: f64,
    place: usize,
    stage: Stage,
    stage_s: f64,
    /// Time of this hold, and what was felt in it.
    held_s: f64,
    hold: Hold,
    /// What was felt in the light touch before.
    touch: Hold,
    /// Stiffness judged at each place, N in the hand per scene m.
    stiffness: [f64; MAX_PLACES],
}

impl Palpation {
    /// A palpation about `middle`, pressing along `force`.
    pub(super) fn new(grid: PalpationGrid, middle: Pose, force: &Vec3, push: Vec3, speed: f64) -> Self {
        let down = force.try_normalize(0.0).unwrap_or(-Vec3::z());
        // The first axis is as near to x of the scene as the grid allows; y where the force is along x.
        let along = if down.x.abs() < 0.9 { Vec3::x() } else { Vec3::y() };
        let first = (along - down * down.dot(&along)).normalize();
        Self {
            grid,
            middle,
            axes: [first, down.cross(&first)],
            down,
            push,
            speed,
            place: 0,
            stage: Stage::Go,
            stage_s: 0.0,
            held_s: 0.0,
            hold: Hold::default(),
            touch: Hold::default(),
            stiffness: [0.0; MAX_PLACES],
        }
    }

    /// Above place `index`; the grid is gone through to and fro.
    pub(super) fn above(&self, index: usize) -> Pose {
        let [columns, rows] = self.grid.counts;
        let row = index / columns.max(1);
        let column = if row.is_multiple_of(2) { index % columns } else { columns - 1 - index % columns };
        let off = |k: usize, count: usize| (k as f64 - 0.5 * (count as f64 - 1.0)) * self.grid.spacing;
        let way = self.axes[0] * off(column, columns) + self.axes[1] * off(row, rows);
        Pose::from_parts((self.middle.translation.vector + way).into(), self.middle.rotation)
    }

    fn enter(&mut self, stage: Stage) {
        (self.stage, self.stage_s, self.held_s) = (stage, 0.0, 0.0);
        self.touch = self.hold;
        self.hold = Hold::default();
    }

    /// The force of this stage, in the device's frame.
    fn meant(&self) -> Vec3 {
        match self.stage {
            Stage::Touch => self.push * TOUCH_SHARE,
            Stage::Press => self.push,
            Stage::Go | Stage::Lift | Stage::Return => Vec3::zeros(),
        }
    }

    /// Takes in one tick of a touch or a press; true when it is over.
    fn press(&mut self, depth: f64, force: f64, dt: f64) -> bool {
        if force >= HOLD_SHARE * self.meant().norm() {
            self.held_s += dt;
        }
        if self.held_s >= SETTLE_S {
            let Hold { time, depth: depths, force: forces } = self.hold;
            self.hold = Hold { time: time + dt, depth: depths + depth * dt, force: forces + force * dt };
        }
        self.hold.time >= HOLD_S || self.stage_s >= PRESS_MAX_S
    }

    /// Stiffness of the press that is over: zero where nothing pushed back.
    fn judged(&self) -> f64 {
        let (Some((light, touch)), Some((deep, press))) = (self.touch.mean(), self.hold.mean()) else { return 0.0 };
        (press - touch).max(0.0) / (deep - light).max(DEPTH_MIN_M)
    }

    /// Above the middle of what is stiffer than halfway between the softest and the stiffest place, around the stiffest.
    fn found(&self) -> Pose {
        let felt = &self.stiffness[..self.grid.places().min(MAX_PLACES)];
        let softest = felt.iter().copied().fold(f64::INFINITY, f64::min);
        let (stiffest, most) = felt.iter().copied().enumerate().fold((0, f64::NEG_INFINITY), |best, (k, stiffness)| {
            if stiffness > best.1 { (k, stiffness) } else { best }
        });
        let centre = self.above(stiffest).translation.vector;
        let (mut sum, mut weight) = (Vec3::zeros(), 0.0);
        for (index, stiffness) in felt.iter().enumerate() {
            let way = self.above(index).translation.vector - centre;
            let excess = (stiffness - 0.5 * (softest + most)).max(0.0);
            if way.norm() <= NEIGHBOURS * self.grid.spacing {
                sum += way * excess;
                weight += excess;
            }
        }
        let off = if weight > 0.0 { sum / weight } else { Vec3::zeros() };
        Pose::from_parts((centre + off).into(), self.middle.rotation)
    }
}

impl Operator {
    /// One tick of a palpation; true when the hand is above the place found.
    pub(super) fn palpate(&mut self, perceived: &Perceived<'_>) -> bool {
        let Some(mut now) = self.palpation else { return true };
        now.stage_s += perceived.dt_s;
        let tool = perceived.tool(&self.mapping);
        let over = match now.stage {
            Stage::Go | Stage::Return => self.is_above(&tool),
            Stage::Lift => self.has_moved(0.0),
            Stage::Touch | Stage::Press => {
                // By the sense of the hand: its own place and the force that it feels.
                let depth = now.down.dot(&self.mapping.pose_to_scene(&perceived.handle).translation.vector);
                let direction = now.push.try_normalize(0.0).unwrap_or_default();
                now.press(depth, -direction.dot(&self.senses.felt.force), perceived.dt_s)
            }
        };
        if over {
            match now.stage {
                Stage::Go => {
                    now.enter(Stage::Touch);
                    self.plan = Plan::Hold(self.target);
                    (self.plan_s, self.correction, self.press) = (0.0, 0.0, now.meant());
                }
                Stage::Touch => {
                    now.enter(Stage::Press);
                    self.press = now.meant();
                }
                Stage::Press => {
                    let error = self.hand.stiffness_error * self.choice.normal().clamp(-2.0, 2.0);
                    now.stiffness[now.place] = now.judged() * (1.0 + error);
                    self.press = Vec3::zeros();
                    self.go_above(now.above(now.place), &tool, now.speed);
                    now.enter(Stage::Lift);
                }
                Stage::Lift => {
                    now.place += 1;
                    let is_last = now.place >= now.grid.places();
                    let next = if is_last { now.found() } else { now.above(now.place) };
                    self.go_above(next, &tool, now.speed);
                    now.enter(if is_last { Stage::Return } else { Stage::Go });
                }
                Stage::Return => return true,
            }
        }
        self.palpation = Some(now);
        false
    }

    /// Moves the tool above a place.
    pub(super) fn go_above(&mut self, place: Pose, tool: &Pose, speed: f64) {
        self.goal = Some(place);
        self.reach_for(&place, tool, &Vec3::zeros(), speed * self.hand.pace);
    }

    /// True when the movement is over, and `after_s` seconds more.
    fn has_moved(&self, after_s: f64) -> bool {
        matches!(&self.plan, Plan::Reach { reach, .. } if self.plan_s >= reach.duration_s() + after_s)
    }

    /// True when the movement is over, its end was looked at, and the tool is where it should be.
    fn is_above(&self, tool: &Pose) -> bool {
        let near = |goal: &Pose| (goal.translation.vector - tool.translation.vector).norm() <= ABOVE_M;
        self.has_moved(0.5 * self.hand.reaction_s) && self.goal.as_ref().is_some_and(near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(columns: usize, rows: usize) -> Palpation {
        let grid = PalpationGrid { middle: None, counts: [columns, rows], spacing: 0.01 };
        Palpation::new(grid, Pose::translation(0.1, 0.0, 0.05), &(-Vec3::z() * 3.0), -Vec3::z() * 3.0, 0.1)
    }

    #[test]
    fn the_grid_is_gone_through_to_and_fro_about_its_middle() {
        let palpation = grid(3, 2);
        let places: Vec<Vec3> = (0..6).map(|k| palpation.above(k).translation.vector).collect();
        let mean = places.iter().sum::<Vec3>() / 6.0;
        assert!((mean - Vec3::new(0.1, 0.0, 0.05)).norm() < 1e-15);
        for pair in places.windows(2) {
            assert!(((pair[1] - pair[0]).norm() - 0.01).abs() < 1e-12, "{places:?}");
        }
    }

    #[test]
    fn a_press_on_a_spring_is_judged_as_its_stiffness_and_one_on_nothing_as_none() {
        let mut palpation = grid(1, 1);
        // In contact from 5 mm on, 400 N/m, held at 7.5 mm and at 12 mm.
        for (stage, deepest) in [(Stage::Touch, 7.5e-3_f64), (Stage::Press, 12e-3)] {
            palpation.enter(stage);
            let over = (0..2000).find(|tick| {
                palpation.stage_s = f64::from(*tick) * 1e-3;
                let depth = (f64::from(*tick) * 5e-5).min(deepest);
                palpation.press(depth, 400.0 * (depth - 0.005).max(0.0), 1e-3)
            });
            assert!(over.is_some_and(|tick| tick < 1000), "{over:?}");
        }
        assert!((palpation.judged() - 400.0).abs() < 1e-9, "{}", palpation.judged());
        for stage in [Stage::Touch, Stage::Press] {
            palpation.enter(stage);
            palpation.stage_s = PRESS_MAX_S;
            assert!(palpation.press(0.1, 0.0, 1e-3));
        }
        assert_eq!(palpation.judged(), 0.0);
    }

    #[test]
    fn the_place_found_is_the_middle_of_the_stiff_places_around_the_stiffest() {
        let mut palpation = grid(4, 1);
        palpation.stiffness[..4].copy_from_slice(&[100.0, 290.0, 300.0, 110.0]);
        // Above the halfway stiffness of 200 by 90 and 100: 100/190 of the way from the second to the third.
        let found = palpation.found().translation.vector;
        let expected = palpation.above(1).translation.x + 0.01 * 100.0 / 190.0;
        assert!((found.x - expected).abs() < 1e-12, "{found}");
        // One that is as stiff, but three places away, belongs to something else.
        palpation.stiffness[..4].copy_from_slice(&[299.0, 100.0, 100.0, 300.0]);
        assert!((palpation.found().translation.x - palpation.above(3).translation.x).abs() < 1e-12);
    }
}
