//! The keys of device files; read by `files/device_file.rs`.
//!
//! Thread: cold.

use super::{ANY_LENGTH, Choice, Key, Keys, Kind, NOT_BLANK, Schema};
use crate::device::LINKS_MAX;
use crate::files::document::Format;
use crate::files::quantity::Dimension as D;

/// Device files.
pub static DEVICE: Schema = Schema {
    format: Format::DEVICE,
    title: "Device files",
    about: "\
A device file says what a haptic device can do, what it may do to a hand, and how its handle moves. It is TOML. Unknown keys
are refused. Every limit must be stated: there is no default for what may be done to a hand, and a scene can only tighten
them. `devices/simulated-3dof.toml` and `devices/simulated-6dof.toml` are examples with comments.
",
    root: &ROOT,
};

const fn quantity(name: &'static str, dimension: D, example: &'static str, about: &'static str) -> Key {
    Key::new(name, Kind::Quantity(dimension), example, about)
}

static ROOT: Keys = Keys {
    heading: "Top of the file",
    about: "What stands above the first `[table]`, and the tables themselves.",
    keys: &[
        Key::new("model", NOT_BLANK, "\"Simulated, 3 degrees of freedom\"", "Name of the device for people"),
        Key::new(
            "driver",
            Kind::Text("^[a-z0-9-]+$", ANY_LENGTH),
            "\"simulated\"",
            "Part of the program that talks to it, a word of a-z, 0-9 and -: simulated, falcon, polhem, vintage, \
             woodenhaptics, haply-2dof, hapkit, inverse3, spacemouse; hapkit-text for a Hapkit with the firmware of earlier programs; \
             and for older boards of WoodenHaptics and Polhem, by the \
             generation of their protocol, woodenhaptics-frames, woodenhaptics-mbed, woodenhaptics-teensy",
        ),
        Key::table("capabilities", &CAPABILITIES, "What the device senses and gives"),
        Key::table("limits", &LIMITS, "What it may do to a hand"),
        Key::table("mechanics", &MECHANICS, "How its handle moves"),
        Key::table("connection", &CONNECTION, "How a real device is reached").optional("its defaults"),
    ],
    choices: &[
        Choice::needing(&[
            "limits.max_angular_torque",
            "limits.max_torque_rate",
            "limits.max_angular_stiffness",
            "limits.max_angular_damping",
            "limits.max_angular_speed",
            "limits.max_angular_acceleration",
            "mechanics.inertia",
            "mechanics.angular_resolution",
        ])
        .when(&[("capabilities.rotation.sensed", "true"), ("capabilities.rotation.actuated", "true")]),
        Choice::needing(&[
            "limits.max_angular_speed",
            "limits.max_angular_acceleration",
            "mechanics.inertia",
            "mechanics.angular_resolution",
        ])
        .when(&[("capabilities.rotation.sensed", "true"), ("capabilities.rotation.actuated", "false")])
        .allowing(&[
            "limits.max_angular_torque",
            "limits.max_torque_rate",
            "limits.max_angular_stiffness",
            "limits.max_angular_damping",
        ]),
        Choice::needing(&[])
            .when(&[("capabilities.rotation.sensed", "false"), ("capabilities.rotation.actuated", "false")])
            .allowing(&[
                "limits.max_angular_torque",
                "limits.max_torque_rate",
                "limits.max_angular_stiffness",
                "limits.max_angular_damping",
                "limits.max_angular_speed",
                "limits.max_angular_acceleration",
                "mechanics.inertia",
                "mechanics.angular_resolution",
            ]),
    ],
};

static CAPABILITIES: Keys = Keys {
    heading: "[capabilities]",
    about: "What the device senses and gives. Rotation cannot be actuated without being sensed.",
    keys: &[
        Key::table("position", &POSITION, "Whether it senses position, as it must, and gives force"),
        Key::table("rotation", &ROTATION, "Whether it senses rotation and gives torque"),
        Key::new("buttons", Kind::Integer(0, 32), "2", "Number of buttons").or("0"),
    ],
    choices: &[],
};

