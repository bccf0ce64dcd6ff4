//! Messages of any length, put together from the linked buckets that `RingGroup::send_long` sends.
//!
//! ```text
//! source  = machine, lane and ring group of the sender, sub-range
//! message = parts 0, 1, ..., n of a source, in this order; all but n are linked
//! ```
//!
//! Parts of one source come in order over every lane, and those of other sources, and buckets of
//! short messages, come in between. A message of one part is handed on where it lies; of others the
//! bytes are copied, once. Nothing is allocated for what was only announced.
//!
//! **Invariant:** a message is handed on whole, as it was sent. Checked in `Joined::add`; tested by
//! `messages_come_back_whole_in_any_mixture` and `parts_that_do_not_follow_are_refused`.

use std::collections::BTreeMap;

use crate::bucket::Arrived;
use crate::lane::LaneError;

/// Where messages come from and go to: machine, lane, ring group, sub-range.
type Source = (u16, u16, u16, u16);

/// Long messages that are not whole yet.
pub struct Joined {
    partial: BTreeMap<Source, Partial>,
    bytes_max: usize,
    whole: Vec<u8>,
}

struct Partial {
    next_part: u32,
    bytes: Vec<u8>,
}

impl Joined {
    /// For messages of `bytes_max` bytes at most.
    pub fn new(bytes_max: usize) -> Self {
        Self { partial: BTreeMap::new(), bytes_max, whole: Vec::new() }
    }

    /// Adds a bucket whose messages have no width, and gives the message that it ends, if it does.
    ///
    /// # Errors
    /// If the bucket is not the next part of a message, or the message is longer than any may be.
    pub fn add<'a>(&'a mut self, arrived: &Arrived<'a>) -> Result<Option<&'a [u8]>, LaneError> {
        let header = arrived.header();
        let from = usize::from(header.rank);
        let malformed = |reason| LaneError::Malformed { from, reason };
        if header.width != 0 {
            return Err(malformed("a bucket of short messages is no part of a long one"));
        }
        let source = (header.rank, header.lane, header.group, header.sub_range);
        let mut partial = self.partial.remove(&source);
        let next_part = partial.as_ref().map_or(0, |partial| partial.next_part);
        if header.part != next_part {
            return Err(malformed("a part of a long message does not follow the one before"));
        }
        let bytes: usize = arrived.runs().map(<[u8]>::len).sum();
        let before = partial.as_ref().map_or(0, |partial| partial.bytes.len());
        if before + bytes > self.bytes_max {
            return Err(malformed("a long message is longer than any may be"));
        }
        if partial.is_none() && !header.linked {
            let mut runs = arrived.runs().filter(|run| !run.is_empty());
            let (first, second) = (runs.next(), runs.next());
            if second.is_none() {
                return Ok(Some(first.unwrap_or_default()));
            }
        }
        let partial = partial.get_or_insert_with(|| {
            let bytes = std::mem::take(&mut self.whole);
            Partial { next_part: 0, bytes }
        });
        if next_part == 0 {
            partial.bytes.clear();
        }
        arrived.runs().for_each(|run| partial.bytes.extend_from_slice(run));
        let bytes = std::mem::take(&mut partial.bytes);
        if header.linked {
            let next_part = next_part.checked_add(1).ok_or_else(|| malformed("too many parts"))?;
            self.partial.insert(source, Partial { next_part, bytes });
            return Ok(None);
        }
        self.whole = bytes;
        Ok(Some(&self.whole))
    }

    /// Whether no message lacks parts: so it is when the last buckets of an iteration have come.
    pub fn is_whole(&self) -> bool {
        self.partial.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::{Bucket, Layout};
    use crate::lane::RxLane;
    use crate::memory_lane::memory_lanes;
    use crate::rings::{Destination, RingGroup};
    use proptest::prelude::*;

    const LAYOUTS: [Layout; 3] = [
        Layout { segment_bytes: 200, segments: 1 },
        Layout { segment_bytes: 180, segments: 3 },
        Layout { segment_bytes: 4096, segments: 1 },
    ];

    fn long(source: usize, number: usize, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at * 7 + source * 31 + number) as u8).collect()
    }

    proptest! {
        /// Sources send short and long messages in turns; the sink polls in between.
        #[test]
        fn messages_come_back_whole_in_any_mixture(
            layout in 0..3_usize,
            sent in proptest::collection::vec((0..3_usize, 0..3000_usize, 0..40_u64), 0..30),
        ) {
            let (senders, mut receivers) = memory_lanes(3, 1, 64, LAYOUTS[layout]);
            let mut groups: Vec<_> = senders
                .into_iter()
                .map(|lanes| RingGroup::new(lanes, &[Destination::default()], 8))
                .collect();
            let (mut joined, mut short) = (Joined::new(4000), 0);
            let mut came: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 3];
            let mut expected = came.clone();
            let mut poll = |joined: &mut Joined| {
                let mut fold = |arrived: &Arrived<'_>| {
                    if arrived.header().width == 8 {
                        short += arrived.messages::<8>().count() as u64;
                    } else if let Some(message) = joined.add(arrived).unwrap() {
                        came[usize::from(arrived.header().rank)].push(message.to_vec());
                    }
                };
                receivers[0].poll(&mut fold).unwrap();
            };
            let mut shorts = 0;
            for (number, (source, bytes, count)) in sent.into_iter().enumerate() {
                let message = long(source, number, bytes);
                groups[source].send_long(0, &message).unwrap();
                expected[source].push(message);
                (0..count).for_each(|_| groups[source].send(0, &[0; 8]).unwrap());
                shorts += count;
                if number % 2 == 0 {
                    poll(&mut joined);
                }
            }
            for group in &mut groups {
                group.end_iteration().unwrap();
            }
            poll(&mut joined);
            prop_assert!(joined.is_whole());
            prop_assert_eq!(short, shorts);
            prop_assert_eq!(came, expected);
        }
    }

    fn part(group: u16, part: u32, linked: bool) -> Bucket {
        let mut bucket = Bucket::new(LAYOUTS[0]);
        bucket.room(1)[..50].fill(part as u8);
        bucket.advance(50);
        (bucket.header.group, bucket.header.part, bucket.header.linked) = (group, part, linked);
        bucket
    }

    #[test]
    fn parts_that_do_not_follow_are_refused() {
        let mut joined = Joined::new(120);
        assert!(joined.add(&part(0, 1, false).view()).is_err());
        assert!(joined.add(&part(0, 0, true).view()).unwrap().is_none());
        // Another worker of the machine, whose message is whole by itself.
        assert_eq!(joined.add(&part(1, 0, false).view()).unwrap().map(<[u8]>::len), Some(50));
        assert!(!joined.is_whole());
        assert!(joined.add(&part(0, 1, true).view()).unwrap().is_none());
        let text = joined.add(&part(0, 2, false).view()).unwrap_err().to_string();
        assert!(text.contains("longer"), "{text}");
        assert!(joined.is_whole());
        assert!(joined.add(&part(0, 0, true).view()).unwrap().is_none());
        assert!(joined.add(&part(0, 2, false).view()).is_err());
        let mut short = part(0, 0, false);
        short.header.width = 8;
        assert!(joined.add(&short.view()).is_err());
    }
}
