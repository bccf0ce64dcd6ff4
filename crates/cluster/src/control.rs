//! The pipes or connections between a host and a machine that is a process of its own.
//!
//! ```text
//! to the machine (lines)       peer RANK ADDRESS · await RANK · vertices · chunk PARTITION CHUNK ·
//!                              write · name · (the end: the host is gone)
//! to the host                  KIND FIELD .. BYTES, a line; then BYTES bytes
//! ```
//!
//! Both ends are one executable, so there is no version. The bytes of a line are a manifest, a
//! chunk of a vertex set, or a sentence.
//!
//! **Invariant:** `read(write(w)) = w`, and what is no word is an error. Tested by
//! `words_come_back_and_others_are_errors`.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use welter_progress::FailureKind;
use welter_protocol::checkpoint::Manifest;
use welter_protocol::failure::{Exit, Failure};
use welter_protocol::{Payload, Rank};

use crate::activity::Activity;
use crate::ask::{Answer, Ask};
use crate::error::ClusterError;
use crate::meeting::{verdict_line, verdict_of};
use crate::moved;
use crate::report::Report;

/// Bytes of the line of a word, at most.
const LINE_BYTES_MAX: u64 = 200;

const EXITS: [Exit; 14] = [
    Exit::Fenced,
    Exit::Storage,
    Exit::Absent,
    Exit::Cut,
    Exit::Stalled,
    Exit::BadInput,
    Exit::Budget,
    Exit::Full,
    Exit::Cancelled,
    Exit::Broken,
    Exit::Lost,
    Exit::Reshaped,
    Exit::Damaged,
    Exit::Usage,
];

/// Word of a machine to its host.
#[derive(Debug)]
pub(crate) enum Word {
    /// The machine has this incarnation, and listens there.
    Listening { incarnation: u32, address: SocketAddr },
    /// A report.
    Report(Report),
    /// A chunk of the result.
    Part { partition: u32, chunk: u64, payload: Payload },
    /// A chunk of the result is written, in this number of rows.
    Rows { partition: u32, chunk: u64, rows: u64 },
    /// End of the list of chunks.
    PartsEnd,
    /// Failure to write or name a part of the result: its kind, and the reason.
    Unwritten(FailureKind, String),
    /// Answer of a machine that has not what it was asked for, with the reason.
    Lacking(String),
    /// Sign of life of a machine that has nothing to say.
    Alive,
}

/// Writes a word.
pub(crate) fn write(to: &mut impl Write, word: &Word) -> io::Result<()> {
    let mut put = |line: String, bytes: &[u8]| {
        let line = format!("{line} {}\n", bytes.len());
        let is_line = line.find('\n') == Some(line.len() - 1);
        debug_assert!(is_line && line.len() as u64 <= LINE_BYTES_MAX, "a host can read the line");
        to.write_all(line.as_bytes())?;
        to.write_all(bytes)?;
        to.flush()
    };
    match word {
        Word::Listening { incarnation, address } => {
            put(format!("listening {incarnation} {address}"), &[])
        }
        Word::Report(Report::Suspected(rank)) => put(format!("suspected {rank}"), &[]),
        Word::Report(Report::Decided(iterations, control)) => {
            put(format!("decided {iterations}"), control)
        }
        Word::Report(Report::Did(activity)) => put("did".to_owned(), activity.line().as_bytes()),
        Word::Report(Report::Moved(all)) => put("moved".to_owned(), moved::text(all).as_bytes()),
        Word::Report(Report::Finished(manifest)) => put("finished".to_owned(), &manifest.encode()),
        Word::Report(Report::Ended(None)) => put("died".to_owned(), &[]),
        Word::Report(Report::Ended(Some(Failure { why, rank, what }))) => {
            debug_assert!(EXITS.contains(why), "a host knows each reason");
            put(format!("ended {why:?} {rank}"), what.as_bytes())
        }
        Word::Part { partition, chunk, payload } => {
            put(format!("part {partition} {chunk} {:016x}", payload.hash()), payload)
        }
        Word::Rows { partition, chunk, rows } => {
            put(format!("rows {partition} {chunk} {rows}"), &[])
        }
        Word::PartsEnd => put("parts-end".to_owned(), &[]),
        Word::Unwritten(kind, what) => {
            let verdict = verdict_line(&Some((*kind, what.clone())));
            put("unwritten".to_owned(), verdict.as_bytes())
        }
        Word::Alive => put("alive".to_owned(), &[]),
        Word::Lacking(what) => put("lacking".to_owned(), what.as_bytes()),
    }
}

