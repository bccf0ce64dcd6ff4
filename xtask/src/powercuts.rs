//! Power cuts: a run with checkpoints is killed at each call that makes something durable, the
//! power of its file system goes at that moment, and what is found afterwards is looked at.
//!
//! ```text
//! image ─► mkfs ─► mount ─► run, killed at the Nth call ─► shutdown ─► umount ─► mount ─► look
//! ```
//! Every other cut takes what the journal has in memory too. A run that said 0 must have its
//! result; another one has the whole result or none, and `resume` or the same command makes it.
//!
//! It needs root, loop devices, `mkfs` of the file system and `xfs_io`. A file system that cannot
//! be had is passed over aloud; `WELTER_REQUIRE=powercuts` makes a failure of that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::run::{Outcome, cargo, step};

const FILE_SYSTEMS: [&str; 2] = ["ext4", "xfs"];

/// XFS wants 300 MiB.
const IMAGE_BYTES: u64 = 400 << 20;

const RUN: &str = "run pagerank graph.u32 --iterations 4 --tolerance 0 -q";

/// Calls of a run, roughly: fewer would mean that they are not counted.
const CALLS_LEAST: u32 = 50;

/// Cuts the power on each file system.
pub(crate) fn powercuts(root: &Path) -> Outcome {
    step("the command", || cargo(root).args(["build", "--package", "welter"]).finish())?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let folder = target.join("powercuts");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let welter = target.join("debug/welter");
    FILE_SYSTEMS.into_iter().try_for_each(|kind| {
        step(&format!("power cuts on {kind}"), || {
            match Device::new(&folder, kind).and_then(|device| device.mount().map(|()| device)) {
                Ok(device) => Trial { welter: &welter, folder: &folder, device }.all(),
                Err(missing) => skip(kind, &missing),
            }
        })
    })
}

fn skip(kind: &str, missing: &str) -> Outcome {
    println!("SKIPPED: power cuts on {kind}: {missing}");
    let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
    if required.split(',').any(|name| name == "powercuts") {
        return Err(format!("WELTER_REQUIRE asks for power cuts: {missing}"));
    }
    Ok(())
}

/// Runs a program quietly.
fn call(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("`{program}` cannot be run: {error}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("`{program}`: {}", error.trim())) }
}

/// A file system in a file.
struct Device {
    image: String,
    mount: PathBuf,
}

impl Device {
    fn new(folder: &Path, kind: &str) -> Result<Self, String> {
        let image = folder.join(format!("{kind}.img"));
        let mount = folder.join(format!("{kind}.mount"));
        let failed = |error: std::io::Error| format!("{}: {error}", image.display());
        let _ = fs::remove_file(&image);
        let file = fs::File::create(&image).map_err(failed)?;
        file.set_len(IMAGE_BYTES).map_err(failed)?;
        fs::create_dir_all(&mount).map_err(failed)?;
        let image = image.to_string_lossy().into_owned();
        call("xfs_io", &["-V"])?;
        call(&format!("mkfs.{kind}"), &["-q", &image])?;
        Ok(Self { image, mount })
    }

    fn at(&self) -> &str {
        self.mount.to_str().unwrap_or_default()
    }

    fn mount(&self) -> Result<(), String> {
        call("mount", &["-o", "loop", &self.image, self.at()])
    }

    /// Takes the power away, and brings it back. `journal`: what is on its way to it is written.
    fn cut(&self, journal: bool) -> Result<(), String> {
        let what = if journal { "shutdown -f" } else { "shutdown" };
        call("xfs_io", &["-x", "-c", what, self.at()])?;
        call("umount", &[self.at()])?;
        self.mount()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = call("umount", &[self.at()]);
        let _ = fs::remove_file(&self.image);
        let _ = fs::remove_dir(&self.mount);
    }
}

/// The run whose power is cut.
struct Trial<'a> {
    welter: &'a Path,
    /// Where the graph is, which no power is taken from.
    folder: &'a Path,
    device: Device,
}

impl Trial<'_> {
    fn all(&self) -> Outcome {
        self.must("generate rmat 8 -q -o graph.u32")?;
        self.must(&format!("{RUN} -o expected.csv"))?;
        let expected = read(&self.folder.join("expected.csv"))?.unwrap_or_default();
        for nth in 1.. {
            let killed = self.run(&self.line(), Some(nth))?;
            self.device.cut(nth % 2 == 0)?;
            let ended = killed.code() == Some(0);
            self.look(&expected, ended).map_err(|what| format!("call {nth}: {what}"))?;
            if ended {
                println!("killed, and without power, at each of {} calls", nth - 1);
                return if nth > CALLS_LEAST { Ok(()) } else { Err("too few calls".to_owned()) };
            }
        }
        Ok(())
    }

    /// Compares what is there with what should be, continues, and empties the file system.
    fn look(&self, expected: &[u8], ended: bool) -> Outcome {
        let output = self.device.mount.join("ranks.csv");
        match read(&output)? {
            Some(found) if found == expected => {}
            Some(found) => return Err(format!("half a result, of {} bytes", found.len())),
            None if ended => return Err("the run said 0, and its result is not there".to_owned()),
            None => {}
        }
        let resumed = self.run(&format!("resume {}/cp -q", self.device.at()), None)?;
        if resumed.code() != Some(0) {
            self.must(&self.line())?;
        }
        if read(&output)?.as_deref() != Some(expected) {
            return Err("another result after it went on".to_owned());
        }
        fs::remove_file(&output).map_err(|error| error.to_string())
    }

    fn line(&self) -> String {
        let at = self.device.at();
        format!("{RUN} --checkpoint-every 1 --checkpoint {at}/cp -o {at}/ranks.csv")
    }

    /// Runs the command, killed at the call of this number.
    fn run(&self, line: &str, killed_at: Option<u32>) -> Result<ExitStatus, String> {
        let mut command = Command::new(self.welter);
        command.args(line.split(' ')).current_dir(self.folder);
        if let Some(nth) = killed_at {
            command.env("WELTER_FAULT", format!("kill {nth}"));
        }
        let output = command.output().map_err(|error| format!("`welter {line}`: {error}"))?;
        Ok(output.status)
    }

    fn must(&self, line: &str) -> Outcome {
        let status = self.run(line, None)?;
        if status.success() { Ok(()) } else { Err(format!("`welter {line}` ended with {status}")) }
    }
}

/// Content of a file, if it is there.
fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}
