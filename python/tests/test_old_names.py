"""Names that options had before: they mean what those of today mean, and say so."""

import numpy as np
import pytest

import welter
from welter import _old_names

SHARES = {0: 1.0, 1: 3.0, 2: 2.0}

#: A function, options by their names of before, and by those of today.
PAIRS = [
    ("pagerank", {"teleport_from": SHARES}, {"personalization": SHARES}),
    ("pagerank", {"sinks_from": SHARES}, {"dangling_weights": SHARES}),
    (
        "pagerank",
        {"start_from": SHARES, "start_default": 2.0},
        {"initial": SHARES, "initial_default": 2.0},
    ),
    (
        "conductance",
        {"side_from": SHARES, "side_above": 1.5, "side_default": 0.0},
        {"membership": SHARES, "membership_above": 1.5, "membership_default": 0.0},
    ),
    ("pagerank", {"cache": 0}, {"edge_memory": 0}),
]

#: Values of options, before and today; those of before are taken without a word.
VALUES = [
    ("pagerank", "dangling", "papers", "unnormalized"),
    ("wcc", "method", "labels", "label-propagation"),
    ("wcc", "frontier", "local", "async"),
    ("wcc", "index", "rows", "csr"),
]


@pytest.mark.parametrize(("name", "old", "new"), PAIRS)
def test_old_names_mean_the_same(name, old, new):
    function, graph = getattr(welter, name), welter.rmat(6)
    expected = function(graph, **new)
    with pytest.warns(DeprecationWarning, match="is called .* now") as warned:
        found = function(graph, **old)
    assert {warning.filename for warning in warned} == {__file__}
    assert found.report["parameters"] == expected.report["parameters"]
    for column, values in found.to_numpy().items():
        assert np.array_equal(values, expected.to_numpy()[column], equal_nan=True)
    with pytest.warns(DeprecationWarning):
        assert graph.run(name, **old).report["parameters"] == expected.report["parameters"]
    with pytest.warns(DeprecationWarning):
        graph.explain(name, **old)


@pytest.mark.parametrize(("name", "option", "old", "new"), VALUES)
def test_old_values_mean_the_same(name, option, old, new):
    function, graph = getattr(welter, name), welter.rmat(6)
    reports = [function(graph, **{option: value}).report for value in (old, new)]
    assert reports[0]["parameters"] == reports[1]["parameters"]
    assert reports[1]["parameters"][option] == new


def test_checkpoints_are_counted_by_the_old_name_too(tmp_path):
    with pytest.warns(DeprecationWarning, match="every is called checkpoint_every now"):
        welter.pagerank(welter.rmat(6), checkpoint=tmp_path / "kept", every=2)


def test_both_names_are_one_too_many():
    with pytest.raises(TypeError, match="cache is edge_memory now"):
        welter.pagerank(welter.rmat(4), cache=0, edge_memory=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        welter.pagerank(welter.rmat(4), nothing=0)


def test_new_names_exist():
    options = {name for function in map(welter.__dict__.get, welter._algorithms.__all__)
               for name in function.__wrapped__.__kwdefaults__}
    assert set(_old_names._NAMES.values()) <= options
    assert not set(_old_names._NAMES) & options
