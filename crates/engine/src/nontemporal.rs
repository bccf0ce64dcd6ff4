//! Writing whole cache lines to memory that is not in the cache.
//!
//! An ordinary store to such a line first reads it; on the way into thousands of bins that made
//! each line cost 79 ns (10 ns an edge). Non-temporal stores write it without reading.
#![expect(unsafe_code, reason = "non-temporal stores are intrinsics")]
#![expect(clippy::cast_ptr_alignment, reason = "the store is made where the address is aligned")]

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;

/// Copies a line. `to` should be aligned to a line; where it is not, it is an ordinary copy.
#[inline(always)]
pub(crate) fn copy_line(to: &mut [u8; LINE_BYTES], from: &[u8; LINE_BYTES]) {
    #[cfg(target_arch = "x86_64")]
    if to.as_ptr().addr().is_multiple_of(LINE_BYTES) {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let (to, from) = (to.as_mut_ptr().cast::<__m128i>(), from.as_ptr().cast::<__m128i>());
        for part in 0..LINE_BYTES / size_of::<__m128i>() {
            // SAFETY: both are LINE_BYTES long, the load needs no alignment, and `to` was seen to
            // have more than the store needs. SSE2 belongs to every x86-64.
            unsafe { _mm_stream_si128(to.add(part), _mm_loadu_si128(from.add(part))) };
        }
        return;
    }
    *to = *from;
}

/// Makes the lines that this thread copied visible before anything it writes later.
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE belongs to every x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_wherever_they_go() {
        let from: [u8; LINE_BYTES] = std::array::from_fn(|index| index as u8);
        let mut room = [0_u8; 4 * LINE_BYTES];
        for offset in 0..2 * LINE_BYTES {
            room.fill(0xff);
            copy_line((&mut room[offset..offset + LINE_BYTES]).try_into().unwrap(), &from);
            fence();
            assert_eq!(room[offset..offset + LINE_BYTES], from, "at {offset}");
            assert!(offset == 0 || room[offset - 1] == 0xff);
            assert_eq!(room[offset + LINE_BYTES], 0xff);
        }
    }
}
