//! Tables and pictures of a suite: CSV, and SVG by plotters.
//!
//! Thread: main (cold).

use std::fmt::Display;
use std::fs;
use std::path::Path;

use plotters::prelude::*;

use super::BenchError;

/// Width and height of one panel, pixels.
const PANEL: (u32, u32) = (340, 340);
const STABLE: RGBColor = RGBColor(120, 180, 120);
const BOUND: RGBColor = RGBColor(200, 40, 40);

/// One map over a grid: which cells are stable.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What is written above it.
    pub title: String,
    /// Row by row: all of the first axis for the first value of the second, and so on.
    pub cells: Vec<bool>,
}

/// Writes a CSV file, making its directory: a line of heads, then `rows`.
///
/// # Errors
/// When it cannot be written.
pub fn write_csv<T: Display>(path: &Path, heads: &[&str], rows: &[Vec<T>]) -> Result<(), BenchError> {
    make_parent(path)?;
    let mut text = heads.join(",") + "\n";
    for row in rows {
        let fields: Vec<String> = row.iter().map(ToString::to_string).collect();
        text += &(fields.join(",") + "\n");
    }
    Ok(fs::write(path, text)?)
}

/// Draws maps side by side over the same logarithmic grid (both axes ascending, at least two values each), each with the
/// line `bound` through it.
///
/// # Errors
/// When it cannot be written.
pub fn draw_maps(
    path: &Path,
    (stiffness, damping): (&[f64], &[f64]),
    panels: &[Panel],
    bound: &[(f64, f64)],
) -> Result<(), BenchError> {
    make_parent(path)?;
    let size = (PANEL.0 * panels.len() as u32, PANEL.1);
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE).map_err(failed)?;
    for (area, panel) in root.split_evenly((1, panels.len())).iter().zip(panels) {
        let (x, y) = (edges(stiffness), edges(damping));
        let (right, top) = (x[x.len() - 1], y[y.len() - 1]);
        let mut chart = ChartBuilder::on(area)
            .caption(&panel.title, ("sans-serif", 15))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(44)
            .build_cartesian_2d((x[0]..right).log_scale(), (y[0]..top).log_scale())
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_desc("stiffness, N/m")
            .y_desc("damping, N s/m")
            .draw()
            .map_err(failed)?;
        let cells = panel.cells.iter().enumerate().filter(|(_, stable)| **stable).map(|(index, _)| {
            let (column, row) = (index % stiffness.len(), index / stiffness.len());
            Rectangle::new([(x[column], y[row]), (x[column + 1], y[row + 1])], STABLE.filled())
        });
        chart.draw_series(cells).map_err(failed)?;
        let inside = bound.iter().copied().filter(|(k, b)| (x[0]..right).contains(k) && (y[0]..top).contains(b));
        chart.draw_series(LineSeries::new(inside, BOUND.stroke_width(2))).map_err(failed)?;
    }
    root.present().map_err(failed)
}

/// A line of a picture.
#[derive(Clone, Debug)]
pub struct Line {
    /// What it is.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// Draws lines over common axes, described as `axes` says, with a margin around them.
///
/// # Errors
/// When it cannot be written.
pub fn draw_lines(path: &Path, axes: [&str; 2], lines: &[Line]) -> Result<(), BenchError> {
    make_parent(path)?;
    let span = |of: fn(&(f64, f64)) -> f64| {
        let values = || lines.iter().flat_map(|line| &line.points).map(of).filter(|x| x.is_finite());
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        // One value, or none, still makes an axis.
        let around = if low.is_finite() { low } else { 0.0 };
        let (low, high) = if high > low { (low, high) } else { (around - 1.0, around + 1.0) };
        low - 0.05 * (high - low)..high + 0.05 * (high - low)
    };
    let root = SVGBackend::new(path, (640, 420)).into_drawing_area();
    root.fill(&WHITE).map_err(failed)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(span(|point| point.0), span(|point| point.1))
        .map_err(failed)?;
    chart.configure_mesh().x_desc(axes[0]).y_desc(axes[1]).draw().map_err(failed)?;
    for (line, colour) in lines.iter().zip([BLACK, BOUND, BLUE].iter().cycle()) {
        let drawn = LineSeries::new(line.points.iter().copied(), colour);
        let mark = move |(x, y)| PathElement::new([(x, y), (x + 16, y)], *colour);
        chart.draw_series(drawn).map_err(failed)?.label(&line.name).legend(mark);
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw().map_err(failed)?;
    root.present().map_err(failed)
}

/// Values evenly spaced on a logarithmic scale, both ends included.
#[must_use]
pub fn log_space(low: f64, high: f64, count: usize) -> Vec<f64> {
    let last = count.saturating_sub(1).max(1) as f64;
    (0..count).map(|k| low * (high / low).powf(k as f64 / last)).collect()
}

/// Edges of cells about values on a logarithmic scale: one more than there are values.
fn edges(values: &[f64]) -> Vec<f64> {
    let half = (values[1] / values[0]).sqrt();
    values.iter().map(|value| value / half).chain([values[values.len() - 1] * half]).collect()
}

fn make_parent(path: &Path) -> Result<(), BenchError> {
    Ok(path.parent().map_or(Ok(()), fs::create_dir_all)?)
}

fn failed(error: impl Display) -> BenchError {
    BenchError::Failed(Box::from(format!("cannot draw the plot: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_map_has_one_rectangle_for_each_stable_cell() {
        let path = std::env::temp_dir().join(format!("hapticd-plot-{}", std::process::id())).join("map.svg");
        let (k, b) = (log_space(100.0, 10_000.0, 3), log_space(0.1, 10.0, 2));
        let panel = Panel { title: "three".into(), cells: vec![true, false, false, false, true, true] };
        draw_maps(&path, (&k, &b), &[panel], &[(100.0, 1.0), (1000.0, 0.2)]).expect("it is drawn");
        let text = fs::read_to_string(&path).expect("it is there");
        fs::remove_dir_all(path.parent().expect("it has one")).expect("it goes");
        assert_eq!(text.matches("#78B478").count(), 3, "{text}");
        assert!(text.contains("three") && text.contains("#C82828"));
    }

    #[test]
    fn a_logarithmic_grid_has_its_ends_and_even_ratios() {
        let grid = log_space(1.0, 1000.0, 4);
        for (value, expected) in grid.iter().zip([1.0, 10.0, 100.0, 1000.0]) {
            assert!((value / expected - 1.0).abs() < 1e-12, "{grid:?}");
        }
    }
}
