"""Your own ratings tables, and the guess at their layout."""

import gzip
import os
import sys

import pytest

from rankpursuit.datasets import load_ratings
from rankpursuit.datasets.files import guess_layout
from rankpursuit.errors import DataError, DataNotFoundError

GOOD = "user,item,rating\nann,x,1\nbob,x,2.5\nann,y,-3\n"


def write(folder, text, name="mine.csv"):
    file = folder / name
    file.write_text(text)
    return file


def test_a_csv_is_read_and_named_after_its_file(tmp_path):
    table = load_ratings(write(tmp_path, GOOD))
    assert table.name == "mine"
    assert table.user_ids.tolist() == ["ann", "bob"]
    assert table.item_ids.tolist() == ["x", "y"]
    assert table.user_ratings(0).tolist() == [1, -3]


@pytest.mark.parametrize(("name", "mark"), [("a.tsv", "\t"), ("a.TAB", "\t"), ("a.dat", ";")])
def test_the_separator_follows_the_ending_or_is_given(tmp_path, name, mark):
    file = write(tmp_path, GOOD.replace(",", mark), name)
    separator = mark if name == "a.dat" else None
    assert load_ratings(file, separator=separator).n_ratings == 3


def test_columns_can_be_named_and_others_are_ignored(tmp_path):
    file = write(tmp_path, "when,who,what,stars\n9,ann,x,1\n8,bob,x,2\n")
    table = load_ratings(file, user="who", item="what", rating="stars", name="stars")
    assert (table.name, table.n_users, table.n_items) == ("stars", 2, 1)


def test_labels_are_text_to_the_letter(tmp_path):
    table = load_ratings(write(tmp_path, "user,item,rating\n7,NA,1\n07,NA,2\n"))
    assert table.user_ids.tolist() == ["07", "7"]
    assert table.item_ids.tolist() == ["NA"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("user,item,rating\n", "a header but no ratings"),
        ("user,item,stars\na,b,1\n", "no column 'rating'; its columns are user, item, stars"),
        ("user,item,rating\na,x,1\na,y\n", "line 3: the rating .* is not a number"),
        ("user,item,rating\na,x,1\na,y,good\n", "line 3: the rating 'good' is not a number"),
        ("user,item,rating\na,x,inf\n", "line 2: the rating 'inf' is not a number"),
        ("user,item,rating\na,x,1\n,y,1\n", "line 3: the field 'user' is empty"),
        ("user,item,rating\na,x,1\na, ,1\n", "line 3: the field 'item' is empty"),
        ("user,item,rating\na,x,1\n\na,y,1\n", "line 3: the field 'user' is empty"),
        ("user,item,rating\na,x,1\na,y,1,2\n", "malformed: .*line 3"),
        (
            "user,item,rating\na,x,1,9\nb,x,1,9\n",
            "line 2: malformed: has 4 fields",
        ),
        ("user,item,rating\na,x,1\nb,x,1\na,x,2\n", "line 4: user a rated item x a second time"),
        ("user,item,rating\na,x,1\na,y,9\n", "line 3: the rating 9 is outside 1 to 5"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, text, said):
    file = write(tmp_path, text)
    with pytest.raises(DataError, match=rf"mine\.csv.*{said}") as caught:
        load_ratings(file, bounds=(1, 5))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(GOOD.encode()))
    with pytest.raises(DataError, match=r"a\.csv"):
        load_ratings(tmp_path / "a.csv")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"nowhere\.csv: no such file"):
        load_ratings(tmp_path / "nowhere.csv")


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"unknown ending '\.xlsx'"):
        load_ratings(write(tmp_path, GOOD, "a.xlsx"))


def test_one_column_cannot_serve_twice(tmp_path):
    with pytest.raises(DataError, match="three different columns"):
        load_ratings(write(tmp_path, GOOD), item="user")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'rankpursuit\[parquet\]'"):
        load_ratings(write(tmp_path, "PAR1", "a.parquet"))


