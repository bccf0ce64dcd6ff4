//! Runs on several computers: processes that come to the first one, with a key; on loopback, and
//! in network namespaces of their own.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cluster_resume::change;
use crate::sandbox::{Ended, Sandbox};

/// A port that no process listens at.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// The command of a machine, as the environment of torchrun says its place.
pub(crate) fn machine(
    sandbox: &Sandbox,
    line: &str,
    (rank, machines, port): (usize, usize, u16),
) -> Command {
    let mut command = sandbox.command(&format!("{line} --cluster env --patience 20"));
    command.env("RANK", rank.to_string()).env("WORLD_SIZE", machines.to_string());
    command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
    command
}

fn started(mut commands: Vec<Command>) -> Vec<Child> {
    commands.iter_mut().map(|command| command.spawn().unwrap()).collect()
}

pub(crate) fn ended(machines: Vec<Child>) -> Vec<Ended> {
    machines.into_iter().map(Ended::waited).collect()
}

/// Waits until machines have ended, which all do well.
fn all_well(machines: Vec<Child>) {
    for (rank, ended) in ended(machines).iter().enumerate() {
        assert_eq!(ended.code, Some(0), "{rank}: {}", ended.stderr);
    }
}

/// Runs a line on `machines` machines.
pub(crate) fn together(sandbox: &Sandbox, line: &str, machines: usize) -> Vec<Ended> {
    let port = free_port();
    let all = (0..machines).rev().map(|rank| machine(sandbox, line, (rank, machines, port)));
    let mut ended = ended(started(all.collect()));
    ended.reverse();
    ended
}

pub(crate) fn with_key() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.must("cluster init key");
    sandbox.must("generate rmat 10 --weights 255 -q -o graph.mtx");
    sandbox
}

/// Whether two files of a value a vertex are alike.
pub(crate) fn alike(sandbox: &Sandbox, files: [&str; 2]) {
    let rows = files.map(|name| String::from_utf8(sandbox.read(name)).unwrap());
    let [one, two] = rows.each_ref().map(|text| text.lines().collect::<Vec<_>>());
    assert!(one.len() > 100 && one.len() == two.len(), "{files:?}");
    for (one, two) in one.iter().zip(&two).skip(1) {
        let numbers = [one, two].map(|line| line.rsplit_once(',').unwrap().1.parse::<f64>());
        let [Ok(a), Ok(b)] = numbers else { panic!("{one} {two}") };
        assert!((a - b).abs() <= 1e-9 * a.abs().max(1e-9), "{one} {two}");
    }
}

const LINES: [&str; 3] =
    ["pagerank graph.mtx --iterations 5", "bfs graph.mtx --source 1", "wcc graph.mtx"];

#[test]
fn computers_find_what_one_does() {
    let sandbox = with_key();
    let trusted = "--insecure-trusted-network";
    for (line, options) in [
        (LINES[0], "--credentials key"),
        (LINES[1], trusted),
        (LINES[2], ""),
        (LINES[0], "--credentials key --route send"),
        (LINES[0], "--credentials key --route send --transport udp"),
        (LINES[1], "--route send"),
        ("triangles graph.mtx", "--credentials key --route send"),
        ("lcc graph.mtx", "--credentials key --route send --transport udp"),
    ] {
        sandbox.must(&format!("run {line} -q -o one.csv"));
        let line = format!("run {line} {options} -o many.csv --report r.json");
        let all = together(&sandbox, &line, 3);
        for (rank, ended) in all.iter().enumerate() {
            assert_eq!(ended.code, Some(0), "{line}, {rank}: {}", ended.stderr);
            let is_open = ended.stderr.contains("prove nothing");
            assert_eq!(is_open, options == trusted, "{}", ended.stderr);
        }
        alike(&sandbox, ["one.csv", "many.csv"]);
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        let machines = report["cluster"]["machines"].as_array().unwrap();
        assert_eq!(machines.len(), 3);
        let resident = |it: &Value| it["resident_bytes_max"].as_u64();
        assert!(machines.iter().all(|it| resident(it) > Some(1 << 20)), "{line}: {report}");
    }
    let left = sandbox.files();
    assert!(left.iter().all(|name| !name.starts_with("welter-cluster")), "{left:?}");
}

