//! Two network namespaces with a cable of a rate between them. They are gone when this is dropped.

use std::io;
use std::process::{Command, Output};

/// Addresses of the two ends.
pub(crate) const ADDRESSES: [&str; 2] = ["10.99.0.1", "10.99.0.2"];

/// Bytes that wait for the link at most: more than a socket's.
const LIMIT: &str = "16mb";

/// A cable.
pub(crate) struct Cable {
    /// Names of the namespaces.
    pub(crate) names: [String; 2],
    megabits: u32,
}

impl Cable {
    /// A cable of `megabits` megabits a second each way; 0 is as fast as processors are.
    pub(crate) fn new(megabits: u32) -> io::Result<Self> {
        let process = std::process::id();
        let names = ["a", "b"].map(|end| format!("welter-{process}-{end}"));
        let cable = Self { names, megabits };
        let [a, b] = &cable.names;
        for name in &cable.names {
            ip(&["netns", "add", name])?;
        }
        let veth = ["link", "add", "cable", "netns", a, "type", "veth", "peer", "name", "cable"];
        ip(&[&veth[..], &["netns", b]].concat())?;
        for (name, address) in cable.names.iter().zip(ADDRESSES) {
            ip(&["-n", name, "addr", "add", &format!("{address}/24"), "dev", "cable"])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
            ip(&["-n", name, "link", "set", "cable", "up"])?;
            let rate = format!("{megabits}mbit");
            let tbf = ["qdisc", "add", "dev", "cable", "root", "tbf", "rate", &rate];
            // A tick of the kernel's clock at the rate, and the largest packet.
            let burst = ["burst", "512kb", "limit", LIMIT];
            if megabits > 0 {
                done(Command::new("tc").args(["-n", name]).args(tbf).args(burst))?;
            }
        }
        Ok(cable)
    }

    /// Bits a second.
    pub(crate) fn bits(&self) -> f64 {
        f64::from(self.megabits) * 1e6
    }

    /// A command that runs at an end.
    pub(crate) fn at(&self, end: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[end], program]);
        command
    }

    /// Bytes that have left by the fuller way of the two.
    pub(crate) fn sent(&self) -> io::Result<u64> {
        let mut most = 0;
        for name in &self.names {
            let output = done(Command::new("tc").args(["-n", name, "-s", "qdisc", "show"]))?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let of_tbf = text.split("qdisc tbf").nth(1).unwrap_or_default();
            let mut words = of_tbf.split_whitespace().skip_while(|word| *word != "Sent");
            let sent = words.nth(1).and_then(|bytes| bytes.parse().ok());
            most = most.max(sent.unwrap_or(0));
        }
        Ok(most)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            // One that was never there need not go.
            let _ = ip(&["netns", "del", name]);
        }
    }
}

fn ip(arguments: &[&str]) -> io::Result<Output> {
    done(Command::new("ip").args(arguments))
}

fn done(command: &mut Command) -> io::Result<Output> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("{command:?}: {stderr}")))
}
