//! The graph of a document while it is read: its nodes in their order, and its edges until it is
//! known whether their ends are ids or places.
//!
//! Invariant: the ends of all edges are read the same way. They are ids if all of them are ids of
//! nodes, else places in the list of nodes if all of them are that, else an error. Checked in
//! `node_of_ends`. Tested by `ends_are_ids_or_places`.

use super::feed::Feed;
use super::nesting::Nesting;
use super::record::{Record, Scalar, end_of};
use super::square::Square;
use crate::documents::{Described, Document};
use crate::error::InputError;
use crate::text::Dictionary;
use crate::text::fields::Spelling;
use crate::words::show;

/// Bytes that an end of an edge takes beside its name, about.
const END_BYTES: u64 = 64;

/// Keys of a document that are shown where no shape fits.
const SHOWN_MAX: usize = 12;

/// Graph that a document holds.
pub(super) struct Graph<'a, 's, 'o> {
    small: &'s mut Document<'o>,
    feed: Feed<'a>,
    /// Values seen so far.
    values: u64,
    failure: Option<InputError>,
    /// Keys of the ends of edges, as they are written: their places here are the ends until all is
    /// read.
    ends: Dictionary,
    /// Places of nodes, in the order in which they are listed.
    nodes: Vec<u32>,
    /// Record that is open: the document itself, or an item of a list.
    top: Record,
    record: Record,
    /// The id of the node that comes, where nodes are values of their ids.
    node_key: Option<Vec<u8>>,
    /// The list of neighbours that is open.
    neighbours_of: u32,
    shown: Vec<String>,
    /// Direction that was found.
    directed: Option<bool>,
    has_nodes: bool,
    has_edges: bool,
    has_adjacency: bool,
    /// Edges that bring their nodes with them.
    rows: u64,
    square: Square,
    documents: u64,
}

impl<'a, 's, 'o> Graph<'a, 's, 'o> {
    pub(super) fn new(small: &'s mut Document<'o>, feed: Feed<'a>) -> Self {
        Self {
            small,
            feed,
            values: 0,
            failure: None,
            ends: Dictionary::default(),
            nodes: Vec::new(),
            top: Record::default(),
            record: Record::default(),
            node_key: None,
            neighbours_of: 0,
            shown: Vec::new(),
            directed: None,
            has_nodes: false,
            has_edges: false,
            has_adjacency: false,
            rows: 0,
            square: Square::default(),
            documents: 0,
        }
    }

    /// Bytes that the decoder may gather at once.
    pub(super) fn bytes_max(&self) -> usize {
        self.small.options().limits.line_bytes_max
    }

    /// Number of values that were seen.
    pub(super) fn values(&self) -> u64 {
        self.values
    }

    /// Reason why the decoder was stopped.
    pub(super) fn take_failure(&mut self) -> Option<InputError> {
        self.failure.take()
    }

    /// A value was seen, so that the decoder begins to gather another.
    pub(super) fn count(&mut self) {
        self.values += 1;
        self.feed.allow(self.bytes_max());
    }

    /// A list begins.
    pub(super) fn open_list(&mut self, place: Nesting) -> Result<(), ()> {
        self.count();
        match place {
            Nesting::Nodes => self.has_nodes = true,
            Nesting::Edges | Nesting::Elements => self.has_edges = true,
            Nesting::Adjacency => {
                self.has_adjacency = true;
                self.neighbours_of = 0;
            }
            Nesting::Edge | Nesting::TopItem => self.record = Record::at(self.feed.line()),
            Nesting::Graphs => return self.stop("expected one graph, found a list of graphs"),
            Nesting::Node | Nesting::Neighbour | Nesting::Element => {
                return self.stop("expected an object, found a list");
            }
            _ => {}
        }
        Ok(())
    }

    /// A list ends.
    pub(super) fn close_list(&mut self, place: Nesting) -> Result<(), ()> {
        match place {
            Nesting::Neighbours => self.neighbours_of += 1,
            Nesting::Edge => return self.end_edge(),
            Nesting::TopItem => return self.end_row(),
            _ => {}
        }
        Ok(())
    }

    /// An item of a list was read.
    pub(super) fn item(
        &mut self,
        list: Nesting,
        item: Nesting,
        value: Option<Scalar>,
    ) -> Result<(), ()> {
        let Some(value) = value else { return Ok(()) };
        if item == Nesting::Item && self.record.items < 2 {
            self.check_id(&value)?;
        }
        match (list, item) {
            (_, Nesting::Item) => {
                self.square.item(self.record.items, &value);
                let rank = self.small.weight_rank(b"weight");
                self.record.keep_item(rank, value);
            }
            // A node may be nothing but its id.
            (Nesting::Nodes, Nesting::Node) if matches!(value, Scalar::Text(_)) => {
                self.record = Record::at(self.feed.line());
                self.record.keep("id", None, value);
                return self.end_node();
            }
            _ if item.is_record() => {
                return self.stop("expected an object, found a number, a text or null");
            }
            _ => {}
        }
        Ok(())
    }

