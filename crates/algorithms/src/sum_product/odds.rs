//! Likelihood of one state relative to another, in four bytes, and products of such ratios.

use bytemuck::{Pod, Zeroable};

/// Largest ratio of the likelihoods of two states that a message has.
pub const RATIO_MAX: f64 = f64::from_bits((1023 + 126) << 52);

/// Likelihood of one state relative to another: `a / b - 1` where `a` is likelier, `1 - b / a`
/// where `b` is. So it is 0 where they are as likely, and near that, as far from it, as exact as an
/// `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Lean(pub(super) f32);

impl Lean {
    /// The nearest that is no more than [`RATIO_MAX`].
    #[inline(always)]
    pub(super) fn of(lean: f64) -> Self {
        Self(lean.clamp(-RATIO_MAX, RATIO_MAX) as f32)
    }

    /// Two numbers in proportion, the smaller of which is 1.
    #[inline(always)]
    pub(super) fn ends(self) -> [f64; 2] {
        let lean = f64::from(self.0);
        [1.0 + lean.max(0.0), 1.0 + (-lean).max(0.0)]
    }

    #[inline(always)]
    pub(super) fn ratio(self) -> f64 {
        let [above, below] = self.ends();
        above / below
    }
}

/// The lean between two where logarithms of the ratios are averaged, with such a share of `other`.
pub(super) fn blended(lean: f64, other: f64, share: f64) -> f64 {
    let logarithm = |lean: f64| lean.abs().ln_1p().copysign(lean);
    let blended = (1.0 - share) * logarithm(lean) + share * logarithm(other);
    blended.abs().exp_m1().copysign(blended)
}

/// A product: `mantissa * 2^(600 exponent)`. Factors are [`RATIO_MAX`] and its reciprocal at most.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Product {
    mantissa: f64,
    exponent: i64,
}

impl Product {
    pub(super) const ONE: Self = Self { mantissa: 1.0, exponent: 0 };
    const LARGE: f64 = f64::from_bits((1023 + 600) << 52);

    #[inline(always)]
    pub(super) fn times(self, factor: f64) -> Self {
        let mantissa = self.mantissa * factor;
        if mantissa > Self::LARGE {
            return Self { mantissa: mantissa / Self::LARGE, exponent: self.exponent + 1 };
        }
        if mantissa < 1.0 / Self::LARGE {
            return Self { mantissa: mantissa * Self::LARGE, exponent: self.exponent - 1 };
        }
        Self { mantissa, ..self }
    }

    pub(super) fn ln(self) -> f64 {
        self.mantissa.ln() + self.exponent as f64 * Self::LARGE.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leans_are_exact_where_nothing_is_known_and_where_much_is() {
        for (above, below) in [(1.0, 1.0), (1.0 + 1e-9, 1.0), (3.0, 1e-20), (1e-7, 1e25)] {
            let lean = Lean::of((above - below) / f64::min(above, below));
            let (found, wanted) = (lean.ratio().ln(), (above / below).ln());
            assert!((found - wanted).abs() <= 1e-7 * wanted.abs(), "{found}, not {wanted}");
        }
    }

    #[test]
    fn products_leave_the_range_of_numbers() {
        let product = (0..100).fold(Product::ONE, |product, _| product.times(RATIO_MAX));
        assert!((product.ln() / 12_600.0 - std::f64::consts::LN_2).abs() < 1e-15);
        let product = (0..99).fold(product, |product, _| product.times(1.0 / RATIO_MAX));
        assert!((product.ln() / 126.0 - std::f64::consts::LN_2).abs() < 1e-12);
        let product = (0..99).fold(product, |product, _| product.times(1.0 / RATIO_MAX));
        assert!((product.ln() / -98.0 / 126.0 - std::f64::consts::LN_2).abs() < 1e-14);
    }
}
