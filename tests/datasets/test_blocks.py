"""Blocks of whole groups, from arrays and from Parquet files."""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankpursuit import RankingPursuit
from rankpursuit.datasets import array_blocks, parquet_blocks
from rankpursuit.datasets.blocks import whole_groups
from rankpursuit.errors import DataError, DataNotFoundError

labels_of_groups = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40)


def joined(blocks):
    return tuple(np.concatenate(parts) for parts in zip(*blocks, strict=True))


def made(labels):
    n = len(labels)
    return np.arange(2.0 * n).reshape(n, 2), np.arange(float(n)), np.array(list(labels))


@given(labels=labels_of_groups, rows=st.integers(1, 12))
def test_arrays_are_cut_between_groups_and_every_row_comes_once(labels, rows):
    X, y, groups = made(labels)
    blocks = list(array_blocks(X, y, groups, rows=rows))
    order = np.argsort(groups, kind="stable")
    for found, expected in zip(joined(blocks), (X, y, groups), strict=True):
        np.testing.assert_array_equal(found, expected[order])
    seen = [set(block[2]) for block in blocks]
    assert sum(map(len, seen)) == len(set(labels))
    for block, distinct in zip(blocks, seen, strict=True):
        assert len(block[1]) <= rows or len(distinct) == 1
    for one, two in pairwise(blocks):
        first = np.count_nonzero(two[2] == two[2][0])
        assert len(one[1]) + first > rows  # the next group would not have fitted in


@given(labels=labels_of_groups, rows=st.integers(1, 12), size=st.integers(1, 9))
def test_runs_cut_anywhere_become_whole_groups(labels, rows, size):
    labels = sorted(labels)
    runs = []
    for label in dict.fromkeys(labels):
        left = labels.count(label)
        while left:
            runs.append((label, "here", [label] * min(size, left)))
            left -= min(size, left)
    blocks = [[x for *_, part in block for x in part] for block in whole_groups(runs, rows)]
    assert [x for block in blocks for x in block] == labels
    assert sum(len(set(block)) for block in blocks) == len(set(labels))
    assert all(len(block) <= rows or len(set(block)) == 1 for block in blocks)


def test_arrays_without_groups_are_cut_anywhere_and_can_be_read_again():
    X, y, _ = made("aaaaa")
    blocks = array_blocks(X, y, rows=2)
    assert [len(block[1]) for block in blocks] == [2, 2, 1] == [len(block[1]) for block in blocks]
    assert all(block[2] is None for block in blocks)


def test_arrays_of_different_lengths_and_no_number_of_rows_are_refused():
    X, y, groups = made("aab")
    with pytest.raises(DataError, match=r"must have the same length; got lengths \[3, 2, 3\]"):
        array_blocks(X, y[1:], groups)
    for rows in (0, -1, 2.0, True):
        with pytest.raises(DataError, match="rows must be an integer of at least 1"):
            array_blocks(X, y, groups, rows=rows)


def test_different_labels_are_different_groups_in_blocks_of_arrays():
    X, y, _ = made("aaa")
    blocks = array_blocks(X, y, ["u\0", "u", "u\0"], rows=1)
    assert [block[2].tolist() for block in blocks] == [["u"], ["u\0", "u\0"]]
    with pytest.raises(ValueError, match="groups: labels have different types, such as 1 and '1'"):
        array_blocks(X[:2], y[:2], [1, "1"])
    with pytest.raises(ValueError, match="groups: the label of point 1 is missing"):
        array_blocks(X, y, [1.0, np.nan, 2.0])


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), rng.integers(1, 9, size=40))
    columns = {"query": groups, "relevance": rng.integers(0, 5, size=len(groups))}
    columns |= {name: rng.normal(size=len(groups)) for name in ("a", "b", "c")}
    return pd.DataFrame(columns)


NAMES = {"score": "relevance", "group": "query"}


@pytest.fixture
def file(tmp_path, table):
    def write(changed=table, **options):
        path = tmp_path / "rows.parquet"
        changed.to_parquet(path, index=False, **options)
        return path

    return write


@pytest.mark.parametrize("rows", [1, 10, 1000])
def test_a_parquet_file_comes_in_blocks_of_whole_groups(file, table, rows):
    path = file(row_group_size=17)
    blocks = list(parquet_blocks(path, **NAMES, rows=rows))
    X, y, groups = joined(blocks)
    np.testing.assert_array_equal(X, table[["a", "b", "c"]])
    np.testing.assert_array_equal(y, table["relevance"])
    np.testing.assert_array_equal(groups, table["query"])
    assert sum(len(set(block[2])) for block in blocks) == 40
    assert all(len(block[1]) <= rows or len(set(block[2])) == 1 for block in blocks)