    /// An object begins.
    pub(super) fn open_object(&mut self, place: Nesting) {
        self.count();
        match place {
            Nesting::Top => self.top = Record::at(self.feed.line()),
            Nesting::Nodes => self.has_nodes = true,
            Nesting::Data => self.record.has_data = true,
            _ if place.is_record() => self.record = Record::at(self.feed.line()),
            _ => {}
        }
    }

    /// A key of an object comes.
    pub(super) fn key(&mut self, place: Nesting, key: &str) {
        self.count();
        if place == Nesting::Top && self.shown.len() < SHOWN_MAX && self.documents == 0 {
            self.shown.push(show(key.as_bytes()));
        }
        if place == Nesting::Nodes {
            // The object of the node begins after its key.
            self.node_key = Some(key.as_bytes().to_vec());
        }
    }

    /// The value of a key was read.
    pub(super) fn value(
        &mut self,
        place: Nesting,
        key: &str,
        inner: Nesting,
        value: Option<Scalar>,
    ) -> Result<(), ()> {
        let Some(value) = value else { return Ok(()) };
        let rank = self.small.weight_rank(key.as_bytes());
        if matches!(key, "id" | "key") || end_of(key).is_some() {
            self.check_id(&value)?;
        }
        match (place, inner, value) {
            (_, Nesting::Directed, Scalar::Truth(directed)) => self.directed = Some(directed),
            (_, Nesting::OptionType, Scalar::Text(kind)) => {
                self.directed = match kind.as_slice() {
                    b"directed" | b"mixed" => Some(true),
                    b"undirected" => Some(false),
                    _ => None,
                };
            }
            (Nesting::Top, _, value) => self.top.keep(key, rank, value),
            (Nesting::End(end), Nesting::End(_), value) => self.record.keep_end(end, value),
            // A node of JGF may be null where it has no attributes.
            (Nesting::Nodes, ..) => {
                self.record = Record::at(self.feed.line());
                return self.end_node();
            }
            (Nesting::Data, _, value) => self.record.keep(key, rank, value),
            (place, _, value) if place.is_record() => self.record.keep(key, rank, value),
            _ => {}
        }
        Ok(())
    }

    /// Refuses a number as id whose digits are lost.
    fn check_id(&mut self, value: &Scalar) -> Result<(), ()> {
        match value {
            Scalar::Rounded(text) => {
                let found = show(text);
                self.stop(format!(
                    "expected an integer below 2^64 or a text as id, found a number that is \
                     rounded to {found} (write ids of more digits as texts)"
                ))
            }
            _ => Ok(()),
        }
    }

    /// An object ends.
    pub(super) fn close_object(&mut self, place: Nesting) -> Result<(), ()> {
        match place {
            Nesting::Node => self.end_node(),
            Nesting::Edge => self.end_edge(),
            Nesting::Element if self.record.is_edge() => self.end_edge(),
            Nesting::Element | Nesting::TopItem
                if self.record.has_data && !self.record.is_edge() =>
            {
                self.has_nodes = true;
                self.end_node()
            }
            Nesting::TopItem if self.record.has_data => self.end_edge(),
            Nesting::TopItem => self.end_row(),
            Nesting::Element => self.stop("expected an element with data"),
            Nesting::Top if self.rows > 0 || (self.top.is_edge() && !self.has_nodes) => {
                self.record = std::mem::take(&mut self.top);
                self.end_row()
            }
            Nesting::Neighbour => self.end_neighbour(),
            _ => Ok(()),
        }
    }

    fn end_node(&mut self) -> Result<(), ()> {
        let record = std::mem::take(&mut self.record);
        // Of an object of nodes the key is the id.
        let id = self.node_key.take().or(record.id).or(record.key);
        let place = self.nodes.len().to_string().into_bytes();
        let key = id.unwrap_or(place);
        let label = record.label.or(record.name);
        let added = self.small.node(&key, label.as_deref(), record.line);
        let added = added.and_then(|node| {
            self.nodes.push(node);
            self.small.hold(size_of::<u32>() as u64)
        });
        added.map_err(|failure| self.fail(failure))
    }

    fn end_row(&mut self) -> Result<(), ()> {
        if !self.record.is_edge() {
            return self.stop(
                "expected an object or a list with a source and a target (source and target, from \
                 and to, or src and dst)",
            );
        }
        self.rows += 1;
        self.square.end_row(self.record.items);
        self.end_edge()
    }

    fn end_edge(&mut self) -> Result<(), ()> {
        let record = std::mem::take(&mut self.record);
        self.has_edges = true;
        let Record { source: Some(source), target: Some(target), directed, weights, line, .. } =
            record
        else {
            return self.stop("expected an edge with a source and a target");
        };
        let edge = Described { directed, weights, line, ..Described::default() };
        self.add([&source, &target], &edge).map_err(|failure| self.fail(failure))
    }

