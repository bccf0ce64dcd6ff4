//! Datagrams past the kernel, by DPDK (section IV of the paper): a lower layer of the feature
//! `dpdk`. docs/dpdk.md says how it is built, and what it runs on.
//!
//! ```text
//! worker   bucket = packet of the pool     frame:  Ethernet IPv4 UDP | bucket
//!   send   the packet itself; a copy, if a bucket lies elsewhere or the card still holds it
//!   card   a receive queue a lane, spread by source port (`spread`), or by the sender's queue
//! receive  polled; the bucket is folded where the card put it
//! ```
//!
//! A lane is one thread's. It polls its own queue; what comes out of it for another lane (a device
//! that spreads otherwise, or has fewer queues) goes there by a queue of one producer and one
//! consumer. Where that is the rule, or a lane is gone, lanes without work look into the queues of
//! others. Only who takes a queue of a device uses it, and none waits for one: a queue that is
//! taken counts as empty, or as full.
//!
//! **Invariant:** nothing but datagrams of lanes is handed on, each to the lane of its port.
//! Checked in `Shared::sort`.

mod cables;
mod pools;
mod shim;

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rtrb::{Consumer, Producer, RingBuffer};

pub use crate::frames::Address;
pub use cables::Cables;
pub(crate) use shim::Packet;

use crate::bucket::{Bucket, HEADROOM_BYTES, Layout};
use crate::datagrams::{Came, Datagrams};
use crate::frames::{self, FRAME_HEAD_BYTES, FrameHead, IP_HEAD_BYTES};
use crate::memory::Memory;
use crate::spread::{KEY, Spread};
use pools::Lent;
use shim::{BURST, Facts, Port, RECEIVE_HEADROOM_BYTES, ReceiveQueue, SendQueue};

/// Where the frame of a bucket begins in its memory.
const FRAME_AT: usize = HEADROOM_BYTES - FRAME_HEAD_BYTES;

/// Bytes of a segment at most: lengths of packets have 16 bits.
const SEGMENT_BYTES_MAX: usize = 65_535 - RECEIVE_HEADROOM_BYTES - FRAME_HEAD_BYTES;

/// Room of a packet at least, with headroom: drivers of cards want 2,048 bytes.
const ROOM_BYTES_MIN: usize = 2048 + RECEIVE_HEADROOM_BYTES;

/// Options of DPDK that want neither huge pages nor rights: memory of the process, no file of its
/// own, and no device but those that are named.
pub const WITHOUT_RIGHTS: &[&str] = &[
    "--no-huge",
    "--no-shconf",
    "-m",
    "512",
    "--iova-mode=va",
    "--no-pci",
    "--no-telemetry",
    "--log-level=error",
    // Attempts of a client before its server is there.
    "--log-level=pmd.net.memif:critical",
];

/// Settings of a device.
#[derive(Clone, Debug)]
pub struct DeviceSettings {
    /// Device as DPDK names it, with options: `0000:03:00.0`, `net_memif0,role=server`, ...
    pub device: String,
    /// Address of this machine.
    pub ip: Ipv4Addr,
    /// Port of its first lane; the others follow.
    pub port: u16,
    /// Lanes, each of which is one thread's. All machines have as many.
    pub lanes: u16,
    /// Bytes of the longest segment.
    pub segment_bytes: usize,
    /// Packets of the pool: those of all rings and windows.
    pub packets: u32,
    /// Time that the other end of a device may take to be there.
    pub patience: Duration,
    /// Options of DPDK, of which the first device of a process decides.
    pub options: Vec<String>,
}

/// Things that lanes of a device have in common.
struct Shared {
    ip: Ipv4Addr,
    mac: [u8; 6],
    port: u16,
    lanes: u16,
    pool: Lent,
    spread: Spread,
    keeps_queues: bool,
    receiving: Vec<Mutex<Receiving>>,
    sending: Vec<Mutex<SendQueue>>,
    /// Whether lanes look into the queues of others.
    looks_around: AtomicBool,
}

