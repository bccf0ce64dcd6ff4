//! Datagrams over UDP: all segments of a bucket in one system call, and as many as came in another.
//!
//! The kernel cuts a bucket into datagrams (GSO), and gives those of a sender that came together as
//! one run of bytes (GRO), so that a call is made for 64 KiB and not for 1,400 bytes. Where a
//! kernel cannot cut, a call is made for each datagram; the other needs nothing.
//!
//! Each thread has a socket, therefore a port, of its own, and may have more to send from: clouds
//! limit a flow, and network cards spread flows over receive queues. Buckets leave by them in
//! turns, and say themselves whose they are; all that comes, comes to the first one.
//!
//! **Invariant:** datagrams are of the size of a segment, whatever the kernel can do. Tested by
//! `segments_are_datagrams`. **Invariant:** all source ports have as many buckets. Tested by
//! `buckets_leave_by_all_source_ports_in_turns`.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};

use crate::datagrams::{Came, Datagrams};

/// Bytes that the kernel is asked to keep for a socket in each direction.
const SOCKET_BYTES: usize = 4 << 20;

/// Bytes that are kept for a socket at which nothing is to come: the least that a kernel grants.
const UNREAD_BYTES: usize = 1 << 12;

/// The sockets of one thread.
pub struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    /// Sockets that only send, each from a port of its own.
    senders: Vec<(UdpSocket, UdpSocketState)>,
    /// Number of the socket that the next bucket leaves by: 0 is the first one.
    turn: usize,
    peers: Vec<SocketAddr>,
    /// Whether the kernel cuts buckets into datagrams.
    cuts: bool,
}

