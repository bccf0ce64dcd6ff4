//! Checkpoints of a cluster in a bucket: machines have their blocks in directories that go with
//! them, and the bucket has copies ([`welter_cluster::Copies`]), beside which the command keeps
//! what the run is.
//!
//! ```text
//! URL/cluster.json    which run it is, with a sum of that, put by who begins it, if there is
//!                     nothing in the folder
//!    /manifest        the newest checkpoint
//!    /machine-RANK/   blocks of it
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use welter_cluster::Copies;
use welter_store::StoreError;
use welter_store::io::Remote;

use crate::args::RunOptions;
use crate::argv;
use crate::checkpoint::command;
use crate::cluster_options::checkpoint_interval;
use crate::elsewhere;
use crate::failure::Failure;

/// Bytes of a description at most.
const DESCRIPTION_BYTES_MAX: u64 = 16 << 20;

/// A folder of a bucket that has the checkpoints of a run.
pub(crate) struct CopiesFolder {
    remote: Arc<dyn Remote>,
    path: PathBuf,
}

/// The folder of a bucket that a path is, if it is one.
fn folder(path: &Path, args: Option<&RunOptions>) -> Result<Option<CopiesFolder>, Failure> {
    let requests = args.and_then(|args| args.resources.write_requests()).unwrap_or_default();
    let remote = elsewhere::to_write(path, requests)?;
    Ok(remote.map(|remote| CopiesFolder { remote, path: elsewhere::trimmed(path) }))
}

/// Where machines copy their checkpoints to, if they do.
pub(crate) fn copies(args: &RunOptions) -> Result<Option<Copies>, Failure> {
    let Some(path) = &args.checkpoint.checkpoint else { return Ok(None) };
    let every = checkpoint_interval(args);
    let copies = |CopiesFolder { remote, path }| Copies::new(remote, path, every);
    Ok(folder(path, Some(args))?.map(copies))
}

/// The description of the run whose checkpoints are in a folder of a bucket, if it is one of a
/// cluster.
pub(crate) fn description(path: &Path, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let Some(CopiesFolder { remote, path }) = folder(path, None)? else { return Ok(None) };
    match remote.load(&path.join(name), DESCRIPTION_BYTES_MAX) {
        Ok((bytes, _)) => Ok(Some(bytes)),
        // A store may refuse what is not there; one that does not answer is found out next.
        Err(_) => Ok(None),
    }
}

impl CopiesFolder {
    /// Begins to keep a run in a folder of a bucket, if the path is one, or goes on there.
    pub(crate) fn keep(
        path: &Path,
        args: &RunOptions,
        (name, description): (&str, &[u8]),
    ) -> Result<Option<Self>, Failure> {
        let Some(kept) = folder(path, Some(args))? else { return Ok(None) };
        if argv::is_resumed() {
            return Ok(Some(kept));
        }
        let shown = kept.path.display();
        let in_use = || {
            let how = format!("a run is kept there: {} resumes it", command(&kept.path));
            Failure::output(format!("{shown}: is in use")).hint(how)
        };
        let described_at = kept.path.join(name);
        let listed = kept.remote.list(&kept.path)?;
        if listed.iter().any(|it| it.file_name() == described_at.file_name()) {
            return Err(in_use());
        }
        if !listed.is_empty() {
            return Err(Failure::output(format!("{shown}: is not empty")));
        }
        if !kept.remote.put_new(&described_at, description)? {
            return Err(in_use());
        }
        Ok(Some(kept))
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes all that is in it: the description last, so that what is left can be removed by who
    /// resumes the run.
    pub(crate) fn remove(&self, name: &str) -> Result<(), StoreError> {
        let described_at = self.path.join(name);
        let listed = self.remote.list(&self.path)?;
        let others = listed.iter().filter(|it| it.file_name() != described_at.file_name());
        for file in others {
            self.remote.delete(file)?;
        }
        self.remote.delete(&described_at)
    }
}
