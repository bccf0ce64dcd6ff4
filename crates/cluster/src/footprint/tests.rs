//! Budgets that are kept, and what grows with machines, copies, edges and updates.

use welter_protocol::config::Copies;
use welter_store::frame::Compression;

use super::*;
use crate::budget::{BIN_CHUNKS_MAX, KEPT_UPDATES};
use crate::codecs::Codecs;

const RANKS: Widths =
    Widths { vertex: 17, signal: 8, accum: 8, record: 8, edge: 5, combines: true, degrees: true };

fn demand(edges: u64) -> Demand {
    Demand { edges, input_bytes: 1 << 20, widths: RANKS }
}

fn settings(machines: usize, route: Route) -> Settings {
    Settings::new(machines, 1 << 24, RANKS.vertex, route)
}

#[test]
fn a_budget_is_kept_or_the_least_one_is_named() {
    for route in [Route::Fold, Route::Spill] {
        for machines in [1, 2, 7] {
            let (all, demand) = (settings(machines, route), demand(1 << 28));
            let wanted = all.footprint(&demand).unwrap().memory_bytes();
            let least = all.within(0, &demand).unwrap_err();
            assert!(least < wanted, "{least} of {wanted}");
            assert_eq!(all.within(least - 1, &demand).unwrap_err(), least);
            for budget in [least, 2 * least, wanted] {
                let found = all.within(budget, &demand).unwrap();
                assert!(found.footprint(&demand).unwrap().memory_bytes() <= budget);
            }
            let found = all.within(wanted, &demand).unwrap();
            assert_eq!(found.chunk_records, all.chunk_records, "nothing is halved for nothing");
        }
    }
}

#[test]
fn more_machines_take_less_each() {
    let of = |machines| settings(machines, Route::Spill).footprint(&demand(1 << 30)).unwrap();
    let [one, two, four] = [1, 2, 4].map(of);
    assert_eq!(one.sent_bytes, 0, "one machine has no other to send to");
    assert!(two.sent_bytes > four.sent_bytes && four.sent_bytes > 0);
    assert!(one.disk_bytes() > two.disk_bytes() && two.disk_bytes() > four.disk_bytes());
}

#[test]
fn copies_take_disk_and_network() {
    let of = |copies| {
        let settings = Settings { copies, ..settings(3, Route::Fold) };
        let found = settings.footprint(&demand(1 << 24)).unwrap();
        [found.disk_bytes(), found.sent_bytes, found.memory_bytes()]
    };
    let [none, vertices, both] = [Copies::NONE, Copies::VERTICES, Copies::BOTH].map(of);
    assert!(none[0] < vertices[0] && vertices[0] < both[0], "disk");
    assert!(none[1] < vertices[1] && vertices[1] == both[1], "network of fixed edges");
    assert!(none[2] == vertices[2] && none[2] == both[2], "memory");
}

#[test]
fn codecs_take_memory_and_updates_one_by_one_take_storage() {
    let of = |change: fn(Settings) -> Settings| {
        change(settings(2, Route::Spill)).footprint(&demand(1 << 28)).unwrap()
    };
    let plain = of(|all| all);
    let measured = of(|all| Settings { codecs: Codecs::Measured, ..all });
    let stated = of(|all| Settings { codecs: Codecs::Stated(Compression::Zstd), ..all });
    let memory = [&plain, &stated, &measured].map(Footprint::memory_bytes);
    assert!(memory[0] < memory[1] && memory[1] < memory[2], "{memory:?}");
    assert_eq!(measured.disk_bytes(), plain.disk_bytes(), "no codec may make them smaller");
    // Of few vertices a chunk has a record each.
    let few = of(|all| Settings { vertices: 1 << 16, ..all });
    let apart = of(|all| Settings { vertices: 1 << 16, combines: false, ..all });
    assert!(apart.written_bytes > 2 * few.written_bytes);
}

