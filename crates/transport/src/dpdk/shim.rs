//! DPDK behind safe types: packets, pools, ports and their queues.
//!
//! The functions are those of `shim.c`. A packet that a device holds is its own; one that came, or
//! was taken from a pool, is a [`Packet`], and freed when it is dropped. Pools are kept until the
//! process ends, because packets of them may be anywhere.
//!
//! **Invariant:** one thread at a time uses a queue: it is made once, by the only `Port` of a
//! device, and wants `&mut`. Checked in `Port::attach`. **Invariant:** no thread writes into a
//! packet that a device still sends. Checked in `Dpdk::send_bucket` and `Endpoint::bucket`.
#![expect(unsafe_code, reason = "calls of a library in C, and memory that it owns")]

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Packets that a call moves at most.
pub(crate) const BURST: usize = 64;

/// Bytes that a device leaves free before what it receives (`RTE_PKTMBUF_HEADROOM`).
pub(crate) const RECEIVE_HEADROOM_BYTES: usize = 128;

/// A packet and those of its bytes that are ours: all of its buffer, or what came.
#[repr(C)]
pub(crate) struct Packet {
    mbuf: NonNull<c_void>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: packets are freed by any thread, and one `Packet` alone reaches the bytes.
unsafe impl Send for Packet {}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) receive_queues: u16,
    pub(crate) send_queues: u16,
    /// Entries of the table that spreads; 0: nothing is spread.
    pub(crate) table: u16,
    /// Whether the other end has as many queues, and packets come out of theirs.
    keeps_queues: u8,
    pub(crate) mac: [u8; 6],
}

unsafe extern "C" {
    fn welter_dpdk_begin(count: c_int, arguments: *mut *mut c_char) -> c_int;
    fn welter_dpdk_reason(error: c_int) -> *const c_char;
    fn welter_dpdk_attach(name: *const c_char, with_options: *const c_char) -> c_int;
    fn welter_dpdk_facts(port: u16, facts: *mut Facts) -> c_int;
    fn welter_dpdk_pool(name: *const c_char, packets: c_uint, room_bytes: u16) -> *mut c_void;
    fn welter_dpdk_set_up(
        port: u16,
        pool: *mut c_void,
        queues: u16,
        mtu: u32,
        key: *mut u8,
    ) -> c_int;
    fn welter_dpdk_start(port: u16, queues: u16) -> c_int;
    fn welter_dpdk_halt(port: u16);
    fn welter_dpdk_close(port: u16);
    fn welter_dpdk_is_up(port: u16) -> c_int;
    fn welter_dpdk_take(pool: *mut c_void, packet: *mut Packet) -> c_int;
    fn welter_dpdk_give(mbuf: *mut c_void);
    fn welter_dpdk_holders(mbuf: *const c_void) -> u16;
    fn welter_dpdk_frame(mbuf: *mut c_void, from: u16, bytes: u16);
    fn welter_dpdk_receive(port: u16, queue: u16, packets: *mut Packet, count: u16) -> u16;
    fn welter_dpdk_send(port: u16, queue: u16, packets: *const Packet, count: u16) -> u16;
    fn welter_dpdk_send_held(port: u16, queue: u16, mbuf: *mut c_void) -> c_int;
    fn welter_dpdk_clean(port: u16, queue: u16);
}

/// The library's words for a negative result.
fn checked(place: &str, result: c_int) -> io::Result<c_int> {
    if result >= 0 {
        return Ok(result);
    }
    // SAFETY: the function gives a text that lasts until this thread asks again.
    let reason = unsafe { CStr::from_ptr(welter_dpdk_reason(-result)) }.to_string_lossy();
    Err(io::Error::new(io::Error::from_raw_os_error(-result).kind(), format!("{place}: {reason}")))
}

fn text(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(io::Error::from)
}