/// The next word; none at the end.
pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Word>> {
    let mut line = String::new();
    if from.by_ref().take(LINE_BYTES_MAX).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let wrong = || io::Error::new(ErrorKind::InvalidData, format!("no word of a machine: {line}"));
    let words: Vec<&str> = line.strip_suffix('\n').unwrap_or_default().split(' ').collect();
    let (bytes, fields) = words.split_last().ok_or_else(wrong)?;
    let length = bytes.parse::<u64>().map_err(|_| wrong())?;
    let mut bytes = Vec::new();
    // Grows with what comes, whatever the line says.
    from.by_ref().take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    word(fields, bytes).map(Some).ok_or_else(wrong)
}

fn word(fields: &[&str], bytes: Vec<u8>) -> Option<Word> {
    let text = |bytes| String::from_utf8(bytes).ok();
    Some(match *fields {
        ["listening", incarnation, address] => {
            Word::Listening { incarnation: number(incarnation)?, address: number(address)? }
        }
        ["suspected", rank] => Word::Report(Report::Suspected(number(rank)?)),
        ["decided", iterations] => Word::Report(Report::Decided(number(iterations)?, bytes.into())),
        ["did"] => Word::Report(Report::Did(Box::new(Activity::of_line(&text(bytes)?)?))),
        ["moved"] => Word::Report(Report::Moved(moved::of_text(&text(bytes)?)?)),
        ["finished"] => Word::Report(Report::Finished(Arc::new(Manifest::decode(&bytes)?))),
        ["died"] => Word::Report(Report::Ended(None)),
        ["ended", why, rank] => {
            let why = *EXITS.iter().find(|exit| format!("{exit:?}") == why)?;
            let (rank, what) = (number::<Rank>(rank)?, text(bytes)?.into());
            Word::Report(Report::Ended(Some(Failure { why, rank, what })))
        }
        ["part", partition, chunk, hash] => {
            let payload = Payload::from(bytes);
            let is_whole = format!("{:016x}", payload.hash()) == hash;
            let (partition, chunk) = (number(partition)?, number(chunk)?);
            is_whole.then_some(Word::Part { partition, chunk, payload })?
        }
        ["rows", partition, chunk, rows] => {
            Word::Rows { partition: number(partition)?, chunk: number(chunk)?, rows: number(rows)? }
        }
        ["parts-end"] => Word::PartsEnd,
        ["unwritten"] => {
            let (kind, what) = verdict_of(&text(bytes)?)??;
            Word::Unwritten(kind, what)
        }
        ["alive"] => Word::Alive,
        ["lacking"] => Word::Lacking(text(bytes)?),
        _ => return None,
    })
}

/// The piece of an answer that is a word of a machine, unless it says why there is none.
pub(crate) fn piece(rank: Rank, word: Word) -> Result<Answer, ClusterError> {
    match word {
        Word::Part { partition, chunk, payload } => Ok(Answer::Part((partition, chunk), payload)),
        Word::Rows { partition, chunk, rows } => Ok(Answer::Rows((partition, chunk), rows)),
        Word::PartsEnd => Ok(Answer::End),
        Word::Lacking(what) => Err(ClusterError::Result { rank, what }),
        Word::Unwritten(kind, what) => Err(ClusterError::Declined { rank, kind, what }),
        Word::Listening { .. } | Word::Report(_) | Word::Alive => {
            Err(ClusterError::Silent { rank })
        }
    }
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Request of a host to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Another machine listens there.
    Peer(Rank, SocketAddr),
    /// A process makes its task in the place of this rank, which is not missed meanwhile.
    Await(Rank),
    /// Something about the part of the result that is here, please.
    Result(Ask),
}

