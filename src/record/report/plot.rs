//! Pictures of a page, as SVG text.
//!
//! Thread: main (cold).

use super::Series;
use super::digest::{LATE_BINS, late_edge_us};
use plotters::prelude::*;
use std::fmt::Display;

const SIZE: (u32, u32) = (860, 230);
const FONT: (&str, u32) = ("sans-serif", 13);
/// Colours that differ also for those who see few.
pub(super) const COLOURS: [RGBColor; 5] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167), RGBColor(86, 86, 86)];
const LIMIT: RGBColor = RGBColor(190, 20, 20);
/// Most phases that are named above a curve.
const PHASES_MAX: usize = 30;

/// A curve with its name.
pub(super) struct Curve<'a> {
    pub(super) series: &'a Series,
    pub(super) colour: RGBColor,
}

/// Curves over time, with a limit and named moments, if there are any.
pub(super) fn curves(
    unit: &str,
    curves: &[Curve<'_>],
    limit: Option<&Series>,
    moments: &[(f64, &str)],
) -> Result<String, String> {
    let all = || curves.iter().map(|curve| curve.series).chain(limit);
    let points = || all().flat_map(Series::points);
    let end = points().fold(1e-3, |end: f64, (at, ..)| end.max(at));
    let low = points().fold(0.0, |low: f64, (_, value, _)| low.min(value));
    let high = points().fold(0.0, |high: f64, (_, _, value)| high.max(value));
    let room = 0.08 * (high - low).max(1e-12);
    let rows = if moments.is_empty() { 1.0 } else { 2.0 };
    let (low, high) = (if low < 0.0 { low - room } else { 0.0 }, high + rows * room);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(6)
            .margin_right(28)
            .x_label_area_size(32)
            .y_label_area_size(62)
            .build_cartesian_2d(0.0..end, low..high)
            .map_err(failed)?;
        let number = |value: &f64| short(*value);
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.1))
            .x_desc("s")
            .y_desc(unit)
            .label_style(FONT)
            .y_label_formatter(&number)
            .draw()
            .map_err(failed)?;
        for (number, (at, name)) in moments.iter().take(PHASES_MAX).enumerate() {
            let line = [(*at, low), (*at, high)];
            chart.draw_series(LineSeries::new(line, BLACK.mix(0.3))).map_err(failed)?;
            // In two rows, so that the names of short phases do not cover one another.
            let row = high - (number % 2) as f64 * room;
            let label = Text::new((*name).to_string(), (*at, row), ("sans-serif", 11));
            chart.plotting_area().draw(&label).map_err(failed)?;
        }
        for Curve { series, colour } in curves {
            let ends = series.points().flat_map(|(at, low, high)| [(at, low), (at, high)]);
            chart.draw_series(LineSeries::new(ends, colour)).map_err(failed)?;
        }
        if let Some(limit) = limit {
            let line = limit.points().map(|(at, _, high)| (at, high));
            chart.draw_series(LineSeries::new(line, LIMIT.stroke_width(2))).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(text)
}

/// Ticks by how late they began, both axes logarithmic.
pub(super) fn lateness(all: &[&[u64; LATE_BINS]]) -> Result<String, String> {
    let most = all.iter().flat_map(|bins| bins.iter()).copied().max().unwrap_or_default().max(10) as f64;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(6)
            .margin_right(28)
            .x_label_area_size(32)
            .y_label_area_size(62)
            .build_cartesian_2d((late_edge_us(0)..late_edge_us(LATE_BINS)).log_scale(), (0.5..2.0 * most).log_scale())
            .map_err(failed)?;
        let number = |value: &f64| short(*value);
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.1))
            .x_desc("late by, µs")
            .y_desc("ticks")
            .label_style(FONT)
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .draw()
            .map_err(failed)?;
        for (bins, colour) in all.iter().zip(COLOURS.iter().cycle()) {
            let bars = bins.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bin, count)| {
                let corners = [(late_edge_us(bin), 0.5), (late_edge_us(bin + 1), *count as f64)];
                Rectangle::new(corners, if all.len() == 1 { colour.filled() } else { colour.stroke_width(2) })
            });
            chart.draw_series(bars).map_err(failed)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(text)
}

/// A number with as many digits as an axis needs.
fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".into()
    } else if (1e-2..2e6).contains(&size) {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        format!("{value:.1e}")
    }
}

fn failed(error: impl Display) -> String {
    format!("the picture cannot be drawn: {error}")
}
