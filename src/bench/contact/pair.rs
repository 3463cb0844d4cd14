//! The two pairs of parts of the contact suite: nut on bolt, peg in bore; as dimensions, meshes and models.
//!
//! Thread: main (cold).

use crate::bake::{GridPlan, Source, TrainPlan, bake_grid, train};
use crate::bench::{BenchError, Report};
use crate::collision::detect::{Detector, Found, NodeSet};
use crate::collision::field::{Baked, DistanceField, Exact, Revolved};
use crate::geometry::mesh::{LengthUnit, MeshSurface, TriMesh, read_obj};
use crate::geometry::parts::{Body, Bolt, BoreBlock, Facets, Fit, Hand, Nut, Peg, Side, ThreadSpec};
use crate::math::{Pose, Vec3};
use std::path::Path;
use std::sync::Arc;

/// Pitch of the thread, m.
pub(super) const PITCH: f64 = 5e-3;
/// Depth of the bore, m. Meshes have their origin at its foot, the block at its mouth.
pub(super) const DEPTH: f64 = 0.04;

type Failure = Box<dyn std::error::Error + Send + Sync>;
pub(super) type Field = Arc<dyn DistanceField>;

/// Which pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A nut M48x5 on its bolt, with a gap of 0.4 mm.
    Bolt,
    /// A peg of 49.97 mm in a bore of 50.035 mm.
    Peg,
}

impl Kind {
    /// Name of the pair in a file of poses.
    pub(super) fn name(self) -> &'static str {
        if self == Self::Bolt { "bolt" } else { "peg" }
    }

    /// Names of the meshes: moving, fixed.
    pub(super) fn meshes(self) -> [&'static str; 2] {
        if self == Self::Bolt { ["nut", "bolt"] } else { ["peg", "hole"] }
    }
}

/// One part: its nodes, its exact distance, and where its field's frame is.
pub(super) struct Part {
    name: &'static str,
    pub(super) mesh: TriMesh,
    pub(super) nodes: Arc<NodeSet>,
    pub(super) source: Source,
    exact: Field,
    plan: TrainPlan,
    /// From the mesh's frame to the field's.
    pub(super) pose_field_mesh: Pose,
}

/// A moving part and a fixed one.
pub(super) struct Pair {
    pub(super) kind: Kind,
    pub(super) moving: Part,
    pub(super) fixed: Part,
}

impl Pair {
    /// The pair with meshes from a directory, or made here.
    pub(super) fn new(kind: Kind, meshes: Option<&Path>) -> Result<Self, Failure> {
        let mesh = |name: &str, own: TriMesh| -> Result<TriMesh, Failure> {
            let Some(dir) = meshes else { return Ok(own) };
            let path = dir.join(name).with_extension("obj");
            let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            read_obj(&bytes, LengthUnit::Metre).map_err(|error| format!("{}: {error}", path.display()).into())
        };
        let parts = if kind == Kind::Bolt { thread_parts()? } else { round_parts()? };
        let [moving, fixed] = parts.map(|(name, own, source, exact, pose_field_mesh)| -> Result<Part, Failure> {
            let mesh = mesh(name, own)?;
            let surface = MeshSurface::new(mesh.clone()).map_err(|report| format!("{name}: {report}"))?;
            let plan = if kind == Kind::Bolt { TrainPlan::default() } else { TrainPlan::round() };
            let nodes = Arc::new(NodeSet::of_vertices(&surface));
            Ok(Part { name, mesh, nodes, source, exact, plan, pose_field_mesh })
        });
        Ok(Self { kind, moving: moving?, fixed: fixed? })
    }

    /// Detectors both ways, with models of the moving part and the fixed one in the frames of their parts.
    pub(super) fn both(&self, [moving, fixed]: [Field; 2], margin: f64) -> Both {
        let detector = |of: &Part, field| Detector::new(Arc::clone(&of.nodes), field, margin);
        Both {
            moving: detector(&self.moving, fixed),
            fixed: detector(&self.fixed, moving),
            found: [Found::for_nodes(&self.moving.nodes), Found::for_nodes(&self.fixed.nodes)],
            frames: [self.fixed.pose_field_mesh, self.moving.pose_field_mesh],
        }
    }
}

