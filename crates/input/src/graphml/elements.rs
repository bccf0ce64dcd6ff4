//! Elements of GraphML, each by the one that it stands in.

use crate::documents::xml::{self, Element, WeightText};
use crate::documents::{Described, Document, WeightKey};
use crate::error::InputError;
use crate::words::show;

/// An element that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenElement {
    /// `graphml`.
    Document,
    /// `key`; of a weight or not.
    Key { weight: bool },
    /// `default` of the key of a weight.
    Default,
    /// `graph`, and whether its edges are directed that do not say it themselves.
    Graph { directed: bool },
    /// `node`, and whether edges are directed in the graph that it stands in.
    Node { directed: bool },
    /// `edge`.
    Edge,
    /// `data` of an edge that is its weight: the number of its key.
    Weight(usize),
    /// Anything that says nothing about the shape of the graph.
    Passed,
}

/// The elements that are open, and the graph that they describe.
pub(super) struct Elements<'a, 'o> {
    small: &'a mut Document<'o>,
    open: Vec<OpenElement>,
    keys: Vec<WeightKey>,
    /// Whether the one graph has begun.
    begun: bool,
    /// The edge that is open.
    edge: Described,
    /// Text of a weight or a default so far.
    weight_text: WeightText,
    /// Graphs inside nodes.
    nested: u64,
    /// Ports that were passed over.
    ports: u64,
}

impl<'a, 'o> Elements<'a, 'o> {
    pub(super) fn new(small: &'a mut Document<'o>) -> Self {
        Self {
            small,
            open: Vec::new(),
            keys: Vec::new(),
            begun: false,
            edge: Described::default(),
            weight_text: WeightText::default(),
            nested: 0,
            ports: 0,
        }
    }

    /// Notes what a person should know of what was read.
    pub(super) fn note(&mut self) {
        if self.nested > 0 {
            self.small.note(format!(
                "graphs inside nodes: {}, which are read as parts of the one graph; each node \
                 that holds one is a vertex too",
                self.nested
            ));
        }
        if self.ports > 0 {
            self.small.note(format!("ports of nodes were passed over: {}", self.ports));
        }
    }

    fn key(&mut self, element: &Element<'_>) -> Result<OpenElement, InputError> {
        let is_for = element.attribute("for", self.small)?;
        let name = element.attribute("attr.name", self.small)?.unwrap_or_default();
        let of_edges = is_for.is_none_or(|kind| kind == "edge" || kind == "all");
        let rank = self.small.weight_rank(name.as_bytes()).filter(|_| of_edges);
        let known = |rank: usize| self.keys.iter().any(|key| key.rank == rank);
        let Some(rank) = rank.filter(|rank| !known(*rank)) else {
            return Ok(OpenElement::Key { weight: false });
        };
        let id = element.required("id", self.small)?;
        self.keys.push(WeightKey { id, rank, default: None });
        Ok(OpenElement::Key { weight: true })
    }

    /// A graph; `outer`: whether edges are directed in the one around it, if there is one.
    fn graph(
        &mut self,
        element: &Element<'_>,
        outer: Option<bool>,
    ) -> Result<OpenElement, InputError> {
        if self.begun && outer.is_none() {
            return Err(self.small.wrong(element.line, "expected one graph, found a second one"));
        }
        self.begun = true;
        let value = element.attribute("edgedefault", self.small)?;
        let directed = match (value.as_deref(), outer) {
            (Some("directed"), _) => true,
            (Some("undirected"), _) => false,
            (Some(other), _) => {
                let found = show(other.as_bytes());
                let what = format!("expected edgedefault directed or undirected, found {found}");
                return Err(self.small.wrong(element.line, what));
            }
            (None, Some(outer)) => outer,
            (None, None) => {
                element.required("edgedefault", self.small)?;
                false
            }
        };
        if outer.is_none() {
            self.small.state_directed(directed);
        } else {
            self.nested += 1;
        }
        Ok(OpenElement::Graph { directed })
    }

