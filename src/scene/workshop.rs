//! What the shapes of a scene share while they are made: memory, fields that are alike, and somebody who watches.
//!
//! Thread: cold; [`Watch`] also control.

use super::make::Unmade;
use super::spec::Source as SceneSource;
use crate::bake::{GridPlan, Source, bake_grid_within};
use crate::collision::field::{Baked, GridError, SourceHash};
use crate::shared::ordinary_file;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest file of a mesh or a field, bytes, and most bytes of all such files of a scene: no reader makes more numbers of a file than it
/// has bytes.
const FILE_MAX: u64 = 256 << 20;
/// Most nodes of all grids of a scene: 512 MB, some 15 s of work.
const GRID_NODES_MAX: usize = 1 << 25;

/// How a load goes, for whoever waits, and the way to end it.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Stage>);

#[derive(Debug, Default)]
struct Stage {
    doing: Mutex<String>,
    cancelled: AtomicBool,
}

impl Watch {
    /// Notes what is begun.
    ///
    /// # Errors
    /// When the load has been cancelled.
    pub(super) fn begin(&self, doing: String) -> Result<(), Unmade> {
        *self.0.doing.lock().unwrap_or_else(PoisonError::into_inner) = doing;
        if self.is_cancelled() { Err(Unmade::new("the load was cancelled", "load the scene again")) } else { Ok(()) }
    }

    /// What is being done.
    #[must_use]
    pub fn doing(&self) -> String {
        self.0.doing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the load at the next step of the work.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
    }

    /// True once cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }
}

/// See the file's head.
pub(super) struct Workshop {
    directory: PathBuf,
    /// Whoever watches.
    pub(super) watch: Watch,
    bytes_left: u64,
    nodes_left: usize,
    grids: Vec<(SourceHash, Arc<Baked>)>,
}

impl Workshop {
    /// For a scene file.
    pub(super) fn new(source: &SceneSource, watch: Watch) -> Self {
        let directory = Path::new(source.name()).parent().map(Path::to_path_buf).unwrap_or_default();
        Self { directory, watch, bytes_left: FILE_MAX, nodes_left: GRID_NODES_MAX, grids: Vec::new() }
    }

    /// The path of a file that the scene names.
    pub(super) fn beside(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// Reads a file that the scene names.
    pub(super) fn read_file(&mut self, path: &Path) -> Result<Vec<u8>, Unmade> {
        let bytes = read_file(path, self.bytes_left)?;
        self.bytes_left -= bytes.len() as u64;
        Ok(bytes)
    }

    /// The grid of a part: one for all that are alike.
    pub(super) fn grid(&mut self, source: &Source, plan: &GridPlan) -> Result<Arc<Baked>, Unmade> {
        let hash = source.hash(plan);
        if let Some((_, known)) = self.grids.iter().find(|(other, _)| *other == hash) {
            return Ok(Arc::clone(known));
        }
        let (mut left, watch) = (self.nodes_left, &self.watch);
        let mut spend = |nodes: usize| match left.checked_sub(nodes) {
            Some(rest) if !watch.is_cancelled() => {
                left = rest;
                true
            }
            _ => false,
        };
        let baked = bake_grid_within(source, plan, &mut spend).map_err(|error| {
            let all = (GRID_NODES_MAX * size_of::<[f32; 4]>()) >> 20;
            let of_all =
                if error == GridError::Refused { format!(" (all of a scene: {all} MB)") } else { String::new() };
            Unmade::new(format!("{error}{of_all}"), "make the part smaller, or write model = \"exact\"")
        })?;
        let baked = Arc::new(baked);
        self.nodes_left = left;
        self.grids.push((hash, Arc::clone(&baked)));
        Ok(baked)
    }
}

/// Reads a file of at most `most` bytes.
pub(super) fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, Unmade> {
    let failed = |error: std::io::Error| {
        Unmade::new(
            format!("cannot read {}: {error}", path.display()),
            "is the path right? it starts at the scene file",
        )
    };
    let bytes = ordinary_file::read(path, most).map_err(failed)?;
    if bytes.len() as u64 > most {
        let message = format!("with {} the files of the scene have more than {} MB", path.display(), FILE_MAX >> 20);
        return Err(Unmade::new(message, "is it the right file? else make the meshes coarser"));
    }
    Ok(bytes)
}

/// Reads a file that belongs to no shape.
pub(super) fn read_one(path: &Path) -> Result<Vec<u8>, Unmade> {
    read_file(path, FILE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bake::Design;
    use crate::geometry::parts::Peg;

    fn shop() -> Workshop {
        let text = crate::scene::shipped("virtual_wall").expect("it is shipped");
        let spec = crate::scene::parse(text.as_bytes(), "scene.toml").expect("it is valid").value;
        Workshop::new(&spec.source, Watch::default())
    }

    fn source(diameter: f64) -> Source {
        Design::Peg(Peg { diameter, length: 0.02, chamfer: 1e-3 }).source().expect("a peg")
    }

    #[test]
    fn all_grids_of_a_scene_share_their_memory_and_parts_that_are_alike_their_grid() {
        let mut shop = shop();
        let plan = GridPlan::profile();
        let first = shop.grid(&source(0.01), &plan).expect("there is room");
        let used = GRID_NODES_MAX - shop.nodes_left;
        let again = shop.grid(&source(0.01), &plan).expect("it is there already");
        assert!(Arc::ptr_eq(&first, &again) && GRID_NODES_MAX - shop.nodes_left == used && used > 1000);
        // Room for less than one more.
        shop.nodes_left = used / 2;
        let said = shop.grid(&source(0.011), &plan).expect_err("there is none left");
        assert!(said.message.contains("all of a scene: 512 MB"), "{}", said.message);
        assert!(shop.grid(&source(0.01), &plan).is_ok());
        // And one that nobody wants any more is not made.
        shop.nodes_left = GRID_NODES_MAX;
        shop.watch.cancel();
        assert!(shop.grid(&source(0.012), &plan).is_err() && shop.watch.begin("more".into()).is_err());
    }

    #[test]
    fn all_files_of_a_scene_share_their_bytes() {
        let directory = std::env::temp_dir().join(format!("hapticd-workshop-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join("mesh.stl");
        std::fs::write(&path, [0; 1000]).expect("written");
        let mut shop = shop();
        shop.bytes_left = 2500;
        assert!(shop.read_file(&path).is_ok() && shop.read_file(&path).is_ok());
        let said = shop.read_file(&path).expect_err("it is too much");
        assert!(said.message.contains("more than 256 MB"), "{}", said.message);
        std::fs::remove_dir_all(&directory).expect("it can be removed");
    }
}
