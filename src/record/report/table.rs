//! Every tick of a recording as a line of CSV.
//!
//! Thread: main (cold).

use super::super::{Entry, ReadError, Reader};
use crate::haptic::{TickRecord, Trip};
use std::io::{self, Write};
use std::path::Path;

const HEADS: &str = "index,time_s,lateness_us,compute_us,state,cause,faults,gain,\
handle_x_m,handle_y_m,handle_z_m,tool_x_m,tool_y_m,tool_z_m,tool_qx,tool_qy,tool_qz,tool_qw,\
velocity_x_m_per_s,velocity_y_m_per_s,velocity_z_m_per_s,force_x_n,force_y_n,force_z_n,torque_x_nm,torque_y_nm,torque_z_nm,\
contacts,penetration_m,iterations,residual,snapshot_age_us,reserve_j,balance_j,taken_j,given_j";

/// Writes every tick of the recording at `path`; gives their number. Handle and tool are in the scene, velocity, force and
/// torque in the device's frame.
///
/// # Errors
/// When the recording cannot be read, or, in the inner result, `out` not be written.
pub fn write_csv(path: &Path, out: &mut dyn Write) -> Result<io::Result<u64>, ReadError> {
    let reader = Reader::open(path)?;
    let (mut count, mut first) = (0, None);
    if let Err(error) = writeln!(out, "{HEADS}") {
        return Ok(Err(error));
    }
    for entry in reader {
        let Entry::Tick(record) = entry? else { continue };
        let time_s = record.due.seconds_after(*first.get_or_insert(record.due));
        if let Err(error) = line(out, &record, time_s) {
            return Ok(Err(error));
        }
        count += 1;
    }
    Ok(out.flush().map(|()| count))
}

fn line(out: &mut dyn Write, t: &TickRecord, time_s: f64) -> io::Result<()> {
    let faults: Vec<&str> = t.faults.names().collect();
    write!(out, "{},{time_s:?},{:?},{:?},", t.index, us(t.lateness_ns), us(t.compute_ns))?;
    write!(out, "{},{},{},{:?}", t.state.name(), t.cause.map_or("", Trip::name), faults.join(" "), t.gain)?;
    let (handle, tool) = (t.pose_world_handle.translation.vector, t.pose_world_tool.translation.vector);
    let rotation = t.pose_world_tool.rotation.coords;
    let numbers = handle.iter().chain(tool.iter()).chain(rotation.iter());
    for number in numbers.chain(t.velocity.iter()).chain(t.force.force.iter()).chain(t.force.torque.iter()) {
        write!(out, ",{number:?}")?;
    }
    write!(out, ",{},{:?},{},{:?}", t.contacts, t.penetration_m, t.iterations, t.residual)?;
    let a = t.account;
    writeln!(out, ",{:?},{:?},{:?},{:?},{:?}", us(t.snapshot_age_ns), a.reserve_j, a.balance_j, a.taken_j, a.given_j)
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}
