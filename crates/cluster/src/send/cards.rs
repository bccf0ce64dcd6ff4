//! Devices of a machine for lanes past the kernel (DPDK): a cable of shared memory to each other
//! machine of the computer (memif), or one network card to all.
//!
//! ```text
//! offer     cables: the directory of its sockets      card: MAC and IPv4 address of its lanes
//! meet      cables to machines of lower rank are led to their sockets, which are there by then
//! lane      e + s of a device: threads that send 0 .. e, accumulator threads e .. e + s
//! ```
//!
//! Numbers of ports follow from lanes, and addresses of cables from ranks, since a cable has
//! two ends. A device is kept until all machines have ended their lanes ([`Cards::lanes`]): the
//! library unmaps a cable whose other end was closed, under threads that still look into it.

use std::io;
use std::net::Ipv4Addr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ring::hmac;
use welter_protocol::failure::Exit;
use welter_transport::Layout;
use welter_transport::dpdk::{
    Address, Cables, DeviceSettings, Dpdk, OpenDevice, WITHOUT_RIGHTS, open,
};

use super::Settings;
use super::doors::Common;
use super::error::Stop;
use super::position::{BUCKETS_OF_DATAGRAMS, MachinePosition};

/// Port of the first lane of a device.
const PORT: u16 = 7100;

/// Bytes of a path of a socket, at most.
const PATH_BYTES_MAX: usize = 107;

/// Time in which a machine of lower rank must have its end of a cable.
const PATIENCE: Duration = Duration::from_secs(10);

/// Packets that a card keeps for what comes to a lane: as many are asked of it (`shim.c`).
const CARD_RING: usize = 1024;

/// Megabytes of memory of the library itself.
const LIBRARY_MEGABYTES: usize = 64;

/// A network card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// Card as DPDK names it, with options: `0000:03:00.0`, `net_af_packet0,iface=eth1`.
    pub device: String,
    /// Options of DPDK; where there are none, those that suit the device.
    pub options: Vec<String>,
}

impl Card {
    fn options(&self) -> Vec<String> {
        if !self.options.is_empty() {
            return self.options.clone();
        }
        let is_of_kernel = self.device.starts_with("net_");
        let name = self.device.split(',').next().unwrap_or_default();
        let of_card = ["--in-memory", "--no-telemetry", "--log-level=error", "-a", name];
        let options = if is_of_kernel { WITHOUT_RIGHTS } else { &of_card };
        options.iter().map(|&option| option.to_owned()).collect()
    }
}

/// Buckets over cables, and over a card: packets a little smaller than the MTU.
pub(super) fn layout(card: Option<&Card>) -> Layout {
    match card {
        None => Layout { segment_bytes: 16 << 10, segments: 1 },
        Some(_) => Layout::DATAGRAM,
    }
}

/// The devices of a machine, as far as they are there before others have said where they are.
pub(super) struct Cards {
    place: MachinePosition,
    /// Lanes of the cables to machines of higher rank, by rank, or of the card alone.
    open: Vec<(usize, Vec<Dpdk>)>,
    is_card: bool,
}

/// Lanes of the threads of a machine, and the devices that they are over.
pub(super) struct OpenLanes {
    pub(super) sending: Vec<Cables>,
    pub(super) folding: Vec<Cables>,
    pub(super) kept: Vec<OpenDevice>,
}

impl Cards {
    /// Opens the card, or the ends of cables that others are led to, with sockets in `directory`.
    ///
    /// # Errors
    /// When the library or a device cannot be had.
    pub(super) fn offer(
        card: Option<&Card>,
        place: MachinePosition,
        (directory, common): (&Path, &Common),
    ) -> Result<(Self, Vec<u64>), Stop> {
        if let Some(card) = card {
            let lanes = opened(&DeviceSettings {
                device: card.device.clone(),
                options: card.options(),
                packets: packets(place, place.machines - 1, CARD_RING),
                ..settings(place, layout(Some(card)))
            })?;
            let Address { mac, ip, .. } = lanes[0].address();
            let mac = mac.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
            let offer = vec![mac, u32::from(ip).into()];
            return Ok((Self { place, open: vec![(place.rank, lanes)], is_card: true }, offer));
        }
        let mut open = Vec::new();
        for peer in place.rank + 1..place.machines {
            let socket = socket(directory, common, peer)?;
            open.push((peer, opened(&cable(place, ("server", &socket), common))?));
        }
        Ok((Self { place, open, is_card: false }, packed(directory.as_os_str().as_bytes())))
    }

