"""Writers of tables: pandas, polars, pyarrow and DuckDB."""

from __future__ import annotations

import csv
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
from round_trips import Table, Written

#: Names that tell source from target whatever stands below them.
TELLING = [
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("Source", "Target"),
    ("source_id", "target_id"),
]
#: Names that only numbers below them tell to be a header.
PLAIN = [("u", "v"), ("a", "b"), ("user", "item"), ("node1", "node2")]


def names(edges: Table, chance: random.Random, *, json: bool = False) -> list[str]:
    """Names of the columns; of JSON, only ``weight`` is the weight."""
    ends = chance.choice(TELLING + PLAIN if edges.numbers else TELLING)
    if not edges.weighted:
        return list(ends)
    weights = ["weight", "weight", "Weight", "cost", "value"]
    return [*ends, "weight" if json else chance.choice(weights)]


def columns(edges: Table, chance: random.Random, *, json: bool = False) -> dict[str, list[Any]]:
    """The columns by name, sometimes with one more behind them."""
    found = dict(zip(names(edges, chance, json=json), edges.columns, strict=True))
    if chance.random() < 0.2:
        if not edges.weighted:
            found["kind"] = [chance.choice(["x", "y, z"]) for _ in edges.edges]
        else:
            found["label"] = [chance.choice(['"x"', "two words"]) for _ in edges.edges]
    return found


