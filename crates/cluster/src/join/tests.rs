//! A machine whose rank 0 is a script: what becomes of it where a call of it hangs.

use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::spawn;

use tempfile::TempDir;
use welter_algorithms::PageRank;
use welter_algorithms::pagerank::Dangling;
use welter_engine::EngineError;
use welter_engine::chunks::FoldKernel;
use welter_model::edges::{EdgeList, EdgeStream};
use welter_progress::FailureKind;
use welter_protocol::config::Route;
use welter_worker::{Input, InputEdge};

use super::*;
use crate::control::read;
use crate::send::Job;
use crate::{BatchCounter, RequestCounter, Settings};

const MINUTE: Duration = Duration::from_mins(1);

const VERTICES: u64 = 9;

/// A share whose first piece says that it is asked for, and comes when it is let go.
struct Hung {
    asked: Sender<()>,
    let_go: Arc<Mutex<Receiver<()>>>,
}

impl Input for Hung {
    fn begin(&mut self) {}

    fn piece(&mut self, _: usize) -> Result<(&[InputEdge], bool), EngineError> {
        // The test may have ended.
        let _ = self.asked.send(());
        let _ = self.let_go.lock().unwrap().recv();
        Ok((&[], true))
    }
}

/// The task of a machine that sends messages, whose input is made so.
fn task(hung: impl Fn() -> Hung + Send + Sync + 'static) -> Task {
    let program = PageRank::<f64>::new(VERTICES, 0.85, 3, 0.0, Dangling::Spread);
    let input = move |_: (usize, usize)| -> Box<dyn Input> { Box::new(hung()) };
    let settings = crate::send::Settings::default();
    let job = Job::new(FoldKernel::of(Arc::new(program)), VERTICES, Arc::new(input), settings);
    Task::from(job.unwrap())
}

/// Words of a run of one machine.
fn run_of_one() -> Run {
    let settings = Settings::new(1, VERTICES, 9, Route::Fold);
    let config = Arc::new(settings.config(&settings.cut().unwrap()));
    let (words, reach, bounds) = ("pagerank".to_owned(), Reach::default(), Settings::bounds());
    let (objects, batches) = (RequestCounter::default(), BatchCounter::default());
    Run { config, words, contents: 0, bounds, reach, objects, batches, copies: None }
}

/// The only machine of a run, whose rank 0 is at this address.
fn seating(address: SocketAddr) -> Seating {
    Seating {
        rank: 0,
        machines: 1,
        first: address.to_string(),
        port: 0,
        trust: Trust::Loopback,
        patience: MINUTE,
        apart: false,
    }
}

/// Both connections of a machine that comes, which receives its beginning.
fn begun(listener: &TcpListener) -> (BufReader<TcpStream>, BufReader<TcpStream>) {
    let [mut down, mut up] = [(); 2].map(|()| BufReader::new(listener.accept().unwrap().0));
    assert_eq!(Joining::read(&mut down).unwrap().purpose, Purpose::Down);
    assert_eq!(Joining::read(&mut up).unwrap().purpose, Purpose::Up);
    down.get_mut().write_all(b"begin 0000000000000007 0\n").unwrap();
    (down, up)
}

/// The next word that is no beat.
fn next(up: &mut BufReader<TcpStream>) -> Word {
    loop {
        match read(up).unwrap().expect("the connection lasts") {
            Word::Alive => {}
            word => return word,
        }
    }
}

