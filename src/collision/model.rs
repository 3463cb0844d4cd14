//! What can collide with what, and one look at all of it: broad phase, then every near pair.
//!
//! Thread: built cold; [`CollisionModel::look`] on simulation or collision (no heap, pure).
//!
//! Broad phase: the distance of a sphere around one shape from the other's surface. With two spheres first, this is
//! tighter than boxes (a long plate beside a peg) and as cheap, and the scenes have tens of shapes, not thousands.

use super::candidate::NODE;
use super::contact::identity;
use super::detect::{Event, Wish};
use super::field::Baked;
use super::gpu::{Gpu, GpuError};
use super::parts::{Eyes, Holder, Near, Outlook, Reducer, Reduction, Touch, View, Way};
use super::{Candidate, Candidates, Placed, Side, collide};
use crate::geometry::{BoundingSphere, Feature, Part, Shape, ShapeError, Surface};
use crate::math::{Pose, Vec3, pose_is_sound};
use crate::shared::Stamp;
use std::sync::Arc;

/// Most bodies in one request.
pub const MAX_BODIES: usize = 32;

/// A body by its number in a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub u16);

impl Slot {
    /// Its place among the poses of a request.
    #[must_use]
    pub fn place(self) -> usize {
        usize::from(self.0)
    }

    /// Its bit in [`Reply::unsound`].
    fn bit(self) -> u32 {
        1 << self.0
    }
}

/// A collider by its place in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColliderId(pub u16);

/// A shape fixed to a body.
#[derive(Clone)]
pub struct Collider {
    /// The body.
    pub body: Slot,
    /// The shape.
    pub shape: Shape,
    /// Where it is on the body, whose origin is its centre of mass.
    pub pose_body_shape: Pose,
    /// Fast distances of a part; without them the exact surface is asked.
    pub field: Option<Arc<Baked>>,
}

impl Collider {
    /// A shape fixed to a body, without fast distances.
    #[must_use]
    pub fn new(body: Slot, shape: Shape, pose_body_shape: Pose) -> Self {
        Self { body, shape, pose_body_shape, field: None }
    }

    fn part(&self) -> Option<&Part> {
        if let Shape::Part(part) = &self.shape { Some(part) } else { None }
    }
}

/// Two colliders that may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The first: normals point towards it.
    pub a: ColliderId,
    /// The second.
    pub b: ColliderId,
}

/// Why a model cannot be.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A shape cannot be.
    #[error("collider {index}: {error}")]
    Shape {
        /// Which collider.
        index: usize,
        /// What is wrong.
        error: ShapeError,
    },
    /// A body index is out of range.
    #[error("collider {index} belongs to body {body}, but there are at most {MAX_BODIES} bodies")]
    Body {
        /// Which collider.
        index: usize,
        /// The body it names.
        body: u16,
    },
    /// More colliders or pairs than can be numbered.
    #[error("at most 65535 colliders and pairs of them can be told apart; leave out pairs that never meet")]
    TooMany,
    /// A pair names a collider that is not there, or twice the same body.
    #[error("pair {0} does not name two colliders of two different bodies")]
    Pair(usize),
    /// The margin is not a positive length.
    #[error("the margin must be a positive length")]
    Margin,
}

/// Where the bodies are.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Which request, and the time the poses hold at. Sequence zero is never answered by the thread.
    pub stamp: Stamp,
    /// Poses of the bodies in the world; those no collider belongs to do not matter.
    pub poses: [Pose; MAX_BODIES],
    /// What each is about to do. Parts are touched where it says they will press.
    pub outlooks: [Outlook; MAX_BODIES],
}

impl Request {
    /// All bodies at the origin, never stamped.
    #[must_use]
    pub fn new() -> Self {
        Self { stamp: Stamp::default(), poses: [Pose::identity(); MAX_BODIES], outlooks: [Outlook::FIXED; MAX_BODIES] }
    }
}

impl Default for Request {
    fn default() -> Self {
        Self::new()
    }
}

