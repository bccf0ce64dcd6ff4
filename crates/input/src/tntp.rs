//! TNTP: the links of transport networks.
//!
//! ```text
//! <NUMBER OF NODES> 24                    metadata, in any case
//! <NUMBER OF LINKS> 76
//! <END OF METADATA>
//! ~ init_node  term_node  capacity  length  free_flow_time  ... ;
//!     1  2  25900.2  6  6  0.15  4  0  0  1  ;
//! ```
//!
//! Nodes count from 1, links are directed, and a row ends with `;`, which many files leave out. The
//! weight is the free flow
//! time unless a column is named, by number or by its title after `~` (letters and digits count).
//! Lines that begin with `~` or `<` and blank ones are no rows.

use crate::collect::{Collector, DeclaredVertices};
use crate::error::InputError;
use crate::head::{BoundedCount, Head, plausible, sample};
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;
use crate::tables::ColumnRef;
use crate::text::allowed_ids::AllowedIds;
use crate::text::fields::parse_id;
use crate::text::lines::Lines;
use crate::text::rows::Rows;
use crate::text::workers;
use crate::words::{show, words};

/// Bytes of the shortest link: `1 2;` and its line end.
const LINK_BYTES_MIN: u64 = 5;
/// Place of the free flow time where no title names it.
const TIME_PLACE: usize = 4;

/// The reader of TNTP files.
pub(crate) struct Tntp;

/// Statements of the metadata and the titles.
#[derive(Debug)]
struct Header {
    nodes: u64,
    links: u64,
    /// Place of the weight, if one is to be read.
    weight: Option<usize>,
    /// Whether the first link ends with `;`, so that a last one without is cut short.
    closed: bool,
    /// Byte at which links begin.
    start: usize,
}

impl Reader for Tntp {
    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let header = header(source, context.options)?;
        collector.state(DeclaredVertices::Range { first: 1, count: header.nodes })?;
        collector.state_undirected(false);
        let tally = BoundedCount::new(header.links);
        let network = Network { header, tally, file: source.name() };
        workers::read(source, &network, context, collector)?;
        let (stated, found) = (network.header.links, network.tally.found());
        if stated != found {
            let what = format!("expected {stated} links, as the metadata say, found {found}");
            return Err(InputError::content(source.name(), what));
        }
        Ok(())
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let header = header(source, options)?;
        Ok(Estimate {
            bytes: source.bytes(),
            edges: Some(header.links),
            exact: true,
            slots: Some(header.nodes),
            slots_seen: None,
            ids: IdKind::Integers,
            weighted: header.weight.is_some(),
            undirected: Some(false),
        })
    }
}

/// Reads the metadata and the titles.
fn header(source: &Source, options: &ReadOptions) -> Result<Header, InputError> {
    if options.ids == IdKind::Names || options.source.is_some() || options.target.is_some() {
        let what = "expected integers from the first column to the second, as TNTP has them";
        return Err(InputError::content(source.name(), what));
    }
    let sample = sample(source, &options.limits)?;
    let mut head = Head::new(source.name(), &sample);
    let (mut nodes, mut links, mut ended) = (None, None, false);
    let mut titles = None;
    let (mut start, mut closed) = (0, false);
    while let Some(line) = head.next() {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if let Some(named) = text.strip_prefix('~') {
            titles = titles_of(named).or(titles);
        } else if let Some((key, value)) = metadata(text) {
            let number = || {
                let number = parse_id(value.as_bytes());
                number.map_err(|what| head.error(what.replace("vertex id", "number")))
            };
            match key.to_ascii_uppercase().as_str() {
                "NUMBER OF NODES" => {
                    nodes = Some(number()?);
                }
                "NUMBER OF LINKS" => {
                    let count = number()?;
                    plausible(source, &options.limits, count, LINK_BYTES_MIN, "links")
                        .map_err(|what| head.error(what))?;
                    links = Some(count);
                }
                "END OF METADATA" => ended = true,
                _ => {}
            }
        } else if !text.is_empty() {
            closed = text.ends_with(';');
            break;
        }
        start = head.at();
    }
    let (Some(nodes), Some(links), true) = (nodes, links, ended) else {
        let what = "<NUMBER OF NODES>, <NUMBER OF LINKS> and <END OF METADATA> before the links";
        return Err(head.missing(what));
    };
    let weight = weight(source, titles.as_deref(), options)?;
    Ok(Header { nodes, links, weight, closed, start })
}

