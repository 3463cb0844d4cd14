//! The wall of a thread as facets, between two planes across the axis.
//!
//! Thread: cold.
//!
//! Rows of vertices follow the helix, so the edges of crest and root are edges of the mesh. In each half-plane `θ_i`
//! the wall is a strand: the corners of the profile that lie between the ends, with what the chamfers cut off, and the
//! ends. Neighbouring strands are joined by the names of their vertices. After a full turn the rows have moved by one
//! pitch, so the last strand meets the first with names moved by the number of rows per pitch.

use super::build::{Builder, Ring, Strand, angle};
use super::{Facets, Side, ThreadProfile};

/// Vertices of a strand nearer to each other than this share of the pitch are one: a sliver serves nobody.
const NEAREST: f64 = 1e-4;

/// A thread between two heights, with chamfers of 45°. A chamfer of a bolt cuts off its crest, that of a nut too.
pub(super) struct Wall {
    pub(super) profile: ThreadProfile,
    pub(super) low: f64,
    pub(super) high: f64,
    /// How much of the radius the chamfer takes at the lower end.
    pub(super) chamfer_low: f64,
    pub(super) chamfer_high: f64,
}

impl Wall {
    /// Radius that the chamfers leave at height `z`.
    pub(super) fn cut(&self, z: f64) -> f64 {
        let reach = |chamfer: f64, way: f64| if chamfer > 0.0 { chamfer - way } else { f64::NEG_INFINITY };
        let taken = reach(self.chamfer_low, z - self.low).max(reach(self.chamfer_high, self.high - z));
        match self.profile.side {
            Side::Bolt => self.profile.major_radius - taken,
            Side::Nut => self.profile.minor_radius + taken,
        }
    }

    fn kept(&self, radius: f64, z: f64) -> f64 {
        match self.profile.side {
            Side::Bolt => radius.min(self.cut(z)),
            Side::Nut => radius.max(self.cut(z)),
        }
    }

    /// Corners of one pitch of the profile as (s, radius), with the rows of the flanks.
    fn rows(&self, per_flank: usize) -> Vec<(f64, f64)> {
        let p = &self.profile;
        let (crest, foot) = (p.crest_half_width(), p.foot_half_width());
        let mut rows = vec![(-crest, p.major_radius)];
        for k in 0..=per_flank {
            let share = k as f64 / per_flank as f64;
            rows.push((crest + (foot - crest) * share, p.major_radius + (p.minor_radius - p.major_radius) * share));
        }
        for k in 0..per_flank {
            let share = k as f64 / per_flank as f64;
            let s = p.pitch - foot + (foot - crest) * share;
            rows.push((s, p.minor_radius + (p.major_radius - p.minor_radius) * share));
        }
        rows
    }

    /// Rows per pitch times pitches: facets along the axis.
    pub(super) fn lanes(&self, facets: Facets) -> f64 {
        (2 * facets.rows + 2) as f64 * ((self.high - self.low) / self.profile.pitch + 1.0)
    }

    /// One strand as (name, radius, height), for the half-plane that is `turn` of a full turn away from the first.
    fn strand(&self, rows: &[(f64, f64)], turn: f64) -> Vec<(i64, f64, f64)> {
        let p = &self.profile;
        let shift = p.pitch * turn;
        let pitches = |z: f64| ((z - shift) / p.pitch).floor() as i64;
        let count = rows.len() as i64;
        let corner = |j: i64| {
            let (s, radius) = rows[j.rem_euclid(count) as usize];
            (2 * j, radius, s + p.pitch * j.div_euclid(count) as f64 + shift)
        };
        let end = |name: i64, z: f64| (name, p.radius(z - shift), z);
        let mut line = vec![end(i64::MIN, self.low)];
        let inner = (pitches(self.low) - 1) * count..(pitches(self.high) + 2) * count;
        line.extend(inner.map(corner).filter(|(_, _, z)| *z > self.low && *z < self.high));
        line.push(end(i64::MAX, self.high));

        let over = |&(_, radius, z): &(i64, f64, f64)| radius - self.cut(z);
        let mut strand: Vec<(i64, f64, f64)> = Vec::with_capacity(line.len() + 2);
        for pair in line.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            strand.push((a.0, self.kept(a.1, a.2), a.2));
            let (fa, fb) = (over(a), over(b));
            if fa * fb < 0.0 && fa.is_finite() && fb.is_finite() {
                let share = fa / (fa - fb);
                let z = a.2 + (b.2 - a.2) * share;
                // The segment is known by the corner it begins at; the first one begins before a corner of its own.
                let name = if a.0 == i64::MIN { b.0.saturating_sub(1) } else { a.0 + 1 };
                strand.push((name, self.kept(a.1 + (b.1 - a.1) * share, z), z));
            }
        }
        strand.extend(line.last().map(|e| (e.0, self.kept(e.1, e.2), e.2)));
        self.thinned(strand)
    }

    /// Leaves out vertices too near to the one before or to the end.
    fn thinned(&self, strand: Vec<(i64, f64, f64)>) -> Vec<(i64, f64, f64)> {
        let least = NEAREST * self.profile.pitch;
        let top = self.high;
        let mut kept: Vec<(i64, f64, f64)> = Vec::with_capacity(strand.len());
        for v in strand {
            let far = kept.last().is_none_or(|last| (v.2 - last.2).hypot(v.1 - last.1) > least);
            let is_end = v.0 == i64::MIN || v.0 == i64::MAX;
            if is_end || (far && top - v.2 > least) {
                kept.push(v);
            }
        }
        kept
    }

    /// Adds the wall, seen from outside of the material, and returns its lower and upper rim.
    pub(super) fn build(&self, builder: &mut Builder, facets: Facets) -> (Ring, Ring) {
        let n = facets.per_turn;
        let rows = self.rows(facets.rows);
        let (mut lower, mut upper) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut strands: Vec<Strand> = Vec::with_capacity(n + 1);
        for i in 0..n {
            let theta = angle(i, n);
            let strand = self.strand(&rows, i as f64 / n as f64);
            let strand: Strand = strand.into_iter().map(|(name, r, z)| (name, builder.polar(r, theta, z))).collect();
            lower.extend(strand.first().map(|(_, v)| (theta, *v)));
            upper.extend(strand.last().map(|(_, v)| (theta, *v)));
            strands.push(strand);
        }
        // The first strand once more, as the one after the last.
        let turn = 2 * rows.len() as i64;
        let renamed = |name: i64| if name == i64::MIN || name == i64::MAX { name } else { name - turn };
        let closing = strands[0].iter().map(|(name, v)| (renamed(*name), *v)).collect();
        strands.push(closing);
        for pair in strands.windows(2) {
            builder.between_strands(&pair[0], &pair[1], self.profile.side == Side::Nut);
        }
        (Ring(lower), Ring(upper))
    }
}
