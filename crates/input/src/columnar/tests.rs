//! Columns and rows that are taken.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int64Array, PrimitiveArray, StringArray, StringViewArray, UInt32Array, UInt64Array,
};
use arrow_schema::Field;

use super::*;
use crate::{ColumnRef, EdgeRun, Ids, WeightBounds, WeightChoice};
use welter_progress::FailureKind;

fn schema(types: &[(&str, DataType)]) -> Schema {
    Schema::new(
        types.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect::<Vec<_>>(),
    )
}

fn gathered(source: &dyn Array, target: &dyn Array, names: bool) -> Result<EdgeRun, String> {
    let mut gather = Gather::new(names, false, 10);
    gather.push("f", source, target, None).map_err(|error| error.to_string())?;
    Ok(gather.into_part())
}

#[test]
fn columns_of_fitting_types_are_picked() {
    let mut options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    let types = [("weight", DataType::Float32), ("to", DataType::Int8), ("from", DataType::UInt64)];
    let picked = pick("f", &schema(&types), &options).unwrap();
    assert_eq!(
        picked,
        Picked {
            source: 2,
            target: 1,
            weight: Some(0),
            direction: None,
            names: false,
            bounds: WeightBounds::default(),
            stored: 3
        }
    );
    assert_eq!(picked.places(), [0, 1, 2]);
    options.weight = WeightChoice::Ignore;
    let picked = pick("f", &schema(&types), &options).unwrap();
    assert_eq!(picked.places(), [1, 2]);
    assert_eq!(
        picked.projected(),
        Picked {
            source: 1,
            target: 0,
            weight: None,
            direction: None,
            names: false,
            bounds: WeightBounds::default(),
            stored: 2
        }
    );
    options.source = Some(ColumnRef::Number(2));
    options.target = Some(ColumnRef::Number(2));
    let picked = pick("f", &schema(&types), &options).unwrap();
    assert_eq!((picked.places(), picked.projected().source), (vec![1], 0));
    let coded = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::LargeUtf8));
    let types = [("a", coded), ("b", DataType::Int64)];
    let options = ReadOptions { ids: IdKind::Names, ..ReadOptions::default() };
    assert!(pick("f", &schema(&types), &options).unwrap().names);
    let error = pick("f", &schema(&types), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("ids of one kind") && error.contains("--ids strings"), "{error}");
}

#[test]
fn columns_of_wrong_types_are_named() {
    let wrong = |types: &[(&str, DataType)], options: &ReadOptions| {
        let error = pick("f", &schema(types), options).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Input);
        error.to_string()
    };
    let mut options = ReadOptions::default();
    assert_eq!(
        wrong(&[("src", DataType::Date32), ("dst", DataType::Int8)], &options),
        "f: expected integers or strings in the column \"src\", found the type Date32 (write it as \
         such, or say another column)"
    );
    options.ids = IdKind::Integers;
    let error = wrong(&[("src", DataType::Int64), ("dst", DataType::Utf8)], &options);
    assert!(error.contains("expected integers in the column \"dst\""), "{error}");
    options.weight = WeightChoice::Column(ColumnRef::Number(3));
    let types = [("a", DataType::Int64), ("b", DataType::Int64), ("c", DataType::Utf8)];
    assert!(wrong(&types, &options).contains("expected numbers in the column \"c\""));
    let nested =
        DataType::Struct((0..100).map(|_| Field::new("x", DataType::Int8, true)).collect());
    let error = wrong(&[("a", nested), ("b", DataType::Int64)], &ReadOptions::default());
    assert!(error.len() < 200 && error.contains("..."), "{error}");
}

#[test]
fn a_table_without_columns_is_refused() {
    let error = pick("f", &schema(&[]), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Input);
    assert!(error.to_string().contains("found a table without columns"), "{error}");
}

#[test]
fn integers_of_every_width_are_ids() {
    let narrow =
        gathered(&Int8Array::from(vec![1, 2]), &UInt32Array::from(vec![7, u32::MAX]), false);
    let pairs = vec![[1, 7], [2, u32::MAX]];
    assert_eq!(narrow.unwrap().ids, Ids::Narrow { pairs, max: u32::MAX });
    let mut gather = Gather::new(false, false, 0);
    let small = Int64Array::from(vec![3]);
    gather.push("f", &small, &small, None).unwrap();
    gather.push("f", &small, &UInt64Array::from(vec![u64::MAX]), None).unwrap();
    gather.push("f", &small, &small, None).unwrap();
    let pairs = vec![[3, 3], [3, u64::MAX], [3, 3]];
    assert_eq!(gather.into_part().ids, Ids::Wide { pairs, max: u64::MAX });
}

