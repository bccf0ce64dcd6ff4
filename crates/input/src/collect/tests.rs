//! Order, direction and limits of what readers leave.

use super::*;
use welter_progress::FailureKind;

fn part(id: u32) -> EdgeRun {
    EdgeRun { ids: Ids::narrow(vec![[id, id]]), weights: None }
}

#[test]
fn parts_come_out_in_input_order() {
    let collector = Collector::new(None);
    collector.begin("a");
    collector.push(2, part(1)).unwrap();
    collector.push(0, part(0)).unwrap();
    collector.push(1, EdgeRun { ids: Ids::narrow(vec![]), weights: None }).unwrap();
    collector.begin("b");
    collector.push(0, part(2)).unwrap();
    let CollectedParts { parts, files, .. } = collector.gathered();
    let ids: Vec<_> = parts.into_iter().map(|placed| placed.part.ids).collect();
    assert_eq!(ids, [0, 1, 2].map(|id| Ids::narrow(vec![[id, id]])));
    assert_eq!(files, ["a", "b"]);
}

#[test]
fn sources_that_disagree_about_direction_are_named() {
    let collector = Collector::new(None);
    collector.begin("a.txt");
    assert_eq!(collector.undirected().unwrap(), None);
    collector.begin("b.gr");
    collector.state_undirected(false);
    assert_eq!(collector.undirected().unwrap(), Some(false));
    collector.begin("c.col");
    collector.state_undirected(true);
    let error = collector.undirected().unwrap_err();
    assert!(error.to_string().starts_with("c.col has undirected edges and b.gr directed"));
    assert_eq!(error.kind(), FailureKind::Input);
}

#[test]
fn counts_that_no_graph_can_have_are_refused_at_once() {
    let collector = Collector::new(None);
    collector.begin("a");
    let error = collector.state(DeclaredVertices::Range { first: u64::MAX, count: 1 }).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Input, "{error}");
    assert!(error.to_string().starts_with("a: expected"), "{error}");
    collector.state(DeclaredVertices::Range { first: 1, count: u64::MAX - 1 }).unwrap();
}

#[test]
fn more_than_the_budget_is_refused() {
    let collector = Collector::new(Some(8));
    collector.begin("a");
    collector.push(0, part(0)).unwrap();
    assert_eq!(collector.push(1, part(0)).unwrap_err().kind(), FailureKind::Budget);
    assert_eq!(
        collector.state(DeclaredVertices::Integers(vec![1])).unwrap_err().kind(),
        FailureKind::Budget
    );
}

#[test]
fn integers_take_the_narrowest_form() {
    assert_eq!(Ids::integers(vec![[1, 2]]), Ids::Narrow { pairs: vec![[1, 2]], max: 2 });
    let wide = 1 << 32;
    assert_eq!(Ids::integers(vec![[1, wide]]), Ids::Wide { pairs: vec![[1, wide]], max: wide });
}
