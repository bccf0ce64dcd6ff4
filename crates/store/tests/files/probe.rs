//! A probe measures every size, leaves nothing, and ends when it is asked to.

use std::time::Duration;

use welter_progress::{FailureKind, Progress};
use welter_store::StoreError;
use welter_store::io::{Call, Fault, Faults, IoOptions};
use welter_store::probe::{KIND, Probe, ProbeOptions, VERSION};
use welter_store::sealed::{Identity, seal, unseal};

use crate::{all_options, entries, with_faults};

fn options(io: &IoOptions) -> ProbeOptions {
    ProbeOptions { bytes: Some(5 << 20), time: Duration::from_secs(1), io: io.clone() }
}

#[test]
fn all_sizes_that_fit_are_measured_and_nothing_is_left() {
    for io in all_options() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let paths = folders.each_ref().map(|folder| folder.path().to_owned());
        let progress = Progress::new();
        let (probe, latency) = Probe::measure(&paths, &options(&io), &progress).unwrap();
        for rates in [&probe.read, &probe.write] {
            let asked: Vec<_> = rates.iter().map(|rate| (rate.request_bytes, rate.depth)).collect();
            // The time may end before the largest.
            assert!(asked.starts_with(&[(4096, 1)]), "{asked:?}");
            assert!(asked.is_sorted() && asked.iter().all(|(bytes, _)| *bytes <= 4 << 20));
            assert!(rates.iter().all(|rate| rate.bytes_per_second > 0.0));
        }
        assert!(latency.median > Duration::ZERO && latency.late >= latency.median);
        assert!(probe.best_read().is_some() && probe.best_write().is_some());
        assert!(progress.finished()[0].done > 0);
        for path in &paths {
            assert!(entries(path).is_empty());
        }
        let path = folders[0].path().join("probe");
        let identity = Identity { kind: KIND, version: VERSION, graph: 1, generation: 1 };
        seal(&path, &identity, &probe.to_bytes(), None).unwrap();
        let (_, bytes) = unseal(&path, KIND, 1 << 16, None).unwrap();
        assert_eq!(Probe::from_bytes(&bytes), Some(probe));
    }
}

#[test]
fn a_probe_that_is_told_no_size_takes_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().to_owned()];
    let options = ProbeOptions { bytes: None, ..options(&IoOptions::default()) };
    let (probe, _) = Probe::measure(&paths, &options, &Progress::new()).unwrap();
    assert!(!probe.read.is_empty() && !probe.write.is_empty());
    assert!(entries(folder.path()).is_empty());
}

#[test]
fn a_full_disk_is_told_before_or_when_it_fills_up() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().to_owned()];
    let io = IoOptions::default();
    let too_large = ProbeOptions { bytes: Some(1 << 59), ..options(&io) };
    let error = Probe::measure(&paths, &too_large, &Progress::new()).unwrap_err();
    assert!(
        matches!(error, StoreError::Space { .. }) && error.kind() == FailureKind::Storage,
        "{error}"
    );
    for nth in [1, 7, 20] {
        let faults = Faults::from(Call::Write, nth, Fault::Errno(28));
        let options = options(&with_faults(&io, &faults));
        let error = Probe::measure(&paths, &options, &Progress::new()).unwrap_err();
        assert!(
            matches!(error, StoreError::Full { .. }) && error.kind() == FailureKind::Storage,
            "{error}"
        );
        assert!(entries(folder.path()).is_empty());
    }
}

#[test]
fn a_probe_that_is_cancelled_ends() {
    let folder = tempfile::tempdir().unwrap();
    let progress = Progress::new();
    progress.cancel();
    let paths = [folder.path().to_owned()];
    let error = Probe::measure(&paths, &options(&IoOptions::default()), &progress).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Cancelled);
}

#[test]
fn a_probe_of_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = ProbeOptions { bytes: Some(65_535), ..options(&IoOptions::default()) };
    assert!(Probe::measure(&[folder.path().to_owned()], &tiny, &Progress::new()).is_err());
}