/// Begins DPDK in this process with these options, once; those of later calls are ignored.
///
/// The library binds the thread that begins it to a core, so one that ends is chosen.
pub(crate) fn begin(options: &[String]) -> io::Result<()> {
    static BEGUN: OnceLock<Result<(), String>> = OnceLock::new();
    let options = options.to_vec();
    let begin = || {
        let begin = move || -> io::Result<()> {
            let texts =
                options.iter().map(|option| text(option)).collect::<io::Result<Vec<_>>>()?;
            // The library keeps what it is given.
            let mut texts: Vec<*mut c_char> = texts.into_iter().map(CString::into_raw).collect();
            let count = texts.len() as c_int;
            texts.push(std::ptr::null_mut());
            let texts = texts.leak();
            // SAFETY: as many texts and a null, as for `main`, and they last.
            let begun = unsafe { welter_dpdk_begin(count, texts.as_mut_ptr()) };
            checked("DPDK does not begin", begun).map(|_| ())
        };
        let ended = std::thread::spawn(begin).join();
        let ended = ended.map_err(|_| "DPDK does not begin".to_owned())?;
        ended.map_err(|error| error.to_string())
    };
    BEGUN.get_or_init(begin).clone().map_err(io::Error::other)
}

/// Memory for packets.
#[derive(Clone, Copy)]
pub(crate) struct Pool(NonNull<c_void>);

// SAFETY: the library lets all threads take from a pool and give back to it.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// A pool of `packets` packets, with rooms of `room_bytes` bytes.
    pub(crate) fn new(name: &str, packets: u32, room_bytes: u16) -> io::Result<Self> {
        let name = text(name)?;
        // SAFETY: the name is a text. The library must have begun: a `Port` was there first.
        let pool = unsafe { welter_dpdk_pool(name.as_ptr(), packets, room_bytes) };
        let missing = || {
            let text = format!("no memory for {packets} packets of {room_bytes} bytes");
            io::Error::new(io::ErrorKind::OutOfMemory, text)
        };
        NonNull::new(pool).map(Self).ok_or_else(missing)
    }

    /// An empty packet, if there is one.
    #[inline]
    pub(crate) fn take(self) -> Option<Packet> {
        let mut packet = MaybeUninit::uninit();
        // SAFETY: the pool lasts, and the function fills in a packet of ours, or nothing.
        let is_there = unsafe { welter_dpdk_take(self.0.as_ptr(), packet.as_mut_ptr()) } == 1;
        // SAFETY: it was filled in.
        is_there.then(|| unsafe { packet.assume_init() })
    }
}

