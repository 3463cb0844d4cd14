//! `hapticd bake reduce`: cuts a linear body into segments of few motions and writes them to a file.
//!
//! Thread: main.

use super::Failure;
use super::bake::{UnitName, ending};
use super::out::{note, put};
use crate::fem::{
    FemModel, FemSpec, Keep, Mass, Material, Ordering, Rayleigh, ReduceSpec, ReduceStage, ReducedModel, source_hash,
};
use crate::files::{Dimension, parse_quantity};
use crate::geometry::tet::{TetMesh, read_msh, read_vtk, read_vtu};
use crate::math::Vec3;
use crate::shared::ordinary_file;
use clap::Args;
use plotters::prelude::*;
use std::path::{Path, PathBuf};

/// Stiffness of the springs between segments, in terms of the largest of the body's own.
const SPRING: f64 = 1e3;

/// What to reduce, and how far.
#[derive(Args)]
pub(super) struct ReduceArgs {
    /// The mesh: a .msh, .vtk or .vtu file of tetrahedra
    file: PathBuf,
    /// Unit of its numbers, which the file does not say
    #[arg(long, value_enum)]
    unit: UnitName,
    /// Young's modulus, such as 165MPa
    #[arg(long, value_parser = pressure)]
    young: f64,
    /// Poisson's ratio
    #[arg(long)]
    poisson: f64,
    /// Density, such as 1050kg/m^3
    #[arg(long, value_parser = density)]
    density: f64,
    /// Group of the mesh that is held
    #[arg(long)]
    fixed: String,
    /// Group of the mesh that can be touched
    #[arg(long)]
    touching: String,
    /// How hard contact pushes along x, y and z, relative to each other, such as 1,0.2,1: less where there is friction only
    #[arg(long, value_delimiter = ',', default_value = "1,1,1")]
    push: Vec<f64>,
    /// Rings of elements around the touching nodes that belong to the contact segment, best up to where the body is stiff
    #[arg(long, default_value_t = 3)]
    rings: u32,
    /// Motions of every segment
    #[arg(long, default_value_t = 6)]
    shared: usize,
    /// More motions of the contact segment
    #[arg(long, default_value_t = 19)]
    local: usize,
    /// As many motions as bring the tail of the Hankel values below this share of their sum, instead of the two numbers
    #[arg(long)]
    tolerance: Option<f64>,
    /// Picture of the Hankel values, an SVG file
    #[arg(long)]
    plot: Option<PathBuf>,
    /// File to write
    #[arg(long)]
    out: PathBuf,
}

fn pressure(text: &str) -> Result<f64, String> {
    parse_quantity(text, Dimension::Pressure).map_err(|_| "a pressure with its unit, such as 165MPa".into())
}

fn density(text: &str) -> Result<f64, String> {
    parse_quantity(text, Dimension::Density).map_err(|_| "a density with its unit, such as 1050kg/m^3".into())
}

impl ReduceArgs {
    /// Makes the model, writes it, and says what it keeps.
    pub(super) fn run(&self) -> Result<(), Failure> {
        put(format_args!("{}", self.bake()?));
        Ok(())
    }

    fn nodes(&self, mesh: &TetMesh, name: &str) -> Result<Vec<u32>, Failure> {
        if let Some(group) = mesh.group(name) {
            return Ok(mesh.group_nodes(group));
        }
        let known = mesh.groups().iter().map(|g| g.name.as_str()).collect::<Vec<_>>().join(", ");
        let known =
            if known.is_empty() { "it has none: name some in your mesher".into() } else { format!("it has {known}") };
        Err(Failure::Usage(format!("{} has no group `{name}`; {known}", self.file.display())))
    }

    fn bake(&self) -> Result<String, Failure> {
        let usage = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", self.file.display()));
        let bytes = ordinary_file::read(&self.file, u64::MAX).map_err(|e| usage(&e))?;
        let read = match ending(&self.file).as_str() {
            "msh" => read_msh,
            "vtk" => read_vtk,
            "vtu" => read_vtu,
            _ => return Err(usage(&"a mesh is a .msh, .vtk or .vtu file")),
        };
        let mesh = read(&bytes, self.unit.unit()).map_err(|e| usage(&e))?;
        let report = mesh.check();
        if !report.is_sound() {
            return Err(usage(&report));
        }
        let (fixed, touching) = (self.nodes(&mesh, &self.fixed)?, self.nodes(&mesh, &self.touching)?);
        let material = Material { young_pa: self.young, poisson: self.poisson, density: self.density };
        let spec = FemSpec {
            mesh: &mesh,
            materials: &[material],
            damping: Rayleigh::default(),
            fixed: &fixed,
            mass: Mass::Consistent,
            ordering: Ordering::LeastFill,
        };
        let full = FemModel::new(&spec).map_err(|e| usage(&e))?;
        let push = match self.push[..] {
            [x, y, z] if self.push.iter().all(|p| *p >= 0.0 && p.is_finite()) && x + y + z > 0.0 => Vec3::new(x, y, z),
            _ => {
                return Err(Failure::Usage(
                    "--push must be three numbers, none of them negative, such as 1,0.2,1".into(),
                ));
            }
        };
        let keep = |count: usize| self.tolerance.map_or(Keep::Count(count), Keep::Tolerance);
        let plan = ReduceSpec {
            touching: &touching,
            push,
            rings: self.rings,
            shared: keep(self.shared),
            local: keep(self.local),
            least_ratio: 1.0,
            spring: SPRING,
        };
        let reduced = ReducedModel::with_progress(&full, &plan, tell(full.size())).map_err(|e| usage(&e))?;
        let off = reduced.error_at_rest(&full).map_err(|e| usage(&e))?;
        let made_from = format!(
            "{material:?} {} {} {push:?} {} {:?} {:?}",
            self.fixed, self.touching, self.rings, plan.shared, plan.local
        );
        let out = reduced.to_bytes(&source_hash(&[&bytes, made_from.as_bytes()]));
        std::fs::write(&self.out, &out)
            .map_err(|error| Failure::Usage(format!("cannot write {}: {error}", self.out.display())))?;
        if let Some(path) = &self.plot {
            draw(path, &reduced).map_err(|e| Failure::Usage(format!("cannot write {}: {e}", path.display())))?;
        }
        Ok(self.told(&reduced, off, out.len()))
    }

