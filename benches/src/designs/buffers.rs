//! Message buffers that a program writes into: of each thread, or shared and behind locks.

use std::sync::{Arc, Mutex};

use super::carriers::{MESSAGES, Post};
use super::program::Message;

/// Place where the program of a worker puts its messages.
pub(super) trait Outgoing: Send {
    /// Takes a message to a vertex of a worker.
    fn put(&mut self, worker: usize, message: Message);

    /// Sends what is left, and says that the superstep has ended.
    fn end(&mut self);
}

/// Empty buffers, one a worker.
fn empty(workers: usize) -> impl Iterator<Item = Vec<Message>> {
    (0..workers).map(|_| Vec::with_capacity(MESSAGES))
}

/// Buffers of one thread.
pub(super) struct Own {
    buffers: Vec<Vec<Message>>,
    post: Box<dyn Post>,
}

impl Own {
    /// Buffers to as many workers.
    pub(super) fn new(workers: usize, post: Box<dyn Post>) -> Self {
        Self { buffers: empty(workers).collect(), post }
    }
}

impl Outgoing for Own {
    #[inline(always)]
    fn put(&mut self, worker: usize, message: Message) {
        let buffer = &mut self.buffers[worker];
        buffer.push(message);
        if buffer.len() == MESSAGES {
            self.post.send(worker, buffer);
        }
    }

    fn end(&mut self) {
        for (worker, buffer) in self.buffers.iter_mut().enumerate() {
            if !buffer.is_empty() {
                self.post.send(worker, buffer);
            }
        }
        self.post.end();
    }
}

/// Buffers that all threads write into, each behind a lock: one is taken for each message, and who
/// fills a buffer sends it.
///
/// Messages of a thread are sent before the superstep ends: by itself, or by the thread that took
/// the buffer, which says that it has ended after it has sent.
pub(super) struct Shared {
    buffers: Arc<Vec<Mutex<Vec<Message>>>>,
    /// Buffer in exchange for a full one: empty but while that is sent.
    spare: Vec<Message>,
    post: Box<dyn Post>,
}

impl Shared {
    /// Shares of all threads in buffers, one a worker.
    pub(super) fn group(posts: Vec<Box<dyn Post>>) -> Vec<Self> {
        let buffers: Arc<Vec<_>> = Arc::new(empty(posts.len()).map(Mutex::new).collect());
        let share = |post| {
            let spare = Vec::with_capacity(MESSAGES);
            Self { buffers: buffers.clone(), spare, post }
        };
        posts.into_iter().map(share).collect()
    }
}

impl Outgoing for Shared {
    #[inline(always)]
    fn put(&mut self, worker: usize, message: Message) {
        let mut buffer = self.buffers[worker].lock().expect("no worker has panicked");
        buffer.push(message);
        if buffer.len() == MESSAGES {
            std::mem::swap(&mut *buffer, &mut self.spare);
            drop(buffer);
            self.post.send(worker, &mut self.spare);
        }
    }

    fn end(&mut self) {
        for (worker, buffer) in self.buffers.iter().enumerate() {
            let mut buffer = buffer.lock().expect("no worker has panicked");
            std::mem::swap(&mut *buffer, &mut self.spare);
            drop(buffer);
            if !self.spare.is_empty() {
                self.post.send(worker, &mut self.spare);
            }
        }
        self.post.end();
    }
}
