//! Share of a link that lanes and route `send` use: two processes in network namespaces of their
//! own, with a cable between them that `tc` holds to a rate (root; the experiment `blitzg`).
//!
//! ```text
//! namespace a: 10.99.0.1 ── veth, tbf of the rate, each way ── 10.99.0.2 :namespace b
//! share        bytes that left by the queue (all heads in them) / (rate * seconds)
//! ```
//!
//! `--numbers FILE` puts what was measured into a file; `--command WELTER` measures route `send` of
//! that command too, with the processor time of its threads by role.

#[path = "../messages/measure.rs"]
#[expect(dead_code, reason = "the clock is what is shared")]
mod measure;
mod namespaces;
#[path = "../shared/numbers.rs"]
mod numbers;
#[path = "../messages/pipe.rs"]
#[expect(dead_code, reason = "messages and sums are what is shared")]
mod pipe;
mod process;
mod route;

use std::error::Error;

use namespaces::Cable;
use numbers::Numbers;
use process::{Kind, Outcome};

/// Gigabits a second, as this machine can carry them.
const RATES: [u32; 2] = [1, 10];

/// Seconds in which a process sends.
const SECONDS: u32 = 2;

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(role) = process::role() {
        return Ok(process::run(&role)?);
    }
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: links, since network namespaces need root");
        return Ok(());
    }
    let mut numbers = Numbers::of_arguments();
    for rate in RATES {
        for kind in Kind::ALL {
            let cable = Cable::new(1000 * rate)?;
            let outcome = process::exchanged(&cable, kind, SECONDS)?;
            let share = 100.0 * cable.sent()? as f64 * 8.0 / (outcome.seconds * cable.bits());
            let Outcome { messages, send, receive, .. } = outcome;
            println!(
                "{rate:>3} Gb/s {:<11}{share:>6.1} % of the link, {:>6.0} M messages/s, \
                 {send:.2} + {receive:.2} ns of processor time a message",
                kind.name(),
                messages / outcome.seconds / 1e6
            );
            numbers.put(&format!("link.{}-{rate}", kind.name()), share);
            numbers.write()?;
        }
    }
    let mut arguments = std::env::args().skip_while(|argument| argument != "--command");
    if let Some(command) = arguments.nth(1) {
        route::measure(&command, &RATES, &mut numbers)?;
    }
    numbers.write()?;
    Ok(())
}
