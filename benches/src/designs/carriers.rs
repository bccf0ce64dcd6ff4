//! Carriers of message buffers from worker to worker: a queue in memory, or kernel sockets.
//!
//! ```text
//! worker: Post --full buffers, then the end of the superstep--> Incoming: parser of a worker
//! ```
//!
//! Each carrier has two of the paper's overheads, which are switched on alone: copies (two at each
//! side) and interrupts (a parser sleeps until it is woken, else it polls and yields). Messages to
//! the worker itself are carried as all others are.
//!
//! **Invariant:** a parser hands on all messages of a superstep, and none of the next one. Workers
//! wait at a barrier between the two, so that nothing follows the end of a superstep. Tested by
//! `all_designs_have_the_answers_of_plain_loops`.

use std::hint::black_box;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

use rustix::event::{PollFd, PollFlags, poll};

use super::program::Message;

/// Messages of a full buffer: 64 KiB.
pub(super) const MESSAGES: usize = 8192;

/// Buffers under way from a worker to a parser, at most.
const UNDER_WAY: usize = 4;

/// End of a superstep in a stream: to a vertex that no graph has.
const END: Message = [0xff; 8];

/// Sending end of a worker.
pub(super) trait Post: Send {
    /// Sends messages to a worker. Their buffer is empty then, and has room for as many.
    fn send(&mut self, to: usize, messages: &mut Vec<Message>);

    /// Reports to all workers that this one sends no more in this superstep.
    fn end(&mut self);
}

/// Receiving end of a worker.
pub(super) trait Incoming: Send {
    /// Hands on messages as they come, until all workers have ended the superstep.
    fn superstep(&mut self, arrived: &mut dyn FnMut(&[Message]));
}

/// Both ends of a worker.
pub(super) type Ends = (Box<dyn Post>, Box<dyn Incoming>);

/// Overheads of a carrier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// Messages are copied from buffer to buffer, twice at each side.
    pub(super) copies: bool,
    /// A parser without messages sleeps, and is woken.
    pub(super) wakes: bool,
}

/// Buffers that messages are copied through.
#[derive(Default)]
struct Copies {
    first: Vec<Message>,
    second: Vec<Message>,
}

impl Copies {
    fn twice(&mut self, messages: &[Message]) -> &mut Vec<Message> {
        self.first.clear();
        self.first.extend_from_slice(black_box(messages));
        self.second.clear();
        self.second.extend_from_slice(black_box(&self.first));
        &mut self.second
    }
}

/// Load of a queue in memory.
enum Packet {
    Messages(Vec<Message>),
    End,
}

/// Sending end in memory.
struct QueuePost {
    to: Vec<SyncSender<Packet>>,
    manner: Manner,
    copies: Copies,
}

impl QueuePost {
    fn push(&self, to: usize, packet: Packet) {
        if self.manner.wakes {
            return self.to[to].send(packet).expect("parsers outlive supersteps");
        }
        let mut packet = packet;
        loop {
            match self.to[to].try_send(packet) {
                Ok(()) => return,
                Err(TrySendError::Full(back)) => packet = back,
                Err(TrySendError::Disconnected(_)) => panic!("parsers outlive supersteps"),
            }
            std::thread::yield_now();
        }
    }
}

impl Post for QueuePost {
    fn send(&mut self, to: usize, messages: &mut Vec<Message>) {
        let full = if self.manner.copies {
            let copy = std::mem::take(self.copies.twice(messages));
            messages.clear();
            copy
        } else {
            std::mem::replace(messages, Vec::with_capacity(MESSAGES))
        };
        self.push(to, Packet::Messages(full));
    }

    fn end(&mut self) {
        (0..self.to.len()).for_each(|to| self.push(to, Packet::End));
    }
}

/// Receiving end in memory.
struct QueueIncoming {
    packets: Receiver<Packet>,
    workers: usize,
    manner: Manner,
    copies: Copies,
}

impl QueueIncoming {
    fn next(&self) -> Packet {
        if self.manner.wakes {
            return self.packets.recv().expect("workers end a superstep");
        }
        loop {
            match self.packets.try_recv() {
                Ok(packet) => return packet,
                Err(TryRecvError::Empty) => std::thread::yield_now(),
                Err(TryRecvError::Disconnected) => panic!("workers end a superstep"),
            }
        }
    }
}

impl Incoming for QueueIncoming {
    fn superstep(&mut self, arrived: &mut dyn FnMut(&[Message])) {
        let mut left = self.workers;
        while left > 0 {
            match self.next() {
                Packet::Messages(messages) if self.manner.copies => {
                    arrived(self.copies.twice(&messages));
                }
                Packet::Messages(messages) => arrived(&messages),
                Packet::End => left -= 1,
            }
        }
    }
}

