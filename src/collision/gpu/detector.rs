//! The nodes of one part in the field of another, on a graphics processor.
//!
//! Thread: simulation or collision; waits for the device.

use super::program::Program;
use super::{Gpu, GpuError};
use crate::collision::detect::{Found, NodeSet, Touch};
use crate::collision::field::Baked;
use crate::math::{Pose, pose_is_sound};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wgpu::BufferUsages as Use;

/// Threads of a group, as the shader says.
const GROUP: u32 = 64;
/// Bytes of an answer: distance and gradient.
const ANSWER: usize = 16;

/// Finds the nodes of a part that are near another.
pub struct GpuDetector {
    gpu: Arc<Gpu>,
    count: u32,
    margin: f32,
    patience: Duration,
    place: wgpu::Buffer,
    answers: wgpu::Buffer,
    /// Where answers are read.
    copy: wgpu::Buffer,
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
}

fn bytes(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    numbers.flat_map(u32::to_le_bytes).collect()
}

impl GpuDetector {
    /// For the nodes of one part in the field of another. An answer that takes longer than `patience` is given up.
    ///
    /// # Errors
    /// If there is no shader for the field, the parts are too large, or the device is lost.
    pub fn new(
        gpu: Arc<Gpu>,
        nodes: &NodeSet,
        field: &Baked,
        margin: f64,
        patience: Duration,
    ) -> Result<Self, GpuError> {
        gpu.check()?;
        let count = u32::try_from(nodes.len()).map_err(|_| GpuError::TooLarge)?;
        let program = Program::new(field, count)?;
        let limits = gpu.device.limits();
        let largest = (ANSWER * nodes.len()).max(4 * program.numbers.len()) as u64;
        let groups = count.div_ceil(GROUP);
        if largest > limits.max_storage_buffer_binding_size || groups > limits.max_compute_workgroups_per_dimension {
            return Err(GpuError::TooLarge);
        }
        let buffer = |label, size: usize, usage| {
            let size = size.max(ANSWER) as u64;
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let at = nodes.positions();
        let positions = (0..nodes.len()).flat_map(|k| [at.x[k], at.y[k], at.z[k], 0.0].map(f32::to_bits));
        let (positions, numbers) = (bytes(positions), bytes(program.numbers.into_iter()));
        let place = buffer("place", 3 * ANSWER, Use::STORAGE | Use::COPY_DST);
        let of_nodes = buffer("nodes", positions.len(), Use::STORAGE | Use::COPY_DST);
        let of_model = buffer("numbers", numbers.len(), Use::STORAGE | Use::COPY_DST);
        let answers = buffer("answers", ANSWER * nodes.len(), Use::STORAGE | Use::COPY_SRC);
        let copy = buffer("copy", ANSWER * nodes.len(), Use::MAP_READ | Use::COPY_DST);
        gpu.queue.write_buffer(&of_nodes, 0, &positions);
        gpu.queue.write_buffer(&of_model, 0, &numbers);
        let source = wgpu::ShaderSource::Wgsl(program.text.into());
        let module = gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("detect"), source });
        let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("detect"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let entries = [&place, &of_nodes, &of_model, &answers];
        let mut number = 0..;
        let entries = entries.map(|buffer| wgpu::BindGroupEntry {
            binding: number.next().unwrap_or_default(),
            resource: buffer.as_entire_binding(),
        });
        let layout = pipeline.get_bind_group_layout(0);
        let wanted = wgpu::BindGroupDescriptor { label: Some("detect"), layout: &layout, entries: &entries };
        let bindings = gpu.device.create_bind_group(&wanted);
        gpu.check()?;
        let margin = margin as f32;
        Ok(Self { gpu, count, margin, patience, place, answers, copy, pipeline, bindings })
    }

    /// Finds all nodes nearer than the margin, as [`crate::collision::detect::Detector::detect`] does.
    ///
    /// # Errors
    /// If the device is lost or late; nothing is found then, and the detector is of no use any more.
    pub fn detect(&mut self, pose_field_nodes: &Pose, out: &mut Found) -> Result<(), GpuError> {
        out.begin(self.count as usize);
        self.gpu.check()?;
        if self.count == 0 || !pose_is_sound(pose_field_nodes) {
            return Ok(());
        }
        let (rotation, shift) = (pose_field_nodes.rotation.to_rotation_matrix(), pose_field_nodes.translation.vector);
        let row = |i: usize| [rotation[(i, 0)], rotation[(i, 1)], rotation[(i, 2)], shift[i]];
        let rows = (0..3).flat_map(row).map(|x| (x as f32).to_bits());
        self.gpu.queue.write_buffer(&self.place, 0, &bytes(rows));
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &self.bindings, &[]);
            pass.dispatch_workgroups(self.count.div_ceil(GROUP), 1, 1);
        }
        let size = (ANSWER * self.count as usize) as u64;
        encoder.copy_buffer_to_buffer(&self.answers, 0, &self.copy, 0, size);
        self.gpu.queue.submit([encoder.finish()]);
        self.read(out)
    }

    /// Waits for the answers and takes those nearer than the margin.
    fn read(&self, out: &mut Found) -> Result<(), GpuError> {
        let mapped = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&mapped);
        self.copy.map_async(wgpu::MapMode::Read, .., move |result| done.store(result.is_ok(), Ordering::Release));
        let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(self.patience) };
        let waited = self.gpu.device.poll(wait);
        self.gpu.check()?;
        if waited.is_err() || !mapped.load(Ordering::Acquire) {
            return Err(GpuError::Late);
        }
        let lost = |error: wgpu::MapRangeError| GpuError::Lost(error.to_string());
        let view = self.copy.get_mapped_range(..).map_err(lost)?;
        let (answers, _) = view.as_chunks::<ANSWER>();
        for (node, answer) in (0..self.count).zip(answers) {
            let number = |k: usize| f32::from_le_bytes([answer[k], answer[k + 1], answer[k + 2], answer[k + 3]]);
            let distance = number(0);
            if distance < self.margin {
                out.push(Touch { node, distance, normal: [number(4), number(8), number(12)] });
            }
        }
        drop(view);
        self.copy.unmap();
        Ok(())
    }
}
