//! Compression of chunks that go to storage: as it was said, or by a look at the first of them.
//!
//! The worker that has the first chunks to write tries the codecs on them, while the others that
//! come there wait; all go by what it finds. What chunks are like hardly changes within a graph,
//! and a frame says how it is compressed, so a choice that is not the best is no more than that.

use std::sync::OnceLock;

use welter_store::frame::Compression;

use crate::plan::{CompressionMode, Plan, Sampled};

/// The compression of chunks that are written.
pub(crate) struct Framing {
    chosen: OnceLock<Compression>,
    look: Option<Box<CompressionRule>>,
}

/// A rule by what was found.
type CompressionRule = dyn Fn(&[Sampled]) -> Compression + Send + Sync;

impl Framing {
    /// The compression that was said.
    pub(crate) fn stated(compression: Compression) -> Self {
        Self { chosen: compression.into(), look: None }
    }

    /// The compression of edges, as a plan says.
    pub(crate) fn of_edges(plan: &Plan) -> Self {
        Self::new(plan, Plan::compression_of_edges)
    }

    /// The compression of updates, as a plan says.
    pub(crate) fn of_updates(plan: &Plan) -> Self {
        Self::new(plan, Plan::compression_of_updates)
    }

    fn new(plan: &Plan, rule: fn(&Plan, &[Sampled]) -> Compression) -> Self {
        match plan.premises.settings.compression {
            CompressionMode::Stated(compression) => Self::stated(compression),
            CompressionMode::Measured | CompressionMode::Auto if !plan.may_compress() => {
                Self::stated(Compression::None)
            }
            CompressionMode::Measured | CompressionMode::Auto => {
                let plan = plan.clone();
                let look = Box::new(move |sampled: &[Sampled]| rule(&plan, sampled));
                Self { chosen: OnceLock::new(), look: Some(look) }
            }
        }
    }

    /// Whether chunks may lie in frames.
    pub(crate) fn is_framed(&self) -> bool {
        self.chosen.get() != Some(&Compression::None)
    }

    /// The compression that was chosen; none where nothing was written.
    pub(crate) fn chosen(&self) -> Compression {
        self.chosen.get().copied().unwrap_or_default()
    }

    /// The compression, for who has these chunks to write.
    pub(crate) fn compression(&self, chunks: &[&[u8]]) -> Compression {
        *self.chosen.get_or_init(|| {
            let sampled: Vec<Sampled> =
                Compression::ALL.iter().filter_map(|codec| Sampled::of(*codec, chunks)).collect();
            self.look.as_ref().map_or(Compression::None, |look| look(&sampled))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn codecs_are_tried_once_on_what_comes_first() {
        static LOOKS: AtomicUsize = AtomicUsize::new(0);
        let look = |sampled: &[Sampled]| {
            LOOKS.fetch_add(1, Ordering::Relaxed);
            for codec in sampled {
                assert!(codec.ratio < 0.5 && codec.compress > 0.0 && codec.decompress > 0.0);
            }
            let all = sampled.iter().map(|codec| codec.compression);
            assert!(sampled.is_empty() || all.eq(Compression::ALL.into_iter().skip(1)));
            sampled.last().map_or(Compression::None, |codec| codec.compression)
        };
        let framing = || Framing { chosen: OnceLock::new(), look: Some(Box::new(look)) };
        let (same, none) = (vec![7; 4096], Vec::new());
        let measured = framing();
        assert!(measured.is_framed() && measured.chosen() == Compression::None);
        assert_eq!(measured.compression(&[&same, &same]), Compression::Zlib);
        // Later chunks make no difference.
        assert_eq!(measured.compression(&[&none]), Compression::Zlib);
        assert_eq!(measured.chosen(), Compression::Zlib);
        assert_eq!(LOOKS.load(Ordering::Relaxed), 1);
        // Nothing becomes smaller, so there is nothing to choose from.
        let unsuited = framing();
        assert_eq!(unsuited.compression(&[&none]), Compression::None);
        assert!(!unsuited.is_framed());
        assert!(!Framing::stated(Compression::None).is_framed());
        assert_eq!(Framing::stated(Compression::Zlib).compression(&[]), Compression::Zlib);
    }
}