/// What was found.
#[derive(Clone, Copy)]
pub struct Reply {
    /// Stamp of the request it answers; sequence zero: none was answered yet.
    pub stamp: Stamp,
    /// The candidates.
    pub candidates: Candidates,
    /// Bodies, one bit each, whose pose was not finite; their pairs were not looked at.
    pub unsound: u32,
}

impl Reply {
    /// Nothing found, nothing answered.
    #[must_use]
    pub fn new() -> Self {
        Self { stamp: Stamp::default(), candidates: Candidates::new(), unsound: 0 }
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Clone)]
struct Prepared {
    collider: Collider,
    features: Vec<Feature>,
    ball: BoundingSphere,
}

/// Everything about collision that does not change while the scene runs.
#[derive(Clone)]
pub struct CollisionModel {
    colliders: Vec<Prepared>,
    pairs: Vec<Pair>,
    margin: f64,
    reduction: Reduction,
    /// Most contacts of a pair of parts.
    most: usize,
    watch: Option<Watch>,
}

/// For bodies that move on by themselves until the next look: more contacts of their parts, so that whatever they do meanwhile is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watch {
    /// How many bodies, the first ones.
    pub bodies: u16,
    /// How far one may move until the next look, m.
    pub reach_m: f64,
    /// The same time in units of that of its outlook.
    pub outlooks: f64,
    /// Most contacts of a pair.
    pub most: usize,
}

/// What one who looks keeps from look to look. Made by [`CollisionModel::memory`].
pub struct Memory {
    near: Box<Near>,
    far: Box<Near>,
    /// By pair.
    pairs: Vec<PairMemory>,
}

#[derive(Default)]
struct PairMemory {
    /// Nodes of A in the field of B, and of B in the field of A.
    eyes: [Option<Eyes>; 2],
    reducer: Reducer,
}

/// Most contacts of a pair of which one is a part, unless asked otherwise.
const MOST_OF_PARTS: usize = 12;

