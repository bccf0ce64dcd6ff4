//! The page of the figures: an opening, and a section for each figure that was made so far.
//!
//! ```text
//! page     opening, then sections in the order of the paper, then what is no figure
//! section  `## Figure 13: title`, command, table, chart, the paper's words, ours
//! ```
//!
//! A section takes the place of the one with its number, so that a page can be written whenever a
//! figure is made, and one figure can be made anew alone.
//!
//! Invariant: what is no section of a figure stays as it was, but for the opening. Tested by
//! `a_figure_takes_the_place_of_the_one_before`.

use super::extent::Extent;
use super::plot::Figure;
use super::profiles::recorded;

/// A paper whose figures a page has.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Name of the experiment, of its files and of the folder that they lie in.
    pub name: &'static str,
    /// Opening of the page: what was run.
    opening: &'static str,
    /// Whether figures are made of profiles, of which the opening says where they are from.
    has_profiles: bool,
}

impl Paper {
    /// The beginning of its page, before the sections.
    fn beginning(self) -> String {
        let opening = self.opening.to_owned();
        if self.has_profiles { format!("{opening}\n{}\n", recorded().origin()) } else { opening }
    }
}

/// Messages at line rate.
pub const BLITZG: Paper = Paper {
    name: "blitzg",
    opening: "\
# The figures of BlitzG, measured and modelled

Figures 5 to 9 of *BlitzG: Exploiting High-Bandwidth Networks for Fast Graph Processing* (INFOCOM \
2017), and what is reached today. What this machine, of two cores, can show was measured: costs of \
a message by lanes and by the designs that the paper compares with (`cargo xtask bench messages`), \
links of 1 and 10 Gb/s between network namespaces (UDP with an acknowledgement every 4 \
buckets, where lanes have 16), memory of whole vertex programs beside routes of the command \
(`cargo xtask bench designs`). Rows with `-` were not measured yet. What it cannot show (24 and \
32 machines, 40 and 100 Gb/s, 18 threads) is a scale model of the route \
(`crates/sim/src/figures/sending.rs`) whose constants are those costs and no others; none was \
fitted to the paper. All numbers that were measured are in [measured.csv](blitzg/measured.csv), \
by `cargo xtask experiment blitzg --measure --page docs/experiments/blitzg.md`, on 27 November \
2026 on two cores of an AMD EPYC that others used too: costs are processor time, the least of \
seven repetitions.

The paper's numbers stand in the last column, and as rings in the charts; none was read from a \
chart of the paper. Ours that are within 15 % of the paper's are counted, those that are not are \
named, and the reason stands after them. GPS and GraphLab are not here: beside route `send` stand \
vertex programs with queues, locks and sockets, which are ours: paths of messages \
(`crates/transport/benches/messages`) in Figures 5 to 7 and 9, whole ones (`benches/src/designs`) \
in Figure 8.
",
    has_profiles: false,
};

/// Chunks and thieves.
pub const CHAOS: Paper = Paper {
    name: "chaos",
    opening: "\
# The figures of Chaos, simulated

Each figure of *Chaos: Scale-out Graph Processing from Secondary Storage* (SOSP 2015) that is a \
measurement, made anew by the simulated cluster in virtual time, so that another run gives the \
same numbers. The command stands below each title; `cargo xtask experiment chaos --page \
docs/experiments/chaos.md` makes all of them. The protocol is the one of `crates/protocol`; jobs \
have sizes and times but no contents. Graphs are of a scale less than the paper's by what \
`--shrink` says (Figures 7 and 18: as the paper's; Section 9.3, Figure 12 and W1 before signals \
are fetched: less by 4 more, but with 0; W3 and W6: as they say), chunks are of 4 MiB as there, so \
there are fewer of them. The cluster, and what is assumed of it, is \
`crates/sim/src/figures/cluster.rs`; the algorithms, which are welter's programs, are \
`algorithms.rs` beside it. No constant was fitted to a result; time of a grid partitioner for an \
edge (Figure 19) was measured.

The text of the paper gives few numbers of its figures; these stand in the last column, and as \
rings in the charts. No number was read from a chart of the paper. Ours that are within 15 % of \
the paper's are counted, those that are not are named, and the reason stands after them. What \
was found on the way is on [pages of the notebook](../notebook/README.md).
",
    has_profiles: true,
};

/// A part of the page.
struct Section {
    /// The number of the figure; of others, none.
    number: Option<String>,
    text: String,
}

impl Section {
    /// From a heading without its marks, with what follows.
    fn parse(text: &str) -> Self {
        let title = text.lines().next().unwrap_or_default();
        let number = title.split_once(": ").and_then(|(head, _)| head.rsplit(' ').next());
        let number = number.filter(|number| place(number).is_some()).map(str::to_owned);
        Self { number, text: text.trim_end().to_owned() + "\n" }
    }

