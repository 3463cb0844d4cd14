//! What a body can look like: primitive shapes, and machined parts.
//!
//! Thread: any (asked without heap; a part is shared, not copied).
//!
//! Frames: a half-space is solid below z = 0; sphere, box, cylinder and capsule are centred at the origin, the latter two
//! along z; a bore has the centre of its mouth at the origin and opens towards z.

use super::{
    Aabb, Bore, BoundingSphere, Capsule, Cuboid, Cylinder, Distance, Feature, Features, HalfSpace, MassProperties,
    Outline, Part, Sphere, Surface,
};
use crate::math::Vec3;
use std::sync::Arc;

/// A solid.
#[derive(Clone, Debug)]
pub enum Shape {
    /// All of z < 0.
    HalfSpace(HalfSpace),
    /// Sphere about the origin.
    Sphere(Sphere),
    /// Box about the origin.
    Cuboid(Cuboid),
    /// Solid cylinder along z.
    Cylinder(Cylinder),
    /// Capsule along z.
    Capsule(Capsule),
    /// Block with a blind hole.
    Bore(Bore),
    /// A machined part.
    Part(Arc<Part>),
}

impl PartialEq for Shape {
    /// Parts are equal when they are the same part.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::HalfSpace(a), Self::HalfSpace(b)) => a == b,
            (Self::Sphere(a), Self::Sphere(b)) => a == b,
            (Self::Cuboid(a), Self::Cuboid(b)) => a == b,
            (Self::Cylinder(a), Self::Cylinder(b)) => a == b,
            (Self::Capsule(a), Self::Capsule(b)) => a == b,
            (Self::Bore(a), Self::Bore(b)) => a == b,
            (Self::Part(a), Self::Part(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// Why a shape cannot be.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// A length is zero, negative or not finite.
    #[error("the {0} must be a positive length")]
    NotPositive(&'static str),
    /// The chamfer is negative or not finite.
    #[error("the chamfer must be zero (a sharp mouth) or a positive length")]
    BadChamfer,
    /// Hole and chamfer reach the sides of the block.
    #[error("the hole with its chamfer is as wide as the block: widen the block or narrow the hole")]
    HoleTooWide,
    /// The floor lies below the block.
    #[error("the hole is as deep as the block is high: raise the block or make the hole shallower")]
    HoleTooDeep,
    /// The chamfer ends below the floor.
    #[error("the chamfer is as deep as the hole: make it smaller")]
    ChamferTooDeep,
}

impl Shape {
    fn surface(&self) -> &dyn Surface {
        match self {
            Self::HalfSpace(s) => s,
            Self::Sphere(s) => s,
            Self::Cuboid(s) => s,
            Self::Cylinder(s) => s,
            Self::Capsule(s) => s,
            Self::Bore(s) => s,
            Self::Part(s) => &**s,
        }
    }

    /// What of the shape can touch another surface; the order is fixed for the kind of shape. A part has none: its nodes
    /// touch.
    #[must_use]
    pub fn features(&self) -> Features {
        match self {
            Self::HalfSpace(s) => s.features(),
            Self::Sphere(s) => s.features(),
            Self::Cuboid(s) => s.features(),
            Self::Cylinder(s) => s.features(),
            Self::Capsule(s) => s.features(),
            Self::Bore(s) => s.features(),
            Self::Part(_) => Features::none(),
        }
    }

    /// The same of every shape; of a part that touches with its nodes, none.
    #[must_use]
    pub fn all_features(&self) -> Vec<Feature> {
        self.outline().map_or_else(|| self.features().as_slice().to_vec(), |outline| outline.features.clone())
    }

    /// Corners, edges and faces of a part that touches with these.
    #[must_use]
    pub fn outline(&self) -> Option<&Outline> {
        if let Self::Part(part) = self { part.outline.as_ref() } else { None }
    }

    /// True for a part that touches with its nodes.
    #[must_use]
    pub fn has_nodes(&self) -> bool {
        matches!(self, Self::Part(part) if part.outline.is_none())
    }

    /// Bounds along the axes of the shape's frame.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        match self {
            Self::HalfSpace(s) => s.aabb(),
            Self::Sphere(s) => s.aabb(),
            Self::Cuboid(s) => s.aabb(),
            Self::Cylinder(s) => s.aabb(),
            Self::Capsule(s) => s.aabb(),
            Self::Bore(s) => s.aabb(),
            Self::Part(s) => s.aabb(),
        }
    }

    /// Mass, centre and inertia for a density in kg/m³; none for a half-space, which has no end.
    #[must_use]
    pub fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        match self {
            Self::HalfSpace(_) => None,
            Self::Sphere(s) => Some(s.mass_properties(density)),
            Self::Cuboid(s) => Some(s.mass_properties(density)),
            Self::Cylinder(s) => Some(s.mass_properties(density)),
            Self::Capsule(s) => Some(s.mass_properties(density)),
            Self::Bore(s) => Some(s.mass_properties(density)),
            Self::Part(s) => s.mass_properties(density),
        }
    }

