//! A folder of its own for each test, and the command run in it.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A folder with the command run in it. Files are named relative to it.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

/// Result of a command.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Result of a command whose memory was looked at.
pub(crate) struct Measured {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    /// Its largest resident set; where that is not known, that of this process if it was larger.
    pub(crate) peak_bytes: u64,
    pub(crate) elapsed: Duration,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Names of all files, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The command, not started yet.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_welter"));
        command.args(words(line)).current_dir(self.path()).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the command. `line` is split at spaces; `'...'` keeps them.
    pub(crate) fn run(&self, line: &str) -> Ended {
        Ended::waited(self.command(line).spawn().unwrap())
    }

    /// Runs the command with this on standard input.
    pub(crate) fn run_with(&self, line: &str, input: &[u8]) -> Ended {
        let mut child = self.command(line).stdin(Stdio::piped()).spawn().unwrap();
        // A command that does not read all of its input is no failure of the test.
        let _ = child.stdin.take().unwrap().write_all(input);
        Ended::waited(child)
    }

    /// Runs the command and says what memory it took. Its standard output is lost. A command that
    /// ended before its memory could be looked at is run again.
    pub(crate) fn measured(&self, line: &str) -> Measured {
        let measured = (0..LOOKS_MOST).find_map(|_| self.measure(line));
        measured.unwrap_or_else(|| panic!("welter {line}: it ends before it is looked at"))
    }

    fn measure(&self, line: &str) -> Option<Measured> {
        let start = Instant::now();
        let mut child = self.command(line).stdout(Stdio::null()).spawn().unwrap();
        let peak = PeakMemory::of(child.id());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = child.wait().unwrap().code();
        let peak_bytes = peak.bytes()?;
        Some(Measured { code, stderr, peak_bytes, elapsed: start.elapsed() })
    }

    /// Runs a command that must end well, and returns its standard output.
    pub(crate) fn must(&self, line: &str) -> String {
        let ended = self.run(line);
        assert_eq!(ended.code, Some(0), "welter {line}\n{}", ended.stderr);
        ended.stdout
    }
}

/// Times that a command is run to look at its memory.
const LOOKS_MOST: usize = 20;

/// Peak of the resident memory of a process since it became a command. What the system says of a
/// process that has ended counts the process that started it too.
struct PeakMemory {
    ended: Sender<()>,
    thread: JoinHandle<Option<u64>>,
}

impl PeakMemory {
    /// Looks at a process now and every two milliseconds.
    fn of(process: u32) -> Self {
        let (ended, ends) = channel();
        let mut peak = peak_bytes(process);
        let thread = std::thread::spawn(move || {
            while ends.recv_timeout(Duration::from_millis(2)) == Err(RecvTimeoutError::Timeout) {
                peak = peak_bytes(process).max(peak);
            }
            peak
        });
        Self { ended, thread }
    }

    /// The peak in bytes, if the system says it.
    fn bytes(self) -> Option<u64> {
        drop(self.ended);
        self.thread.join().unwrap()
    }
}

fn peak_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// Time for a command. One that never ends fails its test and not the whole run of tests.
const PATIENCE: Duration = Duration::from_mins(10);

impl Ended {
    /// Waits for a command, which is killed when it takes longer than any does.
    pub(crate) fn waited(child: Child) -> Self {
        let id = Pid::from_child(&child);
        let (ended, ends) = channel::<()>();
        let watch = std::thread::spawn(move || {
            if ends.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // It may have ended in this moment.
                let _ = kill_process(id, Signal::KILL);
            }
        });
        let output = child.wait_with_output().unwrap();
        drop(ended);
        watch.join().unwrap();
        Self::of(output)
    }

    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn words(line: &str) -> Vec<String> {
    let quoted = |(number, part): (usize, &str)| -> Vec<String> {
        if number % 2 == 1 {
            return vec![part.to_owned()];
        }
        part.split_whitespace().map(str::to_owned).collect()
    };
    line.split('\'').enumerate().flat_map(quoted).collect()
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The example graph that the repository ships.
pub(crate) fn example() -> String {
    root().join("examples/debian-depends.tsv.zst").to_str().unwrap().to_owned()
}
