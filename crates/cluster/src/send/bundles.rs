//! Rows of neighbours on their way: bundles of about a bucket, which have as many rows as fit.
//!
//! ```text
//! bundle    rows u32 | vertex u32, entries u32, these u32 | vertex u32, ...
//! ```
//!
//! Rows have any length, and buckets messages of one width, so a bundle is one long message. A row
//! that is longer than a bucket is a bundle of its own, which travels in linked buckets. Entries
//! are those of [`welter_worker::Rows`].
//!
//! **Invariant:** a bundle has as many rows as it says, and these are what was written. Checked in
//! `each_row`. Tested by `rows_of_any_length_come_back`.

use bytemuck::{cast_slice, try_cast_slice};
use welter_engine::chunks::Column;
use welter_transport::TxLane;
use welter_worker::each_row;

use super::error::Stop;
use super::messages::Messages;

/// Words of a bundle of several rows at most: a little less than a bucket has.
const BUNDLE_WORDS: usize = 15 << 10;

/// Words of a bundle before its first entry.
const HEAD_WORDS: usize = 3;

/// Bytes of the bundles that a thread fills, for each ring.
pub(super) const BUNDLE_BYTES: usize = BUNDLE_WORDS * size_of::<u32>();

/// Bytes of a bundle at most, in a graph of `vertices` vertices.
pub(super) fn bytes_max(vertices: u64) -> usize {
    let row = usize::try_from(vertices).unwrap_or(usize::MAX).saturating_add(HEAD_WORDS);
    BUNDLE_WORDS.max(row).saturating_mul(size_of::<u32>())
}

/// Bundles of a thread, one for each ring.
pub(super) struct Bundles(Vec<Vec<u32>>);

impl Bundles {
    /// Empty bundles for `rings` rings.
    pub(super) fn new(rings: usize) -> Self {
        Self(vec![Vec::new(); rings])
    }

    /// Adds a row to the bundle for a ring; a full one is sent first.
    ///
    /// # Errors
    /// Failure of a lane.
    pub(super) fn push<L: TxLane>(
        &mut self,
        ring: usize,
        (vertex, row): (u32, &[u32]),
        messages: &mut Messages<L>,
    ) -> Result<(), Stop> {
        let bundle = &mut self.0[ring];
        let words = row.len() + HEAD_WORDS - 1;
        if bundle.len() + words > BUNDLE_WORDS {
            send(bundle, ring, messages)?;
        }
        if bundle.is_empty() {
            bundle.push(0);
        }
        bundle[0] += 1;
        bundle.extend([vertex, row.len() as u32]);
        bundle.extend_from_slice(row);
        Ok(())
    }

    /// Sends all bundles that have rows.
    ///
    /// # Errors
    /// Failure of a lane.
    pub(super) fn flush<L: TxLane>(&mut self, messages: &mut Messages<L>) -> Result<(), Stop> {
        let mut all = self.0.iter_mut().enumerate();
        all.try_for_each(|(ring, bundle)| send(bundle, ring, messages))
    }
}

fn send<L: TxLane>(
    bundle: &mut Vec<u32>,
    ring: usize,
    messages: &mut Messages<L>,
) -> Result<(), Stop> {
    if let Some(&rows) = bundle.first() {
        messages.send_bundle(ring, cast_slice(&bundle[..]), rows.into())?;
        bundle.clear();
    }
    Ok(())
}

/// Buffer for bundles that arrive where numbers may not begin.
#[derive(Default)]
pub(super) struct BundleReader {
    words: Column,
}

impl BundleReader {
    /// Shows the rows of a bundle, of vertices below `vertices`, and says how many there were.
    ///
    /// # Errors
    /// When it is no bundle.
    pub(super) fn each_row(
        &mut self,
        bundle: &[u8],
        vertices: u64,
        mut show: impl FnMut(u32, &[u32]),
    ) -> Result<u64, Stop> {
        let wrong = || Stop::broken(format!("{} bytes are no bundle of rows", bundle.len()));
        if !bundle.len().is_multiple_of(size_of::<u32>()) {
            return Err(wrong());
        }
        let words: &[u32] = if let Ok(words) = try_cast_slice(bundle) {
            words
        } else {
            self.words.clear();
            self.words.extend(bundle);
            cast_slice(&self.words)
        };
        let [rows, words @ ..] = words else { return Err(wrong()) };
        let rows = u64::from(*rows);
        each_row((words, rows), vertices, |vertex, row| {
            show(vertex, row);
            Ok(())
        })?;
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use welter_transport::{Destination, Joined, Layout, RxLane, memory_lanes};

    use super::*;

    const VERTICES: u64 = 1 << 16;

    proptest! {
        #[test]
        fn rows_of_any_length_come_back(
            lengths in prop::collection::vec(
                prop_oneof![0..9_usize, 0..3000_usize, 14_000..20_000_usize], 0..40,
            ),
            segments in 1..4_usize,
        ) {
            let row = |number: usize, length: usize| -> (u32, Vec<u32>) {
                (number as u32, (0..length as u32).map(|at| at * 2 + (at + 1) % 2).collect())
            };
            let sent: Vec<(u32, Vec<u32>)> =
                lengths.iter().enumerate().map(|(number, &length)| row(number, length)).collect();
            let layout = Layout { segment_bytes: 5000, segments };
            let (mut senders, mut receivers) = memory_lanes(1, 1, 1000, layout);
            let to = [Destination::default()];
            let mut messages = Messages::new(senders.remove(0), &to, (4, 64));
            messages.set_record_bytes(0);
            let mut bundles = Bundles::new(1);
            for (vertex, row) in &sent {
                bundles.push(0, (*vertex, row), &mut messages).unwrap();
            }
            bundles.flush(&mut messages).unwrap();
            let counted = messages.end_iteration().unwrap();
            let words: usize = sent.iter().map(|(_, row)| row.len()).sum();
            prop_assert_eq!(&counted.updates[..], [sent.len() as u64]);
            prop_assert!(counted.bytes[0] >= 4 * (words + 2 * sent.len()) as u64);
            let (mut found, mut updates, mut rows) = (Vec::new(), 0, 0);
            let mut joined = Joined::new(bytes_max(VERTICES));
            let mut reader = BundleReader::default();
            receivers[0].poll(&mut |bucket| {
                updates += bucket.header().updates;
                if bucket.header().width == 0
                    && let Some(bundle) = joined.add(bucket).unwrap()
                {
                    let keep = |vertex, row: &[u32]| found.push((vertex, row.to_vec()));
                    rows += reader.each_row(bundle, VERTICES, keep).unwrap();
                }
            }).unwrap();
            prop_assert_eq!((updates, rows), (sent.len() as u64, sent.len() as u64));
            prop_assert_eq!(found, sent);
        }
    }

    #[test]
    fn bytes_that_are_no_bundle_are_errors() {
        let mut reader = BundleReader::default();
        let words = |words: &[u32]| -> Vec<u8> { cast_slice(words).to_vec() };
        let mut read = |bytes: &[u8]| reader.each_row(bytes, 9, |_, _| {});
        assert!(matches!(read(&words(&[1, 8, 1, 17])), Ok(1)));
        let cases: [&[u32]; 6] =
            [&[], &[1], &[2, 8, 1, 17], &[1, 8, 2, 17], &[1, 9, 0], &[1, 8, 1, 18]];
        for wrong in cases {
            assert!(read(&words(wrong)).is_err(), "{wrong:?}");
        }
        assert!(read(&words(&[1, 8, 1, 17])[..15]).is_err());
    }
}