#[test]
fn an_iteration_takes_as_long_as_the_slower_of_disk_and_network() {
    let of = |route| settings(2, route).footprint(&demand(1 << 28)).unwrap();
    let [fold, spill] = [Route::Fold, Route::Spill].map(of);
    assert!(fold.read_bytes > RANKS.edge << 27, "all edges are read");
    assert!(spill.written_bytes > fold.written_bytes, "updates wait on storage");
    let rates = Rates { read: 1e9, write: 5e8, network: 1e12 };
    let disk = fold.read_bytes as f64 / 1e9 + fold.written_bytes as f64 / 5e8;
    assert!((fold.iteration_seconds(&rates) - disk).abs() < 1e-9 * disk);
    let rates = Rates { network: 1e6, ..rates };
    let network = fold.sent_bytes as f64 / 1e6;
    assert!((fold.iteration_seconds(&rates) - network).abs() < 1e-9 * network);
}

#[test]
fn chunks_that_lie_with_their_owners_are_not_sent() {
    let of = |machines, route| settings(machines, route).footprint(&demand(1 << 28)).unwrap();
    for route in [Route::Fold, Route::Spill] {
        assert_eq!(of(1, route).placed_bytes, 0, "one machine has no other");
        let found = of(2, route);
        // Sets travel still, and updates to where they wait.
        let (edges, stay) = (RANKS.edge << 26, found.sent_bytes - found.placed_bytes);
        assert!(found.placed_bytes >= edges && stay > 0, "{route:?}: {found:?}");
        let has_updates = found.placed_bytes > edges;
        assert_eq!(has_updates, route == Route::Spill, "{route:?}: {found:?}");
    }
}

#[test]
fn degrees_are_counted_of_programs_that_look_at_them() {
    let settings = settings(4, Route::Spill);
    let [with, without] = [true, false].map(|degrees| {
        let widths = Widths { degrees, ..RANKS };
        settings.footprint(&Demand { widths, ..demand(1 << 20) }).unwrap().memory_bytes()
    });
    let (more, vertices) = (with - without, settings.vertices);
    assert!((4 * vertices..5 * vertices).contains(&more), "{more} bytes");
}

#[test]
fn what_is_not_merged_is_counted_whole_up_to_what_is_kept() {
    let widths = Widths { combines: false, ..RANKS };
    let of = |edges, widths: Widths| {
        let demand = Demand { widths, ..demand(edges) };
        settings(2, Route::Fold).keeping(&widths).footprint(&demand).unwrap()
    };
    let [plain, looking] = [RANKS, widths].map(|widths| of(1 << 20, widths));
    assert!(looking.memory_bytes() >= plain.memory_bytes() + (12 << 20));
    assert_eq!(looking.disk_bytes(), plain.disk_bytes(), "all are in memory");
    // Of sixteen times as many as are kept, those are in memory, and the disk has room for all.
    let kept = KEPT_UPDATES[0];
    let [some, all] = [kept, 16 * kept].map(|edges| of(edges, widths));
    let part = |of: &[(&str, u64)], name| of.iter().find(|(it, _)| *it == name).unwrap().1;
    assert_eq!(part(&some.memory, "updates"), part(&all.memory, "updates"), "no more are kept");
    let [none, beyond] = [&some, &all].map(|it| part(&it.disk, "updates beyond memory"));
    assert_eq!([none, beyond], [0, 16 * kept * 12]);
    assert!(all.written_bytes >= some.written_bytes + 8 * kept * 12);
}

#[test]
fn updates_are_kept_that_a_budget_has_room_for() {
    let widths = Widths { combines: false, ..RANKS };
    let (all, demand) =
        (settings(2, Route::Spill).keeping(&widths), Demand { widths, ..demand(1 << 28) });
    let least = all.within(0, &demand).unwrap_err();
    for (times, most) in [(1, None), (2, None), (8, None), (64, Some(KEPT_UPDATES[0]))] {
        let found = all.within(times * least, &demand).unwrap();
        let kept = found.kept_updates_max;
        assert!(kept >= most.unwrap_or(KEPT_UPDATES[1]), "{kept} of {times} budgets");
        assert!(found.footprint(&demand).unwrap().memory_bytes() <= times * least);
        let more = Settings { kept_updates_max: 2 * kept, ..found };
        let takes = more.footprint(&demand).unwrap().memory_bytes();
        assert!(kept == KEPT_UPDATES[0] || takes > times * least, "no more have room");
    }
}