impl CollisionModel {
    /// A model of these colliders in which `pairs` may touch; candidates are reported below a gap of `margin_m`.
    ///
    /// # Errors
    /// The first collider, pair or number that makes no sense.
    pub fn new(colliders: &[Collider], pairs: Vec<Pair>, margin_m: f64) -> Result<Self, ModelError> {
        if !(margin_m.is_finite() && margin_m > 0.0) {
            return Err(ModelError::Margin);
        }
        if colliders.len() > usize::from(u16::MAX) || pairs.len() > usize::from(u16::MAX) {
            return Err(ModelError::TooMany);
        }
        for (index, collider) in colliders.iter().enumerate() {
            collider.shape.check().map_err(|error| ModelError::Shape { index, error })?;
            if collider.body.place() >= MAX_BODIES {
                return Err(ModelError::Body { index, body: collider.body.0 });
            }
        }
        let body = |id: ColliderId| colliders.get(usize::from(id.0)).map(|c| c.body);
        let stray = pairs.iter().position(|pair| match (body(pair.a), body(pair.b)) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        });
        if let Some(index) = stray {
            return Err(ModelError::Pair(index));
        }
        let prepare = |c: &Collider| Prepared {
            collider: c.clone(),
            features: c.shape.all_features(),
            ball: c.shape.bounding_sphere(),
        };
        let colliders = colliders.iter().map(prepare).collect();
        Ok(Self {
            colliders,
            pairs,
            margin: margin_m,
            reduction: Reduction::default(),
            most: MOST_OF_PARTS,
            watch: None,
        })
    }

    /// The same with another way to reduce the nodes of parts, to at most `most` contacts of a pair.
    #[must_use]
    pub fn reducing(self, reduction: Reduction, most: usize) -> Self {
        Self { reduction, most, ..self }
    }

    /// The same with a watch for some bodies.
    #[must_use]
    pub fn watching(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Every pair of colliders of different bodies, unless both are of bodies that never move.
    #[must_use]
    pub fn every_pair(colliders: &[Collider], is_fixed: impl Fn(Slot) -> bool) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (i, a) in colliders.iter().enumerate() {
            for (j, b) in colliders.iter().enumerate().skip(i + 1) {
                if a.body != b.body && !(is_fixed(a.body) && is_fixed(b.body)) {
                    pairs.push(Pair { a: ColliderId(i as u16), b: ColliderId(j as u16) });
                }
            }
        }
        pairs
    }

    /// The pairs; a candidate's `pair` is an index into them.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    fn collider(&self, id: ColliderId) -> &Prepared {
        &self.colliders[usize::from(id.0)]
    }

    /// Gap below which candidates are reported, m.
    #[must_use]
    pub fn margin_m(&self) -> f64 {
        self.margin
    }

    /// A new memory. Cold. With a wish for anything but the CPU, graphics processors are looked for; which one serves is logged.
    #[must_use]
    pub fn memory(&self, wish: Wish) -> Memory {
        let mut gpu = None;
        let pairs = self.pairs.iter().map(|pair| {
            let (a, b) = (self.collider(pair.a), self.collider(pair.b));
            let mut eyes = |own: &Prepared, other: &Prepared| {
                let (part, field) = (own.collider.part()?, other.collider.field.as_ref()?);
                let unwanted = || Err(GpuError::NoAdapter("none was asked for".into()));
                let gpu = gpu.get_or_insert_with(|| if wish == Wish::Cpu { unwanted() } else { Gpu::open() });
                let (eyes, event) = Eyes::new(part, field, self.margin, wish, gpu);
                tell(event.as_ref());
                Some(eyes)
            };
            PairMemory { eyes: [eyes(a, b), eyes(b, a)], reducer: Reducer::default() }
        });
        Memory { pairs: pairs.collect(), near: Box::default(), far: Box::default() }
    }

    /// One look: the candidates of all pairs at the poses of `request`. Deterministic: equal requests in equal order, with a
    /// memory that was new at first, give equal replies.
    pub fn look(&self, request: &Request, memory: &mut Memory, reply: &mut Reply) {
        debug_assert_eq!(memory.pairs.len(), self.pairs.len(), "a memory of another model");
        reply.stamp = request.stamp;
        reply.candidates.clear();
        reply.unsound = 0;
        for prepared in &self.colliders {
            let body = prepared.collider.body;
            if !pose_is_sound(&request.poses[body.place()]) {
                reply.unsound |= body.bit();
            }
        }
        for (index, pair) in self.pairs.iter().enumerate() {
            let (a, b) = (self.collider(pair.a), self.collider(pair.b));
            if reply.unsound & (a.collider.body.bit() | b.collider.body.bit()) != 0 {
                continue;
            }
            let (placed_a, placed_b) = (a.placed(request), b.placed(request));
            if self.may_touch(a, &placed_a, b, &placed_b) {
                if a.collider.shape.has_nodes() || b.collider.shape.has_nodes() {
                    self.look_at_parts(index, request, memory, &mut reply.candidates);
                } else {
                    collide(index as u16, &placed_a, &placed_b, self.margin, &mut reply.candidates);
                }
            }
        }
    }

    /// The candidates of pair `index`, of which one is a part that touches with its nodes.
    fn look_at_parts(&self, index: usize, request: &Request, memory: &mut Memory, out: &mut Candidates) {
        let pair = &self.pairs[index];
        let (a, b) = (self.collider(pair.a), self.collider(pair.b));
        let (body_a, body_b) = (a.collider.body, b.collider.body);
        let pose = |body: Slot| &request.poses[body.place()];
        let outlook = |body: Slot| &request.outlooks[body.place()];
        let (holder_a, holder_b) = (a.holder(pose(body_a)), b.holder(pose(body_b)));
        let origin = pose(body_a).translation.vector;
        let Memory { near, far, pairs } = memory;
        let PairMemory { eyes, reducer } = &mut pairs[index];
        tell(near.find([&holder_a, &holder_b], eyes, &origin, self.margin).as_ref());
        let watch = self.watch.filter(|watch| body_a.0 < watch.bodies || body_b.0 < watch.bodies);
        far.scan([&holder_a, &holder_b], &origin, (self.margin, watch.map_or(0.0, |watch| watch.reach_m)));
        let way = Way::of((pose(body_a), outlook(body_a)), (pose(body_b), outlook(body_b)));
        let size = a.ball.radius.min(b.ball.radius);
        let view = View { near, far, way: &way, a: &holder_a, b: &holder_b, origin: &origin, size };
        let mut chosen = reducer.choose(&view, self.reduction, self.most);
        if let Some(watch) = watch {
            chosen = reducer.watch(&view, watch.outlooks, watch.most);
        }
        out.thinned += view.near.len().saturating_sub(chosen.len()) as u32;
        let (to_a, to_b) = (pose(body_a).inverse(), pose(body_b).inverse());
        let within = |to: &Pose, p: &Vec3| to.rotation * p + to.translation.vector;
        for contact in chosen {
            let (holder, target) = match contact.side {
                Side::A => (&holder_a, &holder_b),
                Side::B => (&holder_b, &holder_a),
            };
            let touch = contact.touch.unwrap_or_else(|| Touch::of(holder, target, &contact.point));
            let surface = if touch.flipped == (contact.side == Side::A) { Side::A } else { Side::B };
            let (point_a, point_b, normal) = match surface {
                Side::B => (touch.point, touch.point - touch.outward * touch.gap, touch.outward),
                Side::A => (touch.point - touch.outward * touch.gap, touch.point, -touch.outward),
            };
            let owner = if surface == Side::A { &to_a } else { &to_b };
            out.push(Candidate {
                id: identity(index as u16, surface, 0, contact.number | NODE, 0),
                pair: index as u16,
                body_a,
                body_b,
                point_a: within(&to_a, &point_a),
                point_b: within(&to_b, &point_b),
                normal,
                normal_local: owner.rotation * normal,
                surface,
                gap: touch.gap,
            });
        }
    }

    /// False only when no point of one is nearer than the margin to the other.
    fn may_touch(&self, a: &Prepared, placed_a: &Placed<'_>, b: &Prepared, placed_b: &Placed<'_>) -> bool {
        let pose_a = placed_a.pose_world_body * placed_a.pose_body_shape;
        let pose_b = placed_b.pose_world_body * placed_b.pose_body_shape;
        let center = |pose: &Pose, ball: &BoundingSphere| pose.rotation * ball.center + pose.translation.vector;
        let (center_a, center_b) = (center(&pose_a, &a.ball), center(&pose_b, &b.ball));
        if (center_a - center_b).norm() >= a.ball.radius + b.ball.radius + self.margin {
            return false;
        }
        let reaches = |pose: &Pose, surface: &Prepared, from: &Vec3, radius: f64| {
            let local = pose.rotation.inverse_transform_vector(&(from - pose.translation.vector));
            surface.collider.shape.signed_distance(&local).distance < radius + self.margin
        };
        reaches(&pose_b, b, &center_a, a.ball.radius) && reaches(&pose_a, a, &center_b, b.ball.radius)
    }
}