    fn node(&mut self, element: &Element<'_>, directed: bool) -> Result<OpenElement, InputError> {
        let id = element.required("id", self.small)?;
        self.small.node(id.as_bytes(), None, element.line)?;
        Ok(OpenElement::Node { directed })
    }

    fn edge(&mut self, element: &Element<'_>, default: bool) -> Result<OpenElement, InputError> {
        let source = element.required("source", self.small)?.into_bytes();
        let target = element.required("target", self.small)?.into_bytes();
        let directed = match element.attribute("directed", self.small)?.as_deref() {
            None => default,
            Some("true" | "1") => true,
            Some("false" | "0") => false,
            Some(other) => {
                let found = show(other.as_bytes());
                let what = format!("expected directed to be true or false, found {found}");
                return Err(self.small.wrong(element.line, what));
            }
        };
        self.edge = Described {
            source: Some(source),
            target: Some(target),
            directed: Some(directed),
            line: element.line,
            ..Described::default()
        };
        Ok(OpenElement::Edge)
    }

    fn data(&mut self, element: &Element<'_>) -> Result<OpenElement, InputError> {
        let id = element.required("key", self.small)?;
        self.weight_text.clear();
        let key = self.keys.iter().position(|key| key.id == id);
        Ok(key.map_or(OpenElement::Passed, OpenElement::Weight))
    }

    /// Refuses an element that is no part of a graph of vertices and edges.
    fn refuse(&self, element: &Element<'_>) -> Result<OpenElement, InputError> {
        let name = element.name();
        if let "graph" | "hyperedge" | "locator" = name.as_str() {
            let what =
                format!("expected nodes and edges, found the element {name}, which is not read");
            return Err(self.small.wrong(element.line, what));
        }
        Ok(OpenElement::Passed)
    }
}

impl xml::Elements for Elements<'_, '_> {
    fn open(&mut self, element: &Element<'_>) -> Result<(), InputError> {
        let name = element.name();
        let place = match (self.open.last(), name.as_str()) {
            (None, "graphml") => OpenElement::Document,
            (None, _) => return Err(element.stranger("graphml", self.small)),
            (Some(OpenElement::Document), "key") => self.key(element)?,
            (Some(OpenElement::Key { weight: true }), "default") => {
                self.weight_text.clear();
                OpenElement::Default
            }
            (Some(OpenElement::Document), "graph") => self.graph(element, None)?,
            (Some(&OpenElement::Node { directed }), "graph") => {
                self.graph(element, Some(directed))?
            }
            (Some(&OpenElement::Graph { directed }), "node") => self.node(element, directed)?,
            (Some(&OpenElement::Graph { directed }), "edge") => self.edge(element, directed)?,
            (Some(OpenElement::Edge), "data") => self.data(element)?,
            (Some(OpenElement::Node { .. }), "port") => {
                self.ports += 1;
                OpenElement::Passed
            }
            (Some(OpenElement::Graph { .. } | OpenElement::Node { .. } | OpenElement::Edge), _) => {
                self.refuse(element)?
            }
            _ => OpenElement::Passed,
        };
        self.open.push(place);
        Ok(())
    }

    fn close(&mut self) -> Result<(), InputError> {
        match self.open.pop() {
            Some(OpenElement::Default) => {
                if let Some(key) = self.keys.last_mut() {
                    key.default = Some(self.weight_text.take());
                }
            }
            Some(OpenElement::Weight(key)) => {
                *self.edge.weights.at(self.keys[key].rank) = Some(self.weight_text.take());
            }
            Some(OpenElement::Edge) => {
                let mut edge = std::mem::take(&mut self.edge);
                edge.take_defaults(&self.keys);
                self.small.edge(&edge)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let Some(OpenElement::Default | OpenElement::Weight(_)) = self.open.last() {
            self.weight_text.add(text);
        }
    }

    fn end(&self, line: u64) -> Result<(), InputError> {
        if self.begun {
            return Ok(());
        }
        Err(self.small.wrong(line, "expected a graph, found the end of the file"))
    }

    fn wrong(&self, line: u64, what: String) -> InputError {
        self.small.wrong(line, what)
    }
}
