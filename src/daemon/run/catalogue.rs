//! Names of scenes and devices: those in the directories of the configuration first, then those that are part of the program.
//!
//! Thread: cold; listing reads a directory and is quick enough for control.

use crate::device::DeviceSpec;
use crate::files::{LoadError, Loaded};
use crate::scene::{self, OpenError, SceneSpec};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Most files of a directory that are listed.
const LISTED: usize = 500;

/// Where names are looked up.
#[derive(Clone, Debug)]
pub(super) struct Catalogue {
    /// Directory of scenes.
    pub(super) scenes: PathBuf,
    /// Directory of device files.
    pub(super) devices: PathBuf,
}

impl Catalogue {
    /// Opens a scene by name or path.
    pub(super) fn scene(&self, name: &str) -> Result<Loaded<SceneSpec>, OpenError> {
        match place(&self.scenes, name)? {
            Some(path) => Ok(scene::load(&path)?),
            None => scene::open(name),
        }
    }

    /// Opens a device file by name or path.
    pub(super) fn device(&self, name: &str) -> Result<Loaded<DeviceSpec>, OpenError> {
        match place(&self.devices, name)? {
            Some(path) => Ok(crate::files::device_file::load(&path)?),
            None => scene::open_device(name),
        }
    }

    /// The text of a device file that can be opened; empty when it has gone meanwhile.
    pub(super) fn device_text(&self, name: &str) -> String {
        let text = match place(&self.devices, name) {
            Ok(Some(path)) => scene::device_text(&path.display().to_string()),
            _ => scene::device_text(name),
        };
        text.unwrap_or_default()
    }

    /// Names of the scenes there are.
    pub(super) fn scene_names(&self) -> Vec<String> {
        names(&self.scenes, scene::shipped_names())
    }

    /// Names of the devices there are.
    pub(super) fn device_names(&self) -> Vec<String> {
        names(&self.devices, scene::shipped_device_names())
    }
}

/// What to call a scene or device that was asked for by name or path.
pub(super) fn short_name(name: &str) -> String {
    let stem = Path::new(name).file_stem();
    stem.map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// The file that `name` stands for, if it is a path or a file of the directory has that name. Only an ordinary file will do:
/// opening a pipe would wait for whoever writes to it.
fn place(directory: &Path, name: &str) -> Result<Option<PathBuf>, LoadError> {
    let is_path = name.contains('/') || name.ends_with(".toml");
    let path = if is_path { PathBuf::from(name) } else { directory.join(name).with_extension("toml") };
    match std::fs::metadata(&path) {
        Ok(found) if found.is_file() || found.is_dir() => Ok((is_path || found.is_file()).then_some(path)),
        Ok(_) => Err(LoadError::Unreadable { path, source: io::Error::other("it is not an ordinary file") }),
        // The reader says best what is wrong with a path.
        Err(_) => Ok(is_path.then_some(path)),
    }
}

fn names<'a>(directory: &Path, shipped: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: BTreeSet<String> = shipped.map(str::to_owned).collect();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten().take(LISTED) {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "toml")
            && let Some(stem) = path.file_stem().and_then(|stem| stem.to_str())
        {
            all.insert(stem.to_owned());
        }
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(directory: &Path) -> Catalogue {
        Catalogue { scenes: directory.to_owned(), devices: directory.to_owned() }
    }

    #[test]
    fn a_file_of_the_directory_comes_before_the_shipped_scene_of_its_name() {
        let directory = std::env::temp_dir().join(format!("hapticd-catalogue-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory can be made");
        let text = scene::shipped("virtual_wall").expect("it is shipped");
        let title = scene::open("virtual_wall").expect("it is valid").value.title;
        let other = text.replacen(&title, "Another wall", 1);
        for name in ["virtual_wall", "mine"] {
            std::fs::write(directory.join(name).with_extension("toml"), &other).expect("a file can be written");
        }
        let here = catalogue(&directory);
        assert_eq!(here.scene("virtual_wall").expect("it is valid").value.title, "Another wall");
        assert_eq!(here.scene("mine").expect("it is valid").value.title, "Another wall");
        assert_ne!(here.scene("box_on_table").expect("it is shipped").value.title, "Another wall");
        let names = here.scene_names();
        assert!(names.contains(&"mine".into()) && names.contains(&"peg_primitive".into()), "{names:?}");
        assert_eq!(names.iter().filter(|name| *name == "virtual_wall").count(), 1);
        std::fs::remove_dir_all(&directory).expect("it can be removed");
    }

    #[test]
    fn what_is_no_ordinary_file_is_refused_without_opening_it() {
        let here = catalogue(Path::new("/nowhere"));
        let said = here.scene("/dev/zero").expect_err("it is a device").to_string();
        assert!(said.contains("not an ordinary file"), "{said}");
        assert!(here.scene("/nowhere/at/all.toml").expect_err("it is missing").to_string().contains("no file"));
        assert!(here.device("simulated-6doff").expect_err("misspelt").to_string().contains("simulated-6dof"));
        assert_eq!(short_name("a/b/peg.toml"), "peg");
    }
}
