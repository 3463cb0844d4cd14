//! Bounded ring for events and records: one writer, one reader; a full ring drops and counts, it never waits.
//!
//! Thread: any (RT safe both ways; the reader takes a bounded number per call).

use super::RtPayload;

/// Writing end of a ring.
pub struct RingWriter<T: RtPayload> {
    inner: rtrb::Producer<T>,
    dropped: u64,
}

/// Reading end of a ring.
pub struct RingReader<T: RtPayload>(rtrb::Consumer<T>);

/// A ring with room for `capacity` values. Allocates here, never again.
#[must_use]
pub fn ring<T: RtPayload>(capacity: usize) -> (RingWriter<T>, RingReader<T>) {
    let (producer, consumer) = rtrb::RingBuffer::new(capacity);
    (RingWriter { inner: producer, dropped: 0 }, RingReader(consumer))
}

impl<T: RtPayload> RingWriter<T> {
    /// Appends `value`; when the ring is full the value is lost and counted.
    pub fn push(&mut self, value: T) {
        if self.inner.push(value).is_err() {
            self.dropped += 1;
        }
    }

    /// How many values were lost so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many values there is room for now; more as the reader takes some out.
    #[must_use]
    pub fn room(&self) -> usize {
        self.inner.slots()
    }

    /// True when the reading end is gone.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.inner.is_abandoned()
    }
}

impl<T: RtPayload> RingReader<T> {
    /// Takes what is there at the moment of the call, oldest first. Bounded: what comes meanwhile waits for the next call.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        let count = self.0.slots();
        (0..count).map_while(|_| self.0.pop().ok())
    }

    /// True when the writing end is gone.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.0.is_abandoned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_drops_the_newest_and_counts_it() {
        let (mut writer, mut reader) = ring(4);
        for n in 0..6_u32 {
            writer.push(n);
        }
        assert_eq!((writer.dropped(), writer.room()), (2, 0));
        assert_eq!(reader.drain().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(reader.drain().count(), 0);
    }
}
