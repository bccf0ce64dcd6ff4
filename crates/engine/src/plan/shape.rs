//! The shape of a graph: its size, on which a plan depends.

use welter_model::edges::{EdgeStream, Reading};

/// The size of a graph, as it is known before the graph is read.
///
/// A billion edges do not fit in 64 MiB, and the refusal says what would do:
///
/// ```
/// use welter_engine::plan::{Layout, Plan, Settings, Shape};
/// use welter_engine::{EngineError, Machine};
///
/// let shape = Shape {
///     slots: 1 << 26,
///     edges: 1 << 30,
///     weighted: false,
///     estimated: false,
///     input_bytes: 0,
/// };
/// let settings = Settings { memory_bytes: Some(64 << 20), ..Settings::default() };
/// let machine = Machine::detect();
/// let refused = Plan::new(shape, Layout::kept(), &settings, &machine);
/// let Err(EngineError::Budget { need, budget, .. }) = refused else { panic!("{refused:?}") };
/// assert_eq!(budget, 64 << 20);
///
/// let settings = Settings { memory_bytes: Some(need), ..settings };
/// assert!(Plan::new(shape, Layout::kept(), &settings, &machine)?.memory.peak() <= need);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Slots: an upper bound on the number of vertices.
    pub slots: u64,
    /// Edges as they will be stored: both arcs of an undirected one.
    pub edges: u64,
    /// True where weights are stored.
    pub weighted: bool,
    /// Whether `edges` or `slots` are estimates.
    pub estimated: bool,
    /// Bytes that the input itself holds in memory while it is ingested.
    pub input_bytes: u64,
}

impl Shape {
    /// The shape of edges that are ready to be read, all of whose weights are stored. Where their
    /// slots are not known, each edge may bring two.
    ///
    /// ```
    /// use welter_engine::plan::Shape;
    /// use welter_model::edges::{EdgeList, Reading};
    ///
    /// let undirected = Reading { undirected: true, ..Reading::default() };
    /// let mut edges = EdgeList::from_pairs(vec![[0, 1], [1, 2]]);
    /// let shape = Shape::of(&edges, undirected);
    /// assert_eq!((shape.slots, shape.edges, shape.weighted), (4, 4, false));
    /// assert_eq!(shape.input_bytes, 16);
    ///
    /// edges.set_slots(3);
    /// assert_eq!(Shape::of(&edges, undirected).slots, 3);
    /// ```
    pub fn of(edges: &dyn EdgeStream, reading: Reading) -> Self {
        let count = edges.edges();
        Self {
            slots: edges.slots().unwrap_or(count.saturating_mul(2)),
            edges: reading.arcs(count),
            weighted: edges.weighted() || reading.makes_weights(),
            estimated: false,
            input_bytes: edges.resident_bytes(),
        }
    }
}