#[test]
fn computers_choose_one_route_by_what_all_are_given() {
    let sandbox = with_key();
    for line in &LINES[..2] {
        sandbox.must(&format!("run {line} -q -o one.csv"));
        for (options, route) in [("", "fold"), ("--memory 2GiB", "send")] {
            let line = format!("run {line} --credentials key -q {options}");
            for ended in together(&sandbox, &format!("{line} -o many.csv --report r.json"), 3) {
                assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
            }
            alike(&sandbox, ["one.csv", "many.csv"]);
            let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
            assert_eq!(report["cluster"]["route"], route, "{line}: {report}");
        }
    }
}

#[test]
fn computers_go_on_after_rank_0_died() {
    let sandbox = with_key();
    sandbox.must("run pagerank rmat:10 --iterations 60 --tolerance 0 -q -o one.csv");
    let line = "run pagerank rmat:10 --iterations 4000 --tolerance 0 -q -o many.csv \
                --credentials key --checkpoint kept";
    let stored = |rank: usize| {
        let manifests = sandbox.path().join(format!("kept/rank-{rank}/machine/manifests"));
        std::fs::read_dir(manifests).map_or(0, Iterator::count)
    };
    let port = free_port();
    let mut all = started((0..3).map(|rank| machine(&sandbox, line, (rank, 3, port))).collect());
    let began = Instant::now();
    while stored(0) == 0 {
        assert!(began.elapsed() < Duration::from_mins(2), "it begins");
        std::thread::sleep(Duration::from_millis(5));
    }
    all[0].kill().unwrap();
    let ended_by = ended(all);
    for ended in &ended_by[1..] {
        assert_eq!(ended.code, Some(75), "{}", ended.stderr);
        assert!(ended.stderr.contains("`welter resume kept`"), "{}", ended.stderr);
    }
    // Others resume it, with fewer iterations, so that there is an end to compare.
    for rank in 0..3 {
        change(&sandbox.path().join(format!("kept/rank-{rank}")), "4000", "60");
    }
    let port = free_port();
    let resumed = (0..3).map(|rank| {
        let mut command = sandbox.command("resume kept");
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", "3");
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        command
    });
    for ended in ended(started(resumed.collect())) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    alike(&sandbox, ["one.csv", "many.csv"]);
    assert!(!sandbox.path().join("kept").exists());
}

#[test]
fn a_machine_without_its_disk_is_replaced_with_its_values() {
    let sandbox = with_key();
    let line = "pagerank rmat:13 --iterations 300 --tolerance 0";
    sandbox.must(&format!("run {line} -q -o one.csv"));
    for mirror in ["none", "vertices", "all"] {
        let line = format!(
            "run {line} -q --credentials key --mirror {mirror} --scratch . -o many.csv \
             --report r.json"
        );
        let port = free_port();
        let mut all =
            started((0..3).map(|rank| machine(&sandbox, &line, (rank, 3, port))).collect());
        let began = Instant::now();
        let folder = |rank: usize| {
            let mut names = sandbox.files().into_iter();
            let is_it = |name: &String| {
                name.starts_with("welter-cluster") && name.ends_with(&format!("-{rank}"))
            };
            names.find(is_it).map(|name| sandbox.path().join(name))
        };
        let manifests = || {
            let manifests = folder(0).map(|folder| folder.join("manifests"));
            manifests.and_then(|it| std::fs::read_dir(it).ok()).map_or(0, Iterator::count)
        };
        while manifests() < 2 {
            assert!(began.elapsed() < Duration::from_mins(2), "it begins");
            std::thread::sleep(Duration::from_millis(5));
        }
        all[2].kill().unwrap();
        all[2].wait().unwrap();
        let killed = began.elapsed().as_secs_f64();
        std::fs::remove_dir_all(folder(2).unwrap()).unwrap();
        all[2] = machine(&sandbox, &line, (2, 3, port)).spawn().unwrap();
        all_well(all);
        alike(&sandbox, ["one.csv", "many.csv"]);
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        assert_eq!(report["cluster"]["restarts"], 1);
        // A run that begins anew, as one without copies does, has its beginning again, after the
        // machine was killed.
        let times = report["cluster"]["iteration_times"].as_array().unwrap();
        assert_eq!(times[0]["iteration"], 0);
        let is_kept = times[0]["seconds"].as_f64().unwrap() < killed;
        assert!(is_kept || mirror == "none", "{mirror}: {report}");
        std::fs::remove_file(sandbox.path().join("many.csv")).unwrap();
    }
}

