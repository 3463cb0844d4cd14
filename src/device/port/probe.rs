//! Which emulated device is on a pseudo-terminal: asked in every protocol in turn.
//!
//! Thread: cold.
//!
//! Only for pseudo-terminals, behind which there is no motor: what is a question in one protocol can be a command in another.

use super::serial::{BAUD, SerialPort};
use super::{Bell, OpenFault, Port as _};
use crate::device::driver::catalogue;
use crate::device::wire::MESSAGE_MAX;
use crate::device::wire::arm::{ArmText, ArmWire as _};
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs};
use std::path::Path;

/// One driver for each protocol, those first whose questions mean least to the others.
const ASKED: [&str; 6] = ["hapkit", catalogue::HAPKIT_TEXT, "polhem", "woodenhaptics-frames", "falcon", "haply-2dof"];
/// Time for an answer, ns.
const PATIENCE_NS: u64 = 400_000_000;
/// Answers that make it certain.
const CERTAIN: u64 = 3;

/// The word of the driver for whatever answers at this pseudo-terminal; `None` when nothing does.
///
/// # Errors
/// [`OpenFault`] when it cannot be opened, or is no pseudo-terminal.
pub fn emulated_at(path: &Path) -> Result<Option<&'static str>, OpenFault> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real.exists() && !real.starts_with("/dev/pts") {
        return Err(OpenFault::Wrong { place: path.display().to_string(), wanted: "pseudo-terminal" });
    }
    for word in ASKED {
        let mut port = SerialPort::open(path, BAUD)?;
        if let Some(found) = ask(&mut port, word) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn ask(port: &mut SerialPort, word: &'static str) -> Option<&'static str> {
    let mut driver = catalogue::driver(word, None)?;
    let bell = Bell::new().ok()?;
    let (mut buffer, mut model, mut wire) = ([0; MESSAGE_MAX], None, ArmText::default());
    let until = SystemClock.now().plus(PATIENCE_NS);
    while SystemClock.now() < until {
        let now: MonoNs = SystemClock.now();
        let length = port.read(&mut buffer).ok()?;
        driver.feed(&buffer[..length], now);
        // Arms on the current protocol say which one they are.
        let mut rest = &buffer[..length];
        while word == "polhem" && !rest.is_empty() {
            let (used, answer) = wire.read_answer(rest);
            model = answer.flatten().map(|answer| answer.model).or(model);
            rest = rest.get(used.max(1)..).unwrap_or_default();
        }
        if driver.facts().answers >= CERTAIN && driver.facts().garbage == 0 {
            return Some(match model {
                Some(2) => "vintage",
                Some(3) => "woodenhaptics",
                _ => word,
            });
        }
        while let Some(order) = driver.next_order() {
            port.order(order).ok()?;
        }
        let length = driver.next_out(&mut buffer);
        if length > 0 {
            port.write(&buffer[..length], until).ok()?;
        }
        port.wait(&bell, now.plus(1_000_000));
    }
    None
}
