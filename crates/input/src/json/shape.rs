//! Shape of a document: what each value means, by the place that it stands in.
//!
//! Invariant: nothing is kept of a value but what [`Graph`] asks for, and the decoder bounds how
//! deep values lie inside each other. Tested by `nothing_is_gathered_without_end`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::graph::Graph;
use super::nesting::Nesting;
use super::record::Scalar;

/// A value that is to be looked at.
pub(super) struct Visit<'g, 'a, 's, 'o> {
    pub(super) graph: &'g mut Graph<'a, 's, 'o>,
    pub(super) place: Nesting,
}

impl<'de> DeserializeSeed<'de> for Visit<'_, '_, '_, '_> {
    type Value = Option<Scalar>;

    fn deserialize<D: Deserializer<'de>>(self, decoder: D) -> Result<Self::Value, D::Error> {
        decoder.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Visit<'_, '_, '_, '_> {
    type Value = Option<Scalar>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        self.graph.count();
        Ok(Some(Scalar::Truth(value)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        self.graph.count();
        Ok(Some(Scalar::Text(value.to_string().into_bytes())))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        self.graph.count();
        Ok(Some(Scalar::Text(value.to_string().into_bytes())))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        self.graph.count();
        let text = value.to_string().into_bytes();
        // Floats hold all integers up to 2^53, and larger ones come as integers up to 2^64.
        let rounded = value.fract() == 0.0 && value.abs() >= (1_u64 << 53) as f64;
        Ok(Some(if rounded { Scalar::Rounded(text) } else { Scalar::Text(text) }))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        self.graph.count();
        let passed = self.place == Nesting::Passed;
        Ok(Some(if passed { Scalar::Null } else { Scalar::Text(value.as_bytes().to_vec()) }))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.graph.count();
        Ok(Some(Scalar::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let Self { graph, place } = self;
        graph.open_list(place).map_err(|()| stopped())?;
        let inner = place.of_item();
        while let Some(value) =
            items.next_element_seed(Visit { graph: &mut *graph, place: inner })?
        {
            graph.item(place, inner, value).map_err(|()| stopped())?;
        }
        graph.close_list(place).map_err(|()| stopped())?;
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let Self { graph, place } = self;
        graph.open_object(place);
        while let Some(key) = entries.next_key::<String>()? {
            graph.key(place, &key);
            // Nodes and lists of neighbours may be the values of their ids.
            let inner = match place {
                Nesting::Nodes => Nesting::Node,
                Nesting::End(end) if key == "id" => Nesting::End(end),
                _ => place.of_key(&key),
            };
            let value = entries.next_value_seed(Visit { graph: &mut *graph, place: inner })?;
            graph.value(place, &key, inner, value).map_err(|()| stopped())?;
        }
        graph.close_object(place).map_err(|()| stopped())?;
        Ok(None)
    }
}

/// The decoder is to end, as the graph knows why.
fn stopped<E: Error>() -> E {
    E::custom("stopped")
}
