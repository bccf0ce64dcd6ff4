//! Pajek networks (`.net`), for small graphs.
//!
//! ```text
//! *Vertices 3            how many there are, and how many of them are of a first kind
//! 1 "Ann Lee" 0.1 0.2    number, label, and what drawing needs
//! 2 Bob
//! *Edges                 undirected: source, target, value
//! 1 2 2.5
//! *Arcs :1 "likes"       directed; perhaps of one relation among several
//! 2 3
//! *Arcslist              source, then all targets; also *Edgeslist
//! 3 1 2
//! ```
//!
//! Vertices are the integers from 1 to the stated number, listed or not; where names are wanted
//! (`--ids strings`), the labels, which have quotes or are one word. The value of a line is its
//! weight and 1 where it is not there, as Pajek has it. Lines that begin with `%` are comments.
//! Refused: `*Matrix`, a second network, and the partitions, vectors and so on of a project file.

mod label;
#[cfg(test)]
mod tests;

use std::io::BufRead as _;

use crate::documents::bytes::Bytes;
use crate::documents::{Described, Document, DocumentReader, plain};
use crate::error::InputError;
use crate::foreign::begins as starts;
use crate::text::fields::{is_number, parse_id};
use crate::words::{show, words};
use label::label;

/// The reader of Pajek networks.
pub(crate) static PAJEK: DocumentReader =
    DocumentReader { name: "Pajek", labelled: true, attributes: false, parse };

/// Section that lines belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Before the vertices.
    Start,
    /// A number and a label.
    Vertices,
    /// A source, a target and a value.
    Lines { directed: bool },
    /// A source and its targets.
    Lists { directed: bool },
}

fn parse(mut bytes: Bytes<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    let bytes_max = small.options().limits.line_bytes_max;
    small.default_weight(1.0);
    let mut network = Network { section: Section::Start, relations: 0, times: false, small };
    let mut line = Vec::new();
    loop {
        let number = bytes.line();
        line.clear();
        bytes.allow(bytes_max);
        let read = bytes.read_until(b'\n', &mut line);
        if let Err(error) = read {
            let failure = bytes.take_failure();
            return Err(failure.unwrap_or_else(|| InputError::io(bytes.file(), "read", error)));
        }
        if line.is_empty() {
            return network.end(number);
        }
        network.line(line.trim_ascii(), number)?;
    }
}

/// A network while its lines are read.
struct Network<'a, 'o> {
    section: Section,
    /// Sections that are each of a relation of their own.
    relations: u64,
    /// Whether something says at which times it is there.
    times: bool,
    small: &'a mut Document<'o>,
}

impl Network<'_, '_> {
    fn line(&mut self, line: &[u8], number: u64) -> Result<(), InputError> {
        if line.is_empty() || line.starts_with(b"%") {
            return Ok(());
        }
        if line.starts_with(b"*") {
            return self.section(line, number);
        }
        match self.section {
            Section::Start => {
                let what = format!("expected *Vertices, found {}", show(line));
                Err(self.small.wrong(number, what))
            }
            Section::Vertices => self.vertex(line, number),
            Section::Lines { directed } => self.edge(line, directed, number),
            Section::Lists { directed } => self.list(line, directed, number),
        }
    }

