//! The computing part of a machine, which also says by which means machines work together.

use welter_worker::Worker;

use crate::send::Job;

/// The computing part of a machine.
pub enum Task {
    /// Work of the protocol, on chunks that are pulled (Chaos).
    Chunks(Box<dyn Worker>),
    /// Updates as messages (`BlitzG`).
    Messages(Box<Job>),
}

impl From<Box<dyn Worker>> for Task {
    fn from(worker: Box<dyn Worker>) -> Self {
        Self::Chunks(worker)
    }
}

impl From<Job> for Task {
    fn from(job: Job) -> Self {
        Self::Messages(Box::new(job))
    }
}