/// `<KEY> VALUE`
fn metadata(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.strip_prefix('<')?.split_once('>')?;
    Some((key.trim(), value.split('~').next().unwrap_or_default().trim()))
}

/// The titles of columns, as letters and digits in lower case. They are separated by tabs where
/// there are some, because they may have spaces inside.
fn titles_of(text: &str) -> Option<Vec<String>> {
    let plain = |title: &str| {
        title.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
    };
    let text = text.trim().trim_end_matches(';').trim();
    let titles: Vec<String> = if text.contains('\t') {
        text.split('\t').map(plain).filter(|title| !title.is_empty()).collect()
    } else {
        text.split_whitespace().map(plain).collect()
    };
    (titles.len() > 2).then_some(titles)
}

/// The place of the weight.
fn weight(
    source: &Source,
    titles: Option<&[String]>,
    options: &ReadOptions,
) -> Result<Option<usize>, InputError> {
    let find = |wanted: &dyn Fn(&str) -> bool| titles?.iter().position(|title| wanted(title));
    match &options.weight {
        WeightChoice::Ignore => Ok(None),
        WeightChoice::IfPresent => {
            Ok(Some(find(&|title| title.starts_with("freeflowtime")).unwrap_or(TIME_PLACE)))
        }
        WeightChoice::Column(ColumnRef::Number(number)) => Ok(Some(number.saturating_sub(1))),
        WeightChoice::Column(ColumnRef::Name(name)) => {
            let plain: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
            let plain = plain.to_lowercase();
            let found = find(&|title| title == plain);
            found.map(Some).ok_or_else(|| {
                let titles = titles.unwrap_or_default().join(", ");
                let what =
                    format!("expected a weight column \"{name}\", found the titles: {titles}");
                InputError::content(source.name(), what)
            })
        }
    }
}

/// The links of a network.
struct Network<'a> {
    header: Header,
    /// Links found so far.
    tally: BoundedCount,
    file: &'a str,
}