def test_columns_are_chosen_by_name_and_labels_may_be_text(file, table):
    path = file(table.assign(query=[f"q{label}" for label in table["query"]]))
    (block,) = parquet_blocks(path, features=["c", "a"], **NAMES)
    np.testing.assert_array_equal(block[0], table[["c", "a"]])
    assert block[2][0] == "q0"
    (block,) = parquet_blocks(path, features=["c"], score="a", group=None)
    assert block[2] is None


@pytest.mark.parametrize("index", ["query", "relevance", "id", None])
def test_the_index_of_a_frame_is_no_feature_and_may_be_score_or_group(tmp_path, table, index):
    frame = table.assign(id=np.arange(len(table)) ** 2)
    indexed = frame.set_index(index or "id").rename_axis(index)
    indexed.drop(columns="id", errors="ignore").to_parquet(tmp_path / "rows.parquet")
    X, y, groups = joined(parquet_blocks(tmp_path / "rows.parquet", **NAMES, rows=50))
    np.testing.assert_array_equal(X, table[["a", "b", "c"]])
    np.testing.assert_array_equal(y, table["relevance"])
    np.testing.assert_array_equal(groups, table["query"])


def test_a_split_group_is_refused_with_its_row(file, table):
    table.loc[table.index[-1], "query"] = 3
    path = file(table)
    for rows in (1, 10, 1000):
        with pytest.raises(DataError, match=rf"rows.parquet, row {len(table)}: group 3 continues"):
            list(parquet_blocks(path, **NAMES, rows=rows))


@pytest.mark.parametrize("column", ["a", "relevance"])
@pytest.mark.parametrize("value", [np.nan, np.inf, None])
def test_a_value_that_is_no_finite_number_is_refused_with_its_row(file, table, column, value):
    table = table.astype({column: object})
    table.loc[11, column] = value
    path = file(table.astype({column: float}))
    with pytest.raises(DataError, match="row 12: a value is missing or not a finite"):
        list(parquet_blocks(path, **NAMES, rows=5))


def test_a_missing_label_is_refused_with_its_row(file, table):
    path = file(table.assign(query=[None, *map(str, table["query"][1:])]))
    with pytest.raises(DataError, match="row 1: a value is missing"):
        list(parquet_blocks(path, **NAMES))


def test_text_and_unknown_columns_are_refused(file, table):
    path = file(table.assign(a="x"))
    with pytest.raises(DataError, match="features and scores must be numbers"):
        list(parquet_blocks(path, **NAMES))
    with pytest.raises(DataError, match="no column 'score'; its columns are query, relevance, a"):
        parquet_blocks(path)
    with pytest.raises(DataError, match="no column 'z'"):
        parquet_blocks(path, features=["z"], **NAMES)
    with pytest.raises(DataError, match="no feature column"):
        parquet_blocks(path, features=[], **NAMES)


def test_a_file_that_is_cut_off_or_damaged_is_one_error_and_leaves_the_model(file, table):
    path = file(
        pd.concat([table] * 20)
        .reset_index(drop=True)
        .assign(query=np.arange(20 * len(table)) // 10)
    )
    model = RankingPursuit(5, n_candidates=20, random_state=0)
    model.fit_blocks(parquet_blocks(path, **NAMES))
    before = model.coef_.copy()
    whole = path.read_bytes()
    blocks = parquet_blocks(path, **NAMES)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="not a Parquet file, or truncated or damaged"):
        parquet_blocks(path, **NAMES)
    with pytest.raises(DataError, match="not a Parquet file, or truncated or damaged"):
        model.fit_blocks(blocks)
    path.write_bytes(whole[:200] + bytes(3000) + whole[3200:])
    with pytest.raises(DataError, match="not a Parquet file, or truncated or damaged"):
        model.fit_blocks(parquet_blocks(path, **NAMES))
    np.testing.assert_array_equal(model.coef_, before)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"rows\.parquet: no such file"):
        parquet_blocks(tmp_path / "rows.parquet")


def test_without_pyarrow_the_error_says_what_to_install(file, monkeypatch):
    path = file()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'rankpursuit\[parquet\]'"):
        parquet_blocks(path, **NAMES)
