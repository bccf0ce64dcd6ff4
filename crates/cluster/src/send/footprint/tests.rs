//! Footprints and budgets of machines that send.

use std::sync::Arc;

use welter_algorithms::bp::Potential;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::{Cdlp, Lcc, PageRank, SumProduct, Triangles};
use welter_engine::chunks::{ExtendedKernel, FoldKernel, IntersectKernel};
use welter_model::group::Grouped;

use super::*;

fn kernels() -> [MessageKernel; 2] {
    let ranks = PageRank::<f64>::new(1 << 20, 0.85, 9, 0.0, Dangling::Spread);
    let ranks = FoldKernel::of(Arc::new(ranks));
    [ranks.into(), FoldKernel::of(Arc::new(Grouped(Cdlp::new(3)))).into()]
}

/// Kernels of programs that do not fold.
fn others() -> [MessageKernel; 3] {
    let potential = Potential::<2>::coupled(0.3).unwrap();
    let beliefs = SumProduct::<2, 1>::new(potential, 9, 0.0).unwrap();
    [
        ExtendedKernel::of(Arc::new(beliefs)).into(),
        IntersectKernel::of(Arc::new(Triangles)).into(),
        IntersectKernel::of(Arc::new(Lcc)).into(),
    ]
}

fn demand(kernel: &MessageKernel, machines: usize) -> Demand<'_> {
    let (vertices, edges, input_bytes) = (1 << 20, 1 << 25, 1 << 20);
    Demand { kernel, machines, vertices, edges, edge_bytes: 6, input_bytes }
}

#[test]
fn a_budget_is_kept_or_the_least_one_is_named() {
    for kernel in kernels().into_iter().chain(others()) {
        for machines in [1, 2, 7] {
            let demand = demand(&kernel, machines);
            let all = Settings { sub_ranges: 2, ..Settings::default() };
            let wanted = all.footprint(&demand).memory_bytes();
            let least = all.clone().within(0, &demand).unwrap_err();
            assert_eq!(all.clone().within(least - 1, &demand).unwrap_err(), least);
            for budget in [least, least + (1 << 20), 2 * wanted.max(least)] {
                let found = all.clone().within(budget, &demand).unwrap();
                let bound = Footprint::memory_bytes(&found.footprint(&demand));
                assert!(bound <= budget, "{bound} of {budget}");
                // Edges beyond the estimate are bounded too.
                let extra = found.edge_bytes.saturating_sub(demand.packed());
                assert!(bound + extra <= budget, "{extra} beyond {bound} of {budget}");
            }
            let found = all.clone().within(4 * wanted.max(least), &demand).unwrap();
            assert_eq!(found.chunk_edges, all.chunk_edges, "nothing is halved for nothing");
            assert_eq!(found.stripe_vertices, all.stripe_vertices, "nor wider");
            assert!(found.edge_bytes >= demand.packed(), "all edges are in memory");
        }
    }
}

/// A graph of 2^26 vertices and 2^30 edges.
fn large(kernel: &MessageKernel) -> Demand<'_> {
    Demand { vertices: 1 << 26, edges: 1 << 30, ..demand(kernel, 2) }
}

#[test]
fn bins_have_a_bound_where_there_is_no_budget() {
    let [kernel, _] = kernels();
    for sub_ranges in [1, 4, 16] {
        let (all, demand) = (Settings { sub_ranges, ..Settings::default() }, large(&kernel));
        assert!(all.bin_bytes(&demand) > BINS_BYTES, "{sub_ranges}");
        let found = all.clone().without_budget(&demand);
        let bytes = found.bin_bytes(&demand);
        assert!(bytes <= BINS_BYTES && bytes > BINS_BYTES / 4, "{bytes}: {found:?}");
        assert!(found.chunk_edges >= CHUNK_EDGES_MIN);
        let is_wider = found.stripe_vertices > all.stripe_vertices;
        assert_eq!(is_wider, sub_ranges == 16, "bins are halved first: {found:?}");
        let rest = [&found, &all].map(|it| (it.edge_bytes, it.grouped_bytes));
        assert_eq!(rest[0], rest[1], "nothing else is bounded");
    }
    // Settings that fit stay; each sub-range has a bin where there are more than have room.
    let small = Settings::default().without_budget(&demand(&kernel, 2));
    let all = Settings::default();
    assert_eq!(small.chunk_edges, all.chunk_edges);
    assert_eq!(small.stripe_vertices, all.stripe_vertices);
    let many = Settings { sub_ranges: 128, ..Settings::default() }.without_budget(&large(&kernel));
    let bytes = many.bin_bytes(&large(&kernel));
    assert!(many.chunk_edges == CHUNK_EDGES_MIN && bytes > BINS_BYTES, "{bytes}: {many:?}");
}