    fn section(&mut self, line: &[u8], number: u64) -> Result<(), InputError> {
        let end = line.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b':');
        let (name, rest) = line.split_at(end.unwrap_or(line.len()));
        let directed = starts(name, "*arcs");
        self.section = match name.to_ascii_lowercase().as_slice() {
            b"*network" if self.section == Section::Start => return Ok(()),
            b"*vertices" if self.section == Section::Start => {
                self.sizes(rest, number)?;
                Section::Vertices
            }
            b"*network" | b"*vertices" => {
                return Err(self.small.wrong(number, "expected one network, found a second one"));
            }
            b"*arcs" | b"*edges" if self.section != Section::Start => Section::Lines { directed },
            b"*arcslist" | b"*edgeslist" if self.section != Section::Start => {
                Section::Lists { directed }
            }
            b"*arcs" | b"*edges" | b"*arcslist" | b"*edgeslist" => {
                return Err(self.small.wrong(number, "expected *Vertices before edges and arcs"));
            }
            b"*matrix" => {
                let what = "expected lists of edges or arcs, found *Matrix, which is not read \
                            (save the network with its lines as lists)";
                return Err(self.small.wrong(number, what));
            }
            _ => {
                let what = format!(
                    "expected *Edges, *Arcs, *Edgeslist or *Arcslist, found {} (save the network \
                     alone and not the project)",
                    show(name)
                );
                return Err(self.small.wrong(number, what));
            }
        };
        self.relations += u64::from(rest.trim_ascii_start().starts_with(b":"));
        Ok(())
    }

    /// Number of vertices, and how many of a first kind.
    fn sizes(&mut self, rest: &[u8], number: u64) -> Result<(), InputError> {
        let numbers: Option<Vec<u64>> = words(rest).map(|word| parse_id(word).ok()).collect();
        let (count, first) = match numbers.as_deref() {
            Some(&[count]) => (count, None),
            Some(&[count, first]) => (count, Some(first)),
            _ => {
                let what = format!("expected the number of vertices, found {}", show(rest));
                return Err(self.small.wrong(number, what));
            }
        };
        self.small.state_count(count);
        if let Some(first) = first.filter(|first| *first > 0 && *first < count) {
            self.small.note(format!(
                "has vertices of two kinds, 1 to {first} and the others, which are read alike"
            ));
        }
        Ok(())
    }

    fn vertex(&mut self, line: &[u8], number: u64) -> Result<(), InputError> {
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (id, rest) = line.split_at(end);
        self.check_id(id, number)?;
        let label = label(rest, self.small.wants_labels());
        let label = label.map_err(|what| self.small.wrong(number, what))?;
        self.times |= words(rest).any(|word| word.starts_with(b"["));
        self.small.node(plain(id), label.as_deref(), number).map(|_| ())
    }

    fn edge(&mut self, line: &[u8], directed: bool, number: u64) -> Result<(), InputError> {
        let mut fields = words(line);
        let (Some(source), Some(target)) = (fields.next(), fields.next()) else {
            let what = format!("expected a source and a target, found {}", show(line));
            return Err(self.small.wrong(number, what));
        };
        // A word behind the ends that is no number is about drawing and time.
        let value = fields.next();
        self.times |= value.into_iter().chain(fields).any(|word| word.starts_with(b"["));
        let value = value.filter(|value| is_number(value));
        let weight = self.small.weight_rank(b"weight").zip(value);
        self.add(source, target, directed, weight, number)
    }

    fn list(&mut self, line: &[u8], directed: bool, number: u64) -> Result<(), InputError> {
        let mut fields = words(line);
        let source = fields.next().unwrap_or_default();
        self.check_id(source, number)?;
        fields.try_for_each(|target| self.add(source, target, directed, None, number))
    }

    fn add(
        &mut self,
        source: &[u8],
        target: &[u8],
        directed: bool,
        weight: Option<(usize, &[u8])>,
        line: u64,
    ) -> Result<(), InputError> {
        // A minus before an end deletes the line in networks that change in time.
        self.check_id(source, line)?;
        self.check_id(target, line)?;
        let (source, target) = (Some(plain(source).to_vec()), Some(plain(target).to_vec()));
        let mut edge =
            Described { source, target, directed: Some(directed), line, ..Described::default() };
        if let Some((rank, value)) = weight {
            *edge.weights.at(rank) = Some(value.to_vec());
        }
        self.small.edge(&edge)
    }

    fn check_id(&self, id: &[u8], line: u64) -> Result<(), InputError> {
        let number = parse_id(id).map(|_| ());
        number.map_err(|_| {
            let what = format!("expected the number of a vertex, found {}", show(id));
            self.small.wrong(line, what)
        })
    }

    fn end(self, line: u64) -> Result<(), InputError> {
        if self.section == Section::Start {
            return Err(self.small.wrong(line, "expected *Vertices, found the end of the file"));
        }
        if self.times {
            self.small
                .note("changes in time, and the lines of all times are read alike".to_owned());
        }
        if self.relations > 1 {
            let what = format!("lines of several relations are read alike: {}", self.relations);
            self.small.note(what);
        }
        Ok(())
    }
}