    /// Says whether such a shape can be. Everything else here takes it for granted.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), ShapeError> {
        let positive = |x: f64, name| {
            if x.is_finite() && x > 0.0 { Ok(()) } else { Err(ShapeError::NotPositive(name)) }
        };
        match self {
            Self::HalfSpace(_) | Self::Part(_) => Ok(()),
            Self::Sphere(s) => positive(s.radius, "radius"),
            Self::Cuboid(s) => s.half.iter().try_for_each(|x| positive(*x, "size")),
            Self::Cylinder(Cylinder { radius, half_length }) | Self::Capsule(Capsule { radius, half_length }) => {
                positive(*radius, "radius")?;
                positive(*half_length, "length")
            }
            Self::Bore(s) => {
                positive(s.half_x, "size")?;
                positive(s.half_y, "size")?;
                positive(s.height, "height")?;
                positive(s.radius, "radius of the hole")?;
                positive(s.depth, "depth of the hole")?;
                if !(s.chamfer.is_finite() && s.chamfer >= 0.0) {
                    Err(ShapeError::BadChamfer)
                } else if s.radius + s.chamfer >= s.half_x.min(s.half_y) {
                    Err(ShapeError::HoleTooWide)
                } else if s.depth >= s.height {
                    Err(ShapeError::HoleTooDeep)
                } else if s.chamfer >= s.depth {
                    Err(ShapeError::ChamferTooDeep)
                } else {
                    Ok(())
                }
            }
        }
    }
}

