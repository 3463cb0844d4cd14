//! One element: its energy, force and stiffness in five numbers that rigid motions leave alone, and the cubic between its nodes.
//!
//! Thread: simulation.
//!
//! The numbers are `l = |r|`, `d₁ = e·t₁`, `d₂ = e·t₂`, `c = t₁·t₂` and the twist `τ`. With `f(d) = arccos d / √(1 − d²)`
//! the rotation from chord to section is `θᵢ = fᵢ e×tᵢ`, so that `θᵢ² = arccos² dᵢ` and `θ₁·θ₂ = f₁f₂ (c − d₁d₂)`. Derivatives
//! are by `(r, φ₁, φ₂)`: the chord, and small rotations in front of those of the sections, `tᵢ → exp(φᵢ) tᵢ`. Second derivatives
//! are those of the exponential, which are symmetric.

use crate::math::{Mat3, Rot, Vec3, Vec6, join, skew};
use nalgebra::{SMatrix, SVector};

/// By `(r, φ₁, φ₂)`.
pub(super) type Vec9 = SVector<f64, 9>;
/// By `(r, φ₁, φ₂)` twice.
pub(super) type Mat9 = SMatrix<f64, 9, 9>;

/// `n!/(2n+1)!!`, the coefficients of `f` in powers of `1 − d`.
const SERIES: [f64; 11] = [
    1.0,
    1.0 / 3.0,
    2.0 / 15.0,
    2.0 / 35.0,
    8.0 / 315.0,
    8.0 / 693.0,
    16.0 / 3003.0,
    16.0 / 6435.0,
    128.0 / 109_395.0,
    128.0 / 230_945.0,
    256.0 / 969_969.0,
];
/// Sections are never taken to be turned further back than this from the chord, where `f` has no bound.
const LEAST_COSINE: f64 = -0.99;

/// Stiffness of an element: `EA/L`, `2EI/L`, `GJ/L`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stiffness {
    pub(super) axial: f64,
    pub(super) bending: f64,
    pub(super) torsion: f64,
}

/// Axis of the section at one end against the chord.
#[derive(Clone, Copy, Debug)]
struct End {
    /// Axis, towards the tip.
    t: Vec3,
    d: f64,
    /// Part of the axis across the chord.
    p: Vec3,
    /// `f`, `f′`, `f″` at `d`.
    f: [f64; 3],
}

impl End {
    fn new(e: &Vec3, rotation: &Rot) -> Self {
        let t = rotation * -Vec3::z();
        let p = t - e * e.dot(&t);
        let d = e.dot(&t);
        Self { t, d, p, f: angle_over_sine(p.norm(), d) }
    }
}

/// `f` and its first two derivatives by `d`, from sine and cosine of the angle.
fn angle_over_sine(sine: f64, cosine: f64) -> [f64; 3] {
    if cosine > 0.0 && sine < 0.2 {
        let x = sine * sine / (1.0 + cosine);
        let mut f = [0.0; 3];
        for (n, a) in SERIES.iter().enumerate().rev() {
            let n = n as f64;
            f[0] = f[0] * x + a;
            if n >= 1.0 {
                f[1] = f[1] * x - n * a;
            }
            if n >= 2.0 {
                f[2] = f[2] * x + n * (n - 1.0) * a;
            }
        }
        return f;
    }
    let d = cosine.max(LEAST_COSINE);
    let square = if d > cosine { 1.0 - d * d } else { sine * sine };
    let s = square.sqrt();
    let f = s.atan2(d) / s;
    let slope = (d * f - 1.0) / square;
    [f, slope, (f + 3.0 * d * slope) / square]
}

/// Shape of one element and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    rest: f64,
    l: f64,
    pub(super) e: Vec3,
    first: End,
    second: End,
    c: f64,
    tau: f64,
}

/// Cubics that are zero at both ends and have slope one at one of them, and their slopes.
fn cubics(xi: f64) -> ([f64; 2], [f64; 2]) {
    let other = 1.0 - xi;
    ([xi * other * other, -xi * xi * other], [other * (1.0 - 3.0 * xi), xi * (3.0 * xi - 2.0)])
}

impl Element {
    /// From the chord and the rotations of the sections.
    pub(super) fn new(rest: f64, chord: &Vec3, rotations: [&Rot; 2]) -> Self {
        let l = chord.norm();
        let e = chord / l;
        let first = End::new(&e, rotations[0]);
        let second = End::new(&e, rotations[1]);
        let between = rotations[0].inverse() * rotations[1];
        // Of the two quaternions of a rotation the one that turns less than π.
        let sign = 1.0_f64.copysign(between.w);
        let tau = 2.0 * f64::atan2(-between.k * sign, between.w * sign);
        Self { rest, l, e, first, second, c: first.t.dot(&second.t), tau }
    }

