//! Whole cache lines on their way past the cache, and out of it.
//!
//! An ordinary store to a line that is not in the cache first reads it; on the way into thousands
//! of bins that made each line cost 79 ns (10 ns an edge). Non-temporal stores write it without
//! reading.
#![expect(unsafe_code, reason = "non-temporal stores and flushes are intrinsics")]
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

/// Takes lines out of the caches of all cores, so that the core that writes there next finds them
/// in memory. What they hold stays as it is.
pub(crate) fn put_back(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE_BYTES) {
        // SAFETY: the address is one of `bytes`. SSE2 belongs to every x86-64.
        unsafe { std::arch::x86_64::_mm_clflush(line.as_ptr()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_put_back_hold_what_they_held() {
        let bytes: Vec<u8> = (0..1000).map(|index| index as u8).collect();
        let again = bytes.clone();
        put_back(&[]);
        put_back(&bytes[3..901]);
        assert_eq!(bytes, again);
    }

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
