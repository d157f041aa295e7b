"""The published figures against a second transcription: sums made by hand from the paper."""

import inspect

import numpy as np
import pytest

from rankpursuit.experiments.registry import METHODS
from rankpursuit.reporting.claims import (
    RULES,
    published_claims,
    published_size,
    published_tables,
    published_tolerance,
)

SEMI, CRRP = "semi_supervised_ranking_pursuit", "combined_ranking_regression_pursuit"
SUPERVISED = [
    "rls",
    "kernel_matching_pursuit",
    "rank_svm",
    "rank_rls",
    "sparse_rank_rls",
    "ranking_pursuit",
]
OTHERS = {2: [SEMI], 4: [SEMI], 5: [CRRP]}
UNITS = {"disagreement": 1000, "squared_error": 10}
SUMS = {
    # table, metric: sums of columns, sums of rows, in units of the last digit
    (1, "disagreement"): ([2498, 2461, 2263], [1227, 1226, 1188, 1190, 1204, 1187]),
    (2, "disagreement"): ([3035, 2954, 2764], [1288, 1288, 1236, 1240, 1252, 1238, 1211]),
    (3, "disagreement"): ([2913, 2885, 2787], [1471, 1475, 1406, 1406, 1422, 1405]),
    (4, "disagreement"): ([3426, 3386, 3289], [1479, 1478, 1430, 1428, 1445, 1428, 1413]),
    (5, "disagreement"): ([2911, 2869, 2636], [1227, 1226, 1188, 1190, 1204, 1187, 1194]),
    (5, "squared_error"): ([2034, 1860, 1675], [561, 537, 947, 943, 1032, 940, 609]),
}


@pytest.mark.parametrize(("table", "metric"), SUMS, ids=str)
def test_rows_and_columns_have_the_sums_of_the_paper(table, metric):
    columns, rows = SUMS[table, metric]
    unit, methods = UNITS[metric], SUPERVISED + OTHERS.get(table, [])
    cells = published_tables()[table].cells[metric]
    digits = [[round(unit * value) for value in cells[method].values()] for method in methods]
    assert list(cells) == methods
    assert [sum(row) for row in digits] == rows
    assert [sum(column) for column in zip(*digits, strict=True)] == columns


def test_tables_and_metrics_are_those_of_the_paper():
    found = {(n, metric) for n, table in published_tables().items() for metric in table.cells}
    assert found == set(SUMS)
    assert (published_size().users, published_size().repeats) == (300, 10)


@pytest.mark.parametrize("claim", published_claims(), ids=lambda claim: claim.id)
def test_a_claim_names_a_rule_and_methods_of_its_tables(claim):
    runs = [object() for _ in claim.tables]
    inspect.signature(RULES[claim.rule][0]).bind(*runs, **claim.options)
    in_tables = [
        {label for rows in published_tables()[number].cells.values() for label in rows}
        for number in claim.tables
    ]
    named = {word for word in _words(claim.options) if word in METHODS}
    assert named
    assert all(named <= labels for labels in in_tables)


def test_claims_have_names_of_their_own_and_every_table_has_some():
    ids = [claim.id for claim in published_claims()]
    assert len(set(ids)) == len(ids)
    assert {number for claim in published_claims() for number in claim.tables} == {1, 2, 3, 4, 5}


def _words(options):
    if isinstance(options, dict):
        options = options.values()
    if isinstance(options, str | float):
        return {options}
    return {word for option in options for word in _words(option)}


@pytest.mark.parametrize(
    ("metric", "decimals", "spread"),
    [("disagreement", 3, (0.053, 0.081)), ("squared_error", 1, (16.5, 16.5))],
)
def test_a_tolerance_is_three_standard_errors_of_two_means_of_3000_users(metric, decimals, spread):
    low, high = (3.0 * np.sqrt(2 / 3000) * x + 0.5 * 10.0**-decimals for x in spread)
    assert low <= published_tolerance(metric) <= np.ceil(high * 10**decimals) / 10**decimals