impl Udp {
    /// A socket at this address, to peers at those.
    ///
    /// # Errors
    /// If the address cannot be had.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        // A kernel may grant less; then more is sent again.
        state.set_send_buffer_size((&socket).into(), SOCKET_BYTES)?;
        state.set_recv_buffer_size((&socket).into(), SOCKET_BYTES)?;
        let cuts = state.max_gso_segments() > 1;
        Ok(Self { socket, state, senders: Vec::new(), turn: 0, peers: Vec::new(), cuts })
    }

    /// Adds ports to send from, until there are `ports`. The first one is among them.
    ///
    /// # Errors
    /// If no more can be had.
    pub fn with_source_ports(mut self, ports: usize) -> io::Result<Self> {
        let address = SocketAddr::new(self.address()?.ip(), 0);
        for _ in self.senders.len() + 1..ports {
            let socket = UdpSocket::bind(address)?;
            let state = UdpSocketState::new((&socket).into())?;
            state.set_send_buffer_size((&socket).into(), SOCKET_BYTES)?;
            state.set_recv_buffer_size((&socket).into(), UNREAD_BYTES)?;
            self.senders.push((socket, state));
        }
        Ok(self)
    }

    /// Address at which datagrams come.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Peers in the order in which an endpoint names them.
    pub fn set_peers(&mut self, peers: Vec<SocketAddr>) {
        self.peers = peers;
    }

    fn try_send(&self, to: usize, contents: &[u8], segment: Option<usize>) -> io::Result<bool> {
        let destination = self.peers[to];
        let transmit =
            Transmit { destination, ecn: None, contents, segment_size: segment, src_ip: None };
        let sender = self.turn.checked_sub(1).and_then(|number| self.senders.get(number));
        let (socket, state) =
            sender.map_or((&self.socket, &self.state), |(socket, state)| (socket, state));
        match state.try_send(socket.into(), &transmit) {
            Ok(()) => Ok(true),
            Err(error) if has_no_room(&error) => Ok(false),
            // A peer that is not there (yet, or any more) is silent; so is a way to it.
            Err(error) if is_of_peer(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

impl Datagrams for Udp {
    fn send(&mut self, to: usize, image: &[u8], segment_bytes: usize) -> io::Result<bool> {
        let segments = image.len().div_ceil(segment_bytes);
        self.turn = (self.turn + 1) % (self.senders.len() + 1);
        if segments == 1 {
            return self.try_send(to, image, None);
        }
        if self.cuts && segments <= self.state.max_gso_segments() {
            match self.try_send(to, image, Some(segment_bytes)) {
                // Some network cards refuse what the kernel allows.
                Err(error) if matches!(error.raw_os_error(), Some(EIO | EINVAL)) => {
                    self.cuts = false;
                }
                sent => return sent,
            }
        }
        let mut went = false;
        for segment in image.chunks(segment_bytes) {
            went |= self.try_send(to, segment, None)?;
        }
        Ok(went)
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<Came>> {
        let mut meta = [RecvMeta::default()];
        loop {
            let buffers = &mut [IoSliceMut::new(into)];
            match self.state.recv((&self.socket).into(), buffers, &mut meta) {
                Ok(0) => return Ok(None),
                Ok(_) if meta[0].len == 0 => {}
                Ok(_) => {
                    let (bytes, stride) = (meta[0].len, meta[0].stride);
                    return Ok(Some(Came { bytes, segment_bytes: stride.clamp(1, bytes) }));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if is_of_peer(&error) || error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
const EINVAL: i32 = rustix::io::Errno::INVAL.raw_os_error();

fn has_no_room(error: &io::Error) -> bool {
    let full = rustix::io::Errno::NOBUFS.raw_os_error();
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(full)
}

fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable};
    matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    #[test]
    fn buckets_leave_by_all_source_ports_in_turns() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let to = UdpSocket::bind(any).unwrap();
        to.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        for cuts in [true, false] {
            let mut from = Udp::bind(any).unwrap().with_source_ports(4).unwrap();
            from.set_peers(vec![to.local_addr().unwrap()]);
            from.cuts &= cuts;
            (0..8).for_each(|_| assert!(from.send(0, &[1; 3000], 1408).unwrap()));
            // Three datagrams of each bucket.
            let mut by_port = BTreeMap::new();
            for _ in 0..24 {
                let (_, from) = to.recv_from(&mut [0; 2000]).unwrap();
                *by_port.entry(from.port()).or_insert(0) += 1;
            }
            assert!(by_port.values().eq(&[6; 4]), "{by_port:?}");
            assert!(by_port.contains_key(&from.address().unwrap().port()));
        }
    }

    #[test]
    fn segments_are_datagrams() {
        for cuts in [true, false] {
            let any = "127.0.0.1:0".parse().unwrap();
            let (mut from, mut to) = (Udp::bind(any).unwrap(), Udp::bind(any).unwrap());
            from.set_peers(vec![to.address().unwrap()]);
            from.cuts &= cuts;
            let image: Vec<u8> = (0..10_000).map(|i| (i % 251) as u8).collect();
            assert!(from.send(0, &image, 1408).unwrap());
            let (mut got, mut buffer) = (Vec::new(), vec![0; 65536]);
            let until = Instant::now() + Duration::from_secs(10);
            while got.len() < image.len() && Instant::now() < until {
                if let Some(came) = to.receive(&mut buffer).unwrap() {
                    assert!(came.segment_bytes == 1408 || came.bytes < 1408, "{came:?}");
                    got.extend_from_slice(&buffer[..came.bytes]);
                }
            }
            assert_eq!(got, image);
        }
    }

    #[test]
    fn a_peer_that_is_not_there_is_silent() {
        let any = "127.0.0.1:0".parse().unwrap();
        let mut from = Udp::bind(any).unwrap();
        let gone = Udp::bind(any).unwrap().address().unwrap();
        from.set_peers(vec![gone]);
        for _ in 0..3 {
            assert!(from.send(0, &[1; 100], 200).unwrap());
            assert_eq!(from.receive(&mut [0; 2000]).unwrap(), None);
        }
    }
}