static POSITION: Keys = Keys {
    heading: "position = { … }",
    about: "hapticd needs a device that senses position. One that gives no force steers a scene without feeling it.",
    keys: &[
        Key::new("sensed", Kind::Only(true), "true", "Position is sensed"),
        Key::new("actuated", Kind::Boolean, "true", "Force is given"),
    ],
    choices: &[],
};

static CONNECTION: Keys = Keys {
    heading: "[connection]",
    about: "How a real device is reached. Without `port`, the first one connected with the USB identity that the driver knows \
            is taken; `hapticd devices` lists them. `--port` on the command line comes before all of this.",
    keys: &[
        Key::new(
            "port",
            NOT_BLANK,
            "\"/dev/ttyACM0\"",
            "Path of a serial port, a pseudo-terminal or a raw HID node; for an Inverse3 the address of its service, \
             which is 127.0.0.1:10001 where none is written",
        )
        .optional("it is looked for"),
        Key::new(
            "usb",
            Kind::Text("^[0-9a-fA-F]{4}:[0-9a-fA-F]{4}$", ANY_LENGTH),
            "\"16c0:0483\"",
            "USB vendor and product to look for",
        )
        .optional("those the driver knows"),
        Key::new(
            "serial_number",
            NOT_BLANK,
            "\"A50285BI\"",
            "Serial number of the USB device, where there are several",
        )
        .optional("any"),
        Key::new("baud", Kind::Integer(300, 12_000_000), "115200", "Speed of a serial line; boards with USB ignore it")
            .optional("115200"),
        Key::new(
            "firmware",
            NOT_BLANK,
            "\"/var/lib/hapticd/falcon.bin\"",
            "Firmware that a Falcon needs after power-up",
        )
        .optional("none is loaded"),
    ],
    choices: &[],
};

static ROTATION: Keys = Keys {
    heading: "rotation = { … }",
    about: "The keys about rotation in the other tables are needed or not depending on these two.",
    keys: &[
        Key::new("sensed", Kind::Boolean, "true", "Rotation is sensed"),
        Key::new("actuated", Kind::Boolean, "true", "Torque is given"),
    ],
    choices: &[],
};

static LIMITS: Keys = Keys {
    heading: "[limits]",
    about: "What the device may do to a hand. A scene can tighten these, never widen them. Those about rotation are needed \
            where it is sensed or actuated, see the top of the file; elsewhere they have no effect.",
    keys: &[
        quantity("max_linear_force", D::Force, "\"8 N\"", "Longest force; its direction is kept when it is cut")
            .positive()
            .at_most(200.0),
        quantity("max_angular_torque", D::Torque, "\"1.5 N*m\"", "Largest torque").positive().at_most(20.0).chosen(),
        quantity("max_force_rate", D::ForceRate, "\"4000 N/s\"", "Fastest rise of the force; it may fall at once")
            .positive()
            .at_most(1e6),
        quantity("max_torque_rate", D::TorqueRate, "\"750 N*m/s\"", "Fastest rise of the torque")
            .positive()
            .at_most(1e5)
            .chosen(),
        quantity("max_linear_speed", D::Velocity, "\"1 m/s\"", "Speed above which the handle is braked")
            .positive()
            .at_most(20.0),
        quantity("max_angular_speed", D::AngularVelocity, "\"20 rad/s\"", "Rate of rotation above which it is braked")
            .positive()
            .at_most(500.0)
            .chosen(),
        quantity(
            "max_linear_acceleration",
            D::Acceleration,
            "\"150 m/s^2\"",
            "No hand moves it faster; the energy bound relies on it",
        )
        .positive()
        .at_most(1e4),
        quantity("max_angular_acceleration", D::AngularAcceleration, "\"3000 rad/s^2\"", "Likewise for rotation")
            .positive()
            .at_most(1e6)
            .chosen(),
        quantity(
            "max_linear_stiffness",
            D::Stiffness,
            "\"3000 N/m\"",
            "Largest that is stable in a closed loop at `rate`",
        )
        .positive()
        .at_most(1e6),
        quantity("max_angular_stiffness", D::AngularStiffness, "\"10 N*m/rad\"", "Likewise for rotation")
            .positive()
            .at_most(1e4)
            .chosen(),
        quantity("max_linear_damping", D::Damping, "\"20 N*s/m\"", "Largest that is stable in a closed loop at `rate`")
            .positive()
            .at_most(1e4),
        quantity("max_angular_damping", D::AngularDamping, "\"0.05 N*m*s/rad\"", "Likewise for rotation")
            .positive()
            .at_most(100.0)
            .chosen(),
        quantity("max_power", D::Power, "\"10 W\"", "Most power given to the hand, force and torque together")
            .positive()
            .at_most(1000.0),
        quantity(
            "energy_reserve",
            D::Energy,
            "\"100 mJ\"",
            "Most the passivity ledger keeps of what the hand has put in",
        )
        .positive()
        .at_most(10.0),
        quantity("workspace_radius", D::Length, "\"100 mm\"", "Radius of the workspace about its middle")
            .positive()
            .at_most(5.0),
        Key::new(
            "watchdog",
            Kind::QuantityOrWord(D::Time, "none"),
            "\"100 ms\"",
            "Time without a command after which the firmware drops the force: two ticks or more",
        )
        .positive()
        .at_most(10.0),
    ],
    choices: &[],
};