def test_parquet_is_read_where_pyarrow_is_installed(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    frame = pd.DataFrame({"user": [1, 1, 2], "item": ["x", "y", "x"], "rating": [1, 2, 3.5]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert load_ratings(tmp_path / "a.parquet").user_ratings(1).tolist() == [3.5]
    frame.loc[1, "rating"] = None
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="row 2: the rating"):
        load_ratings(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_text("not parquet")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        load_ratings(tmp_path / "a.parquet")


def test_a_file_without_a_header_has_numbers_for_columns(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("10\tann\tx\t3\n11\tbob\ty\t4\n")
    ratings = load_ratings(path, user=2, item=3, rating=4, separator="\t", header=False)
    assert ratings.user_ids.tolist() == ["ann", "bob"]
    assert ratings.values.tolist() == [3, 4]
    first_three = load_ratings(path, rating=1, user=4, item=3, separator="\t", header=False)
    assert first_three.values.tolist() == [10, 11]


def test_a_bad_line_of_a_file_without_a_header_is_named(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("ann\tx\t3\nbob\ty\tmany\n")
    with pytest.raises(DataError, match="line 2: the rating 'many' is not a number"):
        load_ratings(path, separator="\t", header=False)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"header": False, "user": "who"}, "user: expected a number from 1"),
        ({"header": True, "item": 2}, "item: expected a name"),
        ({"header": False, "rating": 9}, "no column 9; it has 3 of them, and no header"),
    ],
)
def test_names_and_numbers_of_columns_are_not_mixed_up(options, fault, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n")
    with pytest.raises(DataError, match=fault):
        load_ratings(path, **options)


ROWS = [("ann", "x", 3), ("ann", "y", 4), ("bob", "x", 1)]


def write_rows(path, separator, *, header=None, rows=ROWS):
    lines = [header, *rows] if header else rows
    path.write_text("".join(separator.join(map(str, line)) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("separator", ["\t", ",", ";", "|", " "])
@pytest.mark.parametrize("header", [None, ("user_id", "item_id", "stars")])
def test_every_usual_layout_is_found_and_can_be_loaded(separator, header, tmp_path):
    path = write_rows(tmp_path / "u.data", separator, header=header)
    layout = guess_layout(path)
    assert (layout.separator, layout.header) == (separator, header is not None)
    ratings = layout.load(path)
    assert (ratings.n_users, ratings.n_items, ratings.n_ratings) == (2, 2, 3)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (("userId", "movieId", "rating", "timestamp"), ("userId", "movieId", "rating")),
        (("Score", "JokeNo", "Reviewer"), ("Reviewer", "JokeNo", "Score")),
        (("time", "who", "what", "stars"), ("time", "who", "stars")),
        (("a", "b", "c"), ("a", "b", "c")),
    ],
)
def test_columns_are_found_by_name_or_else_by_order(header, columns, tmp_path):
    rows = [tuple(range(len(header)))] * 2
    layout = guess_layout(write_rows(tmp_path / "r.csv", ",", header=header, rows=rows))
    assert (layout.user, layout.item, layout.rating) == columns


def test_a_config_has_only_what_is_not_as_by_default(tmp_path):
    usual = write_rows(tmp_path / "usual.csv", ",", header=("user", "item", "rating"))
    assert guess_layout(usual).as_config(usual) == {"name": "ratings", "path": str(usual)}
    bare = write_rows(tmp_path / "u.data", "\t")
    assert guess_layout(bare).as_config(bare) == {
        "name": "ratings",
        "path": str(bare),
        "separator": "\t",
        "header": None,
    }


def test_the_columns_of_a_parquet_file_are_found(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "r.parquet"
    pd.DataFrame(ROWS, columns=["user_id", "item_id", "stars"]).to_parquet(path)
    layout = guess_layout(path)
    assert layout.load(path).n_ratings == 3


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "the file is empty"),
        (b"just words\n", "no table of three columns or more"),
        (b"1::2::3\n", "no table of three columns or more"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
    ],
)
def test_what_is_no_table_is_refused_by_name(content, fault, tmp_path):
    path = tmp_path / "r.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=fault) as refused:
        guess_layout(path)
    assert str(refused.value).startswith(f"{path}: ")


def test_what_is_no_file_is_refused_by_name(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("none.csv", "pipe.csv", "."):
        with pytest.raises(DataNotFoundError, match="no such file"):
            guess_layout(tmp_path / name)