#[test]
fn chunks_are_streamed_that_a_budget_has_room_for() {
    for route in [Route::Fold, Route::Spill] {
        let (one, demand) = (settings(2, route), demand(1 << 28));
        let all = Settings { streams: 8, ..one };
        let bytes = |it: &Settings| it.footprint(&demand).unwrap().memory_bytes();
        let least = one.within(0, &demand).unwrap_err();
        assert_eq!(all.within(0, &demand).unwrap_err(), least, "one stream is enough");
        let wanted = bytes(&one);
        for budget in [least, 2 * least, wanted, 4 * wanted] {
            let found = all.within(budget, &demand).unwrap();
            let alone = one.within(budget, &demand).unwrap();
            let cut = |it: &Settings| [it.set_bytes_max, it.chunk_records.into()];
            assert_eq!(cut(&found), cut(&alone), "what machines share");
            assert!(bytes(&found) <= budget);
            let more = Settings { streams: found.streams + 1, ..found };
            assert!(found.streams == 8 || bytes(&more) > budget, "{} streams", found.streams);
        }
        assert_eq!(all.within(4 * wanted, &demand).unwrap().streams, 8);
    }
}

/// Bytes of a part of the memory of machines.
fn part(of: &Settings, demand: &Demand, name: &str) -> u64 {
    let memory = of.footprint(demand).unwrap().memory;
    memory.iter().find(|(it, _)| *it == name).unwrap().1
}

#[test]
fn bins_hold_chunks_that_a_budget_has_room_for() {
    let (one, demand) = (settings(2, Route::Fold), demand(1 << 28));
    let all = Settings { bin_chunks: BIN_CHUNKS_MAX, streams: 2, ..one };
    let bytes = |it: &Settings| it.footprint(&demand).unwrap().memory_bytes();
    let least = one.within(0, &demand).unwrap_err();
    assert_eq!(all.within(0, &demand).unwrap_err(), least, "a chunk is enough");
    let [wanted, most] = [&one, &all].map(bytes);
    let mut before = 1;
    for budget in [least, 2 * least, wanted, wanted + (most - wanted) / 2, most] {
        let found = all.within(budget, &demand).unwrap();
        let alone = one.within(budget, &demand).unwrap();
        let cut = |it: &Settings| [it.set_bytes_max, it.chunk_records.into()];
        assert_eq!(cut(&found), cut(&alone), "what machines share");
        assert!(bytes(&found) <= budget && found.bin_chunks.is_power_of_two());
        let more = Settings { bin_chunks: 2 * found.bin_chunks, ..found };
        assert!(found.bin_chunks == BIN_CHUNKS_MAX || bytes(&more) > budget, "{found:?}");
        before = found.bin_chunks;
    }
    assert_eq!(before, BIN_CHUNKS_MAX, "there is room for all");
}

#[test]
fn bins_are_counted_with_all_chunks_that_they_hold() {
    let of = |bin_chunks, edges| {
        let settings = Settings { bin_chunks, ..settings(2, Route::Fold) };
        part(&settings, &demand(edges), "bins")
    };
    let cut = Cut::of(settings(2, Route::Fold)).unwrap();
    let chunk = u64::from(cut.of.chunk_records);
    assert_eq!(of(1, 1 << 40), (cut.bins() + 1) * chunk * BINNED_BYTES);
    for chunks in [2, 4, 8] {
        let waiting = (cut.bins() + 1) * u64::from(chunks) * chunk * BINNED_BYTES;
        let written = cut.bins() * u64::from(chunks - 1) * chunk * RANKS.edge;
        assert_eq!(of(chunks, 1 << 40), waiting + written, "{chunks} chunks");
        // Of few edges no bin is full.
        assert!(of(chunks, 1 << 10) < (4 << 10) * BINNED_BYTES);
    }
}