    /// Elastic energy, J.
    pub(super) fn energy(&self, k: &Stiffness) -> f64 {
        let theta = [self.first, self.second].map(|end| end.p * end.f[0]);
        let bending = theta[0].norm_squared() + theta[0].dot(&theta[1]) + theta[1].norm_squared();
        let stretch = self.l - self.rest;
        0.5 * k.axial * stretch * stretch + k.bending * bending + 0.5 * k.torsion * self.tau * self.tau
    }

    /// First derivatives of the bending energy over `2EI/L` by `d₁`, `d₂`, `c`.
    fn bending_slope(&self) -> Vec3 {
        let (a, b) = (&self.first, &self.second);
        let both = a.p.dot(&b.p);
        let ([fa, fa1, _], [fb, fb1, _]) = (a.f, b.f);
        Vec3::new(-2.0 * fa + fa1 * fb * both - fa * fb * b.d, -2.0 * fb + fa * fb1 * both - fa * fb * a.d, fa * fb)
    }

    /// Second derivatives of the same.
    fn bending_curve(&self) -> Mat3 {
        let (a, b) = (&self.first, &self.second);
        let both = a.p.dot(&b.p);
        let ([fa, fa1, fa2], [fb, fb1, fb2]) = (a.f, b.f);
        let aa = -2.0 * fa1 + fa2 * fb * both - 2.0 * fa1 * fb * b.d;
        let bb = -2.0 * fb1 + fa * fb2 * both - 2.0 * fa * fb1 * a.d;
        let ab = fa1 * fb1 * both - fa1 * fb * a.d - fa * fb1 * b.d - fa * fb;
        let (ac, bc) = (fa1 * fb, fa * fb1);
        Mat3::new(aa, ab, ac, ab, bb, bc, ac, bc, 0.0)
    }

    /// Slope of the twist by `φ₂`; that by `φ₁` is the opposite.
    fn twist_slope(&self) -> Vec3 {
        (self.first.t + self.second.t) / (1.0 + self.c).max(1e-3)
    }

    /// First derivatives of `d₁`, `d₂`, `c`.
    fn slopes(&self) -> [Vec9; 3] {
        let (a, b) = (&self.first, &self.second);
        let nothing = Vec3::zeros();
        let across = a.t.cross(&b.t);
        [
            stack(&(a.p / self.l), &a.t.cross(&self.e), &nothing),
            stack(&(b.p / self.l), &nothing, &b.t.cross(&self.e)),
            stack(&nothing, &across, &-across),
        ]
    }

    /// Slope of the energy: the forces that hold the element as it is.
    pub(super) fn gradient(&self, k: &Stiffness) -> Vec9 {
        let slope = self.bending_slope() * k.bending;
        let [a, b, c] = self.slopes();
        let moment = self.twist_slope() * (k.torsion * self.tau);
        let pull = self.e * (k.axial * (self.l - self.rest));
        a * slope.x + b * slope.y + c * slope.z + stack(&pull, &-moment, &moment)
    }

    /// Second derivative of the energy.
    pub(super) fn tangent(&self, k: &Stiffness) -> Mat9 {
        let mut out = Mat9::zeros();
        let (slope, curve) = (self.bending_slope() * k.bending, self.bending_curve() * k.bending);
        let slopes = self.slopes();
        for i in 0..3 {
            let weighted = slopes[0] * curve[(0, i)] + slopes[1] * curve[(1, i)] + slopes[2] * curve[(2, i)];
            out += weighted * slopes[i].transpose();
        }
        let twist = self.twist_slope();
        let by_twist = stack(&Vec3::zeros(), &-twist, &twist);
        out += by_twist * by_twist.transpose() * k.torsion;
        let along = self.e * self.e.transpose();
        let across = Mat3::identity() - along;
        let tension = k.axial * (self.l - self.rest) / self.l;
        add(&mut out, 0, 0, &(along * k.axial + across * tension));
        self.add_turning(&mut out, &slope, &across);
        self.add_twisting(&mut out, k.torsion * self.tau, &twist);
        out
    }

    /// Second derivatives of `d₁`, `d₂`, `c`, times the slopes of the energy by them.
    fn add_turning(&self, out: &mut Mat9, slope: &Vec3, across: &Mat3) {
        for (i, end) in [&self.first, &self.second].into_iter().enumerate() {
            let mixed = self.e * end.p.transpose();
            let chord = -(mixed + mixed.transpose() + across * end.d) / (self.l * self.l);
            let cross = -across * skew(&end.t) / self.l;
            add(out, 0, 0, &(chord * slope[i]));
            add(out, 0, i + 1, &(cross * slope[i]));
            add(out, i + 1, 0, &(cross.transpose() * slope[i]));
            add(out, i + 1, i + 1, &(turning(&end.t, &self.e, end.d) * slope[i]));
        }
        let own = turning(&self.first.t, &self.second.t, self.c) * slope.z;
        let between = (Mat3::identity() * self.c - self.second.t * self.first.t.transpose()) * slope.z;
        add(out, 1, 1, &own);
        add(out, 2, 2, &own);
        add(out, 1, 2, &between);
        add(out, 2, 1, &between.transpose());
    }