/// A receive queue, and ways to all lanes.
struct Receiving {
    queue: ReceiveQueue,
    came: Vec<Packet>,
    lanes: Vec<Producer<Datagram>>,
}

/// A packet, and where its datagram lies in it.
struct Datagram {
    packet: Packet,
    place: Range<usize>,
}

/// Counts of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DpdkCounts {
    /// Buckets that were sent from where they were written.
    pub in_place: u64,
    /// Datagrams that were copied before they were sent.
    pub copied: u64,
    /// Datagrams that another lane found.
    pub handed_on: u64,
    /// Frames of others.
    pub foreign: u64,
    /// Datagrams that found no room on their way to another lane.
    pub dropped: u64,
}

/// The lane of one thread over a device.
pub struct Dpdk {
    shared: Arc<Shared>,
    lane: u16,
    peers: Vec<Peer>,
    arrived: VecDeque<Datagram>,
    /// Datagrams that other lanes found, by queue.
    found: Vec<Consumer<Datagram>>,
    current: Option<Datagram>,
    leaving: Vec<Packet>,
    counts: DpdkCounts,
}

/// A device that stays open although its lanes have ended.
pub struct OpenDevice {
    _shared: Arc<Shared>,
}

struct Peer {
    head: FrameHead,
    /// Queue to send by.
    queue: usize,
}