impl Packet {
    /// Beginning and length of the bytes.
    pub(crate) fn room(&self) -> (NonNull<u8>, usize) {
        (self.start, self.bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `start` has `bytes` bytes, which pools zero or devices wrote.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and no one else has the packet.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Whether a device still sends it.
    #[inline]
    pub(crate) fn is_held(&self) -> bool {
        // SAFETY: the packet is there.
        unsafe { welter_dpdk_holders(self.mbuf.as_ptr()) > 1 }
    }

    /// The frame that is sent: these bytes of a packet that was taken from a pool.
    pub(crate) fn frame(&mut self, place: std::ops::Range<usize>) {
        assert!(place.end <= self.bytes && u16::try_from(self.bytes).is_ok());
        let (from, bytes) = (place.start as u16, (place.end - place.start) as u16);
        // SAFETY: the bytes lie in the buffer.
        unsafe { welter_dpdk_frame(self.mbuf.as_ptr(), from, bytes) }
    }
}

impl Drop for Packet {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the packet is ours, and this is the last use of it.
        unsafe { welter_dpdk_give(self.mbuf.as_ptr()) }
    }
}

/// A device, which no other part of this process has; it is closed with its last queue.
pub(crate) struct Port {
    number: u16,
    queues: u16,
}

/// Numbers of devices that are in use.
static TAKEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

fn taken() -> std::sync::MutexGuard<'static, BTreeSet<u16>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Port {
    /// The device of this name, or of this name with options behind a comma.
    pub(crate) fn attach(device: &str) -> io::Result<Self> {
        let name = text(device.split(',').next().unwrap_or_default())?;
        let device = text(device)?;
        // The library's lists of devices are for one thread at a time.
        let mut taken = taken();
        // SAFETY: both are texts, and the library has begun, or says that it has not.
        let number = unsafe { welter_dpdk_attach(name.as_ptr(), device.as_ptr()) };
        let place = format!("device {}", name.to_string_lossy());
        let number = checked(&place, number)? as u16;
        if !taken.insert(number) {
            let text = format!("{place} is in use by this process");
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        Ok(Self { number, queues: 0 })
    }

    pub(crate) fn facts(&self) -> io::Result<Facts> {
        let mut facts = Facts::default();
        // SAFETY: the function fills in the facts.
        checked("facts of the device", unsafe { welter_dpdk_facts(self.number, &raw mut facts) })?;
        Ok(facts)
    }

    /// Sets up queues in both directions.
    pub(crate) fn set_up(
        &mut self,
        pool: Pool,
        queues: u16,
        mtu: u32,
        mut key: [u8; 40],
    ) -> io::Result<()> {
        self.queues = queues;
        // SAFETY: the pool lasts, and the key has 40 bytes, which are copied.
        let failed = unsafe {
            welter_dpdk_set_up(self.number, pool.0.as_ptr(), queues, mtu, key.as_mut_ptr())
        };
        checked("setting up the device", failed).map(|_| ())
    }

    pub(crate) fn start(&self) -> io::Result<()> {
        // SAFETY: a device that is not set up is refused.
        let failed = unsafe { welter_dpdk_start(self.number, self.queues) };
        checked("starting the device", failed).map(|_| ())
    }

    /// Stops what `start` started.
    pub(crate) fn halt(&self) {
        // SAFETY: no queue is in use yet, since `into_queues` takes the device.
        unsafe { welter_dpdk_halt(self.number) }
    }

    /// Whether the other end, or the cable, is there.
    pub(crate) fn is_up(&self) -> bool {
        // SAFETY: any number may be asked for.
        unsafe { welter_dpdk_is_up(self.number) == 1 }
    }

    /// Both ends of each queue.
    pub(crate) fn into_queues(self) -> Vec<(ReceiveQueue, SendQueue)> {
        let (port, queues) = (Arc::new(self), 0..);
        let ends = queues.take(usize::from(port.queues)).map(|queue| {
            let receive = ReceiveQueue { port: port.clone(), queue };
            (receive, SendQueue { port: port.clone(), queue })
        });
        ends.collect()
    }
}

impl Facts {
    /// Whether packets come out of the queue of the number that they were put into.
    pub(crate) fn keeps_queues(self) -> bool {
        self.keeps_queues != 0
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let mut taken = taken();
        // SAFETY: all queues are gone, or there were none.
        unsafe { welter_dpdk_close(self.number) }
        taken.remove(&self.number);
    }
}

/// Receiving end of a queue.
pub(crate) struct ReceiveQueue {
    port: Arc<Port>,
    queue: u16,
}

impl ReceiveQueue {
    /// Adds what has come, [`BURST`] packets at most.
    #[inline]
    pub(crate) fn receive(&mut self, packets: &mut Vec<Packet>) -> usize {
        packets.reserve(BURST);
        let room = packets.spare_capacity_mut().as_mut_ptr().cast();
        let (port, queue) = (self.port.number, self.queue);
        // SAFETY: there is room for as many, and this is the only thread with the queue.
        let came = usize::from(unsafe { welter_dpdk_receive(port, queue, room, BURST as u16) });
        // SAFETY: `came` more were filled in.
        unsafe { packets.set_len(packets.len() + came) };
        came
    }

    /// Whether the other end, or the cable, is there.
    pub(crate) fn is_up(&self) -> bool {
        self.port.is_up()
    }
}

/// Sending end of a queue.
pub(crate) struct SendQueue {
    port: Arc<Port>,
    queue: u16,
}

impl SendQueue {
    /// Sends the first of these packets, [`BURST`] at most, and says how many: those are gone.
    #[inline]
    pub(crate) fn send(&mut self, packets: &mut Vec<Packet>) -> usize {
        let count = packets.len().min(BURST) as u16;
        let (port, queue) = (self.port.number, self.queue);
        // SAFETY: `count` packets are there, and this is the only thread with the queue.
        let sent = unsafe { welter_dpdk_send(port, queue, packets.as_ptr(), count) };
        packets.drain(..usize::from(sent)).for_each(std::mem::forget);
        usize::from(sent)
    }

    /// Sends a packet that stays here, whose frame was set. No thread may write into it while
    /// [`Packet::is_held`].
    #[inline]
    pub(crate) fn send_held(&mut self, packet: &Packet) -> bool {
        debug_assert!(!packet.is_held());
        let (port, queue) = (self.port.number, self.queue);
        // SAFETY: the device holds the packet too, until it has sent it; this is the only thread
        // with the queue.
        unsafe { welter_dpdk_send_held(port, queue, packet.mbuf.as_ptr()) == 1 }
    }

    /// Lets the device give up what it has sent.
    pub(crate) fn clean(&mut self) {
        // SAFETY: this is the only thread with the queue.
        unsafe { welter_dpdk_clean(self.port.number, self.queue) }
    }
}
