//! Headers that state what no file holds, and small files that stand for large ones: refused with
//! 65, in little memory, whatever the format.

use std::io::Write;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::sandbox::{Ended, Sandbox};

/// Memory that a refusal may take, all of the process included, in KiB.
const MEMORY_KIB: u64 = 256 << 10;

/// Header with a count in it, and a row.
const FORMATS: &[(&str, &str, &str)] = &[
    ("mtx", "%%MatrixMarket matrix coordinate pattern general\n9 9 COUNT\n", "1 1\n"),
    ("mtx", "%%MatrixMarket matrix coordinate real general\nCOUNT COUNT 9\n", "1 1 1\n"),
    ("graph", "9 COUNT\n", "1 1 1\n"),
    ("graph", "COUNT 9\n", "1 1 1\n"),
    ("gr", "p sp 9 COUNT\n", "a 1 1 1\n"),
    ("col", "p edge COUNT 9\n", "e 1 1\n"),
    ("tntp", "<NUMBER OF NODES> 9\n<NUMBER OF LINKS> COUNT\n<END OF METADATA>\n", "1 1;\n"),
    ("tntp", "<NUMBER OF NODES> COUNT\n<NUMBER OF LINKS> 9\n<END OF METADATA>\n", "1 1;\n"),
    ("jlg", "COUNT,9,u,graph\n", "1,1\n"),
];

/// Runs PageRank with a limit on the memory of the process, where the system can say so.
fn limited(sandbox: &Sandbox, name: &str) -> Ended {
    let command = sandbox.command(&format!("run pagerank {name} --threads 2"));
    let mut shell = Command::new("bash");
    let program = command.get_program().to_string_lossy().into_owned();
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
    // Address space is more than memory: stacks and reserves of threads count too.
    let limit = 4 * MEMORY_KIB;
    shell.arg("-c").arg(format!("ulimit -v {limit}; exec {program} {}", args.join(" ")));
    shell.current_dir(sandbox.path());
    Ended::of(shell.output().unwrap())
}

#[test]
fn stated_counts_take_no_memory() {
    let sandbox = Sandbox::new();
    for (extension, header, row) in FORMATS {
        let name = format!("g.{extension}");
        sandbox.write(&name, header.replace("COUNT", "1152921504606846976") + row);
        let ended = limited(&sandbox, &name);
        assert_eq!(ended.code, Some(65), "{extension} {header}{}", ended.stderr);
        assert!(ended.stderr.starts_with(&format!("error: {name}:")), "{}", ended.stderr);
    }
}

#[test]
fn files_that_grow_without_measure_are_refused() {
    let sandbox = Sandbox::new();
    for (extension, header, row) in FORMATS {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(header.replace("COUNT", "9").as_bytes()).unwrap();
        let block = row.repeat((1 << 20) / row.len());
        for _ in 0..200 {
            packer.write_all(block.as_bytes()).unwrap();
        }
        let name = format!("g.{extension}.gz");
        sandbox.write(&name, packer.finish().unwrap());
        let ended = limited(&sandbox, &name);
        assert_eq!(ended.code, Some(65), "{extension} {}", ended.stderr);
    }
}
