//! GML (Graph Modelling Language), for small graphs.
//!
//! ```text
//! graph [
//!   directed 1
//!   node [ id 7 label "Valjean" ]
//!   edge [ source 7 target 9 value 2.5 ]
//! ]
//! ```
//!
//! A file is a list of keys and values; a value is a number, a text between quotes or a list. What
//! is no part of the graph's shape is passed over, however it is nested, also where it is none of
//! these, as `NAN` and `INF` are that NetworkX writes. Ids are the integers after
//! `id`; where strings are wanted (`--ids strings`), the labels. Edges are undirected unless the
//! graph says `directed 1`. A graph inside a graph, and a second one beside it, are refused.

pub(crate) mod tokens;

#[cfg(test)]
mod tests;

use crate::documents::bytes::Bytes;
use crate::documents::{Described, Document, DocumentReader, plain};
use crate::error::InputError;
use tokens::{Token, Tokens, pass_list};

/// The reader of GML.
pub(crate) static GML: DocumentReader =
    DocumentReader { name: "GML", labelled: true, attributes: true, parse };

fn parse(bytes: Bytes<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    let mut tokens = Tokens::new(bytes, small.options().limits.line_bytes_max);
    let mut graphs = 0;
    loop {
        match tokens.next()? {
            Token::End if graphs == 0 => {
                return Err(tokens.wrong("expected a graph, found the end of the file"));
            }
            Token::End => return Ok(()),
            Token::Key if tokens.is("graph") => {
                graphs += 1;
                if graphs > 1 {
                    return Err(tokens.wrong("expected one graph, found a second one"));
                }
                open(&mut tokens)?;
                graph(&mut tokens, small)?;
            }
            Token::Key => pass_value(&mut tokens, 0)?,
            other => return Err(tokens.unexpected("a key", other)),
        }
    }
}

fn graph(tokens: &mut Tokens<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    loop {
        match tokens.next()? {
            Token::Close => return Ok(()),
            Token::Key if tokens.is("node") => {
                open(tokens)?;
                node(tokens, small)?;
            }
            Token::Key if tokens.is("edge") => {
                open(tokens)?;
                edge(tokens, small)?;
            }
            Token::Key if tokens.is("directed") => {
                let directed = tokens.next()?;
                match (directed, tokens.text()) {
                    (Token::Number, b"0") => small.state_directed(false),
                    (Token::Number, b"1") => small.state_directed(true),
                    (other, _) => return Err(tokens.unexpected("0 or 1", other)),
                }
            }
            Token::Key => pass_attribute(tokens)?,
            other => return Err(tokens.unexpected("a key or the end of the graph", other)),
        }
    }
}

fn node(tokens: &mut Tokens<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    let line = tokens.line();
    let (mut id, mut label) = (None, None);
    loop {
        match tokens.next()? {
            Token::Close => break,
            Token::Key if tokens.is("id") => id = Some(key(tokens)?),
            Token::Key if tokens.is("label") => label = weight(tokens)?,
            Token::Key => pass_attribute(tokens)?,
            other => return Err(tokens.unexpected("a key or the end of the node", other)),
        }
    }
    let id = id.ok_or_else(|| small.wrong(line, "expected a node with an id"))?;
    small.node(&id, label.as_deref(), line).map(|_| ())
}

fn edge(tokens: &mut Tokens<'_>, small: &mut Document<'_>) -> Result<(), InputError> {
    let mut edge = Described { line: tokens.line(), ..Described::default() };
    loop {
        match tokens.next()? {
            Token::Close => return small.edge(&edge),
            Token::Key if tokens.is("source") => edge.source = Some(key(tokens)?),
            Token::Key if tokens.is("target") => edge.target = Some(key(tokens)?),
            Token::Key => match small.weight_rank(tokens.text()) {
                Some(rank) => *edge.weights.at(rank) = weight(tokens)?,
                None => pass_attribute(tokens)?,
            },
            other => return Err(tokens.unexpected("a key or the end of the edge", other)),
        }
    }
}

/// A number by its value, or a text as it stands there.
fn key(tokens: &mut Tokens<'_>) -> Result<Vec<u8>, InputError> {
    match tokens.next()? {
        Token::Number => Ok(plain(tokens.text()).to_vec()),
        Token::Text => Ok(tokens.text().to_vec()),
        other => Err(tokens.unexpected("a number or a text", other)),
    }
}

/// Text of a value that may be a weight or a label; a list is none.
fn weight(tokens: &mut Tokens<'_>) -> Result<Option<Vec<u8>>, InputError> {
    match tokens.next()? {
        Token::Number | Token::Text | Token::Key | Token::Other => Ok(Some(tokens.text().to_vec())),
        Token::Open => pass_list(tokens, 1).map(|()| None),
        other => Err(tokens.unexpected("a value", other)),
    }
}

fn open(tokens: &mut Tokens<'_>) -> Result<(), InputError> {
    match tokens.next()? {
        Token::Open => Ok(()),
        other => Err(tokens.unexpected("a list", other)),
    }
}

/// Passes over an attribute of the graph, a node or an edge.
fn pass_attribute(tokens: &mut Tokens<'_>) -> Result<(), InputError> {
    if tokens.is("graph") {
        return Err(tokens.wrong("expected no graph inside a graph, which is not read"));
    }
    pass_value(tokens, 2)
}

fn pass_value(tokens: &mut Tokens<'_>, depth: usize) -> Result<(), InputError> {
    match tokens.next()? {
        Token::Number | Token::Text | Token::Key | Token::Other => Ok(()),
        Token::Open => pass_list(tokens, depth + 1),
        other => Err(tokens.unexpected("a value", other)),
    }
}
