//! Accumulators of a partition by stripes, each of which belongs to one thread at a time.
//!
//! Stripe `k` has the accumulators of the places `[k 2^b, (k + 1) 2^b)` of a partition, few enough
//! for the cache of a core. Several threads stream chunks of a partition: chunks of edges have a
//! part for each stripe, and records of updates are in the order of stripes, so a thread goes from
//! stripe to stripe, takes those first that no other one has, and waits only where all that are
//! left to it are taken. Threads begin at different stripes.
//!
//! Invariants:
//! - A stripe has one thread at a time. Checked in `Stripes::visit`, by a lock. Tested by
//!   `threads_come_to_the_sums_of_one`.
//! - What a destination gathers does not depend on where stripes are cut. Tested by
//!   `threads_come_to_the_sums_of_one` and `records_meet_the_accumulators_of_their_places`.

use std::ops::Range;
use std::sync::{Mutex, PoisonError, TryLockError};

use super::updates::write_updates;
use super::{Column, FoldKernel, Kernel, UpdateKey};
use crate::EngineError;
use crate::kernels::records::Records;
use crate::machine::sync::lock;

/// Records that are met in one call, at most: their places are made those of a stripe first.
const MET_MAX: usize = 1024;

/// Accumulators of the vertices of a partition.
#[derive(Debug)]
pub struct Stripes {
    /// Vertices of a stripe, as a power of two.
    bits: u32,
    /// Bytes of an accumulator.
    width: usize,
    /// Number of vertices.
    count: usize,
    /// Number of stripes: at least one.
    used: usize,
    /// As many as there ever were: memory of others waits for a partition with more.
    parts: Vec<Mutex<Column>>,
}

impl Stripes {
    /// Stripes of `2^bits` vertices each, of a partition that has none yet.
    ///
    /// # Panics
    /// When `bits` is 64 or more, which is a bug of the caller.
    pub fn new(bits: u32) -> Self {
        assert!(bits < u64::BITS, "a stripe has a number of vertices");
        Self { bits, width: 1, count: 0, used: 1, parts: vec![Mutex::default()] }
    }

    /// Makes them the accumulators of `count` vertices that have met no update.
    pub fn begin(&mut self, kernel: &Kernel, count: usize) {
        (self.width, self.count) = (kernel.shape().accum, count);
        self.used = self.stripe_of(count.saturating_sub(1) as u64) + 1;
        if self.parts.len() < self.used {
            self.parts.resize_with(self.used, Mutex::default);
        }
        let width = self.width;
        for (places, accums) in self.parts_mut() {
            accums.set_length(places.len() * width);
            kernel.clear(accums);
        }
    }

    /// Number of stripes.
    pub fn stripes(&self) -> usize {
        self.used
    }

    /// The stripe of a place.
    pub fn stripe_of(&self, place: u64) -> usize {
        (place >> self.bits) as usize
    }

    /// Places of a stripe, of this number.
    pub fn places(&self, stripe: usize) -> Range<usize> {
        let begin = |stripe: usize| ((stripe as u64) << self.bits) as usize;
        let end = if stripe + 1 < self.used { begin(stripe + 1) } else { self.count };
        begin(stripe)..end
    }

