//! Numbers that were measured, by name: what the scale model of route `send` is made of.
//!
//! ```text
//! file     name,value                              of `cargo xtask experiment blitzg --measure`
//! name     udp.send        ns a message of the bench `messages`, by lanes and end
//!          udp-roles.sender     the same of a thread of one role, of three
//!          generate-singly-64   millions of messages a second and core, by destinations
//!          link.tcp-10     % of a link of 10 Gb/s, of the bench `links`
//! ```
//!
//! A number that was not measured is unknown (NaN), and so is what is computed of it: a figure
//! shows `-` there, and nothing stands in for it.

use std::collections::BTreeMap;

use super::sending::Costs;

/// Numbers by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured(BTreeMap<String, f64>);

impl Measured {
    /// From the text of a file. Lines that have no number are passed over, the first one is a head.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once(','));
        let number = |(name, value): (&str, &str)| Some((name.to_owned(), value.parse().ok()?));
        Self(lines.filter_map(number).collect())
    }

    /// The number of this name.
    pub fn of(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    /// Whether all of these were measured.
    pub fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.0.contains_key(*name))
    }

    /// Costs of lanes, by their name: a worker writes messages one at a time into the rings of 64
    /// destinations, a sender does what sending costs beyond writing, in memory.
    pub(super) fn lanes(&self, name: &str) -> Costs {
        let at = |end: &str| self.of(&format!("{name}.{end}"));
        let write = self.of(if name.ends_with("1408") { "none-1408.send" } else { "memory.send" });
        Costs {
            generate: self.singly(64),
            send: (at("send") - write).max(0.0),
            fold: at("receive"),
        }
    }

    /// Costs of lanes whose workers write in runs, and hand full buckets to sender threads.
    pub(super) fn roles(&self, name: &str) -> Costs {
        let of = |role: &str| self.of(&format!("{name}-roles.{role}"));
        Costs { generate: of("worker"), send: of("sender"), fold: of("accumulator") }
    }

    /// Nanoseconds of a message that is written alone, to one of `destinations` destinations.
    pub(super) fn singly(&self, destinations: u32) -> f64 {
        1000.0 / self.of(&format!("generate-singly-{destinations}"))
    }

    /// Costs of a vertex program with a queue a vertex: workers take a lock for each message,
    /// senders copy and call the kernel, a parser puts messages into queues, which are gathered.
    pub(super) fn queues(&self) -> Costs {
        let [none, locks, all] = ["none-1408", "locks-1408", "all-1408"];
        let send = |name: &str| self.of(&format!("{name}.send"));
        Costs {
            generate: self.singly(64) + send(locks) - send(none),
            send: send(all) - send(locks),
            fold: self.of(&format!("{all}.receive")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_differences_and_what_is_missing_is_unknown() {
        let text = "name,value\nmemory.send,0.25\nudp.send,1\nudp.receive,0.5\n\
                    generate-singly-64,200\nlink.tcp-1,no\n";
        let measured = Measured::parse(text);
        let costs = measured.lanes("udp");
        assert_eq!(costs, Costs { generate: 5.0, send: 0.75, fold: 0.5 });
        assert!(measured.roles("udp").send.is_nan());
        assert!(measured.of("link.tcp-1").is_nan() && measured.lanes("memif").fold.is_nan());
        assert!(measured.has(&["udp.send"]) && !measured.has(&["udp.send", "name"]));
    }
}