    fn told(&self, reduced: &ReducedModel, off: f64, bytes: usize) -> String {
        let sizes: Vec<String> = reduced.sizes.iter().map(ToString::to_string).collect();
        let kept = reduced.sizes.last().copied().unwrap_or(0);
        let (all, tail): (f64, f64) = (reduced.hankel.iter().sum(), reduced.hankel.iter().skip(kept).sum());
        format!(
            "{}: {bytes} bytes; {} unknowns became {} motions, {} nodes can be touched\n\
             tail of the Hankel values of the whole body beyond {kept}: {:.2} % of their sum\n\
             at rest under a force on one touching node, these nodes are off by at most {:.2} % of how far they move\n",
            self.out.display(),
            reduced.full_size,
            sizes.join(" + "),
            reduced.nodes.len(),
            100.0 * tail / all,
            100.0 * off
        )
    }
}

/// Says on standard error what is being done: large bodies take minutes.
fn tell(unknowns: usize) -> impl FnMut(ReduceStage) {
    move |stage| match stage {
        ReduceStage::Modes => note(format_args!("free vibrations of {unknowns} unknowns\n")),
        ReduceStage::Balance => note(format_args!("weighing the motions of the whole body\n")),
        ReduceStage::Segment { number, count } => note(format_args!("motions of segment {number} of {count}\n")),
        ReduceStage::Join => note(format_args!("joining the segments\n")),
    }
}

/// Hankel values over their number, on a logarithmic scale, relative to the first.
fn draw(path: &Path, reduced: &ReducedModel) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::new(path, (640, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Hankel values, relative to the largest", ("sans-serif", 14))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(60)
        .build_cartesian_2d(0..reduced.hankel.len().max(1), (1e-8..2.0).log_scale())?;
    chart.configure_mesh().x_desc("motion").y_label_formatter(&|y| format!("{y:.0e}")).draw()?;
    let first = reduced.hankel.first().copied().unwrap_or(1.0);
    let points = reduced.hankel.iter().enumerate().map(|(i, h)| (i, (h / first).max(1e-8)));
    chart.draw_series(LineSeries::new(points, &BLACK))?;
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::mesh::LengthUnit;
    use crate::geometry::tet::{BlockSpec, write_vtu};

    #[test]
    fn a_beam_is_reduced_drawn_and_read_back_and_a_wrong_group_is_told() {
        let dir = std::env::temp_dir().join(format!("hapticd-reduce-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a place for files");
        let (file, out, plot) = (dir.join("beam.vtu"), dir.join("beam.reduced"), dir.join("hankel.svg"));
        let mesh = BlockSpec::beam(0.04, 0.01, 1).mesh().expect("sound");
        std::fs::write(&file, write_vtu(&mesh, LengthUnit::Millimetre, false)).expect("room on the disk");
        let args = |touching: &str| ReduceArgs {
            file: file.clone(),
            unit: UnitName::Mm,
            young: pressure("165MPa").expect("a pressure"),
            poisson: 0.35,
            density: 1050.0,
            fixed: "x0".into(),
            touching: touching.into(),
            push: vec![1.0; 3],
            rings: 1,
            shared: 6,
            local: 4,
            tolerance: None,
            plot: Some(plot.clone()),
            out: out.clone(),
        };
        let text = args("x1").bake().map_err(|e| e.to_string()).expect("a beam can be reduced");
        assert!(text.contains("48 unknowns became 6") && text.contains("off by at most"), "{text}");
        let back = ReducedModel::from_bytes(&std::fs::read(&out).expect("written"), None).expect("sound");
        assert_eq!(back.nodes.len(), 4);
        assert!(std::fs::read_to_string(&plot).expect("drawn").contains("Hankel"));
        let wrong = args("tip").bake().map(|_| ()).expect_err("no such group").to_string();
        assert!(wrong.contains("`tip`") && wrong.contains("x1"), "{wrong}");
        std::fs::remove_dir_all(&dir).expect("ours");
    }
}
