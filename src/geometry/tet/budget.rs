//! How many numbers a file may turn into: as many as it has bytes.
//!
//! Thread: cold.
//!
//! Every number of an honest file takes at least a byte of it. A file that refers to one array again and again, or puts each element into
//! thousands of groups, asks for more, and is refused before the memory is taken.

use super::TetMeshError;

/// Most groups of a mesh: names of materials, regions and sides.
pub(super) const GROUPS_MAX: usize = 1000;

/// What is left of the numbers of a file.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    /// That of a file of this length.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { left: bytes.len() }
    }

    /// Takes so many numbers out.
    pub(super) fn spend(&mut self, count: usize) -> Result<(), TetMeshError> {
        let reason =
            "it stands for more numbers than it has bytes: an array or a group is repeated, export the mesh again";
        self.left = self.left.checked_sub(count).ok_or_else(|| TetMeshError::Unsupported(reason.into()))?;
        Ok(())
    }
}

/// An error for a mesh of more than [`GROUPS_MAX`] groups.
pub(super) fn too_many_groups() -> TetMeshError {
    TetMeshError::Unsupported(format!("it has more than {GROUPS_MAX} groups: export fewer physical groups or regions"))
}
