//! DOT, the language of Graphviz, for small graphs.
//!
//! ```text
//! digraph deps {                    graph: edges are undirected (--); strict: no parallel ones
//!   edge [weight=2]                 of edges that follow in this block
//!   a -> b -> "c d" [weight=3];     a chain
//!   a -> { x y }                    to each of a group
//!   lonely
//! }
//! ```
//!
//! Names of nodes are the ids, as integers where all of them are that. An attribute `weight` is the
//! weight, and 1 where it is not there, as Graphviz has it. `len`, the length that an edge is to be
//! drawn with, is reported and not read, unless the user says that it is the weight. Ports, labels
//! and all that is for drawing are passed over. A second graph is refused, and so is an edge of the
//! other kind than the graph's.
//!
//! Invariant: an edge between groups stands for as many edges as there are pairs; they are counted
//! before they are made, and checked against the size of the file as what a compressed file stands
//! for is. Tested by `little_text_stands_for_few_edges`.

#[cfg(test)]
mod tests;
pub(crate) mod tokens;

use welter_model::edges::Pair;

use crate::documents::bytes::Bytes;
use crate::documents::{Described, Document, DocumentReader, Values};
use crate::error::InputError;
use crate::options::WeightChoice;
use tokens::{Token, Tokens};

/// The reader of DOT.
pub(crate) static DOT: DocumentReader =
    DocumentReader { name: "DOT", labelled: false, attributes: false, parse };

/// Blocks inside each other.
const DEPTH_MAX: usize = 100;

fn parse(bytes: Bytes<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    let mut tokens = Tokens::new(bytes, small.options().limits.line_bytes_max);
    small.imply_nodes();
    small.default_weight(1.0);
    let mut token = tokens.next()?;
    if token == Token::Word && tokens.is("strict") {
        small.state_strict();
        token = tokens.next()?;
    }
    let directed = match token {
        Token::Word if tokens.is("digraph") => true,
        Token::Word if tokens.is("graph") => false,
        other => return Err(tokens.unexpected("graph or digraph", other)),
    };
    small.state_directed(directed);
    token = tokens.next()?;
    if matches!(token, Token::Word | Token::Quoted) {
        token = tokens.next()?;
    }
    if token != Token::Sign(b'{') {
        return Err(tokens.unexpected("{", token));
    }
    let mut graph = Graph { tokens, small, directed, blocks: vec![Block::default()] };
    graph.statements()?;
    match graph.tokens.next()? {
        Token::End => Ok(()),
        Token::Word if ["strict", "graph", "digraph"].iter().any(|word| graph.tokens.is(word)) => {
            Err(graph.tokens.wrong("expected one graph, found a second one"))
        }
        other => Err(graph.tokens.unexpected("the end of the file", other)),
    }
}

/// The ends of a chain of edges: groups of nodes, one behind the other.
#[derive(Default)]
struct Chain {
    nodes: Vec<u32>,
    /// End of each group in `nodes`.
    ends: Vec<u32>,
}

impl Chain {
    /// Bytes that it takes until the attributes of its edges are known.
    fn bytes(&self) -> u64 {
        (size_of_val(&self.nodes[..]) + size_of_val(&self.ends[..])) as u64
    }

    /// The nodes of a group.
    fn group(&self, number: usize) -> &[u32] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.nodes[start..self.ends[number] as usize]
    }
}

/// A block: the graph, or a group of nodes inside it.
#[derive(Clone, Default)]
struct Block {
    /// Weights of edges that do not say them.
    weights: Values,
    /// Nodes that were named in it; of the graph none are kept.
    nodes: Vec<u32>,
}

/// A graph while it is read.
struct Graph<'a, 'b, 'o> {
    tokens: Tokens<'a>,
    small: &'b mut Document<'o>,
    directed: bool,
    /// Blocks that are open, inside each other.
    blocks: Vec<Block>,
}