#[test]
fn computers_end_alike() {
    let sandbox = with_key();
    let port = free_port();
    let line = "run wcc graph.mtx --credentials key -o out.csv";
    // One of the three computers never comes.
    let line = format!("{line} --cluster env --patience 3");
    let here = [0, 1].map(|rank| {
        let mut command = sandbox.command(&line);
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", "3");
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        command
    });
    for ended in ended(started(here.into())) {
        assert_eq!(ended.code, Some(75), "{}", ended.stderr);
        assert!(ended.stderr.contains("machine 2 has not come within 3 s"), "{}", ended.stderr);
    }
    // One has another command, one lacks the input.
    let port = free_port();
    let lines = ["run wcc graph.mtx --credentials key", "run wcc none.mtx --credentials key"];
    let all = [0, 1].map(|rank| machine(&sandbox, lines[rank], (rank, 2, port)));
    for ended in ended(started(all.into())) {
        assert_eq!(ended.code, Some(66), "{}", ended.stderr);
        assert!(ended.stderr.contains("none.mtx"), "{}", ended.stderr);
    }
    assert!(!sandbox.files().contains(&"out.csv".to_owned()));
}

#[test]
fn copies_of_an_input_that_differ_end_a_run() {
    let sandbox = with_key();
    let line = "run sssp roads.csv --source b --credentials key -o out.csv";
    for (number, other) in ["a,b,1\nb,c,3\nc,a,1\n", "b,c,2\na,b,1\nc,a,1\n"].iter().enumerate() {
        let port = free_port();
        let all = [0, 1, 2].map(|rank| {
            let folder = sandbox.path().join(format!("{number}{rank}"));
            std::fs::create_dir(&folder).unwrap();
            std::fs::copy(sandbox.path().join("key"), folder.join("key")).unwrap();
            let edges = if rank == 1 { other } else { "a,b,1\nb,c,2\nc,a,1\n" };
            std::fs::write(folder.join("roads.csv"), format!("from,to,km\n{edges}")).unwrap();
            let mut command = machine(&sandbox, line, (rank, 3, port));
            command.current_dir(folder);
            command
        });
        for (rank, ended) in ended(started(all.into())).iter().enumerate() {
            assert_eq!(ended.code, Some(65), "{rank}: {}", ended.stderr);
            let message = "machine 1: its copy of the input has other contents";
            assert!(ended.stderr.contains(message), "{rank}: {}", ended.stderr);
        }
        assert!(!sandbox.path().join(format!("{number}0/out.csv")).exists());
    }
}

#[test]
fn machines_without_credentials_are_on_loopback() {
    let sandbox = with_key();
    sandbox.write("peers", "10.11.12.13:7000\n10.11.12.14:7000\n");
    let line = "run wcc graph.mtx --cluster static:peers --rank 0";
    let ended = sandbox.run(line);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("without credentials"), "{}", ended.stderr);
    sandbox.write("noise", "no key");
    assert_eq!(sandbox.run(&format!("{line} --credentials noise")).code, Some(65));
    assert_eq!(sandbox.run(&format!("{line} --credentials none")).code, Some(66));
    let again = sandbox.run("cluster init key");
    assert!(again.code == Some(73) && again.stderr.contains("already"), "{}", again.stderr);
    // Rank 0 is on another computer, which is seen before it is waited for.
    let other = sandbox.run("run wcc graph.mtx --cluster static:peers --rank 1");
    assert!(other.code == Some(2) && other.stderr.contains("without credentials"));
    for wrong in ["--cluster env", "--cluster static:peers", "--cluster static:peers --rank 2"] {
        let ended = sandbox.run(&format!("run wcc graph.mtx {wrong}"));
        assert_eq!(ended.code, Some(2), "{wrong}: {}", ended.stderr);
    }
}

#[test]
fn a_machine_that_is_killed_comes_again_and_strangers_change_nothing() {
    killed("");
}

