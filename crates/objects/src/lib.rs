//! Objects in a bucket, as values with blocking calls.
//!
//! ```text
//! Location   s3://bucket/edges/part-0.parquet   a URL, understood, without anything secret
//! Bucket     where it leads: a store, connected by what the environment says
//! Object     one object as it was when it was opened: name, bytes, entity tag
//! Reader     its bytes in order, asked for ahead
//! Blocks     its bytes at any place, for readers that jump about
//! Upload     an object that is written, whole or not at all
//! Tiling     ranges of an input, compared with the checksum that the store states of all of it
//! ```
//!
//! `settings` reads the environment, `identity` and `container` ask services for credentials,
//! `http` makes connections, and `checksum` reads what a store states of an object.
//!
//! Callers are plain threads, which wait. Requests run on one small [`runtime`] that all share and
//! that begins with the first of them: a run without objects has no thread of it.
//!
//! Invariants: an object that is replaced, grows or is removed between two reads is an error that
//! names it, because each request states the entity tag that the object was opened with, and each
//! answer is compared with it · no text of this crate holds anything that the environment says ·
//! memory follows what has arrived, in ranges of at most [`RANGE_BYTES`] where a user
//! [states](ReadRequests) no other size, never a length that a server states. Checked in
//! `Object::checked` and `Object::received`. Tested by
//! `an_object_that_is_replaced_between_two_reads_is_an_error`, `credentials_are_never_shown` and
//! `bodies_that_are_cut_or_too_long_are_errors`.

mod azure;
mod blocks;
mod bucket;
mod cancellation;
mod checksum;
#[cfg(test)]
mod conformance;
mod container;
mod error;
mod http;
mod identity;
mod location;
mod object;
mod profile;
mod read_requests;
mod reader;
mod runtime;
mod settings;
mod tiling;
mod traffic;
mod unfinished;
mod upload;
mod variables;
mod version;
mod write_requests;

pub use blocks::Blocks;
pub use bucket::{Bucket, Listed};
pub use cancellation::Cancellation;
pub use error::{ObjectError, ObjectErrorKind, fault};
pub use location::{Location, Scheme};
pub use object::Object;
pub use read_requests::{FILE_PART_BYTES, ReadRequests};
pub use reader::{Ahead, Reader};
pub use settings::Settings;
pub use tiling::{RangeSum, Tiling};
pub use traffic::Traffic;
pub use unfinished::give_up_all;
pub use upload::Upload;
pub use version::Version;
pub use write_requests::WriteRequests;

/// Bytes of one request at most, where none are stated: what stores are quickest with.
pub const RANGE_BYTES: u64 = 8 << 20;
