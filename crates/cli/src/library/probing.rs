//! Probes of storage for a caller in this process.

use clap::Parser;
use welter_progress::Progress;

use super::{panics, parsed};
use crate::failure::Failure;
use crate::probe::{self, ProbeArgs};

/// Words that say what is measured, and how long.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct ProbeWords {
    #[command(flatten)]
    probe: ProbeArgs,
}

/// Measures how fast directories, buckets and files of web servers are: the document that
/// `welter probe --json` writes, as text. Rates are kept as it keeps them.
///
/// # Errors
/// As of `welter probe`.
pub fn probe(words: &[String], progress: &Progress) -> Result<String, Failure> {
    panics::wanted(progress, || {
        let ProbeWords { probe } = parsed(words)?;
        probe::document(&probe, progress)
    })
}
