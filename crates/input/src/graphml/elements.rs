//! What the elements of GraphML mean, each by the one that it stands in.

use super::{DEPTH_MAX, Element};
use crate::error::InputError;
use crate::small::{Described, Small};
use crate::text::fields::show;

/// An element that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// `graphml`.
    Document,
    /// `key`; of a weight or not.
    Key { weight: bool },
    /// `default` of the key of a weight.
    Default,
    /// `graph`.
    Graph,
    /// `node`.
    Node,
    /// `edge`.
    Edge,
    /// `data` of an edge that is its weight: the number of its key.
    Weight(usize),
    /// Anything that says nothing about the shape of the graph.
    Passed,
}

/// The key of an attribute that may be the weight.
struct WeightKey {
    id: String,
    /// Which of the possible weights.
    rank: usize,
    default: Option<Vec<u8>>,
}

/// The elements that are open, and the graph that they describe.
pub(super) struct Elements<'a, 'o> {
    small: &'a mut Small<'o>,
    open: Vec<Place>,
    keys: Vec<WeightKey>,
    /// Whether the one graph has begun.
    begun: bool,
    /// The edge that is open.
    edge: Described,
    /// What a weight or a default says so far.
    said: Vec<u8>,
}

impl<'a, 'o> Elements<'a, 'o> {
    pub(super) fn new(small: &'a mut Small<'o>) -> Self {
        Self {
            small,
            open: Vec::new(),
            keys: Vec::new(),
            begun: false,
            edge: Described::default(),
            said: Vec::new(),
        }
    }

    /// The error for a line.
    pub(super) fn wrong(&self, line: u64, what: impl Into<String>) -> InputError {
        self.small.wrong(line, what)
    }

    /// An element begins.
    pub(super) fn open(&mut self, element: &Element<'_>) -> Result<(), InputError> {
        if self.open.len() >= DEPTH_MAX {
            let what = format!("expected at most {DEPTH_MAX} elements inside each other");
            return Err(self.wrong(element.line, what));
        }
        let name = element.name();
        let place = match (self.open.last(), name.as_str()) {
            (None, "graphml") => Place::Document,
            (None, other) => {
                let what =
                    format!("expected the element graphml, found {}", show(other.as_bytes()));
                return Err(self.wrong(element.line, what));
            }
            (Some(Place::Document), "key") => self.key(element)?,
            (Some(Place::Key { weight: true }), "default") => {
                self.said.clear();
                Place::Default
            }
            (Some(Place::Document), "graph") => self.graph(element)?,
            (Some(Place::Graph), "node") => {
                let id = self.required(element, "id")?;
                self.small.node(id.as_bytes(), None, element.line)?;
                Place::Node
            }
            (Some(Place::Graph), "edge") => self.edge(element)?,
            (Some(Place::Edge), "data") => self.data(element)?,
            (Some(Place::Graph | Place::Node | Place::Edge), refused) => {
                if let "graph" | "hyperedge" | "port" | "locator" = refused {
                    let what = format!(
                        "expected nodes and edges, found the element {refused}, which is not read"
                    );
                    return Err(self.wrong(element.line, what));
                }
                Place::Passed
            }
            _ => Place::Passed,
        };
        self.open.push(place);
        Ok(())
    }

    /// The innermost element ends.
    pub(super) fn close(&mut self) -> Result<(), InputError> {
        match self.open.pop() {
            Some(Place::Default) => {
                if let Some(key) = self.keys.last_mut() {
                    key.default = Some(std::mem::take(&mut self.said));
                }
            }
            Some(Place::Weight(key)) => {
                self.edge.weights[self.keys[key].rank] = Some(std::mem::take(&mut self.said));
            }
            Some(Place::Edge) => {
                let mut edge = std::mem::take(&mut self.edge);
                for WeightKey { rank, default, .. } in &self.keys {
                    if edge.weights[*rank].is_none() {
                        edge.weights[*rank].clone_from(default);
                    }
                }
                self.small.edge(&edge)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Text inside the innermost element.
    pub(super) fn text(&mut self, text: &str) {
        // No number is longer; what is, is no number either way.
        const SAID_MAX: usize = 1000;
        if let Some(Place::Default | Place::Weight(_)) = self.open.last()
            && self.said.len() < SAID_MAX
        {
            self.said.extend_from_slice(text.as_bytes());
        }
    }

    /// The file ends.
    pub(super) fn end(&self, line: u64) -> Result<(), InputError> {
        if !self.open.is_empty() {
            let what = "expected the end of an element, found the end of the file, \
                        which may be cut off";
            return Err(self.wrong(line, what));
        }
        if !self.begun {
            return Err(self.wrong(line, "expected a graph, found the end of the file"));
        }
        Ok(())
    }

    fn attribute(&self, element: &Element<'_>, name: &str) -> Result<Option<String>, InputError> {
        element.attribute(name).map_err(|what| self.wrong(element.line, what))
    }

    fn required(&self, element: &Element<'_>, name: &str) -> Result<String, InputError> {
        self.attribute(element, name)?.ok_or_else(|| {
            let what = format!("expected the attribute {name} of {}", element.name());
            self.wrong(element.line, what)
        })
    }

    fn key(&mut self, element: &Element<'_>) -> Result<Place, InputError> {
        let is_for = self.attribute(element, "for")?;
        let name = self.attribute(element, "attr.name")?.unwrap_or_default();
        let of_edges = is_for.is_none_or(|kind| kind == "edge" || kind == "all");
        let rank = self.small.weight_rank(name.as_bytes()).filter(|_| of_edges);
        let known = |rank: usize| self.keys.iter().any(|key| key.rank == rank);
        let Some(rank) = rank.filter(|rank| !known(*rank)) else {
            return Ok(Place::Key { weight: false });
        };
        let id = self.required(element, "id")?;
        self.keys.push(WeightKey { id, rank, default: None });
        Ok(Place::Key { weight: true })
    }

    fn graph(&mut self, element: &Element<'_>) -> Result<Place, InputError> {
        if self.begun {
            return Err(self.wrong(element.line, "expected one graph, found a second one"));
        }
        self.begun = true;
        let directed = self.required(element, "edgedefault")?;
        match directed.as_str() {
            "directed" => self.small.state_directed(true),
            "undirected" => self.small.state_directed(false),
            other => {
                let found = show(other.as_bytes());
                let what = format!("expected edgedefault directed or undirected, found {found}");
                return Err(self.wrong(element.line, what));
            }
        }
        Ok(Place::Graph)
    }

    fn edge(&mut self, element: &Element<'_>) -> Result<Place, InputError> {
        let source = self.required(element, "source")?.into_bytes();
        let target = self.required(element, "target")?.into_bytes();
        let directed = match self.attribute(element, "directed")?.as_deref() {
            None => None,
            Some("true" | "1") => Some(true),
            Some("false" | "0") => Some(false),
            Some(other) => {
                let found = show(other.as_bytes());
                let what = format!("expected directed to be true or false, found {found}");
                return Err(self.wrong(element.line, what));
            }
        };
        self.edge = Described {
            source: Some(source),
            target: Some(target),
            directed,
            line: element.line,
            ..Described::default()
        };
        Ok(Place::Edge)
    }

    fn data(&mut self, element: &Element<'_>) -> Result<Place, InputError> {
        let id = self.required(element, "key")?;
        self.said.clear();
        let key = self.keys.iter().position(|key| key.id == id);
        Ok(key.map_or(Place::Passed, Place::Weight))
    }
}