#[test]
fn bins_without_a_budget_are_bounded() {
    let chunks = |machines| {
        let all = Settings { bin_chunks: BIN_CHUNKS_MAX, ..settings(machines, Route::Fold) };
        let found = all.without_budget();
        let bins = Cut::of(found).unwrap().bins() * u64::from(found.bin_chunks);
        let bytes = bins * u64::from(found.chunk_records) * BINNED_BYTES;
        assert!(found.bin_chunks == 1 || bytes <= 512 << 20, "{bytes} bytes");
        found.bin_chunks
    };
    // One partition of each of few machines, and several of each of many.
    let few = |machines| {
        let all = Settings { bin_chunks: BIN_CHUNKS_MAX, ..settings(machines, Route::Fold) };
        Settings { vertices: 1 << 20, ..all }.without_budget().bin_chunks
    };
    assert_eq!([few(1), few(2), few(4), few(8)], [8, 8, 4, 1]);
    assert!(chunks(2) < 8 && chunks(64) < 8);
    let none = Settings { bin_chunks: 8, set_bytes_max: 0, ..settings(2, Route::Fold) };
    assert_eq!(none.without_budget().bin_chunks, 1, "not even a vertex fits");
}

#[test]
fn bins_hold_one_chunk_where_their_edges_are_put_in_no_order() {
    let chunks = |change: fn(Settings) -> Settings, combines| {
        let all = Settings { bin_chunks: BIN_CHUNKS_MAX, ..settings(2, Route::Fold) };
        change(all).keeping(&Widths { combines, ..RANKS }).bin_chunks
    };
    assert_eq!(chunks(|all| all, true), BIN_CHUNKS_MAX);
    assert_eq!(chunks(|all| all, false), 1, "updates are kept");
    assert_eq!(chunks(|all| Settings { route: Route::Spill, ..all }, true), 1);
    assert_eq!(chunks(|all| Settings { edges: Edges::Rewritten, ..all }, true), 1);
    assert_eq!(chunks(|all| Settings { carries: true, ..all }, true), 1);
}

#[test]
fn chunks_under_way_are_as_many_as_pulls_may_be_open() {
    for route in [Route::Fold, Route::Spill] {
        let (one, demand) = (settings(2, route), demand(1 << 28));
        let chunk = Cut { count: 1, width: 1, of: one }.chunk(&RANKS);
        // Pulled, served, and, where edges lie by cells, waiting.
        let kinds = if route == Route::Fold { 3 } else { 2 };
        let under_way = |streams| part(&Settings { streams, ..one }, &demand, "under way");
        for (streams, pulls) in [(0, 2), (1, 2), (2, 2), (3, 3), (8, 8), (9, 8)] {
            let more = under_way(streams) - under_way(1);
            assert_eq!(more, kinds * (pulls - 2) * chunk, "{route:?}, {streams} streams");
        }
    }
}

#[test]
fn one_chunk_is_streamed_at_a_time_where_a_worker_lends_nothing() {
    let streams = |change: fn(Settings) -> Settings, combines| {
        let all = Settings { streams: 8, ..settings(2, Route::Fold) };
        change(all).keeping(&Widths { combines, ..RANKS }).streams
    };
    assert_eq!(streams(|all| all, true), 8);
    assert_eq!(streams(|all| Settings { route: Route::Spill, ..all }, false), 8, "scatters");
    assert_eq!(streams(|all| all, false), 1, "updates are kept");
    assert_eq!(streams(|all| Settings { edges: Edges::Rewritten, ..all }, true), 1);
    assert_eq!(streams(|all| Settings { carries: true, ..all }, true), 1);
}