    /// Second derivative of the twist, times the twisting moment.
    fn add_twisting(&self, out: &mut Mat9, moment: f64, twist: &Vec3) {
        let weight = moment / (1.0 + self.c).max(1e-3);
        let b = self.first.t.cross(&self.second.t);
        let mixed = twist * b.transpose();
        let own = (mixed + mixed.transpose()) * (0.5 * weight);
        let between = (skew(&self.second.t) - mixed) * weight;
        add(out, 1, 1, &own);
        add(out, 2, 2, &own);
        add(out, 1, 2, &between);
        add(out, 2, 1, &between.transpose());
    }

    /// Stiffness of a straight element turned into the chord: positive semi-definite always, zero for rigid motions only.
    pub(super) fn material(&self, k: &Stiffness) -> Mat9 {
        let mut out = Mat9::zeros();
        let along = self.e * self.e.transpose();
        let across = Mat3::identity() - along;
        let turn = skew(&self.e) * (3.0 * k.bending / self.rest);
        add(&mut out, 0, 0, &(along * k.axial + across * (6.0 * k.bending / (self.rest * self.rest))));
        for end in 1..3 {
            add(&mut out, 0, end, &turn);
            add(&mut out, end, 0, &turn.transpose());
            add(&mut out, end, end, &(across * (2.0 * k.bending) + along * k.torsion));
            add(&mut out, end, 3 - end, &(across * k.bending - along * k.torsion));
        }
        out
    }

    /// Place on the element, from its first node, at the part `xi` of its length.
    pub(super) fn place(&self, xi: f64) -> Vec3 {
        let (h, _) = cubics(xi);
        self.e * (self.l * xi) + self.bow(h)
    }

    /// Slope of [`Self::place`] by `xi`.
    pub(super) fn direction(&self, xi: f64) -> Vec3 {
        let (_, slope) = cubics(xi);
        self.e * self.l + self.bow(slope)
    }

    fn bow(&self, h: [f64; 2]) -> Vec3 {
        (self.first.p * (self.first.f[0] * h[0]) + self.second.p * (self.second.f[0] * h[1])) * self.rest
    }

    /// Force and moment on either node of a unit force along `n` at `xi`: the derivative of `n · place`.
    pub(super) fn spread(&self, xi: f64, n: &Vec3) -> [Vec6; 2] {
        let (h, _) = cubics(xi);
        let mut by_chord = n * xi;
        let mut moments = [Vec3::zeros(); 2];
        let along = n.dot(&self.e);
        let across = n - self.e * along;
        for (i, end) in [&self.first, &self.second].into_iter().enumerate() {
            let weight = self.rest * h[i];
            let by_d = end.f[1] * n.dot(&end.p) - end.f[0] * along;
            by_chord += (end.p * by_d - across * (end.f[0] * end.d)) * (weight / self.l);
            moments[i] = (end.t.cross(&self.e) * by_d + end.t.cross(n) * end.f[0]) * weight;
        }
        [join(&(n - by_chord), &moments[0]), join(&by_chord, &moments[1])]
    }
}

/// Second derivative of `other · exp(φ) t` by `φ`, where `cosine = other · t`.
fn turning(t: &Vec3, other: &Vec3, cosine: f64) -> Mat3 {
    let mixed = t * other.transpose();
    (mixed + mixed.transpose()) * 0.5 - Mat3::identity() * cosine
}

fn stack(a: &Vec3, b: &Vec3, c: &Vec3) -> Vec9 {
    Vec9::from_iterator(a.iter().chain(b.iter()).chain(c.iter()).copied())
}

