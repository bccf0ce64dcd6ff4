//! Numbers that a bench found, by name, in a file for the figures of `cargo xtask experiment
//! blitzg` (`welter_sim::figures::measured` reads it).
//!
//! Numbers of other benches stay as they are there; a number that is measured anew takes the place
//! of the one before.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Numbers, and the file that is to have them.
pub(crate) struct Numbers {
    file: Option<PathBuf>,
    found: BTreeMap<String, f64>,
}

impl Numbers {
    /// For the file that stands behind `--numbers`, if it does.
    pub(crate) fn of_arguments() -> Self {
        let mut arguments = std::env::args().skip_while(|argument| argument != "--numbers");
        Self { file: arguments.nth(1).map(PathBuf::from), found: BTreeMap::new() }
    }

    /// A number that was found.
    pub(crate) fn put(&mut self, name: &str, value: f64) {
        self.found.insert(name.to_owned(), value);
    }

    /// Puts all into the file.
    pub(crate) fn write(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let before = match std::fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let lines = before.lines().skip(1).filter_map(|line| line.split_once(','));
        let mut all: BTreeMap<String, String> =
            lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        all.extend(self.found.iter().map(|(name, value)| (name.clone(), format!("{value:.4}"))));
        let lines: Vec<String> =
            all.iter().map(|(name, value)| format!("{name},{value}")).collect();
        std::fs::write(file, format!("name,value\n{}\n", lines.join("\n")))
    }
}