static MECHANICS: Keys = Keys {
    heading: "[mechanics]",
    about: "How the handle moves. The simulated device is made from these; observers use them with real ones.",
    keys: &[
        quantity("mass", D::Mass, "\"0.15 kg\"", "Moving mass felt at the handle").positive().at_most(50.0),
        quantity(
            "inertia",
            D::Inertia,
            "\"5e-4 kg*m^2\"",
            "Moment of inertia felt at the handle, the same about every axis",
        )
        .positive()
        .at_most(5.0)
        .chosen(),
        quantity("damping", D::Damping, "\"0.5 N*s/m\"", "Viscous friction").not_negative().at_most(1e4).or("0"),
        quantity("angular_damping", D::AngularDamping, "\"0.0015 N*m*s/rad\"", "Viscous friction of rotation")
            .not_negative()
            .at_most(100.0)
            .or("0"),
        quantity("friction", D::Force, "\"0.1 N\"", "Coulomb friction").not_negative().at_most(50.0).or("0"),
        quantity("angular_friction", D::Torque, "\"2 mN*m\"", "Coulomb friction of rotation")
            .not_negative()
            .at_most(5.0)
            .or("0"),
        quantity("resolution", D::Length, "\"10 µm\"", "Step of the position reading; 0 for a continuous one")
            .not_negative()
            .at_most(0.01),
        quantity("angular_resolution", D::Angle, "\"50 µrad\"", "Step of the rotation reading; 0 for a continuous one")
            .not_negative()
            .at_most(0.2)
            .chosen(),
        quantity("latency", D::Time, "\"1 ms\"", "From writing a force to its taking effect, in whole ticks")
            .not_negative()
            .at_most(0.1)
            .or("\"0 ms\""),
        quantity("rate", D::Frequency, "\"1 kHz\"", "Rate of the haptic loop").at_least(100.0).at_most(10_000.0),
        Key::new(
            "links",
            Kind::Tables(&LINK, LINKS_MAX),
            "",
            "What the moving links weigh, for the motors to carry: of a serial arm upper link and fore link; of a Polhem \
             upper link, crank, coupler and fore link with stylus; of a Falcon plate with grip, one arm and the bars of one leg",
        )
        .optional("what the driver knows of its kind"),
    ],
    choices: &[],
};

static LINK: Keys = Keys {
    heading: "[[mechanics.links]]",
    about: "One link of the mechanism; all of them are told, in the order above. A mass of zero is not carried. Too much of it lifts \
            the handle by itself.",
    keys: &[
        quantity("mass", D::Mass, "\"0.17 kg\"", "Its mass").not_negative().at_most(10.0),
        quantity(
            "centre",
            D::Length,
            "\"51 mm\"",
            "From its first joint along it to its centre of mass; less than zero beyond the joint",
        )
        .at_least(-1.0)
        .at_most(1.0)
        .or("\"0 mm\""),
    ],
    choices: &[],
};