#[test]
fn a_run_by_messages_begins_anew_with_a_machine_that_comes_again() {
    killed("--route send");
}

fn killed(route: &str) {
    let sandbox = with_key();
    // Enough iterations that the run is not over when a machine is killed, however fast it is.
    let line = "pagerank rmat:15 --iterations 300";
    sandbox.must(&format!("run {line} -q -o one.csv"));
    let options = format!("--credentials key {route} --scratch . -o many.csv --report r.json");
    let line = format!("run {line} {options}");
    let port = free_port();
    let mut all = started((0..3).map(|rank| machine(&sandbox, &line, (rank, 3, port))).collect());
    let began = Instant::now();
    let has_begun = || {
        let files = sandbox.files();
        files.iter().any(|name| name.starts_with("welter-cluster") && name.ends_with("-2"))
    };
    while !has_begun() {
        assert!(began.elapsed() < Duration::from_mins(1), "it begins");
        std::thread::sleep(Duration::from_millis(20));
    }
    for noise in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 5000], b"welter-join-2 0 0 0 0 Up\n"] {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        // It may be reset at any time.
        let _ = stream.write_all(noise);
    }
    // A scan of ports: more connections than have places, which say nothing.
    let idle: Vec<_> = (0..100).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port))).collect();
    std::thread::sleep(Duration::from_millis(100));
    all[2].kill().unwrap();
    all[2].wait().unwrap();
    all[2] = machine(&sandbox, &line, (2, 3, port)).spawn().unwrap();
    all_well(all);
    drop(idle);
    alike(&sandbox, ["one.csv", "many.csv"]);
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    assert_eq!(report["cluster"]["restarts"], 1);
    let recoveries = report["cluster"]["recoveries"].as_array().unwrap();
    let is_it = |it: &Value| it["rank"] == 2 && it["restarted"] == true;
    let lasted = |it: &&Value| is_it(it) && it["seconds"].as_f64() > Some(0.0);
    assert_eq!(recoveries.iter().filter(lasted).count(), 1, "{report}");
    assert!(report["cluster"]["strangers"].as_u64().unwrap() >= 3, "{report}");
}

#[test]
fn machines_stay_while_the_first_one_writes_for_long() {
    let sandbox = with_key();
    let (line, port) = ("run wcc rmat:14 -q -o - --credentials key", free_port());
    let all = started((0..3).map(|rank| machine(&sandbox, line, (rank, 3, port))).collect());
    // More rows than a pipe takes, which nothing reads for longer than machines may be silent.
    std::thread::sleep(Duration::from_secs(14));
    let ended = ended(all);
    let codes: Vec<_> = ended.iter().map(|ended| ended.code).collect();
    assert_eq!(codes, [Some(0); 3], "{} {}", ended[1].stderr, ended[2].stderr);
    assert!(ended[0].stdout.len() > 1 << 16);
}

/// Computers with a network each, on a bridge, which are removed when this is dropped.
pub(crate) struct Net {
    pub(crate) name: String,
    machines: usize,
}

pub(crate) fn ip(line: &str) -> Result<(), String> {
    let ended = Command::new("ip").args(line.split(' ')).output();
    let ended = ended.map_err(|error| format!("ip: {error}"))?;
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    if ended.status.success() { Ok(()) } else { Err(format!("ip {line}: {stderr}")) }
}

