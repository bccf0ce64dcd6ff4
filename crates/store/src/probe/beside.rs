//! Rates of a device, kept in the directories that it was measured in.
//!
//! A file of one directory says how fast that is; several that were measured together have one in
//! the first of them, with a name that follows from all. Runs whose temporary files go there are
//! planned with it. In a bucket it is of a folder and of those below, whose kept graphs are read,
//! and written, as it says. It begins with a dot, so that a directory of inputs does not have it
//! among these.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Probe, VERSION};
use crate::StoreError;
use crate::checksum;
use crate::io::Remote;
use crate::sealed::{self, Identity, SealedReader, offset_in_file};

/// Kind of the file.
const KIND: [u8; 8] = *b"RATES   ";
/// Name of the file of rates, where it is of one directory.
const NAME: &str = ".welter-rates";
/// Bytes of it at most: a thousand ways of asking.
const BYTES_MAX: u64 = 1 << 16;

impl Probe {
    /// Keeps the rates of `directories`, measured together, in place of those before.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep_beside(&self, directories: &[PathBuf]) -> Result<(), StoreError> {
        let Some((file, set)) = place(directories) else { return Ok(()) };
        let identity = Identity { kind: KIND, version: VERSION, graph: set, generation: 0 };
        sealed::seal(&file, &identity, &self.to_bytes(), None)
    }

    /// The rates that are kept of `directories`, with their file, if they were measured.
    ///
    /// # Errors
    /// When the file is damaged, of another version or of other directories, or cannot be read.
    pub fn kept_beside(directories: &[PathBuf]) -> Result<Option<(Self, PathBuf)>, StoreError> {
        let Some((file, set)) = place(directories) else { return Ok(None) };
        let mut reader = match SealedReader::open(&file, KIND, None) {
            Err(StoreError::Missing { .. }) => return Ok(None),
            opened => opened?,
        };
        reader.is_version(VERSION)?;
        reader.belongs_to(set, 0)?;
        Ok(Some((rates(&mut reader, &file)?, file)))
    }

    /// Keeps the rates of a folder that lies elsewhere in it, in place of those before.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep_elsewhere(&self, remote: &dyn Remote, folder: &Path) -> Result<(), StoreError> {
        let identity = Identity { kind: KIND, version: VERSION, graph: 0, generation: 0 };
        sealed::seal_elsewhere(remote, &folder.join(NAME), &identity, &self.to_bytes())
    }

    /// The rates that are kept in a folder that lies elsewhere or, where there are none, in the
    /// next folder above it that has some. Those that this user may not read are none.
    ///
    /// # Errors
    /// When a file is damaged or of another version.
    pub fn kept_elsewhere(remote: &dyn Remote, folder: &Path) -> Result<Option<Self>, StoreError> {
        let is_in_bucket = |path: &&Path| path.to_str().is_some_and(|url| url.contains("://"));
        for folder in folder.ancestors().take_while(is_in_bucket) {
            let file = folder.join(NAME);
            let Some(bytes) = Self::load_elsewhere(remote, &file)? else { continue };
            let mut reader = SealedReader::of_bytes(bytes, &file, KIND)?;
            reader.is_version(VERSION)?;
            reader.belongs_to(0, 0)?;
            return rates(&mut reader, &file).map(Some);
        }
        Ok(None)
    }

    /// The bytes of a file with rates that lies elsewhere, if there is one that this user may read:
    /// a store whose objects may not be listed does not say that one is not there. Rates are
    /// advice: a store that fails will show it when the graph itself is asked for.
    ///
    /// # Errors
    /// When the run was asked to end.
    pub fn load_elsewhere(remote: &dyn Remote, file: &Path) -> Result<Option<Vec<u8>>, StoreError> {
        match remote.load(file, 2 * BYTES_MAX) {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(StoreError::Missing { .. } | StoreError::Remote { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The rates in a file.
fn rates(reader: &mut SealedReader, file: &Path) -> Result<Probe, StoreError> {
    let payload = reader.read_rest(BYTES_MAX)?;
    Probe::from_bytes(&payload).ok_or_else(|| StoreError::Damaged {
        file: file.to_owned(),
        offset: offset_in_file(0),
        what: "these are no rates".to_owned(),
    })
}

/// File of the rates of some directories, and a number of them; none where one is not there.
fn place(directories: &[PathBuf]) -> Option<(PathBuf, u64)> {
    let whole = |path: &PathBuf| fs::canonicalize(path).ok();
    let mut paths: Vec<PathBuf> = directories.iter().map(whole).collect::<Option<_>>()?;
    paths.sort_unstable();
    paths.dedup();
    let first: &Path = paths.first()?;
    if paths.len() == 1 {
        return Some((first.join(NAME), 0));
    }
    let listed: Vec<&[u8]> = paths.iter().map(|path| path.as_os_str().as_encoded_bytes()).collect();
    let set = checksum::of(&listed.join(&0));
    Some((first.join(format!("{NAME}-{set:08x}")), u64::from(set) + 1))
}

#[cfg(test)]
mod tests {
    use super::super::Rate;
    use super::*;

    fn probe(rate: f64) -> Probe {
        let rate =
            Rate { request_bytes: 1 << 16, depth: 4, bytes_per_second: rate, processor_share: 0.1 };
        Probe { read: vec![rate], write: vec![rate], direct: true, ..Probe::default() }
    }

    #[test]
    fn rates_are_those_of_the_directories_that_were_measured() {
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let [a, b, c] = folders.each_ref().map(|folder| folder.path().to_owned());
        let kept = |of: &[&PathBuf]| {
            let paths: Vec<PathBuf> = of.iter().copied().cloned().collect();
            Probe::kept_beside(&paths).unwrap().map(|(probe, _)| probe)
        };
        probe(1.0).keep_beside(std::slice::from_ref(&a)).unwrap();
        probe(2.0).keep_beside(&[a.clone(), b.clone()]).unwrap();
        assert_eq!(kept(&[&a]), Some(probe(1.0)));
        assert_eq!(kept(&[&b, &a]), Some(probe(2.0)));
        assert_eq!(kept(&[&a, &a]), Some(probe(1.0)));
        for others in [&[&b][..], &[&a, &c], &[&a, &b, &c], &[]] {
            assert_eq!(kept(others), None);
        }
        probe(3.0).keep_beside(std::slice::from_ref(&a)).unwrap();
        assert_eq!(kept(&[&a]), Some(probe(3.0)));
        assert_eq!(Probe::kept_beside(&[a.join("nowhere")]).unwrap(), None);
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().to_owned()];
        probe(1.0).keep_beside(&paths).unwrap();
        let file = folder.path().join(NAME);
        let whole = fs::read(&file).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            fs::write(&file, bytes).unwrap();
            assert!(Probe::kept_beside(&paths).is_err(), "{place}");
        }
    }
}
