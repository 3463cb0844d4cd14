//! Detection on a graphics processor: all nodes at once, by compute shaders.
//!
//! Thread: simulation or collision, never haptic: a call waits for the device, and uses the heap. The only place that
//! knows wgpu.
//!
//! ```text
//!  Gpu: the adapter, opened once                         [device]
//!  Baked field ──► shader text and numbers               [program]
//!  GpuDetector: pose up, distances down                  [detector]
//! ```
//!
//! Shaders do what `src/collision/field` does, in single precision; answers agree to 0.1 µm. Every node is asked: to
//! pass over clusters saves a device nothing.

mod detector;
mod device;
mod program;

pub use detector::GpuDetector;
pub use device::{Gpu, GpuError};