impl Graph<'_, '_, '_> {
    /// Reads statements up to the end of the block.
    fn statements(&mut self) -> Result<(), InputError> {
        let mut token = self.tokens.next()?;
        loop {
            token = match token {
                Token::Sign(b'}') => return Ok(()),
                Token::Sign(b';' | b',') => self.tokens.next()?,
                other => self.statement(other)?,
            };
        }
    }

    /// Reads a statement and returns the word after it.
    fn statement(&mut self, token: Token) -> Result<Token, InputError> {
        if token == Token::Word {
            let edges = self.tokens.is("edge");
            if edges || self.tokens.is("node") || self.tokens.is("graph") {
                let token = self.tokens.next()?;
                let mut weights = Values::default();
                let after = self.attributes(token, &mut weights)?;
                if let Some(block) = self.blocks.last_mut().filter(|_| edges) {
                    block.weights = weights.or(&block.weights);
                }
                return Ok(after);
            }
        }
        let line = self.tokens.line();
        let (from, mut token) = match token {
            Token::Word | Token::Quoted
                if token == Token::Quoted || !self.tokens.is("subgraph") =>
            {
                let key = self.tokens.text().to_vec();
                let after = self.tokens.next()?;
                if after == Token::Sign(b'=') {
                    self.name()?;
                    return self.tokens.next();
                }
                self.node(&key, line, after)?
            }
            other => self.ends(other)?,
        };
        let mut chain = Chain::default();
        self.step(&mut chain, &from)?;
        while let Token::Edge { directed } = token {
            if directed != self.directed {
                let expected = if self.directed { "-> in a digraph" } else { "-- in a graph" };
                return Err(self.tokens.unexpected(expected, token));
            }
            token = self.tokens.next()?;
            let (to, after) = self.ends(token)?;
            self.step(&mut chain, &to)?;
            token = after;
        }
        let weights = self.blocks.last().map(|block| block.weights.clone());
        let mut weights = weights.unwrap_or_default();
        let after = self.attributes(token, &mut weights)?;
        let edge = Described { weights, line, ..Described::default() };
        let steps = 1..chain.ends.len();
        steps
            .into_iter()
            .try_for_each(|step| self.edges(chain.group(step - 1), chain.group(step), &edge))?;
        self.small.release(chain.bytes());
        Ok(after)
    }

    /// Adds an end to a chain.
    fn step(&mut self, chain: &mut Chain, nodes: &[u32]) -> Result<(), InputError> {
        let before = chain.bytes();
        chain.nodes.extend_from_slice(nodes);
        chain.ends.push(chain.nodes.len() as u32);
        self.small.hold(chain.bytes() - before)
    }

    /// Reads one end of an edge: a node or a group. Returns the nodes and the word after them.
    fn ends(&mut self, token: Token) -> Result<(Vec<u32>, Token), InputError> {
        match token {
            Token::Word if self.tokens.is("subgraph") => {
                let mut token = self.tokens.next()?;
                if matches!(token, Token::Word | Token::Quoted) {
                    token = self.tokens.next()?;
                }
                if token != Token::Sign(b'{') {
                    return Err(self.tokens.unexpected("{", token));
                }
                self.group()
            }
            Token::Sign(b'{') => self.group(),
            Token::Word | Token::Quoted => {
                let (key, line) = (self.tokens.text().to_vec(), self.tokens.line());
                let after = self.tokens.next()?;
                self.node(&key, line, after)
            }
            other => Err(self.tokens.unexpected("a node, a group or }", other)),
        }
    }

    /// Adds a node and passes over its port; `token` follows the name.
    fn node(
        &mut self,
        key: &[u8],
        line: u64,
        mut token: Token,
    ) -> Result<(Vec<u32>, Token), InputError> {
        let place = self.small.place(key, line)?;
        while token == Token::Sign(b':') {
            self.name()?;
            token = self.tokens.next()?;
        }
        if let [_, .., block] = &mut self.blocks[..] {
            block.nodes.push(place);
            self.small.hold(size_of::<u32>() as u64)?;
        }
        Ok((vec![place], token))
    }

    /// Reads a group after its bracket: its nodes, and the word after it.
    fn group(&mut self) -> Result<(Vec<u32>, Token), InputError> {
        if self.blocks.len() > DEPTH_MAX {
            let what = format!("expected at most {DEPTH_MAX} blocks inside each other");
            return Err(self.tokens.wrong(what));
        }
        let weights = self.blocks.last().map(|block| block.weights.clone()).unwrap_or_default();
        self.blocks.push(Block { weights, nodes: Vec::new() });
        self.statements()?;
        let mut nodes = self.blocks.pop().map(|block| block.nodes).unwrap_or_default();
        nodes.sort_unstable();
        nodes.dedup();
        if let [_, .., block] = &mut self.blocks[..] {
            block.nodes.extend_from_slice(&nodes);
        }
        Ok((nodes, self.tokens.next()?))
    }

    /// Reads lists of attributes, if there are some, and returns the word after them.
    fn attributes(&mut self, mut token: Token, into: &mut Values) -> Result<Token, InputError> {
        while token == Token::Sign(b'[') {
            token = self.tokens.next()?;
            while token != Token::Sign(b']') {
                token = match token {
                    Token::Sign(b';' | b',') => self.tokens.next()?,
                    Token::Word | Token::Quoted => self.attribute(into)?,
                    other => return Err(self.tokens.unexpected("an attribute or ]", other)),
                };
            }
            token = self.tokens.next()?;
        }
        Ok(token)
    }

    /// Reads an attribute whose name came last, and returns the word after it.
    fn attribute(&mut self, into: &mut Values) -> Result<Token, InputError> {
        // The length that an edge is drawn with is no weight, unless the user says so.
        let drawn = self.small.options().weight == WeightChoice::IfPresent;
        let rank = if drawn && self.tokens.is("len") {
            self.small.number_rank(self.tokens.text())
        } else {
            self.small.weight_rank(self.tokens.text())
        };
        let token = self.tokens.next()?;
        if token != Token::Sign(b'=') {
            return Ok(token);
        }
        self.name()?;
        if let Some(rank) = rank {
            *into.at(rank) = Some(self.tokens.text().to_vec());
        }
        self.tokens.next()
    }

    /// Reads a name.
    fn name(&mut self) -> Result<(), InputError> {
        match self.tokens.next()? {
            Token::Word | Token::Quoted => Ok(()),
            other => Err(self.tokens.unexpected("a name, a number or a text in quotes", other)),
        }
    }

    /// Adds an edge from each node to each other.
    fn edges(&mut self, from: &[u32], to: &[u32], edge: &Described) -> Result<(), InputError> {
        let limits = &self.small.options().limits;
        let stands_for = self.tokens.passed().saturating_mul(limits.ratio_max);
        let allowed = stands_for.max(limits.ratio_free_bytes) / size_of::<Pair>() as u64;
        let count = (from.len() as u64).saturating_mul(to.len() as u64);
        if count.saturating_add(self.small.edge_count() as u64) > allowed {
            let what = format!(
                "expected at most {allowed} edges in a file of this size, found groups with \
                 {count} edges between them"
            );
            return Err(self.small.wrong(edge.line, what));
        }
        for source in from {
            for target in to {
                self.small.edge_between([*source, *target], edge)?;
            }
        }
        Ok(())
    }
}
