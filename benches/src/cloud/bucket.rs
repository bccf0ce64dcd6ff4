//! A bucket behind a link: a store in this process, whose socket is in a namespace of its own.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use welter_testing::bucket::{BucketServer, Fault};

use super::namespaces::{ADDRESSES, Cable};
use crate::outofcore::job::program;

/// Megabits a second of the link.
const MEGABITS: u32 = 1000;
/// Time after which the store begins to answer.
const LATENCY: Duration = Duration::from_millis(5);

/// A store at one end of a cable.
pub(super) struct RemoteBucket {
    cable: Cable,
    server: BucketServer,
}

impl RemoteBucket {
    /// An empty store behind a link of [`MEGABITS`] and [`LATENCY`].
    pub(super) fn new() -> Result<Self> {
        let cable = Cable::new(MEGABITS).context("a cable between two namespaces")?;
        let space = Path::new("/run/netns").join(&cable.names[0]);
        let space = File::open(&space).with_context(|| space.display().to_string())?;
        // Sockets belong to the namespace of the thread that makes them, for ever.
        let begin = move || -> Result<BucketServer> {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(BucketServer::start_at(ADDRESSES[0].parse()?)?)
        };
        let server = thread::spawn(begin).join().map_err(|_| anyhow::anyhow!("a panic"))??;
        server.fail(|_| Some(Fault::Silent(LATENCY)));
        Ok(Self { cable, server })
    }

    /// Bits a second.
    pub(super) fn bits(&self) -> f64 {
        self.cable.bits()
    }

    /// Bytes on the link so far, with the heads of packets.
    pub(super) fn sent(&self) -> Result<u64> {
        Ok(self.cable.sent()?)
    }

    /// A call of the command at the other end.
    pub(super) fn command(&self) -> Result<Command> {
        let program = program()?;
        let mut command = self.cable.at(1, program.to_str().context("a path in UTF-8")?);
        command.envs(self.server.environment());
        Ok(command)
    }
}
