//! Contact in the simulation step against analytic answers and conservation laws: boxes and balls that stick, slide, roll,
//! topple, bounce and pile up. The tool stays far away.

mod energy;
mod impact;
mod rolling;
mod scene;
mod sliding;
mod stack;
mod toppling;
