//! Where inputs can lie beside the file system: a section of the page of the command.

/// The section, with its heading.
pub(super) const PLACES: &str = "
## Where inputs lie

An input is a file, or an object in a bucket or on a web server (`s3://`, `az://`, `abfs://`, \
`gs://`, `https://`), in any format and compression: [object-stores.md](object-stores.md).
";
