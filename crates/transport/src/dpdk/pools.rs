//! Pools of packets, which outlive their devices: packets of a pool may be anywhere, so the library
//! keeps its memory until the process ends. A device that is opened later takes the pool of one
//! that was closed.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::shim::Pool;

/// Packets of a pool, and bytes of each.
type Size = (u32, u16);

/// Pools without a device.
static FREE: Mutex<Vec<(Size, Pool)>> = Mutex::new(Vec::new());

/// A pool that a device has.
pub(super) struct Lent {
    size: Size,
    pool: Pool,
}

/// A pool of this many packets, with rooms of `room_bytes` bytes.
///
/// # Errors
/// When there is no memory for it.
pub(super) fn pool(packets: u32, room_bytes: u16) -> io::Result<Lent> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let size = (packets, room_bytes);
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = free.iter().position(|(of, _)| *of == size) {
        let (_, pool) = free.swap_remove(at);
        return Ok(Lent { size, pool });
    }
    let name = format!("welter {}", MADE.fetch_add(1, Ordering::Relaxed));
    Ok(Lent { size, pool: Pool::new(&name, packets, room_bytes)? })
}

impl Lent {
    #[inline]
    pub(super) fn pool(&self) -> Pool {
        self.pool
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.push((self.size, self.pool));
    }
}
