//! Raw pairs from a file into memory, as fast as plain code reads them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};
use bytemuck::cast_slice_mut;
use rayon::prelude::*;

/// Pairs that are read at once: few enough to be in the second-level cache when they are looked at.
const BATCH: usize = 1 << 15;

/// A file of pairs of `u32`.
pub(crate) struct PairFile {
    file: File,
    /// Number of pairs.
    pub(crate) pairs: usize,
}

impl PairFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        let bytes =
            file.metadata().with_context(|| format!("looking at {}", path.display()))?.len();
        Ok(Self { file, pairs: (bytes / 8) as usize })
    }

    /// Hands all pairs to `visit` in order, by the batch.
    pub(crate) fn visit(&self, mut visit: impl FnMut(&[[u32; 2]])) -> Result<()> {
        let mut buffer = vec![[0; 2]; BATCH];
        for start in (0..self.pairs).step_by(BATCH) {
            visit(self.batch(start, &mut buffer)?);
        }
        Ok(())
    }

    /// Reads all pairs in parallel, each as `make` makes it.
    #[cfg_attr(not(feature = "graph-crate"), expect(dead_code, reason = "only `graph` collects"))]
    pub(crate) fn collect<T: Clone + Default + Send>(
        &self,
        make: impl Fn([u32; 2]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let mut all = vec![T::default(); self.pairs];
        all.par_chunks_mut(BATCH).enumerate().try_for_each_init(
            || vec![[0; 2]; BATCH],
            |buffer, (batch, out)| {
                let pairs = self.batch(batch * BATCH, buffer)?;
                out.iter_mut().zip(pairs).for_each(|(out, &pair)| *out = make(pair));
                Ok::<_, anyhow::Error>(())
            },
        )?;
        Ok(all)
    }

    fn batch<'a>(&self, start: usize, buffer: &'a mut [[u32; 2]]) -> Result<&'a [[u32; 2]]> {
        let batch = &mut buffer[..BATCH.min(self.pairs - start)];
        self.file
            .read_exact_at(cast_slice_mut(batch), start as u64 * 8)
            .context("reading raw pairs")?;
        Ok(batch)
    }
}
