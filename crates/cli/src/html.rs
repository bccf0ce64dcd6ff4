//! Pages of HTML with charts: each is one file, without scripts or anything from elsewhere.
//!
//! | file | what |
//! |---|---|
//! | `frame` | the page around its contents: style, colours on light and on dark ground |
//! | `bars` | bars of parts, one below the other |
//! | `chart` | lines over an axis |

pub(crate) mod bars;
pub(crate) mod chart;
pub(crate) mod frame;
