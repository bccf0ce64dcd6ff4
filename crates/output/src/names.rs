//! Formats by name: one table for what is asked for, what extensions mean, and what is shown.

/// Names of formats. The first name of a format is the one shown.
pub(crate) type Table<F> = [(&'static str, F)];

/// The format of this name, in any case.
pub(crate) fn find<F: Copy>(table: &Table<F>, text: &str) -> Result<F, String> {
    let known = table.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    known.map(|(_, format)| *format).ok_or_else(|| {
        let names: Vec<_> = table.iter().map(|(name, _)| *name).collect();
        format!("expected one of {}, found \"{text}\"", names.join(", "))
    })
}

/// The name of a format.
pub(crate) fn name<F: PartialEq>(table: &Table<F>, format: &F) -> &'static str {
    table.iter().find(|(_, other)| other == format).map_or("", |(name, _)| name)
}
