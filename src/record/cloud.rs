//! Bodies that deform, and the path of a needle, as clouds of points that viewers draw.
//!
//! Thread: recorder, and whoever reads.
//!
//! All skins of a scene are one cloud, one after the other in the order of the scene; a point has its stress beside its place.

use super::json::{self, Json};
use crate::math::Pose;
use crate::shared::{Skin, SkinFrame};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

/// Number of the type `FLOAT32` in Foxglove's schemas.
const FLOAT32: u64 = 7;
/// Numbers of a point of a skin, and of a path.
const SKIN: [&str; 4] = ["x", "y", "z", "stress_pa"];
const PATH: [&str; 3] = ["x", "y", "z"];

/// Writes the skins of a frame.
pub(super) fn write_skins(frame: &SkinFrame, time_ns: u64, json: &mut Json) {
    let point = |([x, y, z], stress): (&[f32; 3], &f32)| [*x, *y, *z, *stress];
    let points = frame.skins.iter().flat_map(|skin| skin.points.iter().zip(&skin.stress_pa));
    write(&SKIN, points.flat_map(point), time_ns, json);
}

/// Writes the path of a frame.
pub(super) fn write_path(frame: &SkinFrame, time_ns: u64, json: &mut Json) {
    write(&PATH, frame.path.iter().flatten().copied(), time_ns, json);
}

fn write(names: &[&str], numbers: impl Iterator<Item = f32>, time_ns: u64, json: &mut Json) {
    let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    json.restart().time("timestamp", time_ns).text("frame_id", "world").pose("pose", &Pose::identity());
    json.count("point_stride", 4 * names.len() as u64).list("fields", |json| {
        for (name, offset) in names.iter().zip((0..).step_by(4)) {
            json.element(|json| {
                json.text("name", name).count("offset", offset).count("type", FLOAT32);
            });
        }
    });
    json.text("data", &BASE64_STANDARD.encode(&bytes));
    json.done();
}

/// Reads the points of all skins, with their stress.
pub(super) fn read_skins(value: &Value) -> Option<Vec<[f32; 4]>> {
    read(value)
}

/// Reads the points of a path.
pub(super) fn read_path(value: &Value) -> Option<Vec<[f32; 3]>> {
    read(value)
}

fn read<const N: usize>(value: &Value) -> Option<Vec<[f32; N]>> {
    let bytes = BASE64_STANDARD.decode(json::text(value, "data")?).ok()?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    let (points, odd) = numbers.as_chunks::<N>();
    let is_whole = rest.is_empty() && odd.is_empty() && json::count(value, "point_stride")? == 4 * N as u64;
    is_whole.then(|| points.iter().map(|point| point.map(f32::from_le_bytes)).collect())
}

/// Deals the points of all skins out to skins of the given sizes; none when they are not as many.
#[must_use]
pub fn deal(points: &[[f32; 4]], sizes: &[usize]) -> Option<Vec<Skin>> {
    let mut rest = points;
    let skins = sizes.iter().map(|size| {
        let (own, others) = rest.split_at_checked(*size)?;
        rest = others;
        let stress_pa = own.iter().map(|point| point[3]).collect();
        Some(Skin { points: own.iter().map(|[x, y, z, _]| [*x, *y, *z]).collect(), stress_pa })
    });
    let skins: Option<Vec<Skin>> = skins.collect();
    skins.filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skins_and_path_come_back_as_they_were() {
        let skin = |n: usize| Skin {
            points: (0..n).map(|k| [k as f32 / 3.0, -0.0, f32::MIN_POSITIVE]).collect(),
            stress_pa: (0..n).map(|k| 1e6 / (k + 1) as f32).collect(),
        };
        let frame = SkinFrame { skins: vec![skin(3), skin(5)], path: vec![[0.1, 0.2, 0.3]; 4], ..SkinFrame::default() };
        let mut json = Json::default();
        write_skins(&frame, 1_500_000_000, &mut json);
        let value: Value = serde_json::from_slice(json.text_so_far()).expect("it is JSON");
        let points = read_skins(&value).expect("it is a cloud");
        assert_eq!(deal(&points, &[3, 5]), Some(frame.skins.clone()));
        assert_eq!((deal(&points, &[3, 4]), deal(&points, &[9])), (None, None));
        assert!(read_path(&value).is_none(), "a cloud of another kind");
        write_path(&frame, 0, &mut json);
        let value: Value = serde_json::from_slice(json.text_so_far()).expect("it is JSON");
        assert_eq!(read_path(&value), Some(frame.path));
    }
}