/// Logs which processor detects, or that one was lost.
fn tell(event: Option<&Event>) {
    match event {
        None => {}
        Some(Event::Measured { cpu_s, gpu_s }) => {
            let faster = if cpu_s <= gpu_s { "the CPU" } else { "the graphics processor" };
            tracing::info!(
                "contacts are found by {faster}: {:.0} us on one core, {:.0} us on the graphics processor",
                cpu_s * 1e6,
                gpu_s * 1e6
            );
        }
        Some(Event::FellBack(error)) => tracing::warn!("contacts are found by the CPU: {error}"),
    }
}

impl Prepared {
    fn holder(&self, pose_world_body: &Pose) -> Holder<'_> {
        Holder {
            part: self.collider.part(),
            surface: &self.collider.shape,
            pose: pose_world_body * self.collider.pose_body_shape,
        }
    }

    fn placed(&self, request: &Request) -> Placed<'_> {
        Placed {
            surface: &self.collider.shape,
            features: &self.features,
            outline: self.collider.shape.outline(),
            body: self.collider.body,
            pose_world_body: request.poses[self.collider.body.place()],
            pose_body_shape: self.collider.pose_body_shape,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Cuboid, Cylinder, HalfSpace, Sphere};
    use proptest::prelude::*;

    fn collider(body: u16, shape: Shape) -> Collider {
        Collider::new(Slot(body), shape, Pose::identity())
    }

    #[test]
    fn bodies_that_never_move_are_not_paired_with_each_other() {
        let ball = Shape::Sphere(Sphere { radius: 1.0 });
        let colliders =
            [collider(0, ball.clone()), collider(1, ball.clone()), collider(2, ball.clone()), collider(2, ball)];
        let pairs = CollisionModel::every_pair(&colliders, |body| body < Slot(2));
        let expected = [(0, 2), (0, 3), (1, 2), (1, 3)].map(|(a, b)| Pair { a: ColliderId(a), b: ColliderId(b) });
        assert_eq!(pairs, expected);
    }

    #[test]
    fn nonsense_is_refused() {
        let ball = Shape::Sphere(Sphere { radius: 1.0 });
        let two = [collider(0, ball.clone()), collider(0, ball.clone())];
        let pair = |a, b| vec![Pair { a: ColliderId(a), b: ColliderId(b) }];
        assert_eq!(CollisionModel::new(&two, pair(0, 1), 0.01).err(), Some(ModelError::Pair(0)));
        assert_eq!(CollisionModel::new(&two, pair(0, 7), 0.01).err(), Some(ModelError::Pair(0)));
        assert_eq!(CollisionModel::new(&two, vec![], 0.0).err(), Some(ModelError::Margin));
        let far = [collider(32, ball)];
        assert_eq!(CollisionModel::new(&far, vec![], 0.1).err(), Some(ModelError::Body { index: 0, body: 32 }));
    }

    #[test]
    fn a_body_with_a_pose_that_is_no_number_is_named_and_left_out() {
        let colliders = [collider(0, Shape::HalfSpace(HalfSpace)), collider(5, Shape::Sphere(Sphere { radius: 1.0 }))];
        let pairs = CollisionModel::every_pair(&colliders, |_| false);
        let model = CollisionModel::new(&colliders, pairs, 0.01).expect("the model is sound");
        let mut request = Request::new();
        request.poses[5].translation.vector.x = f64::NAN;
        let mut reply = Reply::new();
        model.look(&request, &mut model.memory(Wish::Cpu), &mut reply);
        assert_eq!((reply.unsound, reply.candidates.as_slice().len()), (1 << 5, 0));
    }

    fn pose() -> impl Strategy<Value = Pose> {
        ([-0.1..0.1, -0.1..0.1, -0.1..0.1], [-3.0..3.0, -3.0..3.0, -3.0..3.0])
            .prop_map(|([x, y, z], [a, b, c])| Pose::new(Vec3::new(x, y, z), Vec3::new(a, b, c)))
    }

    proptest! {
        #[test]
        fn the_broad_phase_loses_no_candidate(pose in pose()) {
            let cuboid = Shape::Cuboid(Cuboid { half: Vec3::new(0.01, 0.02, 0.06) });
            let cylinder = Shape::Cylinder(Cylinder { radius: 0.03, half_length: 0.02 });
            let colliders = [collider(0, cuboid), collider(1, cylinder)];
            let pairs = CollisionModel::every_pair(&colliders, |_| false);
            let model = CollisionModel::new(&colliders, pairs, 0.01).expect("the model is sound");
            let mut request = Request::new();
            request.poses[1] = pose;
            let mut reply = Reply::new();
            model.look(&request, &mut model.memory(Wish::Cpu), &mut reply);
            let mut all = Candidates::new();
            let [a, b] = [0, 1].map(|k: usize| model.colliders[k].placed(&request));
            collide(0, &a, &b, 0.01, &mut all);
            prop_assert_eq!(all.as_slice(), reply.candidates.as_slice());
        }
    }
}
