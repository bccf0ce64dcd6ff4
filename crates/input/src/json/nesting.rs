//! Places of values in a document, by which they have a meaning.

use super::record::end_of;

/// Place of a value in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nesting {
    /// The document, or a line of it.
    Top,
    /// An item of a document that is a list.
    TopItem,
    /// The graph inside the document, or its attributes.
    Inner,
    /// `directed` of the graph.
    Directed,
    /// `options` of the graph, and `type` of them.
    Options,
    OptionType,
    /// Several graphs.
    Graphs,
    /// All nodes, one of them, and its data.
    Nodes,
    Node,
    /// All edges, and one of them.
    Edges,
    Edge,
    /// All lists of neighbours, one of them, and a neighbour.
    Adjacency,
    Neighbours,
    Neighbour,
    /// All elements of Cytoscape, and one of them.
    Elements,
    Element,
    /// Fields that belong to the object around: `data`, `attributes`, `metadata`.
    Data,
    /// An end of an edge that is an object.
    End(usize),
    /// An item of a list that is an edge.
    Item,
    /// A value of an object that may be of use where it is no list and no object.
    Field,
    /// Values that are of no use.
    Passed,
}

impl Nesting {
    /// The place of the value of a key.
    pub(super) fn of_key(self, key: &str) -> Self {
        match (self, key) {
            (Self::Top | Self::Inner | Self::Elements, "nodes" | "vertices") => Self::Nodes,
            (Self::Top | Self::Inner | Self::Elements, "links" | "edges") => Self::Edges,
            (Self::Top | Self::Inner, "adjacency") => Self::Adjacency,
            (Self::Top | Self::Inner, "elements") => Self::Elements,
            (Self::Top | Self::Inner, "directed") => Self::Directed,
            (Self::Top | Self::Inner, "options") => Self::Options,
            (Self::Top, "graph") => Self::Inner,
            (Self::Top, "graphs") => Self::Graphs,
            (Self::Options, "type") => Self::OptionType,
            (
                Self::Node | Self::Edge | Self::Element | Self::TopItem,
                "data" | "attributes" | "metadata",
            ) => Self::Data,
            (Self::Edge | Self::Element | Self::TopItem | Self::Data | Self::Top, key) => {
                end_of(key).map_or(Self::Field, Self::End)
            }
            (Self::Node | Self::Neighbour, _) => Self::Field,
            _ => Self::Passed,
        }
    }

    /// The place of an item.
    pub(super) fn of_item(self) -> Self {
        match self {
            Self::Top => Self::TopItem,
            Self::Nodes => Self::Node,
            Self::Edges => Self::Edge,
            Self::Adjacency => Self::Neighbours,
            Self::Neighbours => Self::Neighbour,
            Self::Elements => Self::Element,
            Self::Edge | Self::TopItem => Self::Item,
            _ => Self::Passed,
        }
    }

    /// Whether the keys of an object are those of a record.
    pub(super) fn is_record(self) -> bool {
        matches!(
            self,
            Self::Top | Self::TopItem | Self::Node | Self::Edge | Self::Neighbour | Self::Element
        )
    }
}
