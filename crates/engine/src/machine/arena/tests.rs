//! Memory that is handed out, given back, and handed out again.

use super::*;

#[test]
fn buffers_are_zeroed_aligned_and_writable() {
    for len in [0_usize, 1, 1000, 3 << 20] {
        let mut buffer = Buffer::<u64>::zeroed(len).unwrap();
        assert_eq!(buffer.len(), len);
        assert!(buffer.iter().all(|&element| element == 0));
        if let Some(last) = buffer.last_mut() {
            *last = 7;
            assert_eq!(buffer[len - 1], 7);
        }
    }
    assert!(Buffer::<u64>::zeroed(usize::MAX / 16).is_err());
}

#[test]
fn columns_are_used_again() {
    let arena = Arena::default();
    let mut column = Buffer::<u32>::used(100_000, &arena).unwrap();
    column[7] = 1;
    let place = column.as_ptr();
    drop(column);
    assert_ne!(Buffer::<u32>::used(1_000, &arena).unwrap().as_ptr(), place);
    let again = Buffer::<u64>::used(40_000, &arena).unwrap();
    assert_eq!((again.as_ptr().cast(), again[3]), (place, 1 << 32));
    let mut orphan = Buffer::<u32>::used(7, &Arena::default()).unwrap();
    orphan[6] = 1;
    drop((again, orphan));
    arena.trim();
    assert!(Buffer::<u32>::used(100_000, &arena).unwrap().iter().all(|&element| element == 0));
}

#[test]
fn slabs_are_used_again() {
    let arena = Arena::default();
    let mut slab = arena.take().unwrap();
    slab.bytes_mut()[5] = 1;
    drop(slab);
    let again = arena.take().unwrap();
    assert_eq!(again.bytes()[5], 1);
    assert_eq!(arena.backed_bytes(), SLAB_BYTES as u64);
    drop(again);
    arena.trim();
    assert_eq!(arena.backed_bytes(), 0);
    let zeroed = arena.take().unwrap();
    assert_eq!(zeroed.bytes()[5], 0);
}

/// Bytes of huge pages in the mapping that holds an address; none where the system does not say.
fn huge_bytes(address: usize) -> Option<u64> {
    let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let holds = |line: &str| {
        let (begin, end) = line.split_once(' ')?.0.split_once('-')?;
        let [begin, end] = [begin, end].map(|end| usize::from_str_radix(end, 16).ok());
        Some((begin?..end?).contains(&address))
    };
    let mut lines = maps.lines().skip_while(|line| holds(line) != Some(true));
    let line = lines.find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

#[test]
fn slabs_of_a_page_that_was_given_back_lie_on_a_huge_page_again() {
    let arena = Arena::default();
    let touched = || {
        let mut slabs: Vec<Slab> =
            (0..HUGE_PAGE_BYTES / SLAB_BYTES).map(|_| arena.take().unwrap()).collect();
        for slab in &mut slabs {
            slab.bytes_mut()[7] = 1;
        }
        huge_bytes(slabs[0].bytes().as_ptr().addr())
    };
    let before = touched();
    if before.is_none_or(|bytes| bytes == 0) {
        eprintln!("NOT TESTED: this system gives no huge pages ({before:?})");
        return;
    }
    arena.trim();
    assert_eq!(touched(), before);
}

#[test]
fn slabs_of_free_huge_pages_are_taken_page_by_page_and_before_others() {
    let arena = Arena::default();
    let a_page = HUGE_PAGE_BYTES / SLAB_BYTES;
    let mut slabs: Vec<Slab> = (0..4 * a_page).map(|_| arena.take().unwrap()).collect();
    let page = |slab: &Slab| slab.bytes().as_ptr() as usize / HUGE_PAGE_BYTES;
    // One in the second page stays.
    let kept = slabs.swap_remove(a_page + 1);
    let beside = page(&kept);
    drop(slabs);
    arena.trim();
    let again: Vec<Slab> = (0..4 * a_page - 1).map(|_| arena.take().unwrap()).collect();
    let pages: Vec<usize> = again.iter().map(page).collect();
    assert!(pages[..3 * a_page].chunks(a_page).all(|own| own.iter().all(|it| *it == own[0])));
    assert!(pages[..3 * a_page].windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(pages[3 * a_page..], vec![beside; a_page - 1]);
    assert_eq!(arena.backed_bytes(), 4 * HUGE_PAGE_BYTES as u64);
}

#[test]
fn slabs_that_moved_leave_whole_pages() {
    let arena = Arena::default();
    let a_page = HUGE_PAGE_BYTES / SLAB_BYTES;
    let mut slabs: Vec<Option<Slab>> =
        (0..4 * a_page).map(|_| Some(arena.take().unwrap())).collect();
    let address = |slab: &Slab| slab.bytes().as_ptr().addr();
    // Of four pages: one slab, three, two, and two of which one must stay.
    for free in [1, 2, 3, 7, 10, 11, 14, 15] {
        slabs[free] = None;
    }
    let movable: Vec<usize> = slabs[..13].iter().flatten().map(address).collect();
    let moves = arena.together(&movable);
    let expected = [slabs[0].as_ref(), slabs[8].as_ref(), slabs[9].as_ref()];
    let mut from: Vec<usize> = moves.iter().map(|(from, _)| *from).collect();
    from.sort_unstable();
    assert_eq!(from, expected.map(|slab| address(slab.unwrap())));
    let taken: Vec<usize> = moves.iter().map(|(_, to)| address(to) / HUGE_PAGE_BYTES).collect();
    let page = |slab: usize| address(slabs[slab].as_ref().unwrap()) / HUGE_PAGE_BYTES;
    assert!(taken.iter().all(|to| [page(4), page(12)].contains(to)));
    assert_eq!(arena.used_bytes(), (8 + moves.len() as u64) * SLAB_BYTES as u64);
    drop(moves);
    assert_eq!(arena.used_bytes(), 8 * SLAB_BYTES as u64);
}
