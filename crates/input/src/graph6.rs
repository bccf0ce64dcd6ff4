//! graph6, sparse6 and digraph6: small graphs without names as lines of printable bytes.
//!
//! A byte is 63 more than six bits. First comes the number of vertices n: one byte up to 62, else
//! `~` and three, else `~~` and six. Then, the highest bit of a byte first:
//!
//! - graph6: a bit for each pair of vertices, (0,1), (0,2), (1,2), (0,3), ...
//! - digraph6, after `&`: a bit for each ordered pair, (0,0), (0,1), ..., row by row.
//! - sparse6, after `:`: a vertex v that begins with 0, and steps of 1 + k bits, where k bits hold
//!   n-1: the first bit moves v to the next vertex, the others are x; v becomes x where x is
//!   larger, and else there is an edge between x and v.
//!
//! `>>graph6<<`, `>>sparse6<<` and `>>digraph6<<` may come first. Vertices are 0 to n-1. A file of
//! several graphs is refused, and so is the incremental form (`;`).
//!
//! Invariant: the number of vertices of graph6 and digraph6 is that which the bits are enough for,
//! so that what is stated is what is there; edges are handed on as they come. Tested by
//! `what_is_no_graph_is_refused_with_its_byte`.

#[cfg(test)]
mod tests;

use crate::beginnings::GRAPH6_HEADERS;
use crate::collect::{Collector, DeclaredVertices, EdgeRun, Ids};
use crate::columns;
use crate::documents::bytes::Bytes;
use crate::error::InputError;
use crate::foreign;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;

/// Edges of a part.
const PART_EDGES: usize = 1 << 20;

/// Bytes that are looked at for an estimate.
const HEAD_BYTES: usize = 64;

/// The reader of the three formats.
pub(crate) struct Graph6;

/// Notation of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A triangle of bits.
    Pairs,
    /// A square of bits.
    OrderedPairs,
    /// A list.
    Sparse,
}

impl Reader for Graph6 {
    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        columns::fixed(source.name(), false, context.options)?;
        let mut unpacked = source.unpack(&context.options.limits)?;
        let fill = move |buffer: &mut [u8]| {
            let stored = unpacked.stored();
            let count = unpacked.read(buffer)?;
            context.advance(unpacked.stored() - stored)?;
            Ok(count)
        };
        let mut bits = Bits::new(Bytes::new(source.name(), Box::new(fill)));
        let (form, count) = bits.begin()?;
        collector.state(DeclaredVertices::Range { first: 0, count })?;
        collector.state_undirected(form != Form::OrderedPairs);
        let mut edges = Edges { pairs: Vec::new(), parts: 0, collector };
        match form {
            Form::Pairs => bits.pairs(count, &mut edges)?,
            Form::OrderedPairs => bits.ordered_pairs(count, &mut edges)?,
            Form::Sparse => bits.sparse(count, &mut edges)?,
        }
        bits.end()?;
        edges.push()
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        columns::fixed(source.name(), false, options)?;
        let sample = source.sample(HEAD_BYTES, &options.limits)?;
        let mut bits = Bits::new(Bytes::of_slice(source.name(), &sample.bytes));
        let (form, count) = bits.begin()?;
        // Half of the bits, and of lists as many steps as there are bits for.
        let step = if form == Form::Sparse { 1 + width(count) } else { 2 };
        Ok(Estimate {
            bytes: source.bytes(),
            edges: source.bytes().map(|bytes| bytes.saturating_mul(6) / step),
            slots: Some(count),
            ids: IdKind::Integers,
            undirected: Some(form != Form::OrderedPairs),
            ..Estimate::default()
        })
    }
}

/// Edges on their way.
struct Edges<'a> {
    pairs: Vec<[u64; 2]>,
    parts: u64,
    collector: &'a Collector,
}

impl Edges<'_> {
    fn add(&mut self, source: u64, target: u64) -> Result<(), InputError> {
        self.pairs.push([source, target]);
        if self.pairs.len() == PART_EDGES { self.push() } else { Ok(()) }
    }

    fn push(&mut self) -> Result<(), InputError> {
        let ids = Ids::integers(std::mem::take(&mut self.pairs));
        self.parts += 1;
        self.collector.push(self.parts, EdgeRun { ids, weights: None })
    }
}

/// Bits that hold the numbers below `count`.
fn width(count: u64) -> u64 {
    u64::from(u64::BITS - count.saturating_sub(1).leading_zeros())
}