#[test]
fn dictionaries_of_integers_are_looked_up() {
    let coded = |keys: Vec<i8>, values: Vec<i64>| {
        let keys = PrimitiveArray::<Int8Type>::from(keys);
        DictionaryArray::new(keys, Arc::new(Int64Array::from(values)))
    };
    let source = coded(vec![1, 1], vec![-5, 9]);
    let part = gathered(&source, &Int8Array::from(vec![0, 1]), false).unwrap();
    assert_eq!(part.ids, Ids::Narrow { pairs: vec![[9, 0], [9, 1]], max: 9 });
    let error = gathered(&coded(vec![1, 0], vec![-5, 9]), &source, false).unwrap_err();
    assert!(error.starts_with("f: row 12: expected a vertex id from 0 to"), "{error}");
    assert!(error.contains("found -5 (--ids strings"), "{error}");
}

#[test]
fn strings_of_every_kind_are_names() {
    let words = ["b", "a"];
    let coded: DictionaryArray<Int32Type> = words.into_iter().collect();
    let arrays: [ArrayRef; 4] = [
        Arc::new(StringArray::from(words.to_vec())),
        Arc::new(StringViewArray::from(words.to_vec())),
        Arc::new(BinaryArray::from(words.map(str::as_bytes).to_vec())),
        Arc::new(coded),
    ];
    for array in arrays {
        let part = gathered(&array, &Int8Array::from(vec![7, 8]), true).unwrap();
        let names = ["b", "a", "7", "8"].into_iter().collect();
        assert_eq!(part.ids, Ids::Names { names, pairs: vec![[0, 2], [1, 3]] });
    }
}

#[test]
fn bad_rows_are_errors_with_their_number() {
    let good = Int8Array::from(vec![1, 2]);
    let error = |array: &dyn Array, names| gathered(&good, array, names).unwrap_err();
    assert_eq!(
        error(&Int8Array::from(vec![1, -2]), false),
        "f: row 12: expected a vertex id from 0 to 2^64 - 1, found -2 (--ids strings takes ids as \
         they are)"
    );
    assert_eq!(
        error(&Int8Array::from(vec![None, Some(2)]), false),
        "f: row 11: expected a vertex id, found a null"
    );
    assert!(error(&StringArray::from(vec!["a", ""]), true).contains("row 12: expected a vertex"));
    let bytes = BinaryArray::from(vec![b"a".as_slice(), &[0xff]]);
    assert!(error(&bytes, true).contains("UTF-8"));
    let keys = PrimitiveArray::<Int8Type>::from(vec![0, 1]);
    let coded = DictionaryArray::new(keys, Arc::new(StringArray::from(vec![Some("a"), None])));
    assert!(error(&coded, true).contains("row 12: expected a vertex name, found a null"));
}

#[test]
fn weights_are_numbers() {
    let ids = Int8Array::from(vec![1, 2]);
    let weights = |array: &dyn Array| {
        let mut gather = Gather::new(false, true, 0);
        gather.push("f", &ids, &ids, Some(array)).map_err(|error| error.to_string())?;
        Ok::<_, String>(gather.into_part().weights)
    };
    assert_eq!(weights(&Float32Array::from(vec![0.5, -1.0])), Ok(Some(vec![0.5, -1.0])));
    assert_eq!(weights(&Int64Array::from(vec![-5, 7])), Ok(Some(vec![-5.0, 7.0])));
    let error = weights(&Float64Array::from(vec![0.5, f64::NAN])).unwrap_err();
    assert_eq!(error, "f: row 2: expected a weight, found a NaN (not a number)");
    assert!(weights(&Float64Array::from(vec![None, Some(1.0)])).unwrap_err().contains("null"));
}

#[test]
fn panics_become_errors() {
    let error = fenced::<()>("f", || panic!("planted {}", 7)).unwrap_err();
    assert_eq!(error.to_string(), "f: the file is damaged: planted 7");
    assert_eq!(error.kind(), FailureKind::Input);
}

#[test]
fn negative_weights_are_named_by_their_row_where_they_are_refused() {
    let ids: ArrayRef = Arc::new(UInt32Array::from(vec![1, 2, 3]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.5, -0.25, -3.0]));
    let integers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, -7]));
    for (weights, row, found) in [(floats, 12, "-0.25"), (integers, 13, "-7")] {
        for bounds in [WeightBounds::default(), WeightBounds { non_negative: true, finite: true }] {
            let mut gather = Gather::new(false, true, 10).with_bounds(bounds);
            match gather.push("f", &ids, &ids, Some(&weights)) {
                Ok(()) => assert_eq!(bounds, WeightBounds::default()),
                Err(error) => {
                    let what = "expected a weight that is not negative";
                    assert_eq!(error.to_string(), format!("f: row {row}: {what}, found {found}"));
                }
            }
        }
    }
}

#[test]
fn more_rows_than_a_file_can_hold_are_refused() {
    let limits = Limits { ratio_max: 10, ratio_free_bytes: 100, ..Limits::default() };
    assert_eq!(plausible_rows("f", 50, 1, &limits).unwrap(), 50);
    assert_eq!(plausible_rows("f", 100, 20, &limits).unwrap(), 100);
    let error = plausible_rows("f", 101, 20, &limits).unwrap_err();
    assert!(error.to_string().contains("(at most 100), found 101"), "{error}");
    assert_eq!(error.kind(), FailureKind::Input);
    assert!(plausible_rows("f", u64::MAX, u64::MAX, &limits).is_err());
}