    /// The lanes of each thread, once the offers of all are known.
    ///
    /// # Errors
    /// When the other end of a cable is not there.
    pub(super) fn lanes(mut self, common: &Common, offers: &[Vec<u64>]) -> Result<OpenLanes, Stop> {
        let place = self.place;
        if !self.is_card {
            for (peer, offer) in offers.iter().enumerate().take(place.rank) {
                let directory = unpacked(offer).ok_or_else(|| Stop::broken("no directory"))?;
                let socket = socket(&directory, common, place.rank)?;
                let lanes = open(&cable(place, ("client", &socket), common));
                self.open.push((peer, lanes.map_err(|error| unopened(&error, true))?));
            }
            self.open.sort_by_key(|(peer, _)| *peer);
        }
        let kept = self.open.iter().filter_map(|(_, lanes)| Some(lanes.first()?.kept())).collect();
        let ends = place.sending() + place.sub_ranges;
        let mut threads: Vec<Vec<Dpdk>> = (0..ends).map(|_| Vec::new()).collect();
        for (_, lanes) in std::mem::take(&mut self.open) {
            threads.iter_mut().zip(lanes).for_each(|(thread, lane)| thread.push(lane));
        }
        let folding = threads.split_off(place.sending());
        let cables = |threads: Vec<Vec<Dpdk>>, peers: Vec<(usize, usize)>| {
            let peers = peers.into_iter().map(|(rank, lane)| -> Result<_, Stop> {
                let device = if self.is_card { 0 } else { rank - usize::from(rank > place.rank) };
                Ok((device, self.address(&offers[rank], rank, lane)?))
            });
            let peers = peers.collect::<Result<Vec<_>, Stop>>()?;
            let threads = threads.into_iter().map(|devices| Cables::new(devices, &peers));
            Ok::<Vec<Cables>, Stop>(threads.collect())
        };
        let others = place.others().map(|(rank, at)| (rank, place.sending() + at)).collect();
        let sending = cables(threads, others)?;
        let folding = cables(folding, place.other_senders().collect())?;
        Ok(OpenLanes { sending, folding, kept })
    }

    /// Address of a lane of another machine.
    fn address(&self, offer: &[u64], rank: usize, lane: usize) -> Result<Address, Stop> {
        let port = PORT + lane as u16;
        if !self.is_card {
            return Ok(Address { mac: [2, 0, 0, 0, 0, 1], ip: ip(rank), port });
        }
        let [mac, ip] = *offer else { return Err(Stop::broken("a card without an address")) };
        let [_, _, mac @ ..] = mac.to_be_bytes();
        Ok(Address { mac, ip: Ipv4Addr::from(ip as u32), port })
    }
}

/// Address of a machine, of those that are kept for trials of networks (RFC 2544).
fn ip(rank: usize) -> Ipv4Addr {
    let [high, low] = (rank as u16 + 1).to_be_bytes();
    Ipv4Addr::new(198, 18, high, low)
}

fn settings(place: MachinePosition, layout: Layout) -> DeviceSettings {
    DeviceSettings {
        device: String::new(),
        ip: ip(place.rank),
        port: PORT,
        lanes: (place.sending() + place.sub_ranges) as u16,
        segment_bytes: layout.segment_bytes,
        packets: 0,
        patience: PATIENCE,
        options: Vec::new(),
    }
}

/// Packets of a device to this number of machines: those of rings, those that a thread has found
/// or sends, and those that the device keeps for what comes to each lane.
fn packets(place: MachinePosition, peers: usize, kept: usize) -> u32 {
    let threads = place.sub_ranges;
    let rings = BUCKETS_OF_DATAGRAMS * threads * threads * peers;
    ((rings + 2 * threads * (160 + kept)).next_power_of_two() - 1) as u32
}

/// The end of a cable.
fn cable(place: MachinePosition, (role, socket): (&str, &Path), common: &Common) -> DeviceSettings {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let layout = layout(None);
    let packets = packets(place, 1, 0);
    let bytes = (layout.segment_bytes + 64).next_multiple_of(64);
    let places = places(place);
    let megabytes = (place.machines * packets as usize * (bytes + 1024)) >> 20;
    let memory = (LIBRARY_MEGABYTES + 2 * megabytes).to_string();
    let options = WITHOUT_RIGHTS.iter().copied().chain(["-m", &memory]);
    // Memif looks for the folder of a socket below no other one.
    let socket = std::path::absolute(socket).unwrap_or_else(|_| socket.to_owned());
    DeviceSettings {
        device: format!(
            "net_memif{number},role={role},socket={},socket-abstract=no,bsize={bytes},\
             rsize={places},secret={}",
            socket.display(),
            secret(common)
        ),
        packets,
        options: options.map(str::to_owned).collect(),
        ..settings(place, layout)
    }
}