/// Name, mesh, source, exact field and frame of a part.
type Made = (&'static str, TriMesh, Source, Field, Pose);

fn thread_parts() -> Result<[Made; 2], Failure> {
    let spec = ThreadSpec { diameter: 0.048, pitch: PITCH, hand: Hand::Right, fit: Fit::RadialGap(4e-4) };
    let bolt = Bolt { profile: spec.profile(Side::Bolt)?, length: 0.02, chamfer: 0.0015, head: None };
    let body = Body::Hex { across_flats: 0.075 };
    let nut = Nut { profile: spec.profile(Side::Nut)?, height: 0.015, chamfer: 0.0, body };
    let (bolt_mesh, nut_mesh) =
        (bolt.mesh(Facets { per_turn: 101, rows: 1 })?, nut.mesh(Facets { per_turn: 131, rows: 1 })?);
    let [of_nut, of_bolt]: [Field; 2] = [Arc::new(Exact::new(nut.surface()?)), Arc::new(Exact::new(bolt.surface()?))];
    Ok([
        ("nut", nut_mesh, Source::nut(&nut)?, of_nut, Pose::identity()),
        ("bolt", bolt_mesh, Source::bolt(&bolt)?, of_bolt, Pose::identity()),
    ])
}

fn round_parts() -> Result<[Made; 2], Failure> {
    let peg = Peg { diameter: 49.97e-3, length: 0.06, chamfer: 1e-3 };
    let body = Body::Round { diameter: 0.08 };
    let bore = BoreBlock { diameter: 50.035e-3, depth: DEPTH, chamfer: 1e-3, floor: None, body };
    let facets = Facets { per_turn: 256, rows: 8 };
    let down = Pose::from_parts((-DEPTH * Vec3::z()).into(), Default::default());
    let of_peg: Field = Arc::new(Exact::new(Revolved::peg(&peg)?));
    let of_bore: Field = Arc::new(Exact::new(Revolved::bore(&bore)?.ok_or("a round block")?));
    Ok([
        ("peg", peg.mesh(facets)?, Source::peg(&peg)?, of_peg, Pose::identity()),
        ("hole", bore.mesh(facets)?.moved(&down.inverse()), Source::bore(&bore)?, of_bore, down),
    ])
}

impl Part {
    /// The exact distance of the part.
    pub(super) fn exact(&self) -> Field {
        Arc::clone(&self.exact)
    }

    /// A grid.
    pub(super) fn grid(&self) -> Result<Arc<Baked>, Failure> {
        Ok(Arc::new(bake_grid(&self.source, &GridPlan::profile())?))
    }

    /// The exact distance of the mesh.
    pub(super) fn of_mesh(&self) -> Result<Field, Failure> {
        let surface = MeshSurface::new(self.mesh.moved(&self.pose_field_mesh)).map_err(|report| report.to_string())?;
        Ok(Arc::new(Exact::new(surface)))
    }

    /// A network: read from the directory when it is there, else trained, which takes minutes, and kept there.
    pub(super) fn network(&self, dir: &Path, report: &mut Report) -> Result<Arc<Baked>, BenchError> {
        let path = dir.join(self.name).with_extension("field");
        let hash = self.source.hash(&self.plan);
        if let Some(field) = std::fs::read(&path).ok().and_then(|bytes| Baked::from_bytes(&bytes, &hash).ok()) {
            return Ok(Arc::new(field));
        }
        report.remark(&format!("training the network of the {}, once; kept in {}", self.name, path.display()));
        let (field, error) =
            train(&self.source, &self.plan, |_| ()).ok_or_else(|| Failure::from("a plan without sense"))?;
        let (rms, max) = (error.rms * 1e6, error.max * 1e6);
        report.remark(&format!("trained: off by {rms:.2} µm (root mean square), {max:.1} µm at most"));
        std::fs::create_dir_all(dir)?;
        std::fs::write(&path, field.to_bytes())?;
        Ok(Arc::new(field))
    }
}

/// Detection both ways, as a simulation has it.
pub(super) struct Both {
    moving: Detector,
    fixed: Detector,
    pub(super) found: [Found; 2],
    /// Frames of the fields: fixed, moving.
    frames: [Pose; 2],
}

impl Both {
    /// All contacts at a pose of the moving mesh in the frame of the fixed one.
    pub(super) fn detect(&mut self, pose_fixed_moving: &Pose) {
        let (moving, fixed) = (&mut self.moving, &mut self.fixed);
        let poses = [self.frames[0] * pose_fixed_moving, self.frames[1] * pose_fixed_moving.inverse()];
        moving.detect(&poses[0], &mut self.found[0]);
        fixed.detect(&poses[1], &mut self.found[1]);
    }

    /// Contacts found.
    pub(super) fn count(&self) -> usize {
        self.found.iter().map(|f| f.touches().len()).sum()
    }

    /// Distance of the deepest of them, m.
    pub(super) fn least(&self) -> Option<f64> {
        self.found.iter().filter_map(Found::deepest).map(|t| f64::from(t.distance)).min_by(f64::total_cmp)
    }
}