impl Lines for Network<'_> {
    fn start(&self) -> usize {
        self.header.start
    }

    fn rows(&self) -> Rows {
        let known = AllowedIds::Range(1..self.header.nodes + 1);
        Rows::new(false, self.header.weight.is_some(), known)
    }

    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        let line = line.trim_ascii();
        if matches!(line.first(), None | Some(b'~' | b'<')) {
            return Ok(());
        }
        let fields = match line.strip_suffix(b";") {
            Some(fields) => fields,
            None if cut && self.header.closed => {
                return Err(format!(
                    "expected a row that ends with ; as the first one does, found {}; the file \
                     ends here and may be cut short",
                    show(line)
                ));
            }
            None => line,
        };
        let last = self.header.weight.unwrap_or(1).max(1);
        let fields: Vec<&[u8]> = words(fields).take(last + 1).collect();
        if fields.len() <= last {
            let (expected, found) = (last + 1, fields.len());
            return Err(format!("expected at least {expected} columns, found {found}"));
        }
        rows.push_fields(fields[0], fields[1], self.header.weight.map(|place| fields[place]))
    }

    fn keep(&self, number: u64, rows: Rows, collector: &Collector) -> Result<(), InputError> {
        let many = |what| InputError::content(self.file, format!("expected links, {what}"));
        self.tally.add(rows.len()).map_err(many)?;
        collector.push(number, rows.into_part())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::beginnings::tntp;
    use crate::fuzzing::{edges, read_bytes, refusals, weighing};
    use welter_progress::FailureKind;

    const FORMAT: Format = Format::Tntp;
    const HEAD: &str = "<NUMBER OF ZONES> 2\n<NUMBER OF NODES> 3\n<FIRST THRU NODE> 1\n\
        <number of links> 2 ~ c\n<END OF METADATA>\n\n";

    #[test]
    fn links_have_the_free_flow_time_as_weight() {
        let rows = "~\tInit node \tTerm node \tFree Flow Time (min)\tLength\t;\r\n\
                    \t1\t2\t0.5\t6\t;\r\n~ c\n\n2 3 7 8;";
        let input = weighing("x.tntp", &format!("{HEAD}{rows}"), FORMAT).unwrap();
        assert_eq!(edges(&input), (vec![[0, 1], [1, 2]], vec![0.5, 7.0]));
        assert_eq!((input.edges.slots(), input.summary.undirected), (Some(3), Some(false)));
        assert!(tntp(HEAD.as_bytes()) && !tntp(b"1 2\n"));
    }

    #[test]
    fn rows_need_no_end_and_may_have_more_columns() {
        let rows = "~\tinit_node\tterm_node\tcapacity\tlength\tfree_flow_time\tb\tpower\t;\n\
                    \t1\t2\t2880\t0.9\t2.25\t0.15\t4\t\n\t2\t3\t2880\t0.9\t0.5\t0.15\t4\t0\t1\t";
        let mixed = "1 2 3 4 2.25 ;\n2 3 3 4 .5\n";
        let zones = HEAD.replace("<FIRST THRU NODE> 1\n", "<ORIGINAL HEADER>~ a b ;\n");
        for text in [format!("{HEAD}{rows}"), format!("{HEAD}{mixed}"), format!("\n{zones}{rows}")]
        {
            let input = weighing("x.tntp", &text, FORMAT).unwrap();
            assert_eq!(edges(&input), (vec![[0, 1], [1, 2]], vec![2.25, 0.5]), "{text}");
        }
    }

    #[test]
    fn other_columns_can_be_the_weight() {
        let rows = "~ init_node term_node capacity length free_flow_time ;\n\
                    1 2 10 20 30 ;\n3 1 11 21 31 ;\n";
        let text = format!("{HEAD}{rows}");
        let with = |weight| {
            let options = ReadOptions { weight, ..ReadOptions::default() };
            read_bytes("f", text.as_bytes(), FORMAT, &options).map(|input| edges(&input).1)
        };
        let named = |name: &str| WeightChoice::Column(ColumnRef::Name(name.into()));
        assert_eq!(with(WeightChoice::IfPresent).unwrap(), [30.0, 31.0]);
        assert_eq!(with(named("Length")).unwrap(), [20.0, 21.0]);
        assert_eq!(with(WeightChoice::Column(ColumnRef::Number(3))).unwrap(), [10.0, 11.0]);
        assert!(with(WeightChoice::Ignore).unwrap().is_empty());
        assert_eq!(with(named("speed")).unwrap_err().kind(), FailureKind::Input);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let row = |row: &str| format!("{HEAD}{row}\n1 2 3 4 5 ;\n");
        let cases = [
            (String::new(), "f:1: expected <NUMBER OF NODES>"),
            (HEAD.replace("NODES", "KNOTS"), "expected <NUMBER OF NODES>"),
            (HEAD.replace("<END OF METADATA>", ""), "expected <NUMBER OF NODES>"),
            (HEAD.replace("NODES> 3", "NODES> x"), "f:2: expected an integer"),
            (format!("{HEAD}1 2 3 4 5 ;\n1 2 3 4 5"), "f:8: expected a row that ends with ;"),
            (row("1 2 3 ;"), "f:7: expected at least 5 columns, found 3"),
            (row("1 4 3 4 5 ;"), "f:7: expected a vertex id from 1 to 3, found 4"),
            (row("1 2 3 4 x ;"), "f:7: expected a number as weight"),
            (row(""), "expected 2 links, as the metadata say, found 1"),
        ];
        let cases: Vec<(&str, &str)> =
            cases.iter().map(|(text, message)| (&text[..], *message)).collect();
        refusals(FORMAT, &cases);
    }
}
