//! `hapticd bake`: makes the model of a part's distance and writes it to a file, or does another job beforehand.
//!
//! Thread: main; training starts one more.

use super::Failure;
use super::bake_reduce::ReduceArgs;
use super::bake_tetmesh::TetmeshArgs;
use super::out::{note, put};
use crate::bake::{FieldError, GridPlan, Source, TrainPlan, bake_grid, measure, train};
use crate::collision::field::{Baked, Symmetry};
use crate::files::{Dimension, parse_quantity};
use crate::geometry::mesh::LengthUnit;
use crate::geometry::parts::{Body, Bolt, BoreBlock, Fit, Hand, Nut, Peg, Side, ThreadSpec};
use clap::{Args, Subcommand, ValueEnum};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Points at which the error of a grid is measured.
const HELD_OUT: usize = 20_000;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PartKind {
    /// A threaded rod: length, chamfer
    Bolt,
    /// A hexagonal nut: length is its height, body its width across flats
    Nut,
    /// A round peg: length, chamfer
    Peg,
    /// A round block with a hole through it: length is the depth, body the diameter of the block
    Bore,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModelKind {
    /// Most exact and fastest; kilobytes to a megabyte
    Grid,
    /// Two hidden layers of 64; 18 kB
    Network,
}

/// The model of a part, or another job.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct BakeCommand {
    #[command(subcommand)]
    job: Option<Job>,
    #[command(flatten)]
    part: Option<BakeArgs>,
}

/// Jobs other than models of parts.
#[derive(Subcommand)]
enum Job {
    /// Fill a closed surface with tetrahedra, for bodies that deform
    #[command(
        after_help = "Example:\n  hapticd bake tetmesh housing.stl --unit mm --size 2mm --longest 60mm --quadratic --out housing.msh"
    )]
    Tetmesh(TetmeshArgs),
    /// Reduce a linear body of tetrahedra to segments of few motions
    #[command(
        after_help = "Example:\n  hapticd bake reduce prong.msh --unit mm --young 165MPa --poisson 0.35 --density 1050kg/m^3 --fixed base --touching hook --plot hankel.svg --out prong.reduced"
    )]
    Reduce(ReduceArgs),
}

impl BakeCommand {
    /// Does the job.
    pub(super) fn run(&self) -> Result<(), Failure> {
        match (&self.job, &self.part) {
            (Some(Job::Tetmesh(args)), _) => args.run(),
            (Some(Job::Reduce(args)), _) => args.run(),
            (None, Some(args)) => args.run(),
            (None, None) => Err(Failure::Usage("say what to bake: `hapticd bake --help` has examples".into())),
        }
    }
}

/// What to bake.
#[derive(Args)]
struct BakeArgs {
    /// The part
    part: PartKind,
    /// Diameter: nominal of a thread, else of the peg or the hole
    #[arg(long, value_parser = length)]
    diameter: f64,
    /// Pitch of the thread
    #[arg(long, value_parser = length)]
    pitch: Option<f64>,
    /// Radial gap between bolt and nut, of which each gives half
    #[arg(long, value_parser = length, default_value = "0 mm")]
    gap: f64,
    /// The thread winds the other way
    #[arg(long)]
    left: bool,
    /// Length, height or depth
    #[arg(long, value_parser = length)]
    length: f64,
    /// Chamfer of 45°
    #[arg(long, value_parser = length, default_value = "0 mm")]
    chamfer: f64,
    /// Width of the nut across flats, or diameter of the block; by default 1.6 diameters
    #[arg(long, value_parser = length)]
    body: Option<f64>,
    /// The kind of model
    #[arg(long, value_enum, default_value = "grid")]
    model: ModelKind,
    /// Where training starts: equal seeds, equal networks; by default the one that the plan names
    #[arg(long)]
    seed: Option<u64>,
    /// File to write
    #[arg(long)]
    out: PathBuf,
}

