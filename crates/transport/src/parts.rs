//! Buckets of one peer that are not folded yet: parts of some have come, or others before them have
//! not.
//!
//! Only what a network has lost or reordered comes here, and is copied. Images are used again, and
//! there are as many at most as buckets may be under way.
//!
//! **Invariant:** an image that `add` gives has each of its segments. Tested by
//! `parts_become_whole_in_any_order`.

use std::collections::BTreeMap;

use crate::header::{Header, SegmentHead};

/// Bytes of a bucket at most, on datagrams.
const IMAGE_BYTES_MAX: usize = 64 << 10;

pub(crate) struct Parts {
    partial: BTreeMap<u64, Partial>,
    /// Whole ones, whose tags were verified.
    held: BTreeMap<u64, Vec<u8>>,
    spare: Vec<Vec<u8>>,
    /// Of both kinds.
    max: usize,
    segment_bytes: usize,
}

struct Partial {
    image: Vec<u8>,
    /// Bit `i`: segment `i` is there.
    seen: [u64; 4],
    /// From the head of the first segment, or 0.
    end: usize,
    /// Where a segment ends that is shorter than others, as only the last one is; or 0.
    short_end: usize,
}

impl Parts {
    /// Parts of buckets with segments of `segment_bytes` bytes.
    pub(crate) fn new(max: usize, segment_bytes: usize) -> Self {
        let (partial, held) = (BTreeMap::new(), BTreeMap::new());
        Self { partial, held, spare: Vec::new(), max, segment_bytes }
    }

    fn image(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Room for bucket `number`: one that is further ahead gives way.
    fn has_room(&mut self, number: u64) -> bool {
        if self.partial.len() + self.held.len() < self.max {
            return true;
        }
        let further = self.partial.last_key_value().is_some_and(|(&last, _)| last > number);
        if further && let Some((_, partial)) = self.partial.pop_last() {
            self.give_back(partial.image);
        }
        further
    }

    /// Adds a segment, and gives the bucket if that was the last one missing.
    pub(crate) fn add(&mut self, head: SegmentHead, segment: &[u8]) -> Option<Vec<u8>> {
        if !self.partial.contains_key(&head.number) {
            if !self.has_room(head.number) {
                return None;
            }
            let mut image = self.image();
            image.clear();
            self.partial.insert(head.number, Partial { image, seen: [0; 4], end: 0, short_end: 0 });
        }
        let partial = self.partial.get_mut(&head.number)?;
        partial.add(self.segment_bytes, head, segment);
        if partial.is_whole(self.segment_bytes) {
            let mut partial = self.partial.remove(&head.number)?;
            partial.image.truncate(partial.end);
            return Some(partial.image);
        }
        None
    }

    /// Holds a whole bucket, if there is room.
    pub(crate) fn hold(&mut self, number: u64, image: &[u8]) -> bool {
        if !self.has_room(number) {
            return false;
        }
        let mut held = self.image();
        held.clear();
        held.extend_from_slice(image);
        self.held.insert(number, held);
        true
    }

    /// Drops what has come of a bucket that came whole besides.
    pub(crate) fn forget(&mut self, number: u64) {
        if let Some(partial) = self.partial.remove(&number) {
            self.give_back(partial.image);
        }
    }

    /// A bucket that was kept, whose number is no more than this.
    pub(crate) fn next_held(&mut self, received: u64) -> Option<Vec<u8>> {
        let first = self.held.first_entry().filter(|first| *first.key() <= received)?;
        Some(first.remove())
    }

    pub(crate) fn give_back(&mut self, image: Vec<u8>) {
        if self.spare.len() < self.max {
            self.spare.push(image);
        }
    }
}

impl Partial {
    /// Puts a segment into its place, unless it has none.
    fn add(&mut self, segment_bytes: usize, head: SegmentHead, segment: &[u8]) {
        let from = usize::from(head.index) * segment_bytes;
        let to = from + segment.len();
        if segment.len() > segment_bytes || to > IMAGE_BYTES_MAX {
            return;
        }
        if head.index == 0 {
            let header = Header::read(segment);
            let Some(header) = header.filter(|h| h.segment as usize == segment_bytes) else {
                return;
            };
            self.end = header.end as usize;
        }
        if segment.len() < segment_bytes {
            if self.short_end != 0 && self.short_end != to {
                return;
            }
            self.short_end = to;
        } else if (from + 1..=to).contains(&self.short_end) {
            self.short_end = 0;
        }
        if self.image.len() < to {
            self.image.resize(to, 0);
        }
        self.image[from..to].copy_from_slice(segment);
        self.seen[usize::from(head.index / 64)] |= 1 << (head.index % 64);
    }