/// Queues in memory, one a worker.
pub(super) fn queues(workers: usize, manner: Manner) -> Vec<Ends> {
    let (senders, receivers): (Vec<SyncSender<Packet>>, Vec<Receiver<Packet>>) =
        (0..workers).map(|_| sync_channel(UNDER_WAY * workers)).unzip();
    let ends = |packets: Receiver<Packet>| -> Ends {
        let post = QueuePost { to: senders.clone(), manner, copies: Copies::default() };
        let incoming = QueueIncoming { packets, workers, manner, copies: Copies::default() };
        (Box::new(post), Box::new(incoming))
    };
    receivers.into_iter().map(ends).collect()
}

/// Sending end of connections, one to each worker.
struct SocketPost {
    streams: Vec<TcpStream>,
    manner: Manner,
    copies: Copies,
}

impl Post for SocketPost {
    fn send(&mut self, to: usize, messages: &mut Vec<Message>) {
        let Self { streams, manner, copies } = self;
        let sent = if manner.copies { &*copies.twice(messages) } else { &*messages };
        streams[to].write_all(sent.as_flattened()).expect("loopback holds");
        messages.clear();
    }

    fn end(&mut self) {
        for stream in &mut self.streams {
            stream.write_all(&END).expect("loopback holds");
        }
    }
}

/// A connection from one worker.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Bytes at the beginning of the buffer that are no whole message yet.
    partial: usize,
}

impl Connection {
    /// Reads once and hands on whole messages. Nothing, if nothing has come; else whether the
    /// superstep ends with them.
    fn read(&mut self, arrived: &mut dyn FnMut(&[Message])) -> Option<bool> {
        let bytes = match self.stream.read(&mut self.buffer[self.partial..]) {
            Ok(0) => panic!("a worker is gone before its superstep has ended"),
            Ok(bytes) => bytes,
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => return None,
                _ => panic!("loopback holds: {error}"),
            },
        };
        let filled = self.partial + bytes;
        let (messages, rest) = self.buffer[..filled].as_chunks::<8>();
        let is_end = rest.is_empty() && messages.last() == Some(&END);
        arrived(&messages[..messages.len() - usize::from(is_end)]);
        self.partial = rest.len();
        self.buffer.copy_within(filled - self.partial..filled, 0);
        Some(is_end)
    }
}

/// Receiving end of connections, one from each worker.
struct SocketIncoming {
    connections: Vec<Connection>,
    manner: Manner,
    copies: Copies,
}

impl Incoming for SocketIncoming {
    fn superstep(&mut self, arrived: &mut dyn FnMut(&[Message])) {
        let Self { connections, manner, copies } = self;
        let mut left = connections.len();
        let mut hand_on = |messages: &[Message]| {
            if manner.copies { arrived(copies.twice(messages)) } else { arrived(messages) }
        };
        while left > 0 {
            let mut has_come = false;
            for connection in &mut *connections {
                if let Some(is_end) = connection.read(&mut hand_on) {
                    has_come = true;
                    left -= usize::from(is_end);
                }
            }
            if has_come || left == 0 {
                continue;
            }
            if manner.wakes {
                sleep(connections).expect("loopback holds");
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// Sleeps until something comes.
fn sleep(connections: &[Connection]) -> io::Result<()> {
    let mut events: Vec<PollFd<'_>> =
        connections.iter().map(|one| PollFd::new(&one.stream, PollFlags::IN)).collect();
    match poll(&mut events, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Connections over loopback, one from each worker to each.
///
/// # Errors
/// When the system has no more of them.
pub(super) fn sockets(workers: usize, manner: Manner) -> io::Result<Vec<Ends>> {
    let mut posts: Vec<Vec<TcpStream>> = (0..workers).map(|_| Vec::new()).collect();
    let mut incoming = Vec::new();
    for _ in 0..workers {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let mut connections = Vec::new();
        for streams in &mut posts {
            let sending = TcpStream::connect(address)?;
            // The end of a superstep waits for no acknowledgement.
            sending.set_nodelay(true)?;
            let (stream, _) = listener.accept()?;
            stream.set_nonblocking(true)?;
            streams.push(sending);
            let buffer = vec![0; size_of::<Message>() * MESSAGES];
            connections.push(Connection { stream, buffer, partial: 0 });
        }
        incoming.push(SocketIncoming { connections, manner, copies: Copies::default() });
    }
    let ends = |(streams, incoming): (Vec<TcpStream>, SocketIncoming)| -> Ends {
        let post = SocketPost { streams, manner, copies: Copies::default() };
        (Box::new(post), Box::new(incoming))
    };
    Ok(posts.into_iter().zip(incoming).map(ends).collect())
}
