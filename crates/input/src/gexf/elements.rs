//! Elements of GEXF, each by the one that it stands in.

use crate::documents::xml::{self, Element, WeightText};
use crate::documents::{Described, Document, WeightKey};
use crate::error::InputError;
use crate::words::show;

/// An element that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenElement {
    /// `gexf`.
    Document,
    /// `graph`.
    Graph,
    /// `attributes` of edges.
    Attributes,
    /// `attribute` of edges that is the weight.
    Attribute,
    /// `default` of the attribute that is the weight.
    Default,
    /// `nodes`.
    Nodes,
    /// `node`.
    Node,
    /// `edges`.
    Edges,
    /// `edge`.
    Edge,
    /// `attvalues` of an edge.
    Values,
    /// Anything that says nothing about the shape of the graph.
    Passed,
}

/// Kind of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Directed,
    Undirected,
    Mutual,
}

/// The elements that are open, and the graph that they describe.
pub(super) struct Elements<'a, 'o> {
    small: &'a mut Document<'o>,
    open: Vec<OpenElement>,
    keys: Vec<WeightKey>,
    /// Kind of the edges that do not say it themselves, once the graph has begun.
    default: Option<Kind>,
    edge: Described,
    /// Kind of the edge that is open.
    kind: Kind,
    weight_text: WeightText,
}

impl<'a, 'o> Elements<'a, 'o> {
    pub(super) fn new(small: &'a mut Document<'o>) -> Self {
        Self {
            small,
            open: Vec::new(),
            keys: Vec::new(),
            default: None,
            edge: Described::default(),
            kind: Kind::Undirected,
            weight_text: WeightText::default(),
        }
    }

    fn graph(&mut self, element: &Element<'_>) -> Result<OpenElement, InputError> {
        if self.default.is_some() {
            return Err(self.small.wrong(element.line, "expected one graph, found a second one"));
        }
        let default = self.kind_of(element, "defaultedgetype")?.unwrap_or(Kind::Undirected);
        self.default = Some(default);
        self.small.state_directed(default != Kind::Undirected);
        if element.attribute("mode", self.small)?.as_deref() == Some("dynamic") {
            let what = "changes in time, and the edges of all times are read alike";
            self.small.note(what.to_owned());
        }
        Ok(OpenElement::Graph)
    }

    fn kind_of(&self, element: &Element<'_>, name: &str) -> Result<Option<Kind>, InputError> {
        let Some(value) = element.attribute(name, self.small)? else { return Ok(None) };
        match value.to_ascii_lowercase().as_str() {
            "directed" => Ok(Some(Kind::Directed)),
            "undirected" => Ok(Some(Kind::Undirected)),
            "mutual" => Ok(Some(Kind::Mutual)),
            _ => {
                let found = show(value.as_bytes());
                let what = format!("expected {name} directed, undirected or mutual, found {found}");
                Err(self.small.wrong(element.line, what))
            }
        }
    }

    fn attributes(&self, element: &Element<'_>) -> Result<OpenElement, InputError> {
        let class = element.attribute("class", self.small)?;
        Ok(if class.as_deref() == Some("edge") {
            OpenElement::Attributes
        } else {
            OpenElement::Passed
        })
    }

    fn attribute(&mut self, element: &Element<'_>) -> Result<OpenElement, InputError> {
        let title = element.attribute("title", self.small)?.unwrap_or_default();
        let rank = self.small.weight_rank(title.as_bytes());
        let known = |rank: usize| self.keys.iter().any(|key| key.rank == rank);
        let Some(rank) = rank.filter(|rank| !known(*rank)) else { return Ok(OpenElement::Passed) };
        let id = element.required("id", self.small)?;
        self.keys.push(WeightKey { id, rank, default: None });
        Ok(OpenElement::Attribute)
    }

    fn node(&mut self, element: &Element<'_>) -> Result<OpenElement, InputError> {
        let id = element.required("id", self.small)?;
        let label = element.attribute("label", self.small)?;
        self.small.node(id.as_bytes(), label.as_deref().map(str::as_bytes), element.line)?;
        Ok(OpenElement::Node)
    }

    fn edge(&mut self, element: &Element<'_>) -> Result<OpenElement, InputError> {
        let source = element.required("source", self.small)?.into_bytes();
        let target = element.required("target", self.small)?.into_bytes();
        let default = self.default.unwrap_or(Kind::Undirected);
        self.kind = self.kind_of(element, "type")?.unwrap_or(default);
        self.edge = Described {
            source: Some(source),
            target: Some(target),
            directed: Some(self.kind != Kind::Undirected),
            line: element.line,
            ..Described::default()
        };
        if let Some(rank) = self.small.weight_rank(b"weight") {
            let weight = element.attribute("weight", self.small)?;
            *self.edge.weights.at(rank) = weight.map(String::into_bytes);
        }
        Ok(OpenElement::Edge)
    }

    /// The value of an attribute of an edge. The first one counts, and what the edge itself says.
    fn value(&mut self, element: &Element<'_>) -> Result<OpenElement, InputError> {
        let id = match element.attribute("for", self.small)? {
            None => element.attribute("id", self.small)?,
            id => id,
        };
        let key = self.keys.iter().find(|key| Some(&key.id) == id.as_ref());
        if let Some(WeightKey { rank, .. }) = key
            && let known @ None = self.edge.weights.at(*rank)
        {
            let value = element.attribute("value", self.small)?;
            *known = value.map(String::into_bytes);
        }
        Ok(OpenElement::Passed)
    }

    fn end_edge(&mut self) -> Result<(), InputError> {
        let mut edge = std::mem::take(&mut self.edge);
        edge.take_defaults(&self.keys);
        self.small.edge(&edge)?;
        if self.kind == Kind::Mutual {
            std::mem::swap(&mut edge.source, &mut edge.target);
            self.small.edge(&edge)?;
        }
        Ok(())
    }
}

impl xml::Elements for Elements<'_, '_> {
    fn open(&mut self, element: &Element<'_>) -> Result<(), InputError> {
        let name = element.name();
        let place = match (self.open.last(), name.as_str()) {
            (None, "gexf") => OpenElement::Document,
            (None, _) => return Err(element.stranger("gexf", self.small)),
            (Some(OpenElement::Document), "graph") => self.graph(element)?,
            (Some(OpenElement::Graph), "attributes") => self.attributes(element)?,
            (Some(OpenElement::Attributes), "attribute") => self.attribute(element)?,
            (Some(OpenElement::Attribute), "default") => {
                self.weight_text.clear();
                OpenElement::Default
            }
            (Some(OpenElement::Graph | OpenElement::Node), "nodes") => OpenElement::Nodes,
            (Some(OpenElement::Graph | OpenElement::Node), "edges") => OpenElement::Edges,
            (Some(OpenElement::Nodes), "node") => self.node(element)?,
            (Some(OpenElement::Edges), "edge") => self.edge(element)?,
            (Some(OpenElement::Edge), "attvalues") => OpenElement::Values,
            (Some(OpenElement::Values), "attvalue") => self.value(element)?,
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
                Ok(())
            }
            Some(OpenElement::Edge) => self.end_edge(),
            _ => Ok(()),
        }
    }

    fn text(&mut self, text: &str) {
        if self.open.last() == Some(&OpenElement::Default) {
            self.weight_text.add(text);
        }
    }

    fn end(&self, line: u64) -> Result<(), InputError> {
        if self.default.is_some() {
            return Ok(());
        }
        Err(self.small.wrong(line, "expected a graph, found the end of the file"))
    }

    fn wrong(&self, line: u64, what: String) -> InputError {
        self.small.wrong(line, what)
    }
}