/// Unit of the numbers in a file.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum UnitName {
    /// Millimetres, as most CAD programs write
    Mm,
    /// Metres
    M,
    /// Inches
    In,
    /// Centimetres
    Cm,
    /// Micrometres
    Um,
}

impl UnitName {
    pub(super) fn unit(self) -> LengthUnit {
        match self {
            Self::Mm => LengthUnit::Millimetre,
            Self::M => LengthUnit::Metre,
            Self::In => LengthUnit::Inch,
            Self::Cm => LengthUnit::Centimetre,
            Self::Um => LengthUnit::Micrometre,
        }
    }
}

/// How a file's name ends, in small letters.
pub(super) fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

pub(super) fn length(text: &str) -> Result<f64, String> {
    parse_quantity(text, Dimension::Length).map_err(|_| "a length with its unit, such as 48mm".into())
}

impl BakeArgs {
    fn profile(&self) -> Result<ThreadSpec, Failure> {
        let pitch = self.pitch.ok_or_else(|| Failure::Usage("a thread needs --pitch, such as --pitch 5mm".into()))?;
        let hand = if self.left { Hand::Left } else { Hand::Right };
        Ok(ThreadSpec { diameter: self.diameter, pitch, hand, fit: Fit::RadialGap(self.gap) })
    }

    fn source(&self) -> Result<Source, Failure> {
        let &Self { diameter, length, chamfer, .. } = self;
        let body = self.body.unwrap_or(1.6 * diameter);
        let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
        let source = match self.part {
            PartKind::Bolt => {
                let profile = self.profile()?.profile(Side::Bolt).map_err(|e| usage(&e))?;
                Source::bolt(&Bolt { profile, length, chamfer, head: None })
            }
            PartKind::Nut => {
                let profile = self.profile()?.profile(Side::Nut).map_err(|e| usage(&e))?;
                Source::nut(&Nut { profile, height: length, chamfer, body: Body::Hex { across_flats: body } })
            }
            PartKind::Peg => Source::peg(&Peg { diameter, length, chamfer }),
            PartKind::Bore => {
                let body = Body::Round { diameter: body };
                Source::bore(&BoreBlock { diameter, depth: length, chamfer, floor: None, body })
            }
        };
        source.map_err(|e| usage(&e))
    }

    /// Makes the model, shows how far it has come, writes it and says how far it is off.
    fn run(&self) -> Result<(), Failure> {
        let source = self.source()?;
        let (field, error) = match self.model {
            ModelKind::Grid => {
                let plan = GridPlan::profile();
                let field = bake_grid(&source, &plan).map_err(|e| Failure::Usage(e.to_string()))?;
                let error = measure(&field, &source, plan.band, HELD_OUT, self.seed.unwrap_or(1));
                (field, error)
            }
            ModelKind::Network => self.train(&source)?,
        };
        let bytes = field.to_bytes();
        std::fs::write(&self.out, &bytes)
            .map_err(|error| Failure::Usage(format!("cannot write {}: {error}", self.out.display())))?;
        put(format_args!(
            "{}: {} bytes; within 1 mm of the surface off by {:.2} µm (root mean square), {:.1} µm at most\n",
            self.out.display(),
            bytes.len(),
            error.rms * 1e6,
            error.max * 1e6
        ));
        Ok(())
    }

    fn train(&self, source: &Source) -> Result<(Baked, FieldError), Failure> {
        let plan = if source.symmetry() == Symmetry::Round { TrainPlan::round() } else { TrainPlan::default() };
        let shown = std::io::stderr().is_terminal();
        let result = train(source, &TrainPlan { seed: self.seed.unwrap_or(plan.seed), ..plan }, |p| {
            if shown {
                let share = 100 * p.step / p.steps.max(1);
                note(format_args!("\rtraining {share:>3} %, off by about {:.1} µm   ", p.loss * 1e6));
                // Only a progress line is lost.
                let _ = std::io::stderr().flush();
            }
        });
        if shown {
            note(format_args!("\n"));
        }
        result.ok_or_else(|| Failure::Usage("the plan of training makes no sense".into()))
    }
}