/// Adds a block by its place in `(r, φ₁, φ₂)`.
fn add(out: &mut Mat9, row: usize, column: usize, block: &Mat3) {
    let mut part = out.fixed_view_mut::<3, 3>(3 * row, 3 * column);
    part += block;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exp_so3;

    const K: Stiffness = Stiffness { axial: 900.0, bending: 5.0, torsion: 2.0 };
    const REST: f64 = 0.3;

    struct State {
        chord: Vec3,
        rotations: [Rot; 2],
    }

    impl State {
        fn bent(size: f64) -> Self {
            let first = exp_so3(&(Vec3::new(0.4, -0.3, 0.2) * size));
            let second = exp_so3(&(Vec3::new(-0.2, 0.5, 0.9) * size));
            Self { chord: Vec3::new(0.02 * size, -0.01 * size, -0.31), rotations: [first, second] }
        }

        fn moved(&self, step: &Vec9) -> Self {
            let part = |k: usize| Vec3::new(step[3 * k], step[3 * k + 1], step[3 * k + 2]);
            let [a, b] = self.rotations;
            Self { chord: self.chord + part(0), rotations: [exp_so3(&part(1)) * a, exp_so3(&part(2)) * b] }
        }

        fn element(&self) -> Element {
            Element::new(REST, &self.chord, [&self.rotations[0], &self.rotations[1]])
        }
    }

    #[test]
    fn force_and_stiffness_are_derivatives_of_the_energy() {
        for size in [0.01, 0.3, 1.0, 2.0] {
            let state = State::bent(size);
            let (gradient, tangent) = (state.element().gradient(&K), state.element().tangent(&K));
            assert!((tangent - tangent.transpose()).norm() < 1e-12 * tangent.norm());
            for i in 0..9 {
                let mut step = Vec9::zeros();
                let h = 1e-5;
                step[i] = h;
                let energy = |s: f64| state.moved(&(step * s)).element().energy(&K);
                let slope = (energy(1.0) - energy(-1.0)) / (2.0 * h);
                assert!((slope - gradient[i]).abs() < 1e-7 * gradient.norm(), "{size} {i}: {slope} {}", gradient[i]);
                for j in 0..9 {
                    let mut other = Vec9::zeros();
                    other[j] = 1e-4;
                    step[i] = 1e-4;
                    // Both in one exponential, which is what the second derivative is of.
                    let at = |a: f64, b: f64| state.moved(&(step * a + other * b)).element().energy(&K);
                    let mixed = if i == j {
                        (at(1.0, 0.0) - 2.0 * at(0.0, 0.0) + at(-1.0, 0.0)) / 1e-8
                    } else {
                        (at(1.0, 1.0) - at(1.0, -1.0) - at(-1.0, 1.0) + at(-1.0, -1.0)) / 4e-8
                    };
                    let error = (mixed - tangent[(i, j)]).abs() / tangent.norm();
                    assert!(error < 1e-6, "{size} {i} {j}: {mixed} {}", tangent[(i, j)]);
                }
            }
        }
    }

    #[test]
    fn rigid_motion_does_nothing_and_straight_stiffness_is_that_of_the_material() {
        let turn = exp_so3(&Vec3::new(2.0, -1.0, 0.5));
        let rigid = Element::new(REST, &(turn * Vec3::new(0.0, 0.0, -REST)), [&turn, &turn]);
        assert!(rigid.gradient(&K).norm() < 1e-12, "{}", rigid.gradient(&K));
        assert!((rigid.tangent(&K) - rigid.material(&K)).norm() < 1e-11 * rigid.material(&K).norm());
        let bent = State::bent(1.0);
        let turned = State { chord: turn * bent.chord, rotations: bent.rotations.map(|r| turn * r) };
        assert!((bent.element().energy(&K) - turned.element().energy(&K)).abs() < 1e-13);
    }

    #[test]
    fn forces_between_the_nodes_are_spread_by_the_derivative_of_the_cubic() {
        for (size, xi) in [(0.3, 0.2), (1.0, 0.7), (1.0, 1.0), (1.0, 0.0)] {
            let (state, n) = (State::bent(size), Vec3::new(0.6, -0.48, 0.64));
            let [first, second] = state.element().spread(xi, &n);
            assert!((first + second).fixed_rows::<3>(0).metric_distance(&n) < 1e-12, "the whole force arrives");
            for i in 0..9 {
                let mut step = Vec9::zeros();
                step[i] = 1e-6;
                let at = |s: f64| n.dot(&state.moved(&(step * s)).element().place(xi));
                let slope = (at(1.0) - at(-1.0)) / 2e-6;
                let wanted = [second[i % 3], first[3 + i % 3], second[3 + i % 3]][i / 3];
                assert!((slope - wanted).abs() < 1e-9, "{size} {xi} {i}: {slope} {wanted}");
            }
        }
    }

    #[test]
    fn angles_over_sines_agree_where_the_series_ends() {
        let at = |angle: f64| angle_over_sine(angle.sin(), angle.cos());
        let edge = 0.2_f64.asin();
        let (below, above) = (at(edge - 1e-9), at(edge + 1e-9));
        for k in 0..3 {
            assert!((below[k] - above[k]).abs() < 1e-8, "{k}: {below:?} {above:?}");
        }
        assert!(at(3.1).iter().chain(&at(0.0)).all(|x| x.is_finite()));
    }
}
