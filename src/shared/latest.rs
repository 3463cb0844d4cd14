//! Newest-value cell: one writer, one reader, both wait-free; the reader always sees a whole value.
//!
//! Thread: any (RT safe both ways).
//!
//! Design: a triple buffer (crate `triple_buffer`). Measured against the alternatives on a shared core, a mutex, a
//! seqlock and bounded channels all let a real-time reader wait for a writer it has pre-empted; this cannot.

use super::RtPayload;

/// Writing end of a newest-value cell.
pub struct LatestWriter<T: RtPayload>(triple_buffer::Input<T>);

/// Reading end of a newest-value cell.
pub struct LatestReader<T: RtPayload>(triple_buffer::Output<T>);

/// A newest-value cell holding `initial`. Allocates here, never again.
pub fn latest<T: RtPayload>(initial: T) -> (LatestWriter<T>, LatestReader<T>) {
    let (input, output) = triple_buffer::TripleBuffer::new(&initial).split();
    (LatestWriter(input), LatestReader(output))
}

impl<T: RtPayload> LatestWriter<T> {
    /// Makes `value` the newest.
    pub fn publish(&mut self, value: T) {
        self.0.write(value);
    }

    /// The buffer to write the next value into, for values too large to build elsewhere and copy. It holds some older
    /// value: overwrite all of it, then call [`Self::publish_in_place`].
    pub fn buffer(&mut self) -> &mut T {
        self.0.input_buffer_mut()
    }

    /// Makes what stands in [`Self::buffer`] the newest.
    pub fn publish_in_place(&mut self) {
        self.0.publish();
    }
}

impl<T: RtPayload> LatestReader<T> {
    /// The newest whole value.
    pub fn read(&mut self) -> &T {
        self.0.read()
    }

    /// The newest whole value, if one came since the last call.
    pub fn read_if_new(&mut self) -> Option<&T> {
        self.0.update().then(|| self.0.output_buffer())
    }

    /// The value that [`Self::read`] or [`Self::read_if_new`] gave last.
    pub fn current(&self) -> &T {
        self.0.output_buffer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_never_sees_a_torn_or_older_value() {
        let (mut writer, mut reader) = latest([0_u64; 512]);
        let done = std::thread::spawn(move || {
            for n in 1..=20_000_u64 {
                writer.publish([n; 512]);
            }
        });
        let mut last = 0;
        while last < 20_000 {
            let value = reader.read();
            let first = value[0];
            assert!(value.iter().all(|&x| x == first), "torn");
            assert!(first >= last, "went back");
            last = first;
        }
        done.join().expect("the writer does not panic");
    }
}
