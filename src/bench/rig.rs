//! A haptic loop of one axis in virtual time: simulated device, velocity estimate, proxy on a spring and damper, wall.
//!
//! Thread: main (cold).
//!
//! Three integrators of the proxy, each with the force that can be known at the tick: position `x_h` and velocity `v_h`
//! of the handle at its beginning. With `e = x_h − x`, proxy mass `m`, a wall that the proxy may not pass:
//!
//! ```text
//!  semi-implicit Euler  f = K e + B (v_h − v)                    v⁺ = v + T f/m    x⁺ = x + T v⁺
//!  implicit Euler       f = K (e + T (v_h − v⁺)) + B (v_h − v⁺)  v⁺ = v + T f/m    x⁺ = x + T v⁺
//!  midpoint (PMI)       f = K (e + T/2 (v_h − v̂)) + B (v_h − v̂)  v̂ = v + T f/2m    x⁺ = x + T v̂    v⁺ = 2v̂ − v
//! ```

/// How the proxy is integrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Passive midpoint integration, as the haptic tick does it.
    Midpoint,
    /// Explicit force, then position from the new velocity.
    SemiImplicit,
    /// Force from the end of the step.
    Implicit,
}

/// A proxy on one axis. The wall, if there is one, holds it at `x ≥ 0`.
#[derive(Clone, Copy, Debug)]
pub struct AxisProxy {
    /// Mass, kg.
    pub mass_kg: f64,
    /// Spring to the handle, N/m.
    pub stiffness: f64,
    /// Damper to the handle, N·s/m.
    pub damping: f64,
    /// Position, m.
    pub position: f64,
    /// Velocity, m/s.
    pub velocity: f64,
}

impl AxisProxy {
    /// Moves the proxy by one tick of `period_s`; gives the force on the hand, N.
    pub fn step(&mut self, scheme: Scheme, (position, velocity): (f64, f64), wall: bool, period_s: f64) -> f64 {
        let (stretch, inertia) = (position - self.position, self.mass_kg / period_s);
        let stop = -self.position / period_s;
        // Force = pull − gain · (velocity of the proxy), velocity = its own + force / inertia.
        let (lead, inertia) = match scheme {
            Scheme::SemiImplicit => (0.0, inertia),
            Scheme::Implicit => (period_s, inertia),
            Scheme::Midpoint => (0.5 * period_s, 2.0 * inertia),
        };
        let gain = self.damping + self.stiffness * lead;
        let pull = self.stiffness * stretch + gain * velocity;
        let explicit = pull - gain * self.velocity;
        let mut moved = match scheme {
            Scheme::SemiImplicit => self.velocity + explicit / inertia,
            _ => (inertia * self.velocity + pull) / (inertia + gain),
        };
        let touching = wall && moved < stop;
        if touching {
            moved = stop;
        }
        let force = if scheme == Scheme::SemiImplicit { explicit } else { pull - gain * moved };
        self.position += period_s * moved;
        self.velocity = match scheme {
            // What the tick does with the recoil of the midpoint rule at a contact: takes it out.
            Scheme::Midpoint if touching => 0.0,
            Scheme::Midpoint => 2.0 * moved - self.velocity,
            _ => moved,
        };
        -force
    }
}
