//! tmp
use welter_input::{ReadOptions, read};
use welter_progress::Progress;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let threads = a[2].parse().unwrap();
    let n: usize = a[3].parse().unwrap();
    for _ in 0..n {
        let t = std::time::Instant::now();
        let input =
            read(&[a[1].clone()], &ReadOptions { threads, ..Default::default() }, &Progress::new())
                .unwrap();
        let e = t.elapsed();
        let edges = input.edges.edges();
        let t = std::time::Instant::now();
        drop(input);
        println!(
            "{} edges {:.2} ns/edge/core drop {:?}",
            edges,
            e.as_secs_f64() * 1e9 * threads as f64 / edges as f64,
            t.elapsed()
        );
    }
}
