//! Where `unsafe` may stand: a short list of files, each with its reason.
//!
//! The compiler denies `unsafe_code` everywhere, but any file can lift that for itself. This rule
//! makes lifting it a change to this list, which a reviewer sees. An entry that no unsafe code
//! needs any more is a finding too.

use super::source::{Finding, Source};

/// A file, or all files whose path begins so, and why unsafe code is needed there.
struct Allowed {
    path: &'static str,
    #[expect(dead_code, reason = "read by people: no entry without a reason")]
    reason: &'static str,
}

const ALLOWED: &[Allowed] = &[
    Allowed {
        path: "crates/cli/src/allocator.rs",
        reason: "an allocator that notes refusals, and a handler of the abort that follows one",
    },
    Allowed {
        path: "crates/input/src/text/simd",
        reason: "vector instructions that find separators and convert digits",
    },
    Allowed {
        path: "crates/input/src/pages.rs",
        reason: "advice to the operating system on a raw range of memory",
    },
    Allowed {
        path: "crates/python/src/arrays.rs",
        reason: "the memory of arrays of numpy, lent to Arrow",
    },
    Allowed {
        path: "crates/python/src/stream.rs",
        reason: "a stream that another library hands over by a pointer",
    },
    Allowed { path: "crates/store/src/codec/", reason: "vector shuffles that decode edge deltas" },
    Allowed {
        path: "crates/store/src/io/memory.rs",
        reason: "a promise that memory stays where it is, for the kernel to rely on",
    },
    Allowed {
        path: "crates/store/src/io/request_buffer.rs",
        reason: "parts of one owned memory, lent to several requests",
    },
    Allowed {
        path: "crates/store/src/io/ring.rs",
        reason: "addresses of owned memory handed to the kernel",
    },
    Allowed {
        path: "crates/engine/src/machine/arena.rs",
        reason: "huge pages straight from the operating system, recycled between phases",
    },
    Allowed {
        path: "crates/engine/src/machine/dispatch.rs",
        reason: "calls of code that was compiled for processor features found at run time",
    },
    Allowed {
        path: "crates/engine/src/kernels/gather.rs",
        reason: "a vector instruction that loads the cells of eight edges at once",
    },
    Allowed {
        path: "crates/engine/src/kernels/kernel.rs",
        reason: "accumulators and signals indexed without a check, and prefetches",
    },
    Allowed {
        path: "crates/engine/src/machine/nontemporal.rs",
        reason: "stores that write whole cache lines past the cache",
    },
    Allowed {
        path: "crates/engine/src/kernels/filter.rs",
        reason: "cells indexed without a check",
    },
    Allowed {
        path: "crates/transport/src/dpdk/shim.rs",
        reason: "calls of DPDK, which is C, and packets that it owns",
    },
    Allowed {
        path: "crates/transport/src/memory.rs",
        reason: "bytes of a bucket, on the heap or in a region that two processes map",
    },
    Allowed {
        path: "crates/transport/src/region.rs",
        reason: "a mapping that two processes share, and counters in it",
    },
    Allowed {
        path: "crates/transport/src/shared_lane.rs",
        reason: "slots of such a region, taken and given back",
    },
    Allowed {
        path: "crates/engine/src/machine/advice.rs",
        reason: "advice about memory that is borrowed",
    },
    Allowed {
        path: "crates/engine/src/machine/trim.rs",
        reason: "calls to the allocator of the C library",
    },
];

/// Unsafe code outside the list, and entries of the list without unsafe code.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    check_against(sources, ALLOWED)
}

fn check_against(sources: &[Source], allowed: &[Allowed]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used = vec![false; allowed.len()];
    for source in sources.iter().filter(|source| source.is("rs")) {
        for (number, _) in source.numbered().filter(|(_, line)| is_unsafe(line)) {
            match allowed.iter().position(|entry| source.path.starts_with(entry.path)) {
                Some(entry) => used[entry] = true,
                None => findings.push(Finding::new(
                    source,
                    number,
                    "`unsafe` outside the files listed in xtask/src/tidy/unsafety.rs",
                )),
            }
        }
    }
    let stale = allowed.iter().zip(used).filter(|(entry, used)| {
        !used && sources.iter().any(|source| source.path.starts_with(entry.path))
    });
    findings.extend(stale.map(|(entry, _)| Finding {
        path: entry.path.to_owned(),
        line: 0,
        message: "listed in xtask/src/tidy/unsafety.rs, but there is none".to_owned(),
    }));
    findings
}

/// Whether the line opens an unsafe block, function, implementation, trait or attribute. Comments
/// and names such as `unsafe_code` do not count.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '`'));
    words.any(|word| word == concat!("un", "safe"))
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    const ENTRY: Allowed = Allowed { path: "crates/a/src/simd", reason: "a test" };

    #[test]
    fn unsafe_code_is_found_and_talk_of_it_is_not() {
        let word = concat!("un", "safe");
        for code in ["{word} {", "let x = {word} { *p };", "pub(crate) {word} fn f()"] {
            assert!(is_unsafe(&code.replace("{word}", word)), "{code}");
        }
        for talk in ["// {word} {", "#![expect({word}_code)]", "let not_{word} = 1;"] {
            assert!(!is_unsafe(&talk.replace("{word}", word)), "{talk}");
        }
    }

    #[test]
    fn unsafe_code_is_allowed_where_the_list_says() {
        let text = concat!("un", "safe {\n");
        let listed = source("crates/a/src/simd/avx2.rs", text);
        let other = source("crates/a/src/lib.rs", text);
        assert_eq!(check_against(&[listed], &[ENTRY]), []);
        let findings = check_against(&[other], &[ENTRY]);
        assert!(findings[0].to_string().starts_with("crates/a/src/lib.rs:1"));
        let safe_by_now = source("crates/a/src/simd/avx2.rs", "{\n");
        let findings = check_against(&[safe_by_now], &[ENTRY]);
        assert!(findings[0].to_string().starts_with("crates/a/src/simd:0"));
    }
}
