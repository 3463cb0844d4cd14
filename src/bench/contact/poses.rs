//! Poses that occur while a nut is turned on or a peg pushed in: read from a file, or made.
//!
//! Thread: main (cold).
//!
//! A file is a JSON object with a list for each pair, `bolt` and `peg`. An entry has the name of its `set` (free,
//! contact or deep), rotation `R` by rows and place `t` of the moving part in the frame of the fixed one, m, and
//! `min_sd`, the exact least distance of the nodes of both parts, m. The meshes lie beside it, in `meshes`.
//!
//! Poses are made as the files were: from the middle of the gap a random way is gone until the parts are as deep as
//! they should be (contact, deep), or half of the way to where they touch (free).

use super::pair::{Both, DEPTH, Kind, PITCH, Pair};
use crate::math::{Mat3, Pose, Random, Rot, Vec3};
use nalgebra::Rotation3;
use serde_json::Value;
use std::f64::consts::TAU;
use std::path::Path;

/// Poses of one kind.
struct Set {
    name: &'static str,
    count: usize,
    /// Least and greatest depth, µm: of the thread, of the peg.
    depths: [(f64, f64); 2],
}

const SETS: [Set; 3] = [
    Set { name: "free", count: 100, depths: [(0.0, 0.0), (0.0, 0.0)] },
    Set { name: "contact", count: 300, depths: [(20.0, 60.0), (2.0, 10.0)] },
    Set { name: "deep", count: 100, depths: [(100.0, 200.0), (20.0, 50.0)] },
];
/// Halvings of the way to the wanted depth.
const HALVINGS: usize = 22;
/// Longest way, in units of the random one.
const LONGEST: f64 = 40.0;

/// A pose and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Posed {
    pub(super) set: String,
    pub(super) pose: Pose,
    /// Exact least distance of all nodes, m.
    pub(super) least: f64,
}

/// Reads the poses of a pair.
pub(super) fn read(path: &Path, kind: Kind) -> Result<Vec<Posed>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    parse(&text, kind).map_err(|error| format!("{name}: {error}"))
}

fn parse(text: &str, kind: Kind) -> Result<Vec<Posed>, String> {
    let all: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let list = all[kind.name()].as_array().ok_or_else(|| format!("there is no list `{}` of poses", kind.name()))?;
    let entries = list.iter().enumerate().map(|(k, entry)| {
        let bad = |what: &str| format!("pose {k} of `{}`: {what}", kind.name());
        let number = |v: &Value| v.as_f64().filter(|x| x.is_finite());
        let rows: Option<Vec<f64>> = (0..9).map(|i| number(&entry["R"][i / 3][i % 3])).collect();
        let rows = rows.ok_or_else(|| bad("`R` must be three rows of three numbers"))?;
        let matrix = Mat3::from_row_slice(&rows);
        if (matrix.transpose() * matrix - Mat3::identity()).norm() > 1e-6 || matrix.determinant() < 0.0 {
            return Err(bad("`R` is no rotation"));
        }
        let place: Option<Vec<f64>> = (0..3).map(|i| number(&entry["t"][i])).collect();
        let place = place.ok_or_else(|| bad("`t` must be three numbers"))?;
        let least = number(&entry["min_sd"]).ok_or_else(|| bad("`min_sd` must be a number"))?;
        let set = entry["set"].as_str().ok_or_else(|| bad("`set` must be a word"))?.to_owned();
        let mut rotation = Rot::from_rotation_matrix(&Rotation3::from_matrix_unchecked(matrix));
        rotation.renormalize();
        Ok(Posed { set, pose: Pose::from_parts(Vec3::from_row_slice(&place).into(), rotation), least })
    });
    entries.collect()
}

/// Makes poses, the same for equal seeds. `both` finds nodes in the material.
pub(super) fn make(pair: &Pair, both: &mut Both, seed: u64) -> Vec<Posed> {
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for Set { name, count, depths } in SETS {
        let (low, high) = depths[usize::from(pair.kind == Kind::Peg)];
        let mut made = 0;
        while made < count {
            let way = Way::new(pair.kind, &mut random);
            let depth = (low + (high - low) * random.uniform()) * 1e-6;
            if let Some(pose) = way.walk(depth, both) {
                all.push(Posed { set: name.to_owned(), pose, least: exact(pair, &pose) });
                made += 1;
            }
        }
    }
    all
}