/// Bytes of the devices of a machine: rings of cables, and packets.
pub(super) fn bytes(settings: &Settings, machines: usize) -> u64 {
    let Settings { sub_ranges, senders, .. } = *settings;
    let place = MachinePosition { rank: 0, machines, sub_ranges, senders };
    let peers = machines - 1;
    let packet = |layout: Layout| layout.segment_bytes + 1024;
    let bytes = if let Some(card) = &settings.card {
        packets(place, peers, CARD_RING) as usize * packet(layout(Some(card)))
    } else {
        let lanes = 2 * place.sub_ranges;
        peers
            * (packets(place, 1, 0) as usize + 2 * lanes * (1 << places(place)))
            * packet(layout(None))
    };
    bytes as u64
}

/// Places of a ring of a cable, by the power of two: for all that threads of the other machine
/// have under way to one of this.
fn places(place: MachinePosition) -> u32 {
    let under_way = 2 * BUCKETS_OF_DATAGRAMS * place.sub_ranges;
    under_way.next_power_of_two().ilog2().max(6)
}

/// Secret of cables: who opens a socket must have that of the epoch.
fn secret(common: &Common) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &common.key);
    let tag = hmac::sign(&key, b"cables");
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
    tag.as_ref()[..10].iter().flat_map(digits).flatten().collect()
}

/// The socket of a machine's cable to another one, in an epoch.
fn socket(directory: &Path, common: &Common, peer: usize) -> Result<PathBuf, Stop> {
    let path = directory.join(format!("cable-{}-{peer}", common.epoch));
    let bytes = path.as_os_str().as_bytes();
    let is_plain = std::str::from_utf8(bytes).is_ok_and(|text| !text.contains([',', '=']));
    if bytes.len() > PATH_BYTES_MAX || !is_plain {
        let what = format!(
            "{}: a socket of --transport dpdk has {PATH_BYTES_MAX} bytes of path at most, without \
             commas; name another directory with --scratch",
            path.display()
        );
        return Err(Stop::Failed { why: Exit::Usage, what });
    }
    Ok(path)
}

fn opened(settings: &DeviceSettings) -> Result<Vec<Dpdk>, Stop> {
    open(settings).map_err(|error| unopened(&error, false))
}

/// Reason to end of a machine whose device does not open, which may be the second end of a cable.
fn unopened(error: &io::Error, is_second: bool) -> Stop {
    // The machine at the other end may have been lost: memif has -1 where it cannot be reached.
    let is_alone = is_second && error.kind() == io::ErrorKind::PermissionDenied;
    if is_alone || error.kind() == io::ErrorKind::TimedOut {
        return Stop::Gone(error.to_string());
    }
    Stop::Failed { why: Exit::Usage, what: format!("--transport dpdk: {error}") }
}

/// Bytes as numbers, the first of which is how many there are.
fn packed(bytes: &[u8]) -> Vec<u64> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |it, &byte| it << 8 | u64::from(byte));
    [bytes.len() as u64].into_iter().chain(bytes.chunks(8).map(number)).collect()
}

/// The path that was packed.
fn unpacked(numbers: &[u64]) -> Option<PathBuf> {
    let (&length, numbers) = numbers.split_first()?;
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let length = usize::try_from(length).ok().filter(|&length| length <= bytes.len())?;
    bytes.truncate(length);
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back() {
        for path in ["", "/", "/tmp/a", "/tmp/abc", "/tmp/a longer one of them"] {
            assert_eq!(unpacked(&packed(path.as_bytes())), Some(path.into()));
        }
        assert_eq!((unpacked(&[]), unpacked(&[9, 0])), (None, None));
    }

    #[test]
    fn a_card_has_packets_for_its_rings_and_for_lanes() {
        for sub_ranges in [1, 2, 16] {
            let place = MachinePosition { rank: 0, machines: 4, sub_ranges, senders: 0 };
            let [card, cable] = [CARD_RING, 0].map(|kept| packets(place, 3, kept) as usize);
            // Rings of all lanes are full before any thread has one.
            assert!(card >= 2 * sub_ranges * CARD_RING + 3 * BUCKETS_OF_DATAGRAMS, "{card}");
            assert!(cable < card && (card + 1).is_power_of_two(), "{cable} {card}");
        }
    }

    #[test]
    fn addresses_differ_by_rank() {
        assert_eq!([ip(0), ip(63)].map(|ip| ip.octets()), [[198, 18, 0, 1], [198, 18, 0, 64]]);
    }
}
