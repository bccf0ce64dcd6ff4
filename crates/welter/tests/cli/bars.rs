//! Progress on a terminal, which is a pseudo-terminal here: what is drawn, when, and that it goes.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::sandbox::Sandbox;

/// Time after which nothing more is expected to come.
const PATIENCE: Duration = Duration::from_mins(1);

/// The side of a terminal that a person sees.
struct Screen {
    pieces: Receiver<Vec<u8>>,
    seen: String,
}

/// A command that does not outlive a test that fails.
struct Mortal(Child);

impl Drop for Mortal {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A terminal of 120 columns: its screen, and the side that a command writes to.
fn terminal() -> (Screen, File) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&screen, size).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap().into_string().unwrap();
    let line = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let (sender, pieces) = channel();
    std::thread::spawn(move || watch(screen, |piece| sender.send(piece).is_ok()));
    (Screen { pieces, seen: String::new() }, line)
}

/// Reads until the writers are gone, which the system calls an error.
fn watch(screen: OwnedFd, mut take: impl FnMut(Vec<u8>) -> bool) {
    let mut screen = File::from(screen);
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = screen.read(&mut buffer) {
        if !take(buffer[..count].to_vec()) {
            return;
        }
    }
}

impl Screen {
    /// Waits for a text.
    fn await_text(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.seen.contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            let piece = self.pieces.recv_timeout(left);
            let piece = piece.unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
    }

    /// Everything that was ever drawn, once drawing has ended.
    fn into_text(mut self) -> String {
        for piece in &self.pieces {
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        self.seen
    }
}

#[test]
fn a_long_phase_is_drawn_with_rate_and_time_left_and_goes_away() {
    let sandbox = Sandbox::new();
    let (mut screen, line) = terminal();
    let mut command = sandbox.command("run pagerank rmat:10 --iterations 1000000000 -o ranks.csv");
    let child = command.env("TERM", "xterm").stderr(Stdio::from(line)).spawn().unwrap();
    let mut child = Mortal(child);
    // The command holds the terminal's other side too, and would keep it open.
    drop(command);
    screen.await_text("iterating: ");
    screen.await_text(" left at most");
    let sent = std::process::Command::new("kill")
        .args(["-s", "INT", &child.0.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    assert_eq!(child.0.wait().unwrap().code(), Some(130));
    let text = screen.into_text();
    assert!(text.contains(" of 1,000,000,000 iterations, "), "{text:?}");
    assert!(text.contains("/s, "), "{text:?}");
    // The line is cleared before anything else is said.
    let (drawn, rest) = text.rsplit_once("error: interrupted").unwrap();
    assert_eq!(rest.trim_end(), "");
    let cleared = drawn.rfind("\u{1b}[2K").expect("a cleared line");
    assert!(!drawn[cleared..].contains("iterating"), "{text:?}");
}

#[test]
fn nothing_is_drawn_of_what_is_short_or_when_told_to_be_quiet() {
    let sandbox = Sandbox::new();
    for (options, expected) in [("--quiet", ""), ("", "iterations")] {
        let (screen, line) = terminal();
        let mut command =
            sandbox.command(&format!("run pagerank rmat:6 --iterations 2 -o ranks.csv {options}"));
        let mut child = command.env("TERM", "xterm").stderr(Stdio::from(line)).spawn().unwrap();
        drop(command);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let text = screen.into_text();
        assert!(!text.contains('\u{1b}') && text.contains(expected), "{text:?}");
        assert_eq!(text.is_empty(), expected.is_empty(), "{text:?}");
    }
}
