//! Formats that a build leaves out: files of them are refused by name.

use crate::collect::Collector;
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;

/// Stands for the reader of such a format.
pub(crate) struct LeftOut {
    /// The feature of the build that brings it back.
    pub(crate) feature: &'static str,
}

impl LeftOut {
    fn refusal(&self, source: &Source) -> InputError {
        let (format, feature) = (source.format(), self.feature);
        let what = format!(
            "expected a format that this build reads, found {format} (build welter with its \
             feature {feature}, which it has unless features are left out)"
        );
        InputError::content(source.name(), what)
    }
}

impl Reader for LeftOut {
    fn id_kind(&self, source: &Source, _: &Context<'_>) -> Result<IdKind, InputError> {
        Err(self.refusal(source))
    }

    fn read(&self, source: &Source, _: &Context<'_>, _: &Collector) -> Result<(), InputError> {
        Err(self.refusal(source))
    }

    fn estimate(&self, source: &Source, _: &ReadOptions) -> Result<Estimate, InputError> {
        Err(self.refusal(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_are_left_out_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.parquet");
        std::fs::write(&path, b"PAR1").unwrap();
        let source = Source::open(&path, None).unwrap();
        let reader = LeftOut { feature: "columnar" };
        let error = reader.estimate(&source, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("found parquet (build welter with its feature columnar"), "{error}");
    }
}
