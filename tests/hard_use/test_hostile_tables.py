"""Ratings files and archives made to mislead, to crash or to take all memory."""

import struct
import zipfile

import numpy as np
import pytest

from rankpursuit.datasets import Ratings, load_jester, load_movielens, load_ratings
from rankpursuit.datasets.fetch import LARGEST_FILE as LARGEST_MEMBER
from rankpursuit.datasets.fetch import read_member
from rankpursuit.datasets.jester import read_spreadsheet
from rankpursuit.errors import ArchiveError, DataError, DataNotFoundError

HEADER = b"user,item,rating\n"


def write(folder, content, name="mine.csv"):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"user,item,rating,rating\na,x,1,5\n", "2 columns are called 'rating'; rename all but"),
        (b"user,item,user,rating\na,x,b,5\n", "2 columns are called 'user'"),
        (HEADER + b"a,x,1\n\xff,y,1\n", "line 3: not text in UTF-8"),
        (HEADER + b"a,x,1\nb,y,\xc3", "line 3: not text in UTF-8"),
        ("user,item,rating\n".encode("utf-16"), "line 1: not text in UTF-8"),
        (HEADER + b"a,x,1\na\0,x,1\n", "line 3: holds a null character"),
        (HEADER + b"a,x,1\n" + b"u" * 2_000_000 + b",x,1\n", "line 3: longer than 1,000,000 bytes"),
        (HEADER + b"a,x,1\n" + b"u" * 201 + b",x,1\n", "line 3: the field 'user' has 201 char"),
        (HEADER + b"a,x,1\n" + b"," * 900_000, "malformed: .*line 3"),
        (HEADER + b"," * 900_000, "line 2: malformed: has 900,001 fields, and the header 3"),
        (b"," * 900_000 + b"\na,x,1\n", "has 900,001 columns, and 10,000 is the most"),
        (HEADER + b"a,x,1\nb,x,inf\n", "line 3: the rating 'inf' is not a number"),
        (HEADER + b"a,x,1\nb,x,NaN\n", "line 3: the rating 'NaN' is not a number"),
        (HEADER + b"a,x,1\nb,x,1e400\n", "line 3: the rating '1e400' is not a number"),
        (HEADER + b"a,x,1\nb,x,1e200\n", "line 3: the rating 1e\\+200 is outside -1e\\+15 to"),
        (HEADER + b"a,x,1\nb,x,1_0\n", "line 3: the rating '1_0' is not a number"),
        (HEADER + b"a,x,1\nb,x,0x10\n", "line 3: the rating '0x10' is not a number"),
        (HEADER + b"a,x,1\r\nb,x,2\ra,x,3\n", "line 4: user a rated item x a second time"),
        (HEADER + b'"a\nb",x,1\nc,x,bad\n', "line 4: the rating 'bad' is not a number"),
        (HEADER + b'a,x,1\n"b,x,2\n', "malformed: EOF inside string"),
    ],
)
def test_a_hostile_file_is_refused_with_its_line(tmp_path, content, said):
    with pytest.raises(DataError, match=rf"mine\.csv.*{said}") as caught:
        load_ratings(write(tmp_path, content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "users"),
    [
        (b"\xef\xbb\xbf" + HEADER + b"a,x,1\nb,x,2\n", ["a", "b"]),
        (HEADER + b"a,x,1\r\nb,x,2\rc,x,3\n", ["a", "b", "c"]),
        (HEADER + b'"a, ""b""",x,1\n', ['a, "b"']),
        (HEADER + b"NA,x,1\nnull,x,2\n,x,3\n".replace(b"\n,x,3", b""), ["NA", "null"]),
        (HEADER + "é,x,1\ne\u0301,x,2\n".encode(), ["e\u0301", "é"]),
        (HEADER + b"u" * 200 + b",x,1\n", ["u" * 200]),
    ],
)
def test_an_odd_file_is_read_as_it_stands(tmp_path, content, users):
    assert load_ratings(write(tmp_path, content)).user_ids.tolist() == users


@pytest.mark.parametrize("separator", ["", ",,", '"', "\n", "\0"])
def test_a_separator_is_one_character(tmp_path, separator):
    with pytest.raises(DataError, match="separator: expected one character"):
        load_ratings(write(tmp_path, HEADER), separator=separator)


