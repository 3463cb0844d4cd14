//! Facts about a device, as its device file states them, in SI units.
//!
//! Thread: any (plain data).

/// A value for the linear and one for the angular degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerPart {
    /// Of translation.
    pub linear: f64,
    /// Of rotation.
    pub angular: f64,
}

impl PerPart {
    /// Both multiplied.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { linear: self.linear * factor, angular: self.angular * factor }
    }
}

/// What the device may do to a hand. A scene can tighten these, never widen them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest force, N, and torque, N·m.
    pub force: PerPart,
    /// Fastest rise of the force, N/s, and torque, N·m/s.
    pub slew: PerPart,
    /// Largest power given to the hand, W.
    pub power_w: f64,
    /// Largest energy reserve the passivity ledger may keep, J: what can be given back without new input.
    pub reserve_j: f64,
    /// Speed of the handle above which it is braked, m/s and rad/s.
    pub speed: PerPart,
    /// Acceleration the handle cannot exceed in anyone's hand, m/s² and rad/s²: what the energy bound relies on.
    pub acceleration: PerPart,
    /// Largest stable closed-loop stiffness at the nominal rate, N/m and N·m/rad.
    pub stiffness: PerPart,
    /// Largest stable closed-loop damping, N·s/m and N·m·s/rad.
    pub damping: PerPart,
    /// Radius of the workspace, m.
    pub workspace_radius_m: f64,
    /// The firmware goes to zero force when it hears nothing for this long, s; `None` when it never does.
    pub watchdog_s: Option<f64>,
}

/// The moving parts of the device, for observers and for the simulated device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mechanics {
    /// Moving mass felt at the handle, kg, and moment of inertia, kg·m².
    pub inertia: PerPart,
    /// Viscous friction, N·s/m and N·m·s/rad.
    pub damping: PerPart,
    /// Coulomb friction, N and N·m.
    pub friction: PerPart,
    /// Step of the position reading, m and rad; zero for continuous.
    pub quantum: PerPart,
    /// Ticks between writing a force and its taking effect.
    pub latency_ticks: u32,
    /// What its links weigh, instead of what the driver knows of its kind.
    pub links: Option<Links>,
}

/// Most links of a mechanism that have a weight of their own.
pub const LINKS_MAX: usize = 4;

/// Masses of the moving links and where along them their centres are, in the order that the mechanism tells; zero where there
/// is none or nothing is known. They weigh on the hand unless the motors carry them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Links {
    /// Mass of each, kg.
    pub mass_kg: [f64; LINKS_MAX],
    /// Way from its first joint to its centre of mass, m.
    pub centre_m: [f64; LINKS_MAX],
}

impl Links {
    /// Those of these masses, kg, and centres, m; at most [`LINKS_MAX`].
    #[must_use]
    pub const fn new<const N: usize>(links: [(f64, f64); N]) -> Self {
        let (mut mass_kg, mut centre_m) = ([0.0; LINKS_MAX], [0.0; LINKS_MAX]);
        let mut index = 0;
        while index < N {
            (mass_kg[index], centre_m[index]) = links[index];
            index += 1;
        }
        Self { mass_kg, centre_m }
    }
}

/// A text from a file.
#[expect(clippy::disallowed_types, reason = "read before the first tick")]
type Text = String;

/// How the program reaches the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Path of the port; without one, it is looked for.
    pub port: Option<Text>,
    /// USB vendor and product, instead of those that the driver knows.
    pub usb: Option<(u16, u16)>,
    /// Serial number of the USB device, where there are several of a kind.
    pub serial_number: Option<Text>,
    /// Speed of a serial line, baud.
    pub baud: Option<u32>,
    /// File with the firmware that the device needs after power-up.
    pub firmware: Option<Text>,
}

/// Everything in a device file.
#[expect(clippy::disallowed_types, reason = "names from a file, read before the first tick")]
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSpec {
    /// Model name as written.
    pub model: String,
    /// Driver that talks to it.
    pub driver: String,
    /// Rotation is measured.
    pub rotation_sensed: bool,
    /// Torque can be applied.
    pub rotation_actuated: bool,
    /// Number of buttons.
    pub buttons: u8,
    /// Rate of the haptic loop the device is made for, Hz.
    pub rate_hz: f64,
    /// What it may do.
    pub limits: Limits,
    /// How it moves.
    pub mechanics: Mechanics,
    /// How it is reached.
    pub connection: Connection,
}
