//! Where inputs and results can lie beside the file system: a section of the page of the command.

/// The section, with its heading.
pub(super) const PLACES: &str = "
## Where inputs and results lie

An input is a file, or an object in a bucket or on a web server (`s3://`, `az://`, `abfs://`, \
`gs://`, `https://`), in any format and compression; results, edges and reports are written to \
files and to buckets: [object-stores.md](object-stores.md).
";
