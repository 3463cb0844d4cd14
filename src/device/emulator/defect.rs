//! What can be wrong inside a device: its encoders and motors, as badly mended or worn ones are.
//!
//! Thread: whoever tests or plays the device (no heap).

use crate::device::kinematics::Joints;

/// A defect. Joints count from zero; one beyond the last is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The encoder of this joint shows where it was when it broke.
    StuckEncoder(usize),
    /// The first two encoders are plugged into each other's place.
    SwappedEncoders,
    /// The motor of this joint turns the other way.
    ReversedMotor(usize),
}

/// A defect of a mechanism with `N` joints, and where they were when it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defective<const N: usize> {
    defect: Defect,
    began_at: Joints<N>,
}

impl<const N: usize> Defective<N> {
    pub(super) fn new(defect: Defect, began_at: &Joints<N>) -> Self {
        Self { defect, began_at: *began_at }
    }

    /// What the encoders show of these joints.
    pub(super) fn sensed(&self, joints: &Joints<N>) -> Joints<N> {
        let mut sensed = *joints;
        match self.defect {
            Defect::StuckEncoder(joint) => {
                let joint = joint.min(N - 1);
                sensed[joint] = self.began_at[joint];
            }
            Defect::SwappedEncoders if N > 1 => sensed.swap_rows(0, 1),
            Defect::SwappedEncoders | Defect::ReversedMotor(_) => {}
        }
        sensed
    }

    /// What the motors do of these torques.
    pub(super) fn driven(&self, torques: &Joints<N>) -> Joints<N> {
        let mut driven = *torques;
        if let Defect::ReversedMotor(joint) = self.defect {
            driven[joint.min(N - 1)] *= -1.0;
        }
        driven
    }
}