impl Request {
    /// Line of the word.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Peer(rank, address) => format!("peer {rank} {address}\n"),
            Self::Await(rank) => format!("await {rank}\n"),
            Self::Result(Ask::Vertices) => "vertices\n".to_owned(),
            Self::Result(Ask::Chunk(partition, chunk)) => format!("chunk {partition} {chunk}\n"),
            Self::Result(Ask::Write) => "write\n".to_owned(),
            Self::Result(Ask::Name) => "name\n".to_owned(),
        }
    }

    /// The request of a line, if it is one.
    pub(crate) fn of(line: &str) -> Option<Self> {
        match *line.split(' ').collect::<Vec<_>>() {
            ["peer", rank, address] => Some(Self::Peer(number(rank)?, number(address)?)),
            ["await", rank] => Some(Self::Await(number(rank)?)),
            ["vertices"] => Some(Self::Result(Ask::Vertices)),
            ["chunk", partition, chunk] => {
                Some(Self::Result(Ask::Chunk(number(partition)?, number(chunk)?)))
            }
            ["write"] => Some(Self::Result(Ask::Write)),
            ["name"] => Some(Self::Result(Ask::Name)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use welter_protocol::ids::Bytes;

    use super::*;
    use crate::moved::Moved;

    #[test]
    fn words_come_back_and_others_are_errors() {
        let address = SocketAddr::from(([127, 0, 0, 1], 4711));
        let mut words = vec![
            Word::Listening { incarnation: 7, address },
            Word::Report(Report::Suspected(3)),
            Word::Report(Report::Decided(7, Bytes::from(&b"\n8 bytes"[..]))),
            Word::Report(Report::Did(Box::default())),
            Word::Report(Report::Moved(vec![(3, Moved { read: 5, written: 0, sent: 7 })])),
            Word::Report(Report::Ended(None)),
            Word::Part { partition: 3, chunk: 9, payload: Payload::from(b"two\nlines 7\n") },
            Word::Part { partition: 3, chunk: 9, payload: Payload::default() },
            Word::Rows { partition: 3, chunk: 9, rows: 7 },
            Word::PartsEnd,
            Word::Unwritten(FailureKind::Storage, "the disk is full".to_owned()),
            Word::Alive,
            Word::Lacking("a sentence, with\nlines".to_owned()),
        ];
        words.extend(EXITS.map(|why| {
            let failure = Failure { why, rank: 2, what: "edges.tsv:7: no\n".into() };
            Word::Report(Report::Ended(Some(failure)))
        }));
        let mut bytes = Vec::new();
        for word in &words {
            write(&mut bytes, word).unwrap();
        }
        let mut rest = &bytes[..];
        for word in &words {
            let found = read(&mut rest).unwrap().unwrap();
            assert_eq!(format!("{found:?}"), format!("{word:?}"));
        }
        assert!(read(&mut rest).unwrap().is_none());
        for wrong in [
            "hello\n",
            "hello 3\nabc",
            "suspected x 0\n",
            "finished 3\nabc",
            "did 3\n1 2",
            "moved 3\n1 2",
            "finished 99999999999999\nabc",
            "part 1 2 0 3\nabc",
            "ended Odd 1 0\n",
            "\n",
            "suspected 3 0",
            &"x".repeat(1000),
        ] {
            assert!(read(&mut wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn requests_are_lines() {
        let address = SocketAddr::from(([127, 0, 0, 1], 4711));
        let asks = [Ask::Vertices, Ask::Chunk(7, 9), Ask::Write, Ask::Name].map(Request::Result);
        let others = [Request::Peer(3, address), Request::Await(2)];
        for request in asks.into_iter().chain(others) {
            let line = request.line();
            assert_eq!(Request::of(line.strip_suffix('\n').unwrap()), Some(request));
        }
        for wrong in ["", "peer", "peer 1 here", "await x", "vertices of all"] {
            assert_eq!(Request::of(wrong), None);
        }
    }
}
