//! Scenes and device files that are part of the program, so that it can show something from any directory.
//!
//! Thread: cold.

use super::read;
use super::spec::SceneSpec;
use crate::device::DeviceSpec;
use crate::files::{LoadError, Loaded, Report, SIZE_MAX, device_file, quote, suggest};
use crate::shared::ordinary_file;
use std::path::Path;

const SCENES: [(&str, &str); 17] = [
    ("virtual_wall", include_str!("../../scenes/virtual_wall.toml")),
    ("box_on_table", include_str!("../../scenes/box_on_table.toml")),
    ("peg_primitive", include_str!("../../scenes/peg_primitive.toml")),
    ("bolting", include_str!("../../scenes/bolting.toml")),
    ("bolting_spanner", include_str!("../../scenes/bolting_spanner.toml")),
    ("peg_in_hole", include_str!("../../scenes/peg_in_hole.toml")),
    ("snap_connector", include_str!("../../scenes/snap_connector.toml")),
    ("snap_lan", include_str!("../../scenes/snap_lan.toml")),
    ("snap_cap", include_str!("../../scenes/snap_cap.toml")),
    ("needle_phantom", include_str!("../../scenes/needle_phantom.toml")),
    ("liver_biopsy", include_str!("../../scenes/liver_biopsy.toml")),
    ("two_hands", include_str!("../../scenes/two_hands.toml")),
    ("soft_cube", include_str!("../../scenes/soft_cube.toml")),
    ("soft_finger", include_str!("../../scenes/soft_finger.toml")),
    ("soft_grip", include_str!("../../scenes/soft_grip.toml")),
    ("suction_cup", include_str!("../../scenes/suction_cup.toml")),
    ("tissue_palpation", include_str!("../../scenes/tissue_palpation.toml")),
];

const DEVICES: [(&str, &str); 11] = [
    ("simulated-3dof", include_str!("../../devices/simulated-3dof.toml")),
    ("simulated-6dof", include_str!("../../devices/simulated-6dof.toml")),
    ("novint-falcon", include_str!("../../devices/novint-falcon.toml")),
    ("polhem", include_str!("../../devices/polhem.toml")),
    ("vintage", include_str!("../../devices/vintage.toml")),
    ("woodenhaptics", include_str!("../../devices/woodenhaptics.toml")),
    ("haply-2dof", include_str!("../../devices/haply-2dof.toml")),
    ("hapkit", include_str!("../../devices/hapkit.toml")),
    ("hapkit-text", include_str!("../../devices/hapkit-text.toml")),
    ("inverse3", include_str!("../../devices/inverse3.toml")),
    ("spacemouse", include_str!("../../devices/spacemouse.toml")),
];

/// Why a scene or a device could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No scene or device of that name is part of the program.
    #[error("no {kind} is called `{name}` ({help}); to open a file, give its path")]
    Unknown {
        /// "scene" or "device".
        kind: &'static str,
        /// As asked for.
        name: String,
        /// What there is.
        help: String,
    },
    /// The file is missing or wrong.
    #[error(transparent)]
    File(#[from] LoadError),
}

/// Text of a shipped scene.
#[must_use]
pub fn shipped(name: &str) -> Option<&'static str> {
    find(&SCENES, name)
}

/// Names of the shipped scenes.
pub fn shipped_names() -> impl Iterator<Item = &'static str> + Clone {
    SCENES.iter().map(|(name, _)| *name)
}

/// Text of a shipped device file.
#[must_use]
pub fn shipped_device(name: &str) -> Option<&'static str> {
    find(&DEVICES, name)
}

/// Names of the shipped device files.
pub fn shipped_device_names() -> impl Iterator<Item = &'static str> + Clone {
    DEVICES.iter().map(|(name, _)| *name)
}

/// Opens a scene by the name of a shipped one, or by path: what has a `/` in it or ends in `.toml` is a path.
///
/// # Errors
/// [`OpenError`] with the names there are, or with what is wrong in the file.
pub fn open(name_or_path: &str) -> Result<Loaded<SceneSpec>, OpenError> {
    open_as("scene", "scenes", name_or_path, &SCENES, read::parse, read::load)
}

/// Opens a device file, likewise.
///
/// # Errors
/// [`OpenError`] with the names there are, or with what is wrong in the file.
pub fn open_device(name_or_path: &str) -> Result<Loaded<DeviceSpec>, OpenError> {
    open_as("device", "devices", name_or_path, &DEVICES, device_file::parse, device_file::load)
}

/// Text of the scene that [`open`] reads by this name or path; `None` when there is none.
#[must_use]
pub fn scene_text(name_or_path: &str) -> Option<String> {
    text_of(name_or_path, &SCENES)
}

/// Text of the device file that [`open_device`] reads by this name or path, likewise.
#[must_use]
pub fn device_text(name_or_path: &str) -> Option<String> {
    text_of(name_or_path, &DEVICES)
}

fn text_of(name_or_path: &str, list: &[(&str, &'static str)]) -> Option<String> {
    if is_path(name_or_path) {
        let bytes = ordinary_file::read(Path::new(name_or_path), SIZE_MAX as u64).ok();
        return bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    }
    find(list, name_or_path).map(String::from)
}

fn is_path(name_or_path: &str) -> bool {
    name_or_path.contains('/') || name_or_path.ends_with(".toml")
}

fn find(list: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    list.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

fn open_as<T>(
    kind: &'static str,
    directory: &str,
    name_or_path: &str,
    list: &[(&str, &'static str)],
    parse: impl FnOnce(&[u8], &str) -> Result<Loaded<T>, Report>,
    load: impl FnOnce(&Path) -> Result<Loaded<T>, LoadError>,
) -> Result<Loaded<T>, OpenError> {
    if is_path(name_or_path) {
        return Ok(load(Path::new(name_or_path))?);
    }
    match find(list, name_or_path) {
        Some(text) => {
            let name = format!("{directory}/{name_or_path}.toml");
            Ok(parse(text.as_bytes(), &name).map_err(LoadError::Invalid)?)
        }
        None => {
            let help = suggest(name_or_path, list.iter().map(|(name, _)| *name));
            Err(OpenError::Unknown { kind, name: quote(name_or_path), help })
        }
    }
}
