//! Signals of sources to stripes: they wait on storage in extended programs.
//!
//! An edge is shown what both of its ends say, so no update can be made of it before its source's
//! signal has come to its stripe. That signal is what travels: a record names the source and has
//! what it says, and serves all edges that the source has to the stripe (or one for each of them,
//! where updates are to be sent one by one). Edges and their states stay.
//!
//! Invariant: records of a stripe come in the order in which its edges want them. Its edges lie in
//! the order of their sources, partitions are ranges of these, and of each one worker sends a
//! stripe all. A record that is not the one which an edge wants is an error, and so is one too
//! many: no edge is lost, and none is shown twice, without an error. Checked in
//! `SignalReader::hear` and `SignalReader::end`. Tested by `signals_move_once_to_each_stripe`.

use std::ops::Range;

use crate::EngineError;
use crate::columns::updates::Incoming;
use crate::kernels::records::Records;
use crate::kernels::sink::{RecordRun, Sink};

/// No vertex has this number.
const NOBODY: u64 = u64::MAX;

/// Writer of the signals of a partition to a stripe.
pub(super) struct SignalWriter<'a> {
    /// The sources of the partition, and what they say.
    pub(super) own: &'a Range<u64>,
    pub(super) signals: &'a [u8],
    /// Bytes of a signal.
    width: usize,
    /// Whether a stripe receives a signal once.
    once: bool,
    /// The source that spoke last.
    last: u64,
}

impl<'a> SignalWriter<'a> {
    pub(super) fn new(
        own: &'a Range<u64>,
        (signals, width): (&'a [u8], usize),
        once: bool,
    ) -> Self {
        Self { own, signals, width, once, last: NOBODY }
    }

    /// Makes records of what those sources of some keys say that are the partition's own. `first`:
    /// the source that keys count from.
    pub(super) fn send_own(
        &mut self,
        mut keys: &[u32],
        (first, target_bits): (u64, u32),
        sink: &mut dyn Sink,
    ) -> Result<(), EngineError> {
        let width = self.width;
        while !keys.is_empty() {
            let RecordRun { targets, records } = sink.room(keys.len())?.run()?;
            let (now, later) = keys.split_at(keys.len().min(targets.len()));
            let mut made = 0;
            for &key in now {
                let source = first + u64::from(key >> target_bits);
                if source == self.last || !self.own.contains(&source) {
                    continue;
                }
                let place = (source - self.own.start) as usize * width;
                let signal = &self.signals[place..place + width];
                targets[made] = source as u32;
                records[made * width..][..width].copy_from_slice(signal);
                made += 1;
                if self.once {
                    self.last = source;
                }
            }
            sink.keep(made)?;
            keys = later;
        }
        Ok(())
    }
}

/// Reader of the signals of sources to a stripe.
pub(super) struct SignalReader<'r, 'b> {
    incoming: Incoming<'r>,
    /// Records of the chunk that is open.
    records: &'b mut Records,
    /// The one of them that comes next.
    next: usize,
    once: bool,
    /// The source that was read last, and the place of its record.
    last: (u64, usize),
    received: u64,
}

impl<'r, 'b> SignalReader<'r, 'b> {
    pub(super) fn new(incoming: Incoming<'r>, records: &'b mut Records, once: bool) -> Self {
        records.clear();
        Self { incoming, records, next: 0, once, last: (NOBODY, 0), received: 0 }
    }

    /// Sets `by_edge` to what the source of each of some edges says.
    pub(super) fn listen(
        &mut self,
        keys: &[u32],
        (first, target_bits): (u64, u32),
        by_edge: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        by_edge.clear();
        for &key in keys {
            let source = first + u64::from(key >> target_bits);
            if source != self.last.0 || !self.once {
                self.hear(source)?;
            }
            let (_, signal) = self.records.get(self.last.1).ok_or_else(other_signals)?;
            by_edge.extend_from_slice(signal);
        }
        Ok(())
    }

    fn hear(&mut self, source: u64) -> Result<(), EngineError> {
        let found = match self.records.get(self.next) {
            Some((found, _)) => found,
            None => self.turn()?.ok_or_else(other_signals)?,
        };
        if u64::from(found) != source {
            return Err(other_signals());
        }
        self.last = (source, self.next);
        self.next += 1;
        self.received += 1;
        Ok(())
    }

    /// Opens the next chunk, and gives the source of its first record.
    fn turn(&mut self) -> Result<Option<u32>, EngineError> {
        self.next = 0;
        self.records.clear();
        while let Some(chunk) = self.incoming.next(self.records.width())? {
            if !chunk.targets.is_empty() {
                self.records.hold((chunk.targets, chunk.accums));
                return Ok(self.records.get(0).map(|(source, _)| source));
            }
        }
        Ok(None)
    }

    /// Ends the stripe, all of whose edges were shown, and returns the number of records that were
    /// read.
    pub(super) fn end(mut self) -> Result<u64, EngineError> {
        if self.records.get(self.next).is_some() || self.turn()?.is_some() {
            return Err(other_signals());
        }
        Ok(self.received)
    }
}

/// An edge met what another source said, or nothing.
fn other_signals() -> EngineError {
    let what = "a stripe was told something else than its edges want";
    EngineError::internal(what)
}
