//! Route `send` of the command on two machines, one at each end of the cable.
//!
//! An iteration is a part of the difference between a run with few and one with many, so that
//! beginning and end are not in it. Processor time of threads is sampled until a process ends.
//! Where messages are counted each edge is one (`--combine never`), as in the paper; an edge of a
//! run as users have it costs what it does where updates meet before they are sent.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::namespaces::{ADDRESSES, Cable};
use crate::numbers::Numbers;

/// Edges spread evenly over destinations, 16 a vertex.
const GRAPH: &str = "rmat:20";
const EDGES: f64 = (16 << 20) as f64;

/// Iterations of the two runs.
const ITERATIONS: [u32; 2] = [4, 16];

/// Seconds, bytes by the cable, and processor time of threads by name.
struct Ran {
    seconds: f64,
    sent: u64,
    nanos: BTreeMap<String, u64>,
}

/// Measures shares of links, and costs of a message by the role of threads: over a link as fast as
/// cores are, and over links of these rates.
pub(crate) fn measure(
    command: &str,
    rates: &[u32],
    numbers: &mut Numbers,
) -> Result<(), Box<dyn Error>> {
    let messages = EDGES * f64::from(ITERATIONS[1] - ITERATIONS[0]);
    let [few, many] = ITERATIONS.map(|count| ran(command, 0, (count, "auto")));
    let all = |ran: Ran| ran.nanos.values().sum::<u64>() as f64;
    numbers.put("edge-nanos.send", (all(many?) - all(few?)) / messages);
    for rate in [&[0_u32][..], rates].concat() {
        let [few, many] = ITERATIONS.map(|count| ran(command, rate, (count, "never")));
        let (few, many) = (few?, many?);
        let suffix = if rate == 0 { String::new() } else { format!("-{rate}") };
        for role in ["computation", "accumulator"] {
            let of = |ran: &Ran| ran.nanos.get(role).copied().unwrap_or(0) as f64;
            let nanos = (of(&many) - of(&few)) / messages;
            println!("{rate:>3} Gb/s route send, {role} threads: {nanos:.2} ns a message");
            numbers.put(&format!("route.{role}{suffix}"), nanos);
        }
        if rate > 0 {
            let bits = (many.sent - few.sent) as f64 * 8.0;
            let share = 100.0 * bits / ((many.seconds - few.seconds) * f64::from(rate) * 1e9);
            println!("{rate:>3} Gb/s PageRank by route send over TCP: {share:.1} % of the link");
            numbers.put(&format!("link.route-tcp-{rate}"), share);
        }
        // Numbers that were measured stay, if a later run fails.
        numbers.write()?;
    }
    Ok(())
}

/// A run of as many iterations, whose updates are combined so.
fn ran(command: &str, rate: u32, (iterations, combine): (u32, &str)) -> io::Result<Ran> {
    let cable = Cable::new(1000 * rate)?;
    let folder = std::env::temp_dir().join(format!("welter-route-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let peers = folder.join("peers");
    std::fs::write(&peers, ADDRESSES.map(|address| format!("{address}:7100\n")).concat())?;
    let since = Instant::now();
    let mut machines: Vec<Child> = Vec::new();
    for rank in 0..2 {
        let mut machine = cable.at(rank, command);
        machine.args(["run", "pagerank", GRAPH, "--iterations", &iterations.to_string(), "-q"]);
        machine.args(["--route", "send", "--combine", combine]);
        machine.args(["--insecure-trusted-network", "--scratch"]).arg(&folder);
        machine.arg("--cluster").arg(format!("static:{}", peers.display()));
        machine.args(["--rank", &rank.to_string(), "-o"]).arg(folder.join("out.npy"));
        machines.push(machine.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn()?);
    }
    let mut nanos: BTreeMap<(u32, String), (String, u64)> = BTreeMap::new();
    let mut failed = None;
    while !machines.is_empty() {
        std::thread::sleep(Duration::from_millis(10));
        let mut left = Vec::new();
        for mut machine in machines {
            sample(machine.id(), &mut nanos);
            match machine.try_wait()? {
                None => left.push(machine),
                Some(ended) if !ended.success() => failed = Some(ended),
                Some(_) => {}
            }
        }
        machines = left;
    }
    let seconds = since.elapsed().as_secs_f64();
    let sent = cable.sent()?;
    let _ = std::fs::remove_dir_all(&folder);
    if let Some(ended) = failed {
        return Err(io::Error::other(format!("{command}: {ended}")));
    }
    let mut by_name = BTreeMap::new();
    for (name, nanos) in nanos.into_values() {
        *by_name.entry(name).or_insert(0) += nanos;
    }
    Ok(Ran { seconds, sent, nanos: by_name })
}

/// Processor time of the threads of a process so far.
fn sample(process: u32, nanos: &mut BTreeMap<(u32, String), (String, u64)>) {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else { return };
    for task in tasks.flatten() {
        let read = |file: &str| read(&task.path(), file);
        let (Some(name), Some(stat)) = (read("comm"), read("schedstat")) else { continue };
        let spent = stat.split(' ').next().and_then(|spent| spent.parse().ok());
        let thread = task.file_name().to_string_lossy().into_owned();
        if let Some(spent) = spent {
            nanos.insert((process, thread), (name.trim().to_owned(), spent));
        }
    }
}

/// Text of a file of a thread, which may be gone.
fn read(of: &Path, file: &str) -> Option<String> {
    std::fs::read_to_string(of.join(file)).ok()
}
