"""A guess at how a file of ratings is laid out."""

import os

import pytest

from rankpursuit.datasets.guess import guess_layout
from rankpursuit.errors import DataError, DataNotFoundError

ROWS = [("ann", "x", 3), ("ann", "y", 4), ("bob", "x", 1)]


def write(path, separator, *, header=None, rows=ROWS):
    lines = [header, *rows] if header else rows
    path.write_text("".join(separator.join(map(str, line)) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("separator", ["\t", ",", ";", "|", " "])
@pytest.mark.parametrize("header", [None, ("user_id", "item_id", "stars")])
def test_every_usual_layout_is_found_and_can_be_loaded(separator, header, tmp_path):
    path = write(tmp_path / "u.data", separator, header=header)
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
    layout = guess_layout(write(tmp_path / "r.csv", ",", header=header, rows=rows))
    assert (layout.user, layout.item, layout.rating) == columns


def test_a_config_has_only_what_is_not_as_by_default(tmp_path):
    usual = write(tmp_path / "usual.csv", ",", header=("user", "item", "rating"))
    assert guess_layout(usual).as_config(usual) == {"name": "ratings", "path": str(usual)}
    bare = write(tmp_path / "u.data", "\t")
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