#[test]
fn whole_decimals_and_floats_are_ids_and_fractions_are_none() {
    use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal256Type};
    use arrow_array::{Decimal128Array, FixedSizeBinaryArray, Float16Array};
    use arrow_buffer::i256;
    let whole: Vec<ArrayRef> = vec![
        Arc::new(Decimal128Array::from(vec![1, 2]).with_precision_and_scale(38, 0).unwrap()),
        Arc::new(Decimal128Array::from(vec![100, 200]).with_precision_and_scale(10, 2).unwrap()),
        Arc::new(
            PrimitiveArray::<Decimal32Type>::from(vec![10, 20])
                .with_precision_and_scale(5, 1)
                .unwrap(),
        ),
        Arc::new(
            PrimitiveArray::<Decimal64Type>::from(vec![1, 2])
                .with_precision_and_scale(18, 0)
                .unwrap(),
        ),
        Arc::new(
            PrimitiveArray::<Decimal256Type>::from(vec![i256::from_i128(1), i256::from_i128(2)])
                .with_precision_and_scale(76, 0)
                .unwrap(),
        ),
        Arc::new(Float64Array::from(vec![1.0, 2.0])),
        Arc::new(Float32Array::from(vec![1.0, 2.0])),
        Arc::new(Float16Array::from(vec![f32_to_f16(1.0), f32_to_f16(2.0)])),
    ];
    for array in &whole {
        assert_eq!(IdType::of(array.data_type()), Some(IdType::Integer), "{}", array.data_type());
        let part = gathered(array, array, false).unwrap();
        assert_eq!(part.ids, Ids::Narrow { pairs: vec![[1, 1], [2, 2]], max: 2 });
        let Ids::Names { names, .. } = gathered(array, array, true).unwrap().ids else { panic!() };
        assert_eq!(names.iter().collect::<Vec<_>>(), ["1", "2"]);
    }
    let large = f64::from(1_u32 << 31) * f64::from(1_u32 << 22);
    let wrong: Vec<(ArrayRef, &str)> = vec![
        (
            Arc::new(Decimal128Array::from(vec![1, 150]).with_precision_and_scale(10, 2).unwrap()),
            "found 0.01, which has a fraction",
        ),
        (Arc::new(Float64Array::from(vec![1.0, 1.5])), "found 1.5, which has a fraction"),
        (Arc::new(Float64Array::from(vec![f64::NAN, 1.0])), "found NaN (write ids as"),
        (Arc::new(Float64Array::from(vec![1.0, f64::INFINITY])), "found inf (write ids as"),
        (Arc::new(Float64Array::from(vec![large, 1.0])), "below 2^53, up to which"),
        (Arc::new(Float32Array::from(vec![16_777_216.0])), "below 2^24, up to which"),
        (Arc::new(Float64Array::from(vec![None, Some(1.0)])), "found a null"),
        (Arc::new(Float64Array::from(vec![-2.0])), "found -2 (--ids strings"),
    ];
    for (array, expected) in wrong {
        let error = gathered(&array, &array, false).unwrap_err();
        assert!(error.contains(expected) && error.contains("f: row 1"), "{error}");
    }
    let negative = Int64Array::from(vec![-1, 1]);
    assert!(has_negative(&negative) && !has_negative(&negative.slice(1, 1)));
    let Ids::Names { names, .. } = gathered(&negative, &negative, true).unwrap().ids else {
        panic!()
    };
    assert_eq!(names.iter().collect::<Vec<_>>(), ["-1", "1"]);
    let uuid = FixedSizeBinaryArray::try_from_iter([(0..16).collect::<Vec<u8>>()].iter()).unwrap();
    let Ids::Names { names, .. } = gathered(&uuid, &uuid, true).unwrap().ids else { panic!() };
    assert_eq!(names.get(0), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    let short = FixedSizeBinaryArray::try_from_iter([[0xab_u8, 1]].iter()).unwrap();
    let Ids::Names { names, .. } = gathered(&short, &short, true).unwrap().ids else { panic!() };
    assert_eq!(names.get(0), "ab01");
}

fn f32_to_f16(
    value: f32,
) -> <arrow_array::types::Float16Type as arrow_array::ArrowPrimitiveType>::Native {
    use arrow_array::types::{ArrowPrimitiveType, Float16Type};
    <Float16Type as ArrowPrimitiveType>::Native::from_f32(value)
}

#[test]
fn decimals_are_weights() {
    use arrow_array::Decimal128Array;
    let weights = Decimal128Array::from(vec![150, -1, 10_i128.pow(30)]);
    let weights = weights.with_precision_and_scale(38, 2).unwrap();
    let ids = Int64Array::from(vec![1, 2, 3]);
    let mut gather = Gather::new(false, true, 0);
    gather.push("f", &ids, &ids, Some(&weights)).unwrap();
    assert_eq!(gather.into_part().weights.unwrap(), [1.5, -0.01, 1e28]);
}