#[test]
fn edges_that_wait_for_rings_and_tables_are_counted() {
    let [kernel, _] = kernels();
    // No edge waits for a chunk.
    let bins = |machines, sub_ranges| {
        let settings = Settings { sub_ranges, ..Settings::default() };
        settings.bin_bytes(&Demand { edges: 0, ..demand(&kernel, machines) })
    };
    // A thread has a ring to each sub-range, 4 KiB, and two tables of 64 KiB.
    assert_eq!(bins(3, 1) - bins(2, 1), 4 << 10);
    let chunks = 2 * (1 << 17) * (16 + 4 + 8);
    assert_eq!(bins(5, 4), 4 * (chunks + 20 * (4 << 10) + (128 << 10)));
}

#[test]
fn stripes_are_wider_where_halved_bins_do_not_fit() {
    let [kernel, _] = kernels();
    let (all, demand) = (Settings { sub_ranges: 4, ..Settings::default() }, large(&kernel));
    let least = all.clone().within(0, &demand).unwrap_err();
    let halved = all.halved(HALVINGS, &demand).footprint(&demand).memory_bytes();
    assert!(least < halved, "{least} of {halved}");
    let found = all.clone().within(least, &demand).unwrap();
    assert!(found.stripe_vertices > all.stripe_vertices, "{found:?}");
    let wider: Vec<u64> =
        (0..4).map(|times| all.halved(HALVINGS + times, &demand).stripe_vertices).collect();
    assert_eq!(wider, [1 << 16, 1 << 17, 1 << 18, 1 << 19]);
    let triangles = &others()[1];
    let bins = [HALVINGS, HALVINGS + WIDENINGS]
        .map(|times| all.halved(times, &large(triangles)).bin_bytes(&large(triangles)));
    assert_eq!(bins[0], bins[1], "rows have no stripes");
}

#[test]
fn updates_of_all_machines_have_room_where_that_is_wanted() {
    let [merged, grouped] = kernels();
    let all = Settings { sub_ranges: 2, ..Settings::default() };
    let demand_of = |kernel| demand(kernel, 3);
    let least = all.clone().within(0, &demand_of(&merged)).unwrap_err();
    let found = all.clone().surely_within(least, &demand_of(&merged)).unwrap();
    assert_eq!(found.grouped_bytes, u64::MAX, "nothing waits for its group");
    let demand = demand_of(&grouped);
    let mut budget = all.clone().within(0, &demand).unwrap_err();
    assert!(all.clone().within(budget, &demand).is_ok());
    let found = loop {
        match all.clone().surely_within(budget, &demand) {
            Ok(found) => break found,
            Err(need) => {
                assert!(need > budget);
                budget = need;
            }
        }
    };
    assert!(found.grouped_bytes >= 3 * demand.grouped_all());
    assert!(found.footprint(&demand).memory_bytes() <= budget);
}

#[test]
fn sender_threads_take_memory_and_spare_connections() {
    let [kernel, _] = kernels();
    let demand = demand(&kernel, 3);
    let of = |transport, senders| {
        let settings = Settings { transport, sub_ranges: 4, senders, ..Settings::default() };
        let memory = settings.footprint(&demand).memory;
        let part = |name| memory.iter().find(|(of, _)| *of == name).unwrap().1;
        [part("process"), part("buckets")]
    };
    for transport in [Transport::Tcp, Transport::Udp] {
        let [none, one, all] = [0, 1, 4].map(|senders| of(transport, senders));
        assert_eq!([one[0] - none[0], all[0] - none[0]], [THREAD_BYTES, 4 * THREAD_BYTES]);
        assert!(one[1] < none[1] && all[1] == none[1], "{transport:?}: buffers of connections");
    }
    let [none, one, all] = [0, 1, 4].map(|senders| of(Transport::Shared, senders)[1]);
    assert!(one < all && none < all, "buckets are copied into regions");
}

#[test]
fn more_machines_take_less_each_and_less_is_on_disk_in_more_memory() {
    let [kernel, grouped] = kernels();
    let of = |machines| Settings::default().footprint(&demand(&kernel, machines));
    let [one, two, four] = [1, 2, 4].map(of);
    assert_eq!(one.sent_bytes, 0, "one machine has no other to send to");
    assert!(one.memory_bytes() > two.memory_bytes() && two.memory_bytes() > four.memory_bytes());
    let demand = demand(&grouped, 2);
    let least = Settings::default().within(0, &demand).unwrap_err();
    let disk = [least, least + (64 << 20), least + (1 << 30)].map(|budget| {
        let found = Settings::default().within(budget, &demand).unwrap();
        (found.footprint(&demand).disk[0].1, found.grouped_bytes)
    });
    assert!(disk.is_sorted_by(|one, next| one.0 > next.0 && one.1 < next.1), "{disk:?}");
    assert_eq!(disk[2].0, 0);
    let edge_bytes = 1 << 20;
    let bounded = Settings { edge_bytes, ..Settings::default() };
    let found = bounded.within(1 << 32, &demand).unwrap();
    assert_eq!(found.edge_bytes, edge_bytes, "what the user says is the most");
}