/// Exact least distance of the nodes of both parts.
pub(super) fn exact(pair: &Pair, pose: &Pose) -> f64 {
    let mut least = f64::INFINITY;
    for (of, at, place) in [(&pair.moving, &pair.fixed, *pose), (&pair.fixed, &pair.moving, pose.inverse())] {
        let place = at.pose_field_mesh * place;
        for node in of.nodes.nodes() {
            let p = place.rotation * node.position + place.translation.vector;
            least = least.min(at.source.distance(&p).distance);
        }
    }
    least
}

/// A random way out of the middle of the gap.
struct Way {
    start: Pose,
    shift: Vec3,
    turn: Vec3,
    /// What is turned about.
    pivot: Vec3,
}

impl Way {
    fn new(kind: Kind, random: &mut Random) -> Self {
        match kind {
            Kind::Bolt => {
                let z = 8e-3 + 14e-3 * random.uniform();
                let mut next = |scale: f64| scale * random.normal();
                Self {
                    start: Pose::new(Vec3::z() * z, Vec3::z() * (TAU * z / PITCH)),
                    shift: Vec3::new(next(4e-4), next(4e-4), next(2.5e-4)),
                    turn: Vec3::new(next(0.02), next(0.02), next(0.1)),
                    pivot: Vec3::zeros(),
                }
            }
            Kind::Peg => {
                let inside = 5e-3 + 34e-3 * random.uniform();
                let angle = TAU * random.uniform();
                let mut next = |scale: f64| scale * random.normal();
                Self {
                    start: Pose::new(Vec3::z() * (DEPTH - inside), Vec3::z() * angle),
                    shift: Vec3::new(next(32e-6), next(32e-6), 0.0),
                    turn: Vec3::new(next(65e-6 / inside), next(65e-6 / inside), 0.0),
                    pivot: Vec3::z() * (0.5 * inside),
                }
            }
        }
    }

    fn at(&self, share: f64) -> Pose {
        let turn = Rot::from_scaled_axis(self.turn * share);
        let place = self.start.translation.vector + self.pivot - turn * self.pivot + self.shift * share;
        Pose::from_parts(place.into(), turn * self.start.rotation)
    }

    /// To where the parts are `depth` deep, or half of the way to where they touch if that is zero. None if the way
    /// does not lead there.
    fn walk(&self, depth: f64, both: &mut Both) -> Option<Pose> {
        let mut is_deeper = |share: f64| {
            both.detect(&self.at(share));
            both.least().is_some_and(|least| least < -depth)
        };
        let (mut low, mut high) = (0.0, 0.25);
        if is_deeper(low) {
            return None;
        }
        while !is_deeper(high) {
            high *= 1.5;
            if high > LONGEST {
                return None;
            }
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if is_deeper(middle) { high = middle } else { low = middle }
        }
        Some(self.at(if depth > 0.0 { high } else { 0.5 * low }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_or_refused_with_the_place_of_the_fault() {
        let good = r#"{"bolt": [{"set": "free", "R": [[0, -1, 0], [1, 0, 0], [0, 0, 1]], "t": [0, 0, 0.01],
            "min_sd": 1e-4}]}"#;
        let poses = parse(good, Kind::Bolt).expect("well formed");
        assert_eq!((poses.len(), poses[0].set.as_str(), poses[0].least), (1, "free", 1e-4));
        assert!((poses[0].pose.rotation * Vec3::x() - Vec3::y()).norm() < 1e-12);
        let half_turn = good.replace("[[0, -1, 0], [1, 0, 0]", "[[-1, 0, 0], [0, -1, 0]");
        let poses = parse(&half_turn, Kind::Bolt).expect("well formed");
        assert!((poses[0].pose.rotation * Vec3::x() + Vec3::x()).norm() < 1e-12);
        for (from, to, word) in [
            ("[0, -1, 0]", "[0, -2, 0]", "no rotation"),
            ("[0, -1, 0]", "[0, -1]", "`R`"),
            ("[0, 0, 0.01]", "[0, 0, null]", "`t`"),
            ("1e-4", "\"deep\"", "`min_sd`"),
            ("\"set\": \"free\",", "", "`set`"),
            ("bolt", "bult", "`bolt`"),
            ("}]}", "", "EOF"),
        ] {
            let error = parse(&good.replacen(from, to, 1), Kind::Bolt).expect_err("something is wrong");
            assert!(error.contains(word), "{error}");
        }
    }
}