@pytest.mark.parametrize("load", [load_ratings, load_movielens, load_jester])
@pytest.mark.parametrize("name", ["loop", "a\0b", "\ud800", "x" * 300, "x" * 100_000, "folder"])
def test_what_is_no_file_is_not_found(tmp_path, monkeypatch, load, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    with pytest.raises((DataNotFoundError, DataError)) as caught:
        load(name)
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize("load", [load_ratings, load_movielens, load_jester])
def test_a_home_of_nobody_is_not_found(load):
    with pytest.raises(DataNotFoundError, match="~nouser"):
        load("~nouser/mine.csv")


def test_one_long_id_does_not_take_its_length_for_every_row():
    users = np.array([f"u{i}" for i in range(1000)] * 200 + ["x" * 2000], dtype=object)
    items = np.repeat(np.arange(201), 1000)[: len(users)]
    table = Ratings.from_arrays(users, items, np.ones(len(users)))
    assert table.n_users == 1001
    assert table.user_ids.dtype.kind == "U"


def test_labels_that_are_objects_have_the_checksum_of_those_that_are_text():
    rows = (["b", "a", "b"], ["x", "x", "y"], [1, 2, 3])
    objects = Ratings.from_arrays(*(np.array(column, dtype=object) for column in rows))
    assert objects.checksum() == Ratings.from_arrays(*rows).checksum()


@pytest.mark.parametrize("users", [[1, "a"], [None, None], [[1], [2]]])
def test_labels_of_no_order_are_refused(users):
    with pytest.raises(DataError):
        Ratings.from_arrays(np.array(users, dtype=object), [1, 1], [1, 2])


@pytest.mark.parametrize("values", [[10**400, 1], ["a", "b"], [1e16, 0], [float("nan"), 1]])
def test_ratings_that_are_no_numbers_are_refused(values):
    with pytest.raises(DataError):
        Ratings.from_arrays(["a", "b"], ["x", "x"], values)


def pack(path, content, method=zipfile.ZIP_DEFLATED, size=None):
    """Write an archive of one member; its directory may lie about the size."""
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("x.dat", content)
    if size is not None:
        written = bytearray(path.read_bytes())
        at = written.rfind(b"PK\x01\x02") + 24
        written[at : at + 4] = struct.pack("<I", size)
        path.write_bytes(written)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_is_read_no_further_than_it_declares(tmp_path, method, monkeypatch):
    path = pack(tmp_path / "a.zip", bytes(10_000_000), method, size=1000)
    read = []
    original = zipfile.ZipExtFile.read
    monkeypatch.setattr(
        zipfile.ZipExtFile, "read", lambda self, n=-1: read.append(n) or original(self, n)
    )
    with pytest.raises(ArchiveError, match="CRC"):
        read_member(path, "x.dat")
    assert all(0 <= n <= 8192 for n in read)


def test_a_member_shorter_than_it_declares_is_refused(tmp_path):
    path = pack(tmp_path / "a.zip", b"x" * 100, size=1000)
    with pytest.raises(ArchiveError):
        read_member(path, "x.dat")


def test_a_member_that_declares_too_much_is_refused(tmp_path):
    path = pack(tmp_path / "a.zip", b"x" * 100, size=LARGEST_MEMBER + 1)
    with pytest.raises(ArchiveError, match="268,435,456 is the most"):
        read_member(path, "x.dat")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_of_any_method_is_refused(tmp_path, method):
    path = pack(tmp_path / "a.zip", np.random.default_rng(0).bytes(5000), method)
    content = bytearray(path.read_bytes())
    content[45:200] = bytes(155)
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match="truncated or damaged"):
        read_member(path, "x.dat")


def test_a_cell_that_is_no_number_but_has_one_inside_is_refused(write_jester, jester_row):
    """An error of a spreadsheet, such as #DIV/0!, is kept as its number."""
    folder = write_jester(*[[jester_row({1: 2.5})]] * 3)
    archive = folder / "jester_dataset_1_1.zip"
    with zipfile.ZipFile(archive) as opened:
        content = opened.read("jester-data-1.xls")
    number = struct.pack("<HHHH3sd", 0x0003, 15, 0, 1, b"\0\0\0", 2.5)
    error = struct.pack("<HHHH3sBB", 0x0005, 9, 0, 1, b"\0\0\0", 7, 1)
    assert number in content
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("jester-data-1.xls", content.replace(number, error))
    with pytest.raises(DataError, match="row 1, column 2: 7 is not a number"):
        read_spreadsheet(archive)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("user", [b"\xff\x00", b"b"]),
        ("item", [[1], [2]]),
        ("rating", ["2020-01-01", "2020-01-02"]),
        ("rating", [True, False]),
        ("user", [{"a": 1}, {"a": 2}]),
    ],
)
def test_a_parquet_column_of_another_kind_is_refused(tmp_path, column, values):
    pytest.importorskip("pyarrow")
    import pandas as pd

    frame = pd.DataFrame({"user": ["a", "b"], "item": [1, 2], "rating": [1.0, 2.0]})
    frame[column] = pd.to_datetime(values) if column == "rating" and values[0] != True else values  # noqa: E712
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=f"the column '{column}' is of .*, not numbers or text"):
        load_ratings(tmp_path / "a.parquet")


def test_ids_that_are_numbers_keep_the_checksum_of_their_text(tmp_path):
    """Stores of results know their data by it."""
    pytest.importorskip("pyarrow")
    import pandas as pd

    columns = {"user": [10, 9, 10], "item": [1, 1, 2], "rating": [1.0, 2.0, 3.0]}
    pd.DataFrame(columns).to_parquet(tmp_path / "a.parquet")
    users, items = (np.array(columns[name]).astype(str) for name in ("user", "item"))
    expected = Ratings.from_arrays(users, items, columns["rating"])
    assert load_ratings(tmp_path / "a.parquet").checksum() == expected.checksum()