    /// All stripes, ascending: their places, and the accumulators of these.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = (Range<usize>, &mut Column)> {
        let places: Vec<Range<usize>> = (0..self.used).map(|stripe| self.places(stripe)).collect();
        places.into_iter().zip(self.parts.iter_mut().map(column))
    }

    /// Accumulators of all vertices, where there is one stripe.
    ///
    /// # Errors
    /// Where there are several, which is a bug of the caller.
    pub fn whole(&mut self) -> Result<&mut Column, EngineError> {
        match &mut self.parts[..self.used] {
            [part] => Ok(column(part)),
            parts => Err(EngineError::internal(format!("{} stripes are no column", parts.len()))),
        }
    }

    /// Lets a thread meet the stripes of these numbers: `visit` is called with the place of each in
    /// `wanted`, and its accumulators. Stripes that no other thread has come first, from the one on
    /// that follows from `thread`, a number of the thread.
    ///
    /// # Errors
    /// As of `visit`, which is not called any more then.
    ///
    /// # Panics
    /// When there is no such stripe, which is a bug of the caller.
    pub fn visit(
        &self,
        thread: usize,
        wanted: &[usize],
        mut visit: impl FnMut(usize, &mut [u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut left: Vec<usize> = (0..wanted.len()).collect();
        if !left.is_empty() {
            left.rotate_left(thread % wanted.len());
        }
        while !left.is_empty() {
            let mut taken = Vec::new();
            for &place in &left {
                match self.parts[wanted[place]].try_lock() {
                    Ok(mut accums) => visit(place, &mut accums[..])?,
                    // A thread that panicked ends the machine.
                    Err(TryLockError::Poisoned(held)) => visit(place, &mut held.into_inner()[..])?,
                    Err(TryLockError::WouldBlock) => taken.push(place),
                }
            }
            if taken.len() == left.len() {
                let place = taken.remove(0);
                visit(place, &mut lock(&self.parts[wanted[place]])[..])?;
            }
            left = taken;
        }
        Ok(())
    }

    /// Whether these places are in the order of their stripes.
    pub fn are_in_order(&self, places: &[u32]) -> bool {
        self.used == 1 || places.is_sorted_by_key(|place| self.stripe_of((*place).into()))
    }

    /// Lets accumulators meet those of `records`, whose places are in the order of stripes: a
    /// thread of this number does. Whether all have a vertex; some were met in either case.
    ///
    /// # Panics
    /// When a column is not of whole elements, or not aligned, which is a bug of the caller.
    pub fn merge(
        &self,
        kernel: &FoldKernel,
        thread: usize,
        (places, records): (&[u32], &[u8]),
    ) -> bool {
        if places.iter().any(|place| *place as usize >= self.count) {
            return false;
        }
        let (mut runs, mut stripes, mut start) = (Vec::new(), Vec::new(), 0);
        while let Some(&first) = places.get(start) {
            let stripe = self.stripe_of(first.into());
            let more = places[start..]
                .partition_point(|place| self.stripe_of((*place).into()) == stripe)
                .max(1);
            runs.push(start..start + more);
            stripes.push(stripe);
            start += more;
        }
        let mut are_inside = true;
        let met = self.visit(thread, &stripes, |run, accums| {
            let Range { start, end } = runs[run].clone();
            let records = &records[start * self.width..end * self.width];
            let first = self.places(stripes[run]).start as u32;
            are_inside &= merge_from(kernel, (&places[start..end], first), records, accums);
            Ok(())
        });
        are_inside && met.is_ok()
    }

    /// Accumulators that have met an update, which are cleared: an update chunk that counts each as
    /// one, for a stealer to hand over. Places ascend.
    ///
    /// # Errors
    /// None that is not a bug.
    pub fn touched(
        &mut self,
        kernel: &FoldKernel,
        at: (u64, UpdateKey),
    ) -> Result<Vec<u8>, EngineError> {
        let (width, count) = (self.width, self.count);
        let mut touched = Records::new(width, count, 0);
        for (places, accums) in self.parts_mut() {
            let before = touched.len();
            kernel.0.drain(accums, &mut touched)?;
            touched.shift(before, places.start as u32);
        }
        Ok(write_updates(width, at, touched.part(0, count), touched.len() as u64))
    }
}

fn column(part: &mut Mutex<Column>) -> &mut Column {
    part.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the accumulators from the place `first` on meet records of these places. Whether all have
/// one.
fn merge_from(
    kernel: &FoldKernel,
    (places, first): (&[u32], u32),
    records: &[u8],
    accums: &mut [u8],
) -> bool {
    if first == 0 {
        return kernel.merge((places, records), accums);
    }
    let mut room = [0; MET_MAX];
    let width = records.len() / places.len().max(1);
    let mut parts = places.chunks(MET_MAX).zip(records.chunks((MET_MAX * width).max(1)));
    parts.all(|(places, records)| {
        for (place, own) in places.iter().zip(&mut room) {
            *own = place.wrapping_sub(first);
        }
        kernel.merge((&room[..places.len()], records), accums)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytemuck::{cast_slice, pod_read_unaligned};
    use welter_algorithms::Spmv;
    use welter_algorithms::spmv::Vector;

    use super::*;
    use crate::columns::chunks::open_updates;

    const COUNT: usize = 1000;
    const AT: (u64, UpdateKey) = (7, UpdateKey::new(0, 0, 0));

    /// A program that sums.
    fn kernel() -> FoldKernel {
        FoldKernel::of(Arc::new(Spmv::<f64>::new(Vector::Random { seed: 1 }, 1)))
    }

    /// Records for places in the order of stripes, and the sums that they come to.
    fn records(stripes: &Stripes, first: u32) -> (Vec<u32>, Vec<f64>) {
        let mut places: Vec<u32> = (0..3000_u32).map(|at| (at * 7 + first) % 990).collect();
        places.sort_by_key(|place| stripes.stripe_of((*place).into()));
        let numbers = places.iter().map(|place| f64::from(place % 8)).collect();
        (places, numbers)
    }

    fn begun(bits: u32) -> Stripes {
        let mut stripes = Stripes::new(bits);
        stripes.begin(&Kernel::Fold(kernel()), COUNT);
        stripes
    }

    fn sums(stripes: &mut Stripes) -> Vec<f64> {
        stripes.parts_mut().flat_map(|(_, part)| cast_slice::<u8, f64>(part).to_vec()).collect()
    }

    #[test]
    fn records_meet_the_accumulators_of_their_places() {
        for (bits, count) in [(0, COUNT), (4, 63), (9, 2), (10, 1), (40, 1)] {
            let mut stripes = begun(bits);
            assert_eq!(stripes.stripes(), count);
            assert_eq!(stripes.places(count - 1).end, COUNT);
            let (places, numbers) = records(&stripes, 3);
            assert!(stripes.are_in_order(&places));
            let mut expected = vec![0.0; COUNT];
            for (place, number) in places.iter().zip(&numbers) {
                expected[*place as usize] += number;
            }
            assert!(stripes.merge(&kernel(), 5, (&places, cast_slice(&numbers))));
            assert_eq!(sums(&mut stripes), expected, "{bits} bits");
            assert!(!stripes.merge(&kernel(), 0, (&[COUNT as u32], &[0; 8])), "no such vertex");
            let touched = stripes.touched(&kernel(), AT).unwrap();
            let mut words = vec![0_u64; touched.len() / 8];
            bytemuck::cast_slice_mut::<u64, u8>(&mut words).copy_from_slice(&touched);
            let found = open_updates(8, AT, cast_slice(&words)).unwrap();
            assert!(found.targets.is_sorted() && !found.targets.is_empty());
            for (place, sum) in found.targets.iter().zip(found.accums.chunks_exact(8)) {
                let sum = pod_read_unaligned::<f64>(sum);
                assert_eq!(sum.to_bits(), expected[*place as usize].to_bits());
            }
            assert_eq!(sums(&mut stripes), vec![0.0; COUNT], "they are cleared");
        }
    }

    #[test]
    fn threads_come_to_the_sums_of_one() {
        let expected = {
            let mut stripes = begun(20);
            for first in 0..32 {
                let (places, numbers) = records(&stripes, first);
                assert!(stripes.merge(&kernel(), 0, (&places, cast_slice(&numbers))));
            }
            sums(&mut stripes)
        };
        for threads in [1, 2, 4] {
            let mut stripes = begun(5);
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let stripes = &stripes;
                    scope.spawn(move || {
                        for first in (thread..32).step_by(threads) {
                            let (places, numbers) = records(stripes, first as u32);
                            let records = (&places[..], cast_slice(&numbers));
                            assert!(stripes.merge(&kernel(), thread, records));
                        }
                    });
                }
            });
            // Whole numbers, so that sums do not depend on their order.
            assert_eq!(sums(&mut stripes), expected, "{threads} threads");
        }
    }

    #[test]
    fn a_stripe_that_is_taken_comes_last() {
        let stripes = begun(8);
        let held = stripes.parts[1].lock().unwrap();
        let mut order = Vec::new();
        std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let stripes = &stripes;
            scope.spawn(move || {
                stripes.visit(1, &[0, 1, 2], |place, _| {
                    sender.send(place).map_err(EngineError::internal)
                })
            });
            order.extend([receiver.recv().unwrap(), receiver.recv().unwrap()]);
            drop(held);
            order.push(receiver.recv().unwrap());
        });
        assert_eq!(order, [2, 0, 1]);
    }
}