def plain(found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Decimals as floats, for what has none."""
    return {
        name: [float(value) if isinstance(value, Decimal) else value for value in values]
        for name, values in found.items()
    }


def arrow(edges: Table, chance: random.Random, *, json: bool = False) -> pyarrow.Table:
    """The table with some of the types that its values fit."""
    found = columns(edges, chance, json=json)
    arrays = {}
    for place, (name, values) in enumerate(found.items()):
        kind: pyarrow.DataType | None = None
        if place < 2:
            kind = id_type(edges, chance)
        elif isinstance(values[0], Decimal):
            kind = pyarrow.decimal128(20, 2)
        arrays[name] = pyarrow.array(values, kind)
    return pyarrow.table(arrays)


def id_type(edges: Table, chance: random.Random) -> pyarrow.DataType:
    match edges.kind:
        case "small":
            kinds = [
                pyarrow.int8(),
                pyarrow.uint8(),
                pyarrow.int16(),
                pyarrow.uint32(),
                pyarrow.int64(),
                pyarrow.float64(),
                pyarrow.decimal128(18, 0),
            ]
        case "large" | "negative":
            kinds = [pyarrow.int64()]
        case "unsigned":
            kinds = [pyarrow.uint64()]
        case _:
            texts = [pyarrow.string(), pyarrow.large_string()]
            kinds = [*texts, pyarrow.dictionary(pyarrow.int32(), pyarrow.string())]
    return chance.choice(kinds)


def pandas_csv(edges: Table, folder: Path, chance: random.Random) -> Written:
    frame = pandas.DataFrame(plain(columns(edges, chance)))
    separator = chance.choice([",", ",", "\t", ";", "|", " "])
    ending, packing = chance.choice(
        [("", None)] * 4 + [(".gz", "gzip"), (".bz2", "bz2"), (".xz", "xz"), (".zip", "zip")]
    )
    header = chance.random() < 0.7
    encodings = ["utf-8"] * 4 + ["utf-8-sig"] + (["utf-16"] if packing is None else [])
    options = {
        "sep": separator,
        "header": header,
        "index": header and chance.random() < 0.4,
        "quoting": chance.choice([csv.QUOTE_MINIMAL] * 2 + [csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        "lineterminator": chance.choice(["\n", "\n", "\r\n"]),
        "encoding": chance.choice(encodings),
        "decimal": "," if separator == ";" and chance.random() < 0.5 else ".",
        "compression": packing,
    }
    if chance.random() < 0.1:
        options |= {"doublequote": False, "escapechar": "\\"}
    path = folder / f"pandas.{chance.choice(['csv', 'txt', 'tsv'])}{ending}"
    frame.to_csv(path, **options)
    said = escapes(edges) if "escapechar" in options else []
    return Written(path, edges.edges, options=said, how=f"pandas to_csv {options}")


def escapes(edges: Table) -> list[str]:
    """Options for backslashes that escape nothing but backslashes."""
    quoted = any('"' in str(end) for edge in edges.edges for end in edge[:2])
    return [] if quoted else ["--escape", "backslash"]


def pandas_json(edges: Table, folder: Path, chance: random.Random) -> Written:
    frame = pandas.DataFrame(plain(columns(edges, chance, json=True)))
    options = {
        "orient": chance.choice(["records", "records", "split", "columns", "values", "table"])
    }
    if options["orient"] == "records":
        options["lines"] = chance.random() < 0.5
    path = folder / chance.choice(["pandas.json", "pandas.jsonl"])
    # Of more digits behind the point pandas may write another last one than it should.
    digits = 10
    frame.to_json(path, double_precision=digits, **options)
    wanted = [
        (*edge[:2], *(round(float(weight), digits) for weight in edge[2:])) for edge in edges.edges
    ]
    return Written(path, wanted, how=f"pandas to_json {options}")


def gephi(edges: Table, folder: Path, chance: random.Random) -> Written:
    """Tables with the column of Gephi that says whether edges are directed."""
    found = plain(dict(zip(["Source", "Target", "Weight"], edges.columns, strict=False)))
    undirected = chance.random() < 0.6
    found["Type"] = ["Undirected" if undirected else "Directed"] * len(edges.edges)
    frame = pandas.DataFrame(found)
    if chance.random() < 0.3:
        frame["Type"] = frame["Type"].astype("category")
    kind = chance.choice(["csv", "parquet", "feather", "ipc"])
    path = folder / f"gephi.{kind}"
    match kind:
        case "csv":
            frame.to_csv(path, index=False, sep=chance.choice([",", ";", "\t"]))
        case "parquet":
            frame.to_parquet(path, row_group_size=chance.choice([3, 100]))
        case "feather":
            frame.to_feather(path)
        case _:
            polars.from_pandas(frame).write_ipc(path)
    return Written(path, edges.edges, undirected, how=f"gephi's columns in {kind}")


def pandas_binary(edges: Table, folder: Path, chance: random.Random) -> Written:
    frame = pandas.DataFrame(plain(columns(edges, chance)))
    kind = chance.choice(["parquet", "parquet", "feather", "pickle", "string"])
    path = folder / f"pandas.{kind}"
    how = f"pandas {kind}"
    if kind == "parquet":
        codec = chance.choice([None, "snappy", "gzip", "brotli", "zstd", "lz4"])
        frame.index.name = chance.choice([None, "row"])
        frame.to_parquet(path, compression=codec, index=chance.choice([None, True, False]))
        how += f" {codec}"
    elif kind == "feather":
        frame.to_feather(path)
    elif kind == "pickle":
        frame.to_pickle(path)
    else:
        path = folder / "pandas.txt"
        # All digits of floats, of which it would leave some out.
        frame.to_string(path, float_format=lambda value: repr(float(value)))
        # It writes such characters as Python does, and other backslashes as they are.
        shown = str.maketrans({"\n": "\\n", "\t": "\\t"})
        ends = [[str(end).translate(shown) for end in edge[:2]] for edge in edges.edges]
        wanted = [(*pair, *edge[2:]) for pair, edge in zip(ends, edges.edges, strict=True)]
        return Written(path, wanted, how=how)
    return Written(path, edges.edges, how=how)


def polars_csv(edges: Table, folder: Path, chance: random.Random) -> Written:
    frame = polars.DataFrame(columns(edges, chance), strict=False, infer_schema_length=None)
    options = {
        "separator": chance.choice([",", ",", "\t", ";", "|", " "]),
        "include_header": chance.random() < 0.7,
        "include_bom": chance.random() < 0.2,
        "quote_style": chance.choice(["necessary", "necessary", "always", "non_numeric"]),
        "line_terminator": chance.choice(["\n", "\n", "\r\n"]),
    }
    path = folder / chance.choice(["polars.csv", "polars.txt"])
    frame.write_csv(path, **options)
    return Written(path, edges.edges, how=f"polars write_csv {options}")


def polars_other(edges: Table, folder: Path, chance: random.Random) -> Written:
    kind = chance.choice(["json", "ndjson", "parquet", "parquet", "ipc", "ipc", "stream", "avro"])
    found = columns(edges, chance, json=kind.endswith("json"))
    frame = polars.DataFrame(found, strict=False, infer_schema_length=None)
    path = folder / f"polars.{kind if kind != 'stream' else 'arrows'}"
    codec = ""
    match kind:
        case "json":
            frame.write_json(path)
        case "ndjson":
            frame.write_ndjson(path)
        case "parquet":
            codecs = ["zstd", "lz4", "snappy", "gzip", "brotli", "uncompressed"]
            codec = chance.choice(codecs)
            frame.write_parquet(path, compression=codec, row_group_size=chance.choice([None, 5]))
        case "avro":
            frame = frame.cast(
                {polars.UInt64: polars.Int64, polars.Decimal: polars.Float64}, strict=False
            )
            frame.write_avro(path)
        case _:
            codec = chance.choice(["uncompressed", "lz4", "zstd"])
            write = frame.write_ipc if kind == "ipc" else frame.write_ipc_stream
            write(path, compression=codec)
    return Written(path, edges.edges, how=f"polars {kind} {codec}")


def pyarrow_any(edges: Table, folder: Path, chance: random.Random) -> Written:
    made = arrow(edges, chance)
    kind = chance.choice(["csv", "parquet", "parquet", "feather", "file", "stream", "orc"])
    path = folder / f"pyarrow.{ {'file': 'arrow', 'stream': 'arrows'}.get(kind, kind) }"
    options: dict[str, Any] = {}
    match kind:
        case "csv":
            texts = [pyarrow.types.is_dictionary(column.type) for column in made.columns]
            if any(texts):
                made = made.cast(
                    pyarrow.schema(
                        [
                            (name, pyarrow.string() if text else column.type)
                            for name, text, column in zip(
                                made.column_names, texts, made.columns, strict=True
                            )
                        ]
                    )
                )
            options = {
                "include_header": chance.random() < 0.7,
                "delimiter": chance.choice([",", "\t", ";", "|"]),
                "quoting_style": chance.choice(["needed", "all_valid"]),
            }
            pyarrow.csv.write_csv(made, path, pyarrow.csv.WriteOptions(**options))
        case "parquet":
            options = {
                "compression": chance.choice(["none", "snappy", "gzip", "brotli", "zstd", "lz4"]),
                "use_dictionary": chance.choice([True, False]),
                "data_page_version": chance.choice(["1.0", "2.0"]),
                "row_group_size": chance.choice([None, 4]),
                "store_schema": chance.choice([True, False]),
            }
            pyarrow.parquet.write_table(made, path, **options)
        case "feather":
            options = {"compression": chance.choice(["lz4", "zstd", "uncompressed"])}
            pyarrow.feather.write_feather(made, path, **options)
        case "orc":
            from pyarrow import orc

            if edges.kind == "unsigned":
                made = pyarrow.table({"source": [1], "target": [2]})
            made = pyarrow.table(
                {name: made[name].cast(plain_type(made[name].type)) for name in made.column_names}
            )
            orc.write_table(made, path)
        case _:
            codec = chance.choice([None, "lz4", "zstd"])
            options = {"compression": codec}
            write = pyarrow.ipc.new_file if kind == "file" else pyarrow.ipc.new_stream
            with write(
                str(path), made.schema, options=pyarrow.ipc.IpcWriteOptions(**options)
            ) as out:
                out.write_table(made, max_chunksize=chance.choice([None, 3]))
    types = [str(column.type) for column in made.columns]
    return Written(path, edges.edges, how=f"pyarrow {kind} {options} {types}")


def plain_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """A type that ORC has."""
    if pyarrow.types.is_unsigned_integer(kind):
        return pyarrow.int64()
    return pyarrow.string() if pyarrow.types.is_dictionary(kind) else kind


def duckdb_any(edges: Table, folder: Path, chance: random.Random) -> Written:
    kind = chance.choice(["csv", "csv", "json", "parquet"])
    made = arrow(edges, chance, json=kind == "json")
    ending = ""
    options = [f"format {kind}"]
    if kind == "csv":
        separator = chance.choice([",", "\\t", ";", "|"])
        separator = f"E'{separator}'" if separator == "\\t" else f"'{separator}'"
        options += [f"header {chance.choice(['true', 'false'])}", f"delimiter {separator}"]
        if chance.random() < 0.3:
            options.append("force_quote *")
        if chance.random() < 0.2:
            options.append("escape '\\'")
    if kind == "json" and chance.random() < 0.4:
        options.append("array true")
    if kind == "parquet":
        options.append(f"codec {chance.choice(['snappy', 'zstd', 'gzip', 'lz4_raw', 'brotli'])}")
    elif chance.random() < 0.2:
        packing, ending = chance.choice([("gzip", ".gz"), ("zstd", ".zst")])
        options.append(f"compression {packing}")
    path = folder / f"duckdb.{kind}{ending}"
    # The table is found by the name of the variable.
    duckdb.sql(f"copy (select * from made) to '{path}' ({', '.join(options)})")
    types = [str(column.type) for column in made.columns]
    said = escapes(edges) if "escape '\\'" in options else []
    return Written(path, edges.edges, options=said, how=f"duckdb {options} {types}")


WRITERS = [
    pandas_csv,
    pandas_csv,
    pandas_json,
    pandas_binary,
    polars_csv,
    polars_other,
    pyarrow_any,
    pyarrow_any,
    duckdb_any,
    gephi,
]