impl Surface for Shape {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        self.surface().signed_distance(point)
    }

    fn sheet_count(&self) -> usize {
        self.surface().sheet_count()
    }

    fn sheet_distance(&self, sheet: usize, point: &Vec3) -> Distance {
        self.surface().sheet_distance(sheet, point)
    }

    fn is_convex(&self) -> bool {
        self.surface().is_convex()
    }

    fn flat_faces(&self) -> &'static [Vec3] {
        self.surface().flat_faces()
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        self.surface().bounding_sphere()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::surface::check;
    use crate::math::Mat3;
    use proptest::prelude::*;

    const BORE: Bore = Bore { half_x: 0.05, half_y: 0.04, height: 0.06, radius: 0.02, depth: 0.035, chamfer: 0.004 };

    fn bounded() -> [Shape; 5] {
        [
            Shape::Sphere(Sphere { radius: 0.03 }),
            Shape::Cuboid(Cuboid { half: Vec3::new(0.02, 0.03, 0.05) }),
            Shape::Cylinder(Cylinder { radius: 0.025, half_length: 0.03 }),
            Shape::Capsule(Capsule { radius: 0.02, half_length: 0.03 }),
            Shape::Bore(BORE),
        ]
    }

    fn all() -> Vec<Shape> {
        bounded().into_iter().chain([Shape::HalfSpace(HalfSpace)]).collect()
    }

    /// Points of the surface no farther than `step` from any of it, and whether `p` is inside, written without the
    /// distance functions.
    fn cloud(shape: &Shape, step: f64) -> Vec<Vec3> {
        let mut cloud = Vec::new();
        let arc = |cloud: &mut Vec<Vec3>, radius: f64, center: f64, from: f64, to: f64| {
            let count = (radius * (to - from) / step).ceil() as usize;
            for k in 0..count {
                let at = |k: usize| from + (to - from) * k as f64 / count as f64;
                let on = |a: f64| ((radius * a.cos()).max(0.0), center + radius * a.sin());
                check::revolved(cloud, on(at(k)), on(at(k + 1)), step);
            }
        };
        let quarter = std::f64::consts::FRAC_PI_2;
        match *shape {
            Shape::Sphere(s) => arc(&mut cloud, s.radius, 0.0, -quarter, quarter),
            Shape::Cuboid(Cuboid { half }) => {
                let [x, y, z] = [Vec3::x() * half.x, Vec3::y() * half.y, Vec3::z() * half.z];
                for (u, v, w) in [(x, y, z), (y, z, x), (z, x, y)] {
                    check::rectangle(&mut cloud, w, u, v, step);
                    check::rectangle(&mut cloud, -w, u, v, step);
                }
            }
            Shape::Cylinder(Cylinder { radius: r, half_length: h }) => {
                for ends in [(0.0, -h), (r, -h), (r, h), (0.0, h)].windows(2) {
                    check::revolved(&mut cloud, ends[0], ends[1], step);
                }
            }
            Shape::Capsule(Capsule { radius: r, half_length: h }) => {
                arc(&mut cloud, r, -h, -quarter, 0.0);
                check::revolved(&mut cloud, (r, -h), (r, h), step);
                arc(&mut cloud, r, h, 0.0, quarter);
            }
            Shape::Bore(_) | Shape::HalfSpace(_) | Shape::Part(_) => {}
        }
        cloud
    }

    fn is_inside(shape: &Shape, p: &Vec3) -> bool {
        let rho = p.x.hypot(p.y);
        match *shape {
            Shape::Part(ref part) => part.signed_distance(p).distance < 0.0,
            Shape::HalfSpace(_) => p.z < 0.0,
            Shape::Sphere(s) => p.norm() < s.radius,
            Shape::Cuboid(s) => p.iter().zip(s.half.iter()).all(|(x, h)| x.abs() < *h),
            Shape::Cylinder(s) => rho < s.radius && p.z.abs() < s.half_length,
            Shape::Capsule(s) => {
                let end = |z: f64| (p - Vec3::new(0.0, 0.0, z)).norm() < s.radius;
                (rho < s.radius && p.z.abs() < s.half_length) || end(s.half_length) || end(-s.half_length)
            }
            Shape::Bore(b) => {
                let in_block = p.x.abs() < b.half_x && p.y.abs() < b.half_y && p.z < 0.0 && p.z > -b.height;
                let in_hole = p.z > -b.depth && (rho < b.radius || rho < b.radius + b.chamfer + p.z);
                in_block && !in_hole
            }
        }
    }

    fn somewhere() -> impl Strategy<Value = Vec3> {
        [-0.08..0.08, -0.08..0.08, -0.08..0.08].prop_map(|[x, y, z]| Vec3::new(x, y, z))
    }

    #[test]
    fn distance_is_that_to_the_nearest_of_many_points_of_the_surface() {
        let step = 1e-3;
        // The bore has this test in its own file.
        for shape in &bounded()[..4] {
            let cloud = cloud(shape, step);
            let mut runner = proptest::test_runner::TestRunner::deterministic();
            runner
                .run(&somewhere(), |p| {
                    check::assert_matches_cloud(shape, &p, &cloud, step, is_inside(shape, &p));
                    Ok(())
                })
                .expect("every point agrees");
        }
    }

    proptest! {
        #[test]
        fn normal_is_the_gradient_and_of_unit_length(p in somewhere()) {
            for shape in all() {
                let got = shape.signed_distance(&p);
                prop_assert!((got.normal.norm() - 1.0).abs() < 1e-12);
                if !check::is_near_medial_axis(&shape, &p, 1e-4) {
                    check::assert_normal_is_gradient(&shape, &p);
                }
            }
        }

        #[test]
        fn distance_changes_no_faster_than_the_point_moves(p in somewhere(), q in somewhere()) {
            for shape in all() {
                let change = shape.signed_distance(&p).distance - shape.signed_distance(&q).distance;
                prop_assert!(change.abs() <= (p - q).norm() * (1.0 + 1e-12), "{shape:?}");
            }
        }
    }

    #[test]
    fn a_unit_normal_comes_from_every_degenerate_point() {
        for shape in all() {
            let mut points = vec![Vec3::zeros(), Vec3::z() * 1e-300, Vec3::new(1e-13, -1e-13, 1e-13)];
            for feature in shape.features().as_slice() {
                match *feature {
                    Feature::Point { position, .. } => points.push(position),
                    Feature::Segment { a, b, .. } => points.extend([a, b, 0.5 * (a + b)]),
                    Feature::Circle { center, start, radius, .. } => points.extend([center, center + start * radius]),
                }
            }
            points.extend([Vec3::new(0.0, 0.0, -BORE.depth), Vec3::new(BORE.radius, 0.0, -BORE.depth)]);
            let nudges = [0.0, 1e-18, -1e-18, 1e-14, -1e-14];
            for p in points.iter().flat_map(|p| nudges.map(|e| p + Vec3::new(e, -e, e))) {
                let got = shape.signed_distance(&p);
                assert!(got.distance.is_finite(), "{shape:?} at {p:?}");
                assert!((got.normal.norm() - 1.0).abs() < 1e-12, "{shape:?} at {p:?}: {:?}", got.normal);
            }
        }
    }

    #[test]
    fn features_lie_on_the_surface_or_their_radius_inside_it() {
        for shape in all() {
            for feature in shape.features().as_slice() {
                let (points, radius) = match *feature {
                    Feature::Point { position, radius } => (vec![position], radius),
                    Feature::Segment { a, b, radius } => (vec![0.55 * a + 0.45 * b], radius),
                    Feature::Circle { center, axis, start, radius } => {
                        let at =
                            |angle: f64| center + (start * angle.cos() + axis.cross(&start) * angle.sin()) * radius;
                        (vec![at(0.0), at(1.0), at(4.0)], 0.0)
                    }
                };
                for p in points {
                    assert!((shape.signed_distance(&p).distance + radius).abs() < 1e-15, "{shape:?}: {feature:?}");
                }
            }
        }
    }

    #[test]
    fn mass_properties_are_those_of_numeric_integration() {
        for shape in bounded() {
            // Midpoint rule on 120³ cells of the bounds.
            let (n, Aabb { min, max }) = (120, shape.aabb());
            let cell = (max - min) / f64::from(n);
            let (mut volume, mut first, mut second) = (0.0, Vec3::zeros(), Mat3::zeros());
            for (i, j, k) in (0..n).flat_map(|i| (0..n).flat_map(move |j| (0..n).map(move |k| (i, j, k)))) {
                let index = Vec3::new(f64::from(i), f64::from(j), f64::from(k)).add_scalar(0.5);
                let p = min + index.component_mul(&cell);
                if is_inside(&shape, &p) {
                    volume += 1.0;
                    first += p;
                    second += p * p.transpose();
                }
            }
            let dv = cell.product() * 2700.0;
            let (mass, center) = (volume * dv, first / volume);
            let spread = second * dv - center * center.transpose() * mass;
            let inertia = Mat3::identity() * spread.trace() - spread;
            let got = shape.mass_properties(2700.0).expect("a bounded shape has mass");
            assert!((got.mass / mass - 1.0).abs() < 3e-3, "{shape:?}: {} against {mass}", got.mass);
            assert!((got.center - center).norm() < 1e-4, "{shape:?}: {} against {center}", got.center);
            assert!((got.inertia - inertia).norm() < 5e-3 * inertia.norm(), "{shape:?}: {} {inertia}", got.inertia);
        }
        assert!(Shape::HalfSpace(HalfSpace).mass_properties(1.0).is_none());
    }

    #[test]
    fn bounds_hold_the_features_and_are_touched_by_the_shape() {
        for shape in bounded() {
            let (ball, Aabb { min, max }) = (shape.bounding_sphere(), shape.aabb());
            for axis in 0..3 {
                // A plane square to the axis, at the bound: the least distance of the shape to it is zero.
                let mut p = 0.5 * (min + max);
                p[axis] = max[axis];
                assert!(shape.signed_distance(&p).distance >= -1e-15);
            }
            let corner = (max - min) * 0.5;
            assert!(ball.radius <= corner.norm() + 1e-15 && ball.radius >= corner.max() - 1e-15, "{shape:?}");
            assert!((ball.center - 0.5 * (min + max)).norm() < 1e-15);
        }
    }

    #[test]
    fn impossible_shapes_are_refused_with_the_reason() {
        assert_eq!(Shape::Sphere(Sphere { radius: f64::NAN }).check(), Err(ShapeError::NotPositive("radius")));
        let bore = |change: &dyn Fn(&mut Bore)| {
            let mut b = BORE;
            change(&mut b);
            Shape::Bore(b).check()
        };
        assert_eq!(bore(&|_| ()), Ok(()));
        assert_eq!(bore(&|b| b.radius = 0.039), Err(ShapeError::HoleTooWide));
        assert_eq!(bore(&|b| b.depth = 0.06), Err(ShapeError::HoleTooDeep));
        assert_eq!(bore(&|b| b.depth = 0.003), Err(ShapeError::ChamferTooDeep));
        assert_eq!(bore(&|b| b.chamfer = -1.0), Err(ShapeError::BadChamfer));
    }
}