    fn end_neighbour(&mut self) -> Result<(), ()> {
        let record = std::mem::take(&mut self.record);
        let Some(target) = record.id else {
            return self.stop("expected a neighbour with an id");
        };
        // The source is known by its place alone; a key that no id has keeps it apart.
        let source = [b"\0", self.neighbours_of.to_string().as_bytes()].concat();
        let edge = Described { weights: record.weights, line: record.line, ..Described::default() };
        self.add([&source, &target], &edge).map_err(|failure| self.fail(failure))
    }

    fn add(&mut self, ends: [&[u8]; 2], edge: &Described) -> Result<(), InputError> {
        let known = self.ends.names().len();
        let wrong = |what| self.small.wrong(edge.line, what);
        let [source, target] = ends;
        let ends =
            [self.ends.place(source).map_err(wrong)?, self.ends.place(target).map_err(wrong)?];
        if self.ends.names().len() > known {
            self.small.hold(END_BYTES + (source.len() + target.len()) as u64)?;
        }
        self.small.edge_between(ends, edge)
    }

    /// A document ends, and another may follow where documents are edges.
    pub(super) fn end_document(&mut self) -> Result<(), InputError> {
        self.documents += 1;
        if self.documents > 1 && (self.has_nodes || self.has_adjacency) {
            let what = "expected one graph, found a second document";
            return Err(self.small.wrong(self.feed.line(), what));
        }
        Ok(())
    }

    fn fail(&mut self, failure: InputError) {
        self.failure.get_or_insert(failure);
    }

    fn stop(&mut self, what: impl Into<String>) -> Result<(), ()> {
        let failure = self.small.wrong(self.feed.line(), what);
        self.fail(failure);
        Err(())
    }

    /// The file ends: hands over the edges.
    pub(super) fn finish(mut self) -> Result<(), InputError> {
        let rows = (self.rows > 0 || self.has_edges) && !self.has_nodes;
        let graph = self.has_nodes && (self.has_edges || self.has_adjacency);
        let elements = self.has_nodes && self.shown.is_empty();
        if !rows && !graph && !elements {
            let found = if self.shown.is_empty() { "none of them" } else { "the keys " };
            let what = format!(
                "expected nodes with links, edges or adjacency, elements, or objects with a source \
                 and a target, found {found}{} (write it as node-link data, or its edges as CSV)",
                self.shown.join(", ")
            );
            return Err(self.small.wrong(1, what));
        }
        if rows && self.square.is_matrix() {
            let what = "expected edges, found a matrix of as many rows as columns (write its edges \
                        as lists of source, target and weight, or as Matrix Market)";
            return Err(self.small.wrong(1, what));
        }
        match self.directed {
            Some(directed) => self.small.state_directed(directed),
            None => self.small.leave_direction(),
        }
        if rows {
            self.small.imply_nodes();
        }
        let nodes = self.node_of_ends(rows)?;
        self.small.replace_ends(&nodes);
        if self.has_adjacency && self.directed != Some(true) {
            self.drop_mirrors()?;
        }
        Ok(())
    }

    /// The node of each end.
    fn node_of_ends(&mut self, rows: bool) -> Result<Vec<u32>, InputError> {
        let ends = std::mem::take(&mut self.ends).into_names();
        let by_place = |key: &str| {
            let place = Spelling::Printed.parse(key.as_bytes()).ok()?;
            self.nodes.get(usize::try_from(place).ok()?).copied()
        };
        let hidden = |key: &str| key.strip_prefix('\0').and_then(by_place);
        let known = |key: &str| hidden(key).or_else(|| self.small.known(key.as_bytes()));
        let mut ids: Vec<Option<u32>> = ends.iter().map(known).collect();
        if !rows && ids.contains(&None) {
            let places: Option<Vec<u32>> = ends.iter().map(by_place).collect();
            if let Some(places) = places.filter(|_| !self.has_adjacency) {
                let what = "names the ends of edges by their places in the list of nodes";
                self.small.note(what.to_owned());
                return Ok(places);
            }
        }
        self.small.hold(ids.len() as u64 * size_of::<u64>() as u64)?;
        // An end that is no node is found when the edge is added, with its line.
        let mut lines = vec![0; ids.len()];
        for (ends, line) in self.small.edges() {
            for end in ends {
                lines[end as usize] = line;
            }
        }
        for ((id, key), line) in ids.iter_mut().zip(ends.iter()).zip(lines) {
            if id.is_none() {
                *id = Some(self.small.place(key.as_bytes(), line)?);
            }
        }
        Ok(ids.into_iter().flatten().collect())
    }

    /// Of an undirected graph each list has its side of an edge: keeps one of them.
    fn drop_mirrors(&mut self) -> Result<(), InputError> {
        let all = self.small.edge_count();
        let loops = self.small.edges().filter(|([source, target], _)| source == target).count();
        self.small.keep_edges(|[source, target]| source <= target);
        if 2 * (self.small.edge_count() - loops) != all - loops {
            let what = "expected each edge of an undirected graph in the lists of both of its ends";
            return Err(self.small.wrong(1, what));
        }
        Ok(())
    }
}