    fn place(&self) -> u32 {
        self.number.as_deref().and_then(place).unwrap_or(u32::MAX)
    }
}

/// Where a figure stands: by its number, what is beyond the paper last.
fn place(number: &str) -> Option<u32> {
    match number.strip_prefix('W') {
        Some(beyond) => beyond.parse().ok().map(|beyond: u32| 1_000_000 + beyond),
        None => number.parse::<f64>().ok().map(|number| (10.0 * number) as u32),
    }
}

/// Sections of the page, in their order.
pub struct Page(Vec<Section>);

impl Page {
    /// From the text of a page, which may be empty.
    pub fn parse(text: &str) -> Self {
        let text = text.split_once("\n## ").map_or("", |(_, sections)| sections);
        let sections = text.split("\n## ").filter(|section| !section.is_empty());
        Self(sections.map(Section::parse).collect())
    }

    /// With a figure, in the place of the one with its number.
    pub fn put(&mut self, figure: &Figure, paper: Paper, extent: Option<Extent>) {
        let text = figure.section(paper, extent, Some(paper.name));
        let section = Section::parse(text.trim_start_matches("## "));
        self.0.retain(|one| one.number != section.number);
        let at = self.0.partition_point(|one| one.place() < section.place());
        self.0.insert(at, section);
    }

    /// Text of the page, as the page of a paper.
    pub fn text(&self, paper: Paper) -> String {
        let sections = self.0.iter().map(|section| format!("\n## {}", section.text));
        paper.beginning() + &sections.collect::<String>()
    }
}

impl Figure {
    /// Text of a section, with a chart from a folder, of a run of an extent where it has one.
    pub fn section(&self, of: Paper, extent: Option<Extent>, folder: Option<&str>) -> String {
        let extent = extent.map_or_else(String::new, |Extent { shrink, most }| {
            format!(" --shrink {shrink} --machines {most}")
        });
        let Self { number, title, paper, notes, .. } = self;
        let head = match number {
            number if number.starts_with('W') => "Beyond the paper,",
            &"1" => "Table",
            number if number.contains('.') => "Section",
            _ => "Figure",
        };
        let (file, name) = (self.file(of.name), of.name);
        let chart = folder.map_or_else(String::new, |folder| {
            format!("![{title}]({folder}/{file}.svg) ([numbers]({folder}/{file}.csv))\n\n")
        });
        let table = self.markdown();
        let verdict = if number.starts_with('W') { String::new() } else { self.verdict() + " " };
        format!(
            "## {head} {number}: {title}\n\n`cargo xtask experiment {name} --figure \
             {number}{extent}`\n\n{table}\n{chart}The paper: {paper}\n\n\
             Here: {verdict}{notes}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::plot::Series;
    use super::*;

    fn figure(number: &'static str, value: f64) -> Figure {
        Figure {
            number,
            title: "time: seconds",
            axis: "machines",
            ticks: vec!["1".into()],
            series: vec![Series::new("BFS", vec![value])],
            paper: "",
            notes: "",
        }
    }

    #[test]
    fn a_figure_takes_the_place_of_the_one_before() {
        let mut page = Page::parse("# old opening\n\n## Of our own\n\nfinds: 13\n");
        for number in ["W2", "13", "9.3", "W1", "9", "1", "10"] {
            page.put(&figure(number, 1.5), CHAOS, Some(Extent::TEST));
        }
        let before = page.text(CHAOS);
        let mut page = Page::parse(&before);
        assert_eq!(page.text(CHAOS), before);
        page.put(&figure("13", 2.5), CHAOS, Some(Extent::TEST));
        let after = page.text(CHAOS);
        assert_eq!(after.replace("2.5", "1.5"), before);
        assert_eq!(after.matches("2.5").count(), 1, "{after}");
        let heads = after.lines().filter_map(|line| line.strip_prefix("## "));
        let heads: Vec<&str> = heads.map(|head| head.split(':').next().unwrap()).collect();
        let figures = ["Table 1", "Figure 9", "Section 9.3", "Figure 10", "Figure 13"];
        let beyond = ["Beyond the paper, W1", "Beyond the paper, W2", "Of our own"];
        assert_eq!(heads, [&figures[..], &beyond[..]].concat());
        assert!(after.starts_with("# The figures") && after.ends_with("finds: 13\n"), "{after}");
        assert!(after.contains("--figure 9.3 --shrink 5 --machines 8`"), "{after}");
        assert!(after.contains("(chaos/chaos-9-3.svg)"), "{after}");
        assert!(after.contains(&recorded().origin()), "{after}");
        assert!(!page.text(BLITZG).contains("profiles.csv"), "{after}");
    }
}