#[test]
fn a_machine_whose_threads_hang_does_not_come_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let seating = seating(listener.local_addr().unwrap());
    let ((asked, asks), (over, let_go)) = (channel(), channel());
    let (ended, ends) = channel();
    let machine = spawn(move || {
        let directory = TempDir::new().unwrap();
        let files = Files::Passing(directory.path().to_owned());
        let let_go = Arc::new(Mutex::new(let_go));
        let make = || -> Result<Task, ClusterError> {
            let (asked, let_go) = (asked.clone(), let_go.clone());
            Ok(task(move || Hung { asked: asked.clone(), let_go: let_go.clone() }))
        };
        let joined = join(&run_of_one(), &seating, &files, (Box::new(make), None));
        // The test may have ended.
        let _ = ended.send(joined);
    });
    let (mut down, mut up) = begun(&listener);
    assert!(matches!(next(&mut up), Word::Listening { incarnation: 1, .. }));
    let until = Instant::now() + MINUTE;
    while asks.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
        assert!(Instant::now() < until, "it reads its input");
        down.get_mut().write_all(b"beat\n").unwrap();
    }
    // Rank 0 is out of reach.
    drop((down, up));
    let joined = ends.recv_timeout(MINUTE).expect("it ends while its input hangs");
    let Err(ClusterError::Failed(failure)) = joined else { panic!("{joined:?}") };
    assert_eq!((failure.why, failure.rank), (Exit::Stalled, 0));
    assert_eq!(&*failure.what, "its threads have not ended for 2 s");
    drop(over);
    machine.join().unwrap();
}

/// Whether rank 0 hears nothing for this time of a machine that makes its task so: with the counter
/// of its input, the number of beats that were heard, and the end of the test.
fn is_silent(
    make: impl FnOnce(&BatchCounter, &AtomicUsize, &Receiver<()>) + Send + 'static,
    silence: Duration,
) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let seating = seating(listener.local_addr().unwrap());
    let (over, is_over) = channel();
    let beats = Arc::new(AtomicUsize::new(0));
    let heard = beats.clone();
    let machine = spawn(move || {
        let directory = TempDir::new().unwrap();
        let files = Files::Passing(directory.path().to_owned());
        let (run, mut once) = (run_of_one(), Some(make));
        let make = || -> Result<Task, ClusterError> {
            let make = once.take().expect("its task is made once");
            make(&run.batches, &heard, &is_over);
            let what = "it was made".to_owned();
            Err(ClusterError::Declined { rank: 0, kind: FailureKind::Input, what })
        };
        let joined = join(&run, &seating, &files, (Box::new(make), None));
        assert!(matches!(joined, Err(ClusterError::Declined { .. })), "{joined:?}");
    });
    let (down, mut up) = begun(&listener);
    up.get_mut().set_read_timeout(Some(silence)).unwrap();
    let is_silent = loop {
        match read(&mut up) {
            Ok(Some(Word::Alive)) => {
                beats.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Some(word)) => panic!("it has not listened: {word:?}"),
            // Its connections end with it.
            Ok(None) => break false,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break false,
            Err(_) => break true,
        }
    };
    drop((over, down, up));
    machine.join().unwrap();
    is_silent
}

#[test]
fn a_machine_beats_while_it_makes_its_task() {
    let make = |batches: &BatchCounter, beats: &AtomicUsize, _: &Receiver<()>| {
        let edges = batches.counted(Arc::new(EdgeList::from_pairs(vec![[0, 1]])));
        let begin = Instant::now();
        let mut expected = None;
        // It is heard after a time that is longer than a pause may be.
        while expected.is_none_or(|expected| beats.load(Ordering::Relaxed) < expected) {
            assert!(begin.elapsed() < MINUTE, "it is not heard");
            edges.read(0, &mut |_| true).unwrap();
            sleep(BEAT / 4);
            if expected.is_none() && begin.elapsed() > 2 * PAUSE_MAX {
                expected = Some(beats.load(Ordering::Relaxed) + 3);
            }
        }
    };
    assert!(!is_silent(make, 2 * MINUTE));
}

#[test]
fn a_machine_whose_task_hangs_is_silent() {
    let hang = |_: &BatchCounter, _: &AtomicUsize, over: &Receiver<()>| {
        assert_eq!(over.recv_timeout(2 * MINUTE), Err(RecvTimeoutError::Disconnected));
    };
    assert!(is_silent(hang, SILENCE));
}