impl Net {
    pub(crate) fn new(machines: usize) -> Result<Self, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("wl{}x{number}", std::process::id() % 100_000);
        let net = Self { name, machines };
        let Self { name, .. } = &net;
        ip(&format!("netns add {name}b"))?;
        ip(&format!("-n {name}b link add hub type bridge"))?;
        ip(&format!("-n {name}b link set hub up"))?;
        for rank in 0..machines {
            ip(&format!("netns add {name}{rank}"))?;
            ip(&format!("-n {name}{rank} link add e type veth peer name v{rank} netns {name}b"))?;
            ip(&format!("-n {name}{rank} addr add 10.77.0.{}/24 dev e", rank + 1))?;
            ip(&format!("-n {name}{rank} link set e up"))?;
            ip(&format!("-n {name}{rank} link set lo up"))?;
            ip(&format!("-n {name}b link set v{rank} master hub"))?;
            ip(&format!("-n {name}b link set v{rank} up"))?;
        }
        Ok(net)
    }

    /// The command of a machine, in its network.
    pub(crate) fn command(&self, sandbox: &Sandbox, line: &str, rank: usize) -> Command {
        let line = format!("{line} --cluster static:peers --rank {rank} --credentials key");
        let inner = sandbox.command(&line);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}{rank}", self.name)]);
        command.arg(inner.get_program()).args(inner.get_args());
        command.current_dir(sandbox.path()).stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command
    }

    pub(crate) fn start(&self, sandbox: &Sandbox, line: &str) -> Vec<Child> {
        started((0..self.machines).map(|rank| self.command(sandbox, line, rank)).collect())
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        let Self { name, machines } = self;
        // Some may not have been made.
        let _ = (0..*machines).map(|rank| ip(&format!("netns del {name}{rank}"))).count();
        let _ = ip(&format!("netns del {name}b"));
    }
}

/// Four computers with a key and a list; none where namespaces cannot be had, which is said.
pub(crate) fn in_networks() -> Option<(Net, Sandbox)> {
    let net = match Net::new(4) {
        Ok(net) => net,
        Err(why) => {
            let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
            assert!(required.split(',').all(|name| name != "netns"), "netns: {why}");
            let _ = writeln!(std::io::stderr(), "SKIPPED: tests in network namespaces: {why}");
            return None;
        }
    };
    let sandbox = with_key();
    let peers = [1, 2, 3, 4].map(|host| format!("10.77.0.{host}:7070\n")).concat();
    sandbox.write("peers", peers);
    Some((net, sandbox))
}

#[test]
fn four_computers_in_networks_of_their_own() {
    let Some((net, sandbox)) = in_networks() else { return };
    for line in LINES {
        sandbox.must(&format!("run {line} -q -o one.csv"));
        for (rank, ended) in
            ended(net.start(&sandbox, &format!("run {line} -o many.csv"))).iter().enumerate()
        {
            assert_eq!(ended.code, Some(0), "{line}, {rank}: {}", ended.stderr);
        }
        alike(&sandbox, ["one.csv", "many.csv"]);
    }
    // A computer is cut off for good, and then two are from each other: all end alike.
    let name = &net.name;
    let line = "rmat:16 --iterations 20000";
    ends_when_cut(&net, &sandbox, line, |_| ip(&format!("-n {name}b link set v3 down")).unwrap());
    ip(&format!("-n {name}b link set v3 up")).unwrap();
    let nowhere = |here: usize, there: usize| {
        ip(&format!("-n {name}{here} neigh replace 10.77.0.{there} lladdr 02:00:00:00:00:99 dev e"))
    };
    // One of them is held, so that what it has still to send is lost, and it has all of the other.
    ends_when_cut(&net, &sandbox, "rmat:12 --iterations 200000 --route send", |machines| {
        let held = Pid::from_child(&machines[1]);
        kill_process(held, Signal::STOP).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        nowhere(1, 3).unwrap();
        nowhere(2, 2).unwrap();
        kill_process(held, Signal::CONT).unwrap();
    });
}

/// Runs ranks on a network that is `cut`, and looks at how machines end. Silence and vain epochs
/// take some 40 s on idle cores: the bound is for runs that would wait on.
fn ends_when_cut(net: &Net, sandbox: &Sandbox, of: &str, cut: impl FnOnce(&[Child])) {
    let directory = sandbox.path().join("cut");
    std::fs::create_dir(&directory).unwrap();
    let all = net.start(sandbox, &format!("run pagerank {of} --scratch cut -o cut.csv"));
    let began = Instant::now();
    while std::fs::read_dir(&directory).unwrap().next().is_none() {
        assert!(began.elapsed() < Duration::from_mins(1), "it begins");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    cut(&all);
    let cut = Instant::now();
    for (rank, ended) in ended(all).iter().enumerate() {
        assert_eq!(ended.code, Some(75), "{of}, {rank}: {}", ended.stderr);
    }
    assert!(cut.elapsed() < Duration::from_mins(3), "{of}: {:?}", cut.elapsed());
    std::fs::remove_dir_all(directory).unwrap();
}