/// Opens a device: one lower layer for each lane.
///
/// # Errors
/// If DPDK or the device refuses, or settings do not go together.
pub fn open(settings: &DeviceSettings) -> io::Result<Vec<Dpdk>> {
    let DeviceSettings { port, lanes, segment_bytes, .. } = *settings;
    let is_possible = lanes > 0
        && u32::from(port) + u32::from(lanes) <= 65_536
        && (64..=SEGMENT_BYTES_MAX).contains(&segment_bytes);
    if !is_possible {
        let text = format!(
            "a device wants lanes whose ports end at 65535, and segments of 64 to \
             {SEGMENT_BYTES_MAX} bytes"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let mut options = vec!["welter".to_owned()];
    options.extend(settings.options.iter().cloned());
    shim::begin(&options)?;
    let mut device = Port::attach(&settings.device)?;
    let facts = device.facts()?;
    let room = RECEIVE_HEADROOM_BYTES.max(HEADROOM_BYTES) + FRAME_HEAD_BYTES + segment_bytes;
    let room = room.next_multiple_of(64).clamp(ROOM_BYTES_MIN, 65_535);
    let pool = pools::pool(settings.packets, room as u16)?;
    let queues = lanes.min(facts.receive_queues).min(facts.send_queues).max(1);
    let mtu = (IP_HEAD_BYTES + segment_bytes) as u32;
    device.set_up(pool.pool(), queues, mtu, KEY)?;
    started(&device, settings)?;
    Ok(lanes_over(settings, device.into_queues(), pool, facts))
}

/// Starts a device. A client of memif has to find its server, and is started again until it does:
/// one that comes while the server is being set up is turned away for good.
fn started(device: &Port, settings: &DeviceSettings) -> io::Result<()> {
    let until = Instant::now() + settings.patience;
    let is_client = settings.device.contains("role=client");
    loop {
        let ended = device.start();
        if !is_client || (ended.is_ok() && comes_up(device)) {
            return ended;
        }
        if Instant::now() >= until {
            let missing = io::Error::new(io::ErrorKind::TimedOut, "the server is not there");
            return ended.and(Err(missing));
        }
        device.halt();
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn comes_up(device: &Port) -> bool {
    (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(2));
        device.is_up()
    })
}

fn lanes_over(
    settings: &DeviceSettings,
    ends: Vec<(ReceiveQueue, SendQueue)>,
    pool: Lent,
    facts: Facts,
) -> Vec<Dpdk> {
    let DeviceSettings { ip, port, lanes, .. } = *settings;
    let spread = Spread { queues: ends.len() as u16, table: facts.table };
    let (mut receiving, mut sending) = (Vec::new(), Vec::new());
    let mut found: Vec<Vec<Consumer<Datagram>>> = (0..lanes).map(|_| Vec::new()).collect();
    for (queue, send) in ends {
        let ways = found.iter_mut().map(|found| {
            let (producer, consumer) = RingBuffer::new(4 * BURST);
            found.push(consumer);
            producer
        });
        let (ways, came) = (ways.collect(), Vec::with_capacity(BURST));
        receiving.push(Mutex::new(Receiving { queue, came, lanes: ways }));
        sending.push(Mutex::new(send));
    }
    let keeps_queues = facts.keeps_queues();
    let mac = facts.mac;
    let is_right = (keeps_queues || facts.table != 0) && spread.queues == lanes;
    let looks_around = AtomicBool::new(!is_right);
    let shared = Arc::new(Shared {
        ip,
        mac,
        port,
        lanes,
        pool,
        spread,
        keeps_queues,
        receiving,
        sending,
        looks_around,
    });
    let lane = |(found, lane)| Dpdk {
        shared: shared.clone(),
        lane,
        peers: Vec::new(),
        arrived: VecDeque::with_capacity(2 * BURST),
        found,
        current: None,
        leaving: Vec::with_capacity(BURST),
        counts: DpdkCounts::default(),
    };
    found.into_iter().zip(0..).map(lane).collect()
}

impl Dpdk {
    /// Address of this lane.
    pub fn address(&self) -> Address {
        let Shared { mac, ip, port, .. } = *self.shared;
        Address { mac, ip, port: port + self.lane }
    }

    /// Peers in the order in which an endpoint names them. Ports of their first lanes are as ours.
    pub fn set_peers(&mut self, peers: &[Address]) {
        let shared = &self.shared;
        let peer = |to: &Address| {
            let queue = to.port.wrapping_sub(shared.port) % shared.spread.queues;
            let port = shared.spread.port(self.lane, shared.ip, (to.ip, to.port), queue);
            let from = Address { mac: shared.mac, ip: shared.ip, port };
            let own = self.lane % shared.spread.queues;
            let queue = usize::from(if shared.keeps_queues { queue } else { own });
            Peer { head: FrameHead::new(&from, to), queue }
        };
        self.peers = peers.iter().map(peer).collect();
    }

    /// Whether the other end, or the cable, is there. What is sent before is sent again.
    pub fn is_up(&self) -> bool {
        self.shared.receiving[0].lock().is_ok_and(|receiving| receiving.queue.is_up())
    }

    /// The device, for as long as the other ends of its lanes may look into it.
    pub fn kept(&self) -> OpenDevice {
        OpenDevice { _shared: self.shared.clone() }
    }

    /// Whether a datagram has come.
    pub fn has_come(&mut self) -> bool {
        if self.arrived.is_empty() {
            self.poll();
        }
        !self.arrived.is_empty()
    }

    /// Counts so far.
    pub fn counts(&self) -> DpdkCounts {
        self.counts
    }

    /// The next datagram, if one has come.
    fn next(&mut self) -> Option<Datagram> {
        self.has_come();
        self.arrived.pop_front()
    }

    fn poll(&mut self) {
        for found in &mut self.found {
            while let Ok(datagram) = found.pop() {
                self.counts.handed_on += 1;
                self.arrived.push_back(datagram);
            }
        }
        let queues = self.shared.receiving.len();
        let looks_around = self.shared.looks_around.load(Ordering::Relaxed);
        for step in 0..queues {
            if !self.arrived.is_empty() || (step > 0 && !looks_around) {
                break;
            }
            self.poll_queue((usize::from(self.lane) + step) % queues);
        }
    }

    fn poll_queue(&mut self, queue: usize) {
        let Self { shared, lane, arrived, counts, .. } = self;
        // The thread that has the queue hands on packets of this lane.
        let Ok(mut receiving) = shared.receiving[queue].try_lock() else { return };
        let Receiving { queue, came, lanes } = &mut *receiving;
        queue.receive(came);
        for packet in came.drain(..) {
            let Some((for_lane, place)) = shared.sort(packet.bytes()) else {
                counts.foreign += 1;
                continue;
            };
            let datagram = Datagram { packet, place };
            if for_lane == *lane {
                arrived.push_back(datagram);
            } else if lanes[usize::from(for_lane)].push(datagram).is_err() {
                counts.dropped += 1;
            }
        }
    }

    /// Sends what is in `leaving`, and says whether any of it went.
    fn leave(&mut self, queue: usize) -> bool {
        let Ok(mut sending) = self.shared.sending[queue].try_lock() else {
            self.leaving.clear();
            return false;
        };
        let mut went = 0;
        while !self.leaving.is_empty() {
            match sending.send(&mut self.leaving) {
                0 => break,
                sent => went += sent,
            }
        }
        self.counts.copied += went as u64;
        self.leaving.clear();
        went > 0
    }
}

impl Drop for Dpdk {
    fn drop(&mut self) {
        self.shared.looks_around.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// The lane that a frame is for, and where its datagram lies.
    fn sort(&self, frame: &[u8]) -> Option<(u16, Range<usize>)> {
        let (port, place) = frames::datagram(frame, self.ip)?;
        let lane = port.checked_sub(self.port)?;
        (lane < self.lanes).then_some((lane, place))
    }
}

impl Datagrams for Dpdk {
    fn bucket(&mut self, layout: Layout) -> Bucket {
        let packet = (layout.segments == 1).then(|| self.shared.pool.pool().take()).flatten();
        let packet = packet.filter(|packet| packet.room().1 >= HEADROOM_BYTES + layout.bytes());
        match packet {
            Some(packet) => Bucket::in_memory(Memory::packet(packet), layout),
            None => Bucket::new(layout),
        }
    }

    fn send_bucket(&mut self, to: usize, bucket: &mut Bucket) -> io::Result<bool> {
        let (bytes, peer) = (bucket.image().len(), &self.peers[to]);
        if let Some(packet) = bucket.packet() {
            let Ok(mut sending) = self.shared.sending[peer.queue].try_lock() else {
                return Ok(false);
            };
            if packet.is_held() {
                sending.clean();
            }
            if !packet.is_held() {
                peer.head.write(&mut packet.bytes_mut()[FRAME_AT..], bytes);
                packet.frame(FRAME_AT..HEADROOM_BYTES + bytes);
                let went = sending.send_held(packet);
                self.counts.in_place += u64::from(went);
                return Ok(went);
            }
        }
        self.send(to, bucket.image(), bucket.layout().segment_bytes)
    }

    fn send(&mut self, to: usize, image: &[u8], segment_bytes: usize) -> io::Result<bool> {
        let Peer { head, queue } = &self.peers[to];
        let queue = *queue;
        for segment in image.chunks(segment_bytes) {
            // Without one there is no room, and what is left counts as lost.
            let Some(mut packet) = self.shared.pool.pool().take() else { break };
            let end = HEADROOM_BYTES + segment.len();
            let Some(frame) = packet.bytes_mut().get_mut(FRAME_AT..end) else {
                let text = "a segment is longer than the device was opened for";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            };
            head.write(frame, segment.len());
            frame[FRAME_HEAD_BYTES..].copy_from_slice(segment);
            packet.frame(FRAME_AT..end);
            self.leaving.push(packet);
        }
        Ok(self.leave(queue))
    }

    fn receive_in_place<'a>(
        &'a mut self,
        _: &'a mut [u8],
    ) -> io::Result<Option<(&'a mut [u8], usize)>> {
        self.current = self.next();
        Ok(self.current.as_mut().map(|Datagram { packet, place }| {
            (&mut packet.bytes_mut()[place.clone()], place.len().max(1))
        }))
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<Came>> {
        let Some((datagram, segment_bytes)) = self.receive_in_place(&mut [])? else {
            return Ok(None);
        };
        let bytes = datagram.len().min(into.len());
        into[..bytes].copy_from_slice(&datagram[..bytes]);
        Ok(Some(Came { bytes, segment_bytes }))
    }
}