/// The bits of a file.
struct Bits<'a> {
    bytes: Bytes<'a>,
    /// The bits of the last byte that are left, and their number.
    byte: u8,
    left: u32,
}

impl<'a> Bits<'a> {
    fn new(bytes: Bytes<'a>) -> Self {
        Self { bytes, byte: 0, left: 0 }
    }

    fn wrong(&self, what: impl Into<String>) -> InputError {
        InputError::byte(self.bytes.file(), self.bytes.passed(), what)
    }

    /// Reads the header, the form and the number of vertices.
    fn begin(&mut self) -> Result<(Form, u64), InputError> {
        while self.bytes.peek()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.bytes.pass();
        }
        let head = self.bytes.head(HEAD_BYTES)?;
        let header = GRAPH6_HEADERS.iter().find(|header| foreign::begins(head, header));
        self.bytes.pass_all(header.map_or(0, |header| header.len()));
        let form = match self.bytes.peek()? {
            Some(b':') => Form::Sparse,
            Some(b'&') => Form::OrderedPairs,
            Some(b';') => {
                let what = "expected one graph, found incremental sparse6, which is not read";
                return Err(self.wrong(what));
            }
            _ => Form::Pairs,
        };
        if form != Form::Pairs {
            self.bytes.pass();
        }
        let mut digits = 1;
        while digits < 6 && self.bytes.peek()? == Some(b'~') {
            self.bytes.pass();
            digits = if digits == 1 { 3 } else { 6 };
        }
        let mut count = 0;
        for _ in 0..digits {
            let six = self.six()?.ok_or_else(|| self.wrong("expected the number of vertices"))?;
            count = count << 6 | u64::from(six);
        }
        Ok((form, count))
    }

    /// The next six bits; none at the end of the line.
    fn six(&mut self) -> Result<Option<u8>, InputError> {
        match self.bytes.peek()? {
            None | Some(b'\n' | b'\r') => Ok(None),
            Some(byte @ 63..=126) => {
                self.bytes.pass();
                Ok(Some(byte - 63))
            }
            Some(byte) => {
                Err(self.wrong(format!("expected a byte from ? to ~, found {byte:#04x}")))
            }
        }
    }

    /// The next bit; none at the end of the line.
    fn bit(&mut self) -> Result<Option<bool>, InputError> {
        if self.left == 0 {
            let Some(six) = self.six()? else { return Ok(None) };
            (self.byte, self.left) = (six, 6);
        }
        self.left -= 1;
        Ok(Some(self.byte >> self.left & 1 == 1))
    }

    /// The next bit, which must be there.
    fn required(&mut self, count: u64) -> Result<bool, InputError> {
        self.bit()?.ok_or_else(|| {
            let what =
                format!("expected more bits for {count} vertices, found the end of the line");
            self.wrong(what)
        })
    }

    fn pairs(&mut self, count: u64, edges: &mut Edges<'_>) -> Result<(), InputError> {
        for target in 1..count {
            for source in 0..target {
                if self.required(count)? {
                    edges.add(source, target)?;
                }
            }
        }
        Ok(())
    }

    fn ordered_pairs(&mut self, count: u64, edges: &mut Edges<'_>) -> Result<(), InputError> {
        for source in 0..count {
            for target in 0..count {
                if self.required(count)? {
                    edges.add(source, target)?;
                }
            }
        }
        Ok(())
    }

    fn sparse(&mut self, count: u64, edges: &mut Edges<'_>) -> Result<(), InputError> {
        let width = width(count);
        let mut vertex = 0;
        while let Some(next) = self.bit()? {
            vertex += u64::from(next);
            let mut other = 0;
            for _ in 0..width {
                let Some(bit) = self.bit()? else { return Ok(()) };
                other = other << 1 | u64::from(bit);
            }
            // Bits beyond the last vertex fill up the last byte.
            if other >= count || vertex >= count {
                self.left = 0;
                return Ok(());
            }
            if other > vertex {
                vertex = other;
            } else {
                edges.add(other, vertex)?;
            }
        }
        Ok(())
    }

    /// The line and the file end.
    fn end(&mut self) -> Result<(), InputError> {
        if self.six()?.is_some() {
            return Err(self.wrong("expected the end of the line after the bits of all vertices"));
        }
        while let Some(byte) = self.bytes.peek()? {
            if !byte.is_ascii_whitespace() {
                let what = "expected one graph, found a second line (give each graph a file of its \
                            own)";
                return Err(self.wrong(what));
            }
            self.bytes.pass();
        }
        Ok(())
    }
}
