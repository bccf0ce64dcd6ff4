//! The two widths of floating-point results.

use std::fmt::Debug;
use std::ops::{Add, Mul};

use bytemuck::Pod;
use welter_model::table::ColumnData;

/// `f32` or `f64`. Totals over vertices are `f64` for both.
pub trait Float:
    Pod + Send + Sync + Debug + Default + PartialEq + Add<Output = Self> + Mul<Output = Self>
{
    /// The largest finite value.
    const MOST: Self;

    /// The nearest value.
    fn of(value: f64) -> Self;
    /// The value in `f64`, which holds it exactly.
    fn wide(self) -> f64;
    /// The smaller of two values, neither of them NaN.
    #[must_use]
    fn least(self, other: Self) -> Self;
    /// A column of such values.
    fn column(values: Vec<Self>) -> ColumnData;
}

impl Float for f32 {
    const MOST: Self = Self::MAX;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn least(self, other: Self) -> Self {
        if other < self { other } else { self }
    }

    fn column(values: Vec<Self>) -> ColumnData {
        ColumnData::F32(values)
    }
}

impl Float for f64 {
    const MOST: Self = Self::MAX;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn least(self, other: Self) -> Self {
        if other < self { other } else { self }
    }

    fn column(values: Vec<Self>) -> ColumnData {
        ColumnData::F64(values)
    }
}
