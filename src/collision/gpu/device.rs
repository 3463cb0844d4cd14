//! The adapter: opened once, shared by all detectors, and able to go away at any time.
//!
//! Thread: cold to open; asked from simulation or collision.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Why there is no answer from a graphics processor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// Nothing that speaks Vulkan.
    #[error("no Vulkan adapter was found ({0}): install a driver, or mesa-vulkan-drivers for a software one")]
    NoAdapter(String),
    /// It was there and is not any more, or does not do as it should.
    #[error("the graphics processor was lost: {0}")]
    Lost(String),
    /// No answer in time.
    #[error("the graphics processor has not answered in time")]
    Late,
    /// There is no shader for the model.
    #[error("no shader for this model: a grid without symmetry stays on the processor")]
    NoShader,
    /// More nodes or numbers than it takes.
    #[error("the part or its model is too large for the graphics processor")]
    TooLarge,
}

/// What went wrong first. Set by callbacks of the driver.
type Trouble = Arc<Mutex<Option<String>>>;

/// An open graphics processor.
pub struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    name: String,
    is_software: bool,
    trouble: Trouble,
}

fn note(trouble: &Trouble, what: String) {
    trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
}

/// The outcome of something that is done at once on this kind of system; none if it is not.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

impl Gpu {
    /// Opens the fastest adapter there is; one in software if there is no other.
    ///
    /// # Errors
    /// If there is none, or it gives no device.
    pub fn open() -> Result<Arc<Self>, GpuError> {
        let none = |why: &dyn std::fmt::Display| GpuError::NoAdapter(why.to_string());
        let mut wanted = wgpu::InstanceDescriptor::new_without_display_handle();
        wanted.backends = wgpu::Backends::VULKAN;
        let instance = wgpu::Instance::new(wanted);
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = at_once(instance.request_adapter(&options)).ok_or_else(|| none(&"it is not ready"))?;
        let adapter = adapter.map_err(|error| none(&error))?;
        let info = adapter.get_info();
        let wanted = wgpu::DeviceDescriptor { required_limits: adapter.limits(), ..Default::default() };
        let opened = at_once(adapter.request_device(&wanted)).ok_or_else(|| none(&"it is not ready"))?;
        let (device, queue) = opened.map_err(|error| none(&error))?;
        let trouble = Trouble::default();
        let (lost, failed) = (Arc::clone(&trouble), Arc::clone(&trouble));
        device.set_device_lost_callback(move |_, why| note(&lost, why));
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| note(&failed, error.to_string())));
        let is_software = info.device_type == wgpu::DeviceType::Cpu;
        Ok(Arc::new(Self { device, queue, name: info.name, is_software, trouble }))
    }

    /// Name of the adapter.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True when it is the processor after all.
    #[must_use]
    pub fn is_software(&self) -> bool {
        self.is_software
    }

    /// Gives the device up: from then on it is lost to all who use it.
    pub fn close(&self) {
        self.device.destroy();
        note(&self.trouble, "it was closed".into());
    }

    /// What went wrong, if anything did. It stays so.
    pub(super) fn check(&self) -> Result<(), GpuError> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map_or(Ok(()), |why| Err(GpuError::Lost(why.clone())))
    }
}
