//! The portable decoder, and the tail of the others.

/// Fills `out` and returns the number of data bytes used. What is missing reads as zero.
pub(super) fn fill(control: &[u8], data: &[u8], last: &mut u32, out: &mut [u32]) -> usize {
    let mut used = 0;
    for (index, out) in out.iter_mut().enumerate() {
        let control = control.get(index / 4).copied().unwrap_or(0);
        let length = usize::from(control >> (2 * (index % 4)) & 3) + 1;
        let mut delta = [0; 4];
        if let Some(bytes) = data.get(used..used + length) {
            delta[..length].copy_from_slice(bytes);
        }
        used = data.len().min(used + length);
        *last = last.wrapping_add(u32::from_le_bytes(delta));
        *out = *last;
    }
    used
}
