//! The chunk format, and files: tiles, codecs, checksums; volumes and requests.
//!
//! A chunk is the unit of I/O, of placement and of stealing: about 4 MiB of edges that lie inside
//! one cell. The same bytes lie in memory, in files, in objects and in messages, on slow devices in
//! a frame; `docs/format.md` draws them. This crate knows nothing of programs or of a cluster.

#[cfg(target_endian = "big")]
compile_error!("the chunk format is little-endian and is read in place");

pub mod checksum;
pub mod chunk;
pub mod codec;
pub mod durable;
pub mod edge_cache;
pub mod encoding;
pub mod frame;
#[doc(hidden)]
pub mod fuzzing;
pub mod header;
pub mod io;
pub mod orphans;
pub mod probe;
pub mod sealed;
pub mod weights;

mod builder;
mod error;
mod number;

pub use builder::ChunkBuilder;
pub use error::{ChunkError, StoreError};
pub use number::random_number;
