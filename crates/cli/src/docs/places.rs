//! Where inputs can lie beside the file system: a section of the page of the command.

/// The section, with its heading.
pub(super) const PLACES: &str = "
## Where inputs lie

An input is a file, or an object in a bucket, in any format and compression. Both may be mixed.

| URL | where it leads | what says who asks, and where |
|---|---|---|
| `s3://BUCKET/KEY` (or `s3a://`) | S3 of Amazon, or what speaks its protocol | \
`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, \
`AWS_ENDPOINT_URL`; `AWS_SKIP_SIGNATURE=true` for what is public; roles of containers, of web \
identities and of machines |
| `az://CONTAINER/KEY`, `abfs[s]://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY` | blob storage of \
Azure | `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY` or `AZURE_STORAGE_SAS_KEY`; \
`AZURE_SKIP_SIGNATURE=true`; identities of services and of machines |
| `gs://BUCKET/KEY` | cloud storage of Google | `GOOGLE_APPLICATION_CREDENTIALS` or \
`GOOGLE_SERVICE_ACCOUNT`; `GOOGLE_SKIP_SIGNATURE=true`; the account of the machine |
| `https://HOST/PATH`, `http://HOST/PATH` | a web server that sends parts of files | nobody is \
asked |

- A folder is named with `/` at its end (`s3://BUCKET/edges/`) and stands for its objects as a \
directory does; patterns work as for files (`'s3://BUCKET/edges/*.parquet'`, `**` included). A \
web server does not say what it holds, so its files are named.
- What is asked for is asked for again when a server is busy, breaks off or says nothing for \
half a minute: eight times, or one time less than `AWS_MAX_ATTEMPTS`. Then the run ends with 74.
- An object that is replaced or removed while it is read ends the run with 65. Each request \
names the entity tag of the object that was opened; a web server without entity tags is asked \
for the size at the end.
- Raw records are read from the bucket whenever a run reads them, which most do twice; other \
formats are read once. `convert` to a local file, or `ingest`, saves what is read again.
- Not supported: the shared configuration files of Amazon (`~/.aws`; `aws configure \
export-credentials --format env` makes variables of them), URLs with a password or a query \
(presigned ones), and buckets as the place of kept graphs, checkpoints and temporary files.
";
