//! What can be seen of bodies that deform: their skins, and the path of a needle.
//!
//! Thread: written by simulation, read by control. Never by haptic: skins are as large as their meshes and live on the heap.
//!
//! The triangles of a skin and its points at rest are told once, in a [`SkinModel`] of the scene; from then on its points
//! move, and a [`SkinFrame`] says where they are. The cell between the two threads is wait-free and has room for a frame of
//! every skin from the start, so that a frame is filled in place and nothing is allocated for it.

use super::{MonoNs, NS_PER_S, Stamp};
use crate::math::Vec3;

/// Most frames a second, about; more than a screen shows is wasted.
pub const SKIN_HZ: u64 = 30;
/// A step that comes so little too soon is shown: two steps at 60 Hz are not to wait for a third.
const SLACK_NS: u64 = 1_000_000;

/// What does not change of a skin.
#[derive(Clone, Debug, PartialEq)]
pub struct SkinModel {
    /// Name of the body, as in the scene.
    pub name: String,
    /// Name of its material.
    pub material: String,
    /// Points at rest, m, in the scene's frame.
    pub points: Vec<[f32; 3]>,
    /// Corners of its triangles, by number of the point, anticlockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Triangles of the surfaces inside that lie between two materials, likewise, anticlockwise from the softer one.
    pub inner: Vec<[u32; 3]>,
    /// Stress that is drawn in the last colour of the scale, Pa.
    pub stress_full_pa: f32,
}

/// One skin at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skin {
    /// Where the points are, m, in the scene's frame; as many as the model has.
    pub points: Vec<[f32; 3]>,
    /// Stress at each point (von Mises), Pa.
    pub stress_pa: Vec<f32>,
}

/// All skins of a scene at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkinFrame {
    /// Step it was true at; sequence zero when nothing has been shown yet.
    pub stamp: Stamp,
    /// The skins in the order of the scene's [`SkinModel`]s.
    pub skins: Vec<Skin>,
    /// The needle, m, from its hub to its tip; empty without one.
    pub path: Vec<[f32; 3]>,
}

/// Most points of a path.
pub const MAX_PATH: usize = 256;

/// Writing end of the cell, for the simulation.
pub struct SkinWriter {
    cell: triple_buffer::Input<SkinFrame>,
    last: Option<MonoNs>,
    /// There are no skins, and the frame shown last had no path.
    bare: bool,
}

/// Reading end of the cell, for whoever draws.
pub struct SkinReader(triple_buffer::Output<SkinFrame>);

/// A cell for the skins of a scene, holding them at rest and never stamped.
#[must_use]
pub fn skins(models: &[SkinModel]) -> (SkinWriter, SkinReader) {
    let at_rest = |model: &SkinModel| Skin { points: model.points.clone(), stress_pa: vec![0.0; model.points.len()] };
    let frame = SkinFrame {
        stamp: Stamp::default(),
        skins: models.iter().map(at_rest).collect(),
        path: Vec::with_capacity(MAX_PATH),
    };
    let (cell, reader) = triple_buffer::TripleBuffer::new(&frame).split();
    (SkinWriter { cell, last: None, bare: models.is_empty() }, SkinReader(reader))
}

impl SkinWriter {
    /// Publishes a frame if there is anything to show and it is time for the next: `fill` is then called once with the skins
    /// of some older frame, which it overwrites. `path` is that of a needle, from its entry to its tip, m; points beyond
    /// [`MAX_PATH`] are dropped. In a scene without skins the end of a path is shown, and then nothing more.
    pub fn publish(&mut self, stamp: Stamp, path: &[Vec3], fill: impl FnOnce(&mut [Skin])) {
        let early = self.last.is_some_and(|last| stamp.at.since(last) + SLACK_NS < NS_PER_S / SKIN_HZ);
        if early || (self.bare && path.is_empty()) {
            return;
        }
        self.last = Some(stamp.at);
        let frame = self.cell.input_buffer_mut();
        frame.stamp = stamp;
        fill(&mut frame.skins);
        frame.path.clear();
        frame.path.extend(path.iter().take(MAX_PATH).map(|point| [point.x as f32, point.y as f32, point.z as f32]));
        self.bare = frame.skins.is_empty() && path.is_empty();
        self.cell.publish();
    }
}

impl SkinReader {
    /// The newest whole frame.
    pub fn read(&mut self) -> &SkinFrame {
        self.0.read()
    }

    /// The frame that [`Self::read`] gave last.
    #[must_use]
    pub fn current(&self) -> &SkinFrame {
        self.0.output_buffer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> SkinModel {
        SkinModel {
            name: "sheet".into(),
            material: "tissue".into(),
            points: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            triangles: vec![[0, 1, 2]],
            inner: Vec::new(),
            stress_full_pa: 1e4,
        }
    }

    fn at(sequence: u64, ms: u64) -> Stamp {
        Stamp { sequence, at: MonoNs(ms * 1_000_000) }
    }

    #[test]
    fn frames_are_filled_in_place_and_no_more_often_than_a_screen_shows() {
        let (mut writer, mut reader) = skins(&[sheet()]);
        assert_eq!((reader.read().stamp.sequence, reader.current().skins.len()), (0, 1));
        let path: Vec<Vec3> = (0..2 * MAX_PATH).map(|n| Vec3::repeat(n as f64)).collect();
        let mut filled = Vec::new();
        for ms in 0..100 {
            writer.publish(at(ms + 1, ms), &path, |skins| {
                filled.push(ms);
                skins[0].points[2][2] = ms as f32;
                skins[0].stress_pa[1] = 5.0;
            });
        }
        assert_eq!(filled, [0, 33, 66, 99]);
        let frame = reader.read();
        assert_eq!((frame.stamp, frame.skins[0].points[2][2], frame.path.len()), (at(100, 99), 99.0, MAX_PATH));
    }

    #[test]
    fn a_scene_without_skins_shows_a_path_while_there_is_one_and_that_it_ended() {
        let (mut writer, mut reader) = skins(&[]);
        let mut shown = |ms: u64, path: &[Vec3]| {
            writer.publish(at(ms, ms), path, |skins| assert!(skins.is_empty()));
            let frame = reader.read();
            (frame.stamp.sequence, frame.path.clone())
        };
        assert_eq!(shown(1, &[]), (0, vec![]));
        assert_eq!(shown(40, &[Vec3::x(), Vec3::y()]), (40, vec![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]));
        assert_eq!(shown(80, &[]), (80, vec![]));
        assert_eq!(shown(120, &[]), (80, vec![]));
    }
}
