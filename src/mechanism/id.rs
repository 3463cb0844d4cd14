//! Names of constraints.
//!
//! Thread: any (plain data).

/// Name of one constraint, equal from step to step and from snapshot to snapshot: warm starts and blending find the constraint by
/// it. Names of two kinds are never equal, whatever numbers they hold. Bodies are numbered as in the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockId {
    /// Contact of two rigid bodies: key of the candidate that collision detection found.
    Contact(u64),
    /// Contact of a deformable body.
    Soft {
        /// The deformable body, then the other one; for a tool its number among the tools.
        bodies: [u16; 2],
        /// Node or point of a face that touches.
        key: u64,
    },
    /// Joint of the scene file, by its position there.
    Joint(u32),
    /// Surface of the tissue with this number, under the tip of a needle that has not entered yet.
    Surface(u16),
    /// Tip of a needle in the channel with this number.
    Tip(u32),
    /// Point of a channel at which tissue holds the shaft of a needle.
    Knot(u64),
    /// Penetration that the haptic thread detected by itself.
    Intruder {
        /// Body of the scene.
        body: u16,
        /// The node is the tool's; else the body's.
        of_tool: bool,
        /// The node.
        node: u32,
    },
    /// Rows that stand for eliminated rows of one snapshot: they have no counterpart in another one.
    Spring {
        /// Step of the snapshot.
        step: u64,
        /// Which spring of the snapshot.
        part: u16,
        /// First row within the spring.
        first: u16,
    },
    /// Air in the cavity with this number.
    Cavity(u32),
    /// Constraint from outside this crate, or of a problem with its own numbering.
    Custom(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashSet};

    /// One name of each kind with the same numbers in it.
    fn all(n: u16, of_tool: bool) -> [BlockId; 10] {
        let (bodies, wide) = ([n, n], u64::from(n));
        let node = u32::from(n);
        [
            BlockId::Contact(wide),
            BlockId::Soft { bodies, key: wide },
            BlockId::Joint(node),
            BlockId::Surface(n),
            BlockId::Tip(node),
            BlockId::Knot(wide),
            BlockId::Intruder { body: n, of_tool, node },
            BlockId::Spring { step: wide, part: n, first: n },
            BlockId::Cavity(node),
            BlockId::Custom(wide),
        ]
    }

    #[test]
    fn names_of_two_kinds_are_never_equal() {
        for (n, of_tool) in [(0, false), (1, true), (u16::MAX, true)] {
            let names = all(n, of_tool);
            for (i, one) in names.iter().enumerate() {
                for (j, other) in names.iter().enumerate() {
                    assert_eq!(one == other, i == j, "{one:?} {other:?}");
                }
            }
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        }
    }

    #[test]
    fn every_number_of_a_name_counts() {
        let mut names = HashSet::new();
        for body in 0..3 {
            for other in 0..3 {
                for node in 0..3 {
                    assert!(names.insert(BlockId::Soft { bodies: [body, other], key: node }));
                    assert!(names.insert(BlockId::Intruder {
                        body,
                        of_tool: other == 1,
                        node: node as u32 + 3 * u32::from(other)
                    }));
                }
            }
        }
    }
}
