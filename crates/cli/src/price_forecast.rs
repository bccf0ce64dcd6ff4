//! The price of a run before it begins, as far as its time and requests are foreseen.
//!
//! ```text
//! run   = ingest + reading of the input + the first iteration + those that follow
//! ```
//! The first iteration asks a bucket for all of its edges, later ones for those that no disk in
//! front has pinned. How long the input takes to be read is not foreseen, and is in no price.

use welter_engine::Throughput;
use welter_engine::plan::{Expected, Forecast, Plan, Round};
use welter_objects::Traffic;

use crate::algorithms::algorithm::StatedIterations;
use crate::input_traffic::InputTraffic;
use crate::number_format::counted;
use crate::price::{Prices, Spent};

/// Premises of a forecast.
#[derive(Debug)]
pub(crate) struct PriceForecast<'a> {
    pub(crate) prices: &'a Prices,
    pub(crate) plan: &'a Plan,
    /// Reading of the input, where that is foreseen.
    pub(crate) input: Option<InputTraffic>,
    /// Iterations, where their number is stated.
    pub(crate) iterations: Option<StatedIterations>,
    /// Share of the edges that a disk in front of a bucket pins.
    pub(crate) pinned_share: f64,
}

impl PriceForecast<'_> {
    /// Lines on a run that goes over its input: none of its time is foreseen.
    pub(crate) fn of_scan(&self) -> String {
        let hour = self.prices.price(&Spent { seconds: 3600.0, ..Spent::default() });
        let unknown = "how long it takes to read the input is not foreseen";
        let mut lines = vec![format!("{} an hour; {unknown}", hour.sum())];
        lines.extend(self.of_input());
        self.text(lines)
    }

    /// Lines on a run at that throughput: ingest, an iteration, and all of it where the number of
    /// iterations is known.
    pub(crate) fn of_run(&self, throughput: &Throughput) -> String {
        let Expected { forecast: Forecast { ingest, iteration }, codec, .. } =
            self.plan.expected(throughput);
        let kept = self.plan.stored_bytes_expected(codec.as_ref());
        let is_elsewhere = self.plan.storage().is_some_and(|storage| storage.elsewhere);
        let bytes_kept = if is_elsewhere { [0, kept] } else { [kept, 0] };
        let spent = |seconds| Spent { seconds, bytes_kept, ..Spent::default() };
        let ingest = Spent { objects: self.input_objects(), ..spent(ingest.seconds()) };
        let round = |pinned| self.round(spent(iteration.seconds()), pinned);
        let (first, later) = (round(0.0), round(self.pinned_share));
        let text = |spent: &Spent| self.prices.price(spent).text();
        let mut lines = Vec::new();
        if ingest.seconds > 0.0 {
            lines.push(format!("{} to bin and sort the edges", text(&spent(ingest.seconds))));
        }
        lines.extend(self.of_input());
        lines.push(format!("{} {}", text(&later), self.name_of_round()));
        lines.push(match self.rounds() {
            None => "how many of these a run takes, and so its price, is not known".to_owned(),
            Some(StatedIterations { count, exact }) => {
                let all = ingest.and(&first, count.min(1)).and(&later, count.saturating_sub(1));
                let most = if exact { "" } else { " at most" };
                let rounds = counted(count, "iteration", "iterations");
                let begins = ingest.seconds > 0.0 || self.input.is_some();
                let begins = if begins { ", once the edges are there" } else { "" };
                format!("{} for a run of {rounds}{most}{begins}", text(&all))
            }
        });
        self.text(lines)
    }

    /// Reading of an input from stores.
    fn input_objects(&self) -> Traffic {
        self.input.map(|input| input.objects()).unwrap_or_default()
    }

    /// A line on requests for an input that comes from a store.
    fn of_input(&self) -> Option<String> {
        let objects = self.input_objects();
        let price = self.prices.price(&Spent { objects, ..Spent::default() });
        let has_any = objects != Traffic::default();
        has_any.then(|| format!("{} of requests for the input, at least", price.sum()))
    }

    /// A round with its requests, of which a share of those for edges is for what is pinned.
    fn round(&self, spent: Spent, pinned_share: f64) -> Spent {
        let Some(requests) = self.plan.requests() else { return spent };
        let (reads, writes) = (requests.reads.count, requests.writes);
        if !requests.elsewhere {
            return Spent { requests: [reads, writes], ..spent };
        }
        let asked = |all: u64| (all as f64 * (1.0 - pinned_share)).ceil() as u64;
        let objects = Traffic {
            reads: asked(reads),
            bytes_received: asked(self.plan.edge_traffic_expected()),
            ..Traffic::default()
        };
        let temporary = requests.temporary.map_or(0, |reads| reads.count);
        Spent { requests: [temporary, writes], objects, ..spent }
    }

    fn name_of_round(&self) -> &'static str {
        match self.plan.round() {
            Round::Iteration => "an iteration",
            Round::OnePass => "for the pass over the edges",
            Round::Pass => "a pass over all edges",
            Round::Rows => "each time that edges are read",
        }
    }

    /// Rounds of the run, where their number is known.
    fn rounds(&self) -> Option<StatedIterations> {
        match self.plan.round() {
            Round::Iteration => self.iterations,
            Round::OnePass => Some(StatedIterations { count: 1, exact: true }),
            Round::Pass | Round::Rows => None,
        }
    }

    /// All lines, with the day of the prices.
    fn text(&self, mut lines: Vec<String>) -> String {
        lines.push(format!("by prices of {}", self.prices.date()));
        format!("price     {}\n", lines.join(&format!("\n{:10}", "")))
    }
}
