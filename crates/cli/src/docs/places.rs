//! Where inputs and results can lie beside the file system: a section of the page of the command.

/// The section, with its heading.
pub(super) const PLACES: &str = "
## Where inputs and results lie

Inputs, kept graphs, results and reports may lie in buckets (`s3://`, `az://`, `abfs://`, \
`gs://`), inputs on web servers too (`https://`): [object-stores.md](object-stores.md).
";
