//! Rates of a device, kept in the directories that it was measured in.
//!
//! A file of one directory says how fast that is; several that were measured together have one in
//! the first of them, with a name that follows from all. Runs whose temporary files go there are
//! planned with it. It begins with a dot, so that a directory of inputs does not have it among
//! these.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Probe, VERSION};
use crate::StoreError;
use crate::checksum;
use crate::sealed::{self, Identity, SealedReader, offset_in_file};

/// Kind of the file.
const KIND: [u8; 8] = *b"RATES   ";
/// Its name, where it is of one directory.
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
        let payload = reader.read_rest(BYTES_MAX)?;
        let offset = offset_in_file(0);
        let damaged =
            |what: &str| StoreError::Damaged { file: file.clone(), offset, what: what.to_owned() };
        let probe = Self::from_bytes(&payload).ok_or_else(|| damaged("these are no rates"))?;
        Ok(Some((probe, file)))
    }
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
        Probe { read: vec![rate], write: vec![rate], direct: true }
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
