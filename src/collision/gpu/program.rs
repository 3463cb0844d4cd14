//! A baked field as a shader and its numbers.
//!
//! Thread: cold.
//!
//! Constants of the field are put before the text of the shader, so that none is written twice.

use super::GpuError;
use crate::collision::field::{ATAN, Baked, FEATURES, GRID_NODES, Model, NO_NODES, Symmetry, WIDTH};
use std::fmt::Write as _;

const COMMON: &str = include_str!("common.wgsl");
const GRID: &str = include_str!("grid.wgsl");
const NETWORK: &str = include_str!("network.wgsl");

/// What the device runs and what it reads.
pub(super) struct Program {
    pub(super) text: String,
    pub(super) numbers: Vec<u32>,
}

/// Constants as they are written in a shader.
struct Constants(String);

impl Constants {
    fn real(&mut self, name: &str, value: f64) -> &mut Self {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "const {name}: f32 = {:e};", value as f32);
        self
    }

    fn whole(&mut self, name: &str, value: u32) -> &mut Self {
        let _ = writeln!(self.0, "const {name}: u32 = {value}u;");
        self
    }

    /// The polynomial of the arc tangent, in `q`.
    fn arc_tangent(&self) -> String {
        let mut sum = format!("{:e}", ATAN[ATAN.len() - 1]);
        for factor in ATAN.iter().rev().skip(1) {
            sum = format!("fma({sum}, q, {factor:e})");
        }
        sum
    }
}

impl Program {
    /// The program for a field and a number of nodes.
    pub(super) fn new(field: &Baked, nodes: u32) -> Result<Self, GpuError> {
        let mut constants = Constants(String::new());
        let mut numbers = Vec::new();
        for cut in &field.cuts {
            let all = [cut.radial, cut.normal[0], cut.normal[1], cut.normal[2], cut.offset];
            numbers.extend(all.map(|x| (x as f32).to_bits()));
        }
        let (pitch, kind) = match field.symmetry {
            Symmetry::None => (0.0, "NONE"),
            Symmetry::Round => (0.0, "ROUND"),
            Symmetry::Helical { pitch, .. } => (pitch, "HELICAL"),
        };
        constants.whole("NONE", 0).whole("ROUND", 1).whole("HELICAL", 2).whole("COUNT", nodes);
        let _ = writeln!(constants.0, "const SYMMETRY: u32 = {kind};");
        constants.real("PI", std::f64::consts::PI).real("ON_AXIS", 1e-9);
        constants.real("PITCH", pitch).real("LEAD", field.symmetry.lead()).real("BAND", field.band);
        constants.whole("CUTS", field.cuts.len() as u32);
        let model = match &field.model {
            Model::Space(_) => return Err(GpuError::NoShader),
            Model::Profile(grid) => {
                let ([low_x, low_y], [step_x, step_y], [blocks_x, blocks_y]) = (grid.low, grid.step, grid.counts);
                constants.real("LOW_X", low_x).real("LOW_Y", low_y).real("STEP_X", step_x).real("STEP_Y", step_y);
                constants.whole("BLOCKS_X", blocks_x as u32).whole("BLOCKS_Y", blocks_y as u32);
                constants.whole("SIDE", GRID_NODES as u32).whole("NO_NODES", NO_NODES);
                constants.real("CLEARANCE", grid.clearance);
                numbers.extend(&grid.index);
                numbers.extend(grid.centers.iter().chain(&grid.nodes).flatten().map(|x| x.to_bits()));
                GRID
            }
            Model::Network(network) => {
                let input = network.input();
                for (axis, i) in [("X", 0), ("Y", 1), ("Z", 2)] {
                    constants.real(&format!("LOW_{axis}"), input.low[i]).real(&format!("HIGH_{axis}"), input.high[i]);
                }
                constants.real("SIDE_INNER", input.sides[0]).real("SIDE_OUTER", input.sides[1]);
                constants.real("CLEARANCE", input.clearance).real("UNIT", input.unit).real("SOFTNESS", input.softness);
                constants.whole("WIDTH", WIDTH as u32).whole("FEATURES", FEATURES as u32);
                numbers.extend(network.numbers().map(f32::to_bits));
                NETWORK
            }
        };
        let text = format!("{}{}{model}", constants.0, COMMON.replace("ATAN", &constants.arc_tangent()));
        // A buffer of no size is none.
        numbers.resize(numbers.len().max(4), 0);
        Ok(Self { text, numbers })
    }
}