    fn is_whole(&self, segment_bytes: usize) -> bool {
        let has = |index: usize| self.seen[index / 64] >> (index % 64) & 1 == 1;
        let segments = self.end.div_ceil(segment_bytes);
        let is_ended = self.end > 0 && [0, self.end].contains(&self.short_end);
        is_ended && self.end <= self.image.len() && segments <= 256 && (0..segments).all(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::{Arrived, Bucket, Layout};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_become_whole_in_any_order(
            order in proptest::collection::vec(0..5_usize, 0..40), messages in 1..60_usize,
        ) {
            let mut bucket = Bucket::new(Layout { segment_bytes: 200, segments: 5 });
            bucket.header = Header { number: 3, width: 8, ..Header::default() };
            (0..messages).for_each(|i| assert!(bucket.push(&i.to_le_bytes())));
            bucket.seal_heads();
            let segments: Vec<&[u8]> = bucket.image().chunks(200).collect();
            let mut parts = Parts::new(1, 200);
            let mut missing: std::collections::BTreeSet<usize> = (0..segments.len()).collect();
            for index in order.into_iter().map(|index| index % segments.len()) {
                let head = SegmentHead::read(segments[index]).unwrap();
                let whole = parts.add(head, segments[index]);
                missing.remove(&index);
                prop_assert_eq!(whole.is_some(), missing.is_empty());
                if let Some(image) = whole {
                    prop_assert!(Arrived::open(&image).is_some());
                    prop_assert_eq!(&image[..], bucket.image());
                    return Ok(());
                }
            }
        }
    }

    /// Bytes that never came would be messages that were never sent.
    #[test]
    fn a_segment_that_was_cut_is_missing() {
        let mut bucket = Bucket::new(Layout { segment_bytes: 200, segments: 3 });
        bucket.header = Header { number: 1, width: 8, ..Header::default() };
        (0..40_u64).for_each(|i| assert!(bucket.push(&i.to_le_bytes())));
        bucket.seal_heads();
        let segments: Vec<&[u8]> = bucket.image().chunks(200).collect();
        let head = |index: usize| SegmentHead::read(segments[index]).unwrap();
        let mut parts = Parts::new(1, 200);
        assert!(parts.add(head(1), &segments[1][..30]).is_none());
        assert!(parts.add(head(2), segments[2]).is_none());
        assert!(parts.add(head(0), segments[0]).is_none());
        assert!(parts.add(head(1), segments[1]).is_none());
        assert_eq!(parts.add(head(2), segments[2]).as_deref(), Some(bucket.image()));
    }

    #[test]
    fn what_is_needed_first_finds_room() {
        let segment = |number| {
            let mut bucket = Bucket::new(Layout { segment_bytes: 136, segments: 2 });
            bucket.header = Header { number, width: 8, ..Header::default() };
            while bucket.push(&[0; 8]) {}
            bucket.seal_heads();
            bucket.image()[..136].to_vec()
        };
        let mut parts = Parts::new(2, 136);
        for (number, others) in [(9, 1), (5, 2), (7, 2), (1, 2)] {
            let first = segment(number);
            assert!(parts.add(SegmentHead::read(&first).unwrap(), &first).is_none());
            assert_eq!(parts.partial.len(), others);
        }
        assert!(parts.partial.keys().eq([1, 5].iter()));
        assert!(!parts.hold(6, &[]) && parts.hold(4, &[]));
        assert!(parts.next_held(3).is_none() && parts.next_held(4).is_some());
    }
}
