"""Odd ratings files are read as they stand; bad ones are refused with the line."""

import pandas as pd
import pytest

from rankpursuit.datasets import load_jester, load_movielens, load_ratings
from rankpursuit.errors import DataError, DataNotFoundError

HEADER = b"user,item,rating\n"


def write(folder, content, name="mine.csv"):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"user,item,rating,rating\na,x,1,5\n", "'rating'"),
        (HEADER + b"a,x,1\n\xff,y,1\n", "UTF-8"),
        ("user,item,rating\n".encode("utf-16"), "UTF-8"),
        (HEADER + b"a,x,1\nb,x,1_0\n", "line 3.*'1_0'"),
        (HEADER + b"a,x,1\nb,x,NaN\n", "line 3.*'NaN'"),
        (HEADER + b"a,x,1\nb,x,1e400\n", "line 3.*'1e400'"),
        (HEADER + b'a,x,1\n"b,x,2\n', "row 2; check the quotation marks"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, content, message):
    with pytest.raises(DataError, match=rf"mine\.csv.*{message}"):
        load_ratings(write(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "users"),
    [
        (b"\xef\xbb\xbf" + HEADER + b"a,x,1\nb,x,2\n", ["a", "b"]),
        (HEADER + b"a,x,1\r\nb,x,2\rc,x,3\n", ["a", "b", "c"]),
        (HEADER + b'"a, ""b""",x,1\n', ['a, "b"']),
        (HEADER + b"NA,x,1\nnull,x,2\n", ["NA", "null"]),
        (HEADER + "é,x,1\ne\u0301,x,2\n".encode(), ["e\u0301", "é"]),
    ],
    ids=["byte order mark", "line ends", "quotes", "NA", "accents"],
)
def test_an_odd_file_is_read_as_it_stands(tmp_path, content, users):
    assert load_ratings(write(tmp_path, content)).user_ids.tolist() == users


@pytest.mark.parametrize("load", [load_ratings, load_movielens, load_jester])
@pytest.mark.parametrize("name", ["folder", "x" * 300, "~nouser/mine.csv"])
def test_what_is_no_file_is_refused(tmp_path, monkeypatch, load, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises((DataNotFoundError, DataError)):
        load(name)


def test_a_parquet_column_of_another_type_is_no_rating(tmp_path):
    pytest.importorskip("pyarrow")
    for values in (pd.to_datetime(["2020-01-01", "2020-01-02"]), [True, False]):
        frame = pd.DataFrame({"user": ["a", "b"], "item": [1, 2], "rating": values})
        frame.to_parquet(tmp_path / "a.parquet")
        with pytest.raises(DataError, match="2 problems: row 1: the rating"):
            load_ratings(tmp_path / "a.parquet")
