//! `hapticd bake tetmesh`: fills a closed surface with tetrahedra and writes them to a file.
//!
//! Thread: main.

use super::Failure;
use super::bake::{UnitName, ending, length};
use super::out::put;
use crate::geometry::mesh::{Checks, LengthUnit, MeshSurface, Weld, read_obj, read_stl};
use crate::geometry::tet::{MshForm, TetMesh, write_msh, write_vtk, write_vtu};
use crate::shared::ordinary_file;
use clap::Args;
use std::path::PathBuf;

/// What to fill, and how finely.
#[derive(Args)]
pub(super) struct TetmeshArgs {
    /// The surface: an STL or OBJ file
    file: PathBuf,
    /// Unit of its numbers, which the file does not say
    #[arg(long, value_enum)]
    unit: UnitName,
    /// Side of the cubes of the lattice: about the size of the elements
    #[arg(long, value_parser = length)]
    size: f64,
    /// What the longest side of the part should measure, to catch a wrong unit
    #[arg(long, value_parser = length)]
    longest: Option<f64>,
    /// Joins corners nearer than this before anything else
    #[arg(long, value_parser = length)]
    weld: Option<f64>,
    /// Ten nodes for each tetrahedron, not four: larger, but it does not lock
    #[arg(long)]
    quadratic: bool,
    /// File to write, in metres: .msh (Gmsh 4.1), .vtk or .vtu
    #[arg(long)]
    out: PathBuf,
}

impl TetmeshArgs {
    /// Makes the mesh, writes it, and says how good it is.
    pub(super) fn run(&self) -> Result<(), Failure> {
        put(format_args!("{}", self.bake()?));
        Ok(())
    }

    /// The same, with what is to be printed.
    fn bake(&self) -> Result<String, Failure> {
        let name = self.file.display();
        let usage = |error: &dyn std::fmt::Display| Failure::Usage(format!("{name}: {error}"));
        let bytes = ordinary_file::read(&self.file, u64::MAX).map_err(|e| usage(&e))?;
        let (unit, weld) = (self.unit.unit(), self.weld.map_or(Weld::Exact, Weld::Within));
        let mesh = match ending(&self.file).as_str() {
            "stl" => read_stl(&bytes, unit, weld),
            "obj" => read_obj(&bytes, unit),
            _ => return Err(usage(&"a surface is an .stl or .obj file")),
        };
        let mesh = mesh.map_err(|e| usage(&e))?;
        if let Some(longest) = self.longest {
            mesh.check_size(longest, unit).map_err(|e| usage(&e))?;
        }
        let report = mesh.validate(&Checks { self_intersection: true });
        if !report.is_sound() {
            return Err(usage(&report));
        }
        let surface = MeshSurface::new(mesh).map_err(|e| usage(&e))?;
        let tets = TetMesh::stuff(&surface, self.size).map_err(|e| usage(&e))?;
        let report = tets.check();
        if !report.is_sound() {
            return Err(usage(&format!(
                "parts are thinner than the lattice resolves, choose a smaller --size\n{report}"
            )));
        }
        let (quality, fit) = (tets.quality(), tets.fit(&surface));
        let tets = if self.quadratic { tets.with_midsides() } else { tets };
        let out = match ending(&self.out).as_str() {
            "msh" => write_msh(&tets, LengthUnit::Metre, MshForm::Binary),
            "vtk" => write_vtk(&tets, LengthUnit::Metre).into_bytes(),
            "vtu" => write_vtu(&tets, LengthUnit::Metre, true).into_bytes(),
            _ => return Err(Failure::Usage("--out must end in .msh, .vtk or .vtu".into())),
        };
        std::fs::write(&self.out, &out)
            .map_err(|error| Failure::Usage(format!("cannot write {}: {error}", self.out.display())))?;
        let mut text = format!(
            "{}: {} nodes, {} tetrahedra\n{quality}\n",
            self.out.display(),
            tets.nodes().len(),
            tets.tets().len()
        );
        if let Some(fit) = fit {
            text += &format!(
                "skin on the surface to {:.1e} m, edges rounded by at most {:.3} mm, volume {:.2} % of the part's\n",
                fit.skin_off_m,
                fit.surface_off_m * 1e3,
                100.0 * fit.volume_ratio
            );
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::mesh::write_stl;
    use crate::geometry::parts::{Facets, Peg};
    use crate::geometry::tet::read_msh;

    #[test]
    fn a_peg_becomes_tetrahedra_and_a_wrong_unit_is_told() {
        let dir = std::env::temp_dir().join(format!("hapticd-tetmesh-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a place for files");
        let (file, out) = (dir.join("peg.stl"), dir.join("peg.msh"));
        let peg = Peg { diameter: 0.01, length: 0.02, chamfer: 0.001 };
        let mesh = peg.mesh(Facets { per_turn: 24, rows: 2 }).expect("sound");
        std::fs::write(&file, write_stl(&mesh, LengthUnit::Millimetre)).expect("room on the disk");
        let args = |unit, size| TetmeshArgs {
            file: file.clone(),
            unit,
            size,
            longest: Some(0.02),
            weld: None,
            quadratic: true,
            out: out.clone(),
        };
        let text = args(UnitName::Mm, 2e-3).bake().map_err(|e| e.to_string()).expect("a peg can be filled");
        assert!(text.contains("angles between faces") && text.contains("volume 9"), "{text}");
        let back = read_msh(&std::fs::read(&out).expect("written"), LengthUnit::Metre).expect("sound");
        assert!(back.is_quadratic() && back.check().is_sound());
        assert!((back.volume() / mesh.volume() - 1.0).abs() < 0.1);
        let wrong = args(UnitName::M, 2e-3).bake().map(|_| ()).expect_err("20 m is not 20 mm").to_string();
        assert!(wrong.contains("probably in mm"), "{wrong}");
        let coarse = args(UnitName::Mm, 0.0).bake().map(|_| ()).expect_err("no size").to_string();
        assert!(coarse.contains("positive length"), "{coarse}");
        std::fs::remove_dir_all(&dir).expect("ours");
    }
}
