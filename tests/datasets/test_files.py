"""Your own ratings tables, and the guess at their layout."""

import gzip
import io
import os
import sys
import zipfile

import pandas as pd
import pytest

from rankpursuit.datasets import load_jester, load_movielens, load_ratings
from rankpursuit.datasets.files import guess_layout
from rankpursuit.errors import DataError, DataNotFoundError

GOOD = "user,item,rating\nann,x,1\nbob,x,2.5\nann,y,-3\n"


def write(folder, text, name="mine.csv"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_csv_is_read_and_named_after_its_file(tmp_path):
    table = load_ratings(write(tmp_path, GOOD))
    assert table.name == "mine"
    assert table.user_ids.tolist() == ["ann", "bob"]
    assert table.item_ids.tolist() == ["x", "y"]
    assert table.user_ratings(0).tolist() == [1, -3]


def test_white_space_around_labels_is_not_part_of_them(tmp_path):
    table = load_ratings(write(tmp_path, "user,item,rating\n1, x,1\n1 ,y,2\n"))
    assert (table.user_ids.tolist(), table.item_ids.tolist()) == (["1"], ["x", "y"])
    with pytest.raises(DataError, match="line 3: a second rating of the same item"):
        load_ratings(write(tmp_path, "user,item,rating\n1,x,1\n1 ,x,2\n"))


@pytest.mark.parametrize("header", ["user,item,rating,text\n", '"user",item,rating,"te\nxt"\n'])
def test_a_quotation_mark_that_swallows_lines_is_refused_with_its_line(tmp_path, header):
    rows = 'a,x,1,"on\ntwo lines"\nb,"x,1,c\nc,x,2,c\nd,y",3,c\n'
    line = header.count("\n") + 3
    with pytest.raises(DataError, match=rf"mine\.csv, line {line}: .*'item' has a line break.*qu"):
        load_ratings(write(tmp_path, header + rows))
    with pytest.raises(DataError, match="'item' has a line break"):
        load_ratings(write(tmp_path, header + rows), missing=["3"])
    rows = rows.replace('"x,', "x,").replace('d,y"', "d,y")
    assert load_ratings(write(tmp_path, header + rows)).n_ratings == 4
    with pytest.raises(DataError, match=rf"mine\.csv, line {line + 2}: the rating 'bad' is not"):
        load_ratings(write(tmp_path, header + rows.replace("d,y,3", "d,y,bad")))


@pytest.mark.parametrize("row", ["a,x,1\n", f"a,x,1,{'long' * 50}\n"])
def test_a_quotation_mark_in_the_header_that_swallows_the_file_is_refused(tmp_path, row):
    file = write(tmp_path, 'user,item,"rating\n' + row * 30_000)
    for read in (load_ratings, guess_layout):
        with pytest.raises(DataError, match=r"mine\.csv") as caught:
            load_ratings(file, **guess_layout(file)) if read is guess_layout else read(file)
        assert "\n" not in str(caught.value)


def test_a_label_with_a_null_character_is_refused_with_its_line(tmp_path):
    with pytest.raises(DataError, match=r"mine\.csv, line 3: the field 'user' .*null character"):
        load_ratings(write(tmp_path, "user,item,rating\nu,x,1\nu\0,x,2\n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("user,item,rating\n", "the file has no ratings"),
        ("user,item,stars\na,b,1\n", "no column 'rating'; its columns are user, item, stars"),
        ("user,item,rating\na,x,1\na,y\n", "line 3: the rating '' is not a number"),
        ("user,item,rating\na,x,1\na,y,good\n", "line 3: the rating 'good' is not a number"),
        ("user,item,rating\na,x,inf\n", "line 2: the rating 'inf' is not a number"),
        ("user,item,rating\na,x,1\n,y,1\n", "line 3: the field 'user' is empty"),
        ("user,item,rating\na,x,1\na, ,1\n", "line 3: the field 'item' is empty"),
        ("user,item,rating\na,x,1\na,y,1,2\n", "Expected 3 fields in line 3, saw 4"),
        ("user,item,rating\na,x,1\nb,x,1\na,x,2\n", "line 4: a second rating of the same item"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path, text, said):
    file = write(tmp_path, text)
    with pytest.raises(DataError, match=rf"mine\.csv.*{said}") as caught:
        load_ratings(file)
    assert "\n" not in str(caught.value)


def zipped(*names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, GOOD)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", gzip.compress(GOOD.encode(), mtime=0), "not text in UTF-8"),
        ("a.csv.gz", GOOD.encode(), "damaged or encrypted: Not a gzipped file"),
        ("a.csv.gz", gzip.compress(GOOD.encode(), mtime=0)[:-12], "damaged"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "the file is empty"),
        ("a.zip", zipped("a.csv")[:-30], "damaged"),
        ("a.zip", zipped("a.csv", "b.csv"), r"it has 2 \(a.csv, b.csv\); unpack it"),
        ("a.xls", GOOD.encode(), "not an Excel file"),
    ],
)
def test_a_packed_or_damaged_file_is_refused_with_the_reason(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}.*{said}"):
        load_ratings(tmp_path / name)


def test_an_excel_file_is_read_where_openpyxl_is_installed(tmp_path):
    pytest.importorskip("openpyxl")
    rows = [line.split(",") for line in GOOD.split()]
    pd.DataFrame(rows).to_excel(tmp_path / "a.xlsx", header=False, index=False)
    read = load_ratings(tmp_path / "a.xlsx", **guess_layout(tmp_path / "a.xlsx"))
    assert read.checksum() == load_ratings(write(tmp_path, GOOD)).checksum()


def test_any_character_can_separate_fields(tmp_path):
    for mark in ("\\", "^", "'", "$"):
        assert load_ratings(write(tmp_path, GOOD.replace(",", mark)), separator=mark).n_ratings == 3
    with pytest.raises(DataError, match="separator: expected one ASCII character, got '§'"):
        load_ratings(write(tmp_path, GOOD), separator="§")


def test_all_problems_are_in_one_message_with_their_lines(tmp_path):
    rows = ["a,x,1", ",y,2", "a,y,good", "a,x,3"]
    with pytest.raises(DataError) as caught:
        load_ratings(write(tmp_path, "\n".join(["user,item,rating", *rows])))
    file, *problems = str(caught.value).replace("; remove one", ", remove one").split("; ")
    assert file.startswith(
        f"{tmp_path / 'mine.csv'}: 3 problems: line 3: the field 'user' is empty"
    )
    assert [problem.split(": ")[0] for problem in problems] == [f"line {n}" for n in (4, 5)]


def test_after_three_problems_the_rest_is_counted(tmp_path):
    rows = [f"a,{item},bad" for item in range(1234)]
    with pytest.raises(DataError, match=r"1,234 problems: line 2: .*and 1,231 more$") as caught:
        load_ratings(write(tmp_path, "\n".join(["user,item,rating", *rows])))
    assert str(caught.value).count("line ") == 3


def test_blank_lines_are_ignored(tmp_path):
    text = "user,item,rating\na,x,1\n\na,y,2\n,,\n\n"
    assert load_ratings(write(tmp_path, text)).n_ratings == 2
    with pytest.raises(DataError, match="line 6: the rating 'bad'"):
        load_ratings(write(tmp_path, text.replace(",,", "b,x,bad").replace("2\n", "2\n\n")))


def test_another_encoding_and_decimal_comma(tmp_path):
    (tmp_path / "a.csv").write_bytes("user;item;rating\nJosé;x;1,5\nAnn;x;-2\n".encode("latin-1"))
    table = load_ratings(tmp_path / "a.csv", encoding="latin-1", decimal=",")
    assert table.user_ids.tolist() == ["Ann", "José"]
    assert table.values.tolist() == [-2, 1.5]
    with pytest.raises(DataError, match="not text in UTF-8; set encoding"):
        load_ratings(tmp_path / "a.csv", decimal=",")
    with pytest.raises(
        DataError, match=r"line 2: the rating '1,5' is not a number .* with decimal"
    ):
        load_ratings(tmp_path / "a.csv", encoding="latin-1")
    with pytest.raises(DataError, match="unknown encoding 'klingon'"):
        load_ratings(tmp_path / "a.csv", encoding="klingon")


def test_ratings_that_mean_missing_are_skipped(tmp_path):
    file = write(tmp_path, "user,item,rating\na,x,1\na,y,NA\nb,x,99\nb,y,99.0\nc,x,\nc,y,2\n")
    table = load_ratings(file, missing=["NA", 99, ""])
    assert table.user_ids.tolist() == ["a", "c"]
    assert table.values.tolist() == [1, 2]
    with pytest.raises(
        DataError, match=r"2 problems: line 3: the rating 'NA'.*line 6: the rating ''"
    ):
        load_ratings(file)


@pytest.mark.parametrize(("duplicates", "values"), [("first", [1, 5]), ("mean", [2, 5])])
def test_duplicates_can_be_merged(tmp_path, duplicates, values):
    file = write(tmp_path, "user,item,rating\na,x,1\na,y,5\na,x,3\n")
    assert load_ratings(file, duplicates=duplicates).values.tolist() == values
    with pytest.raises(DataError, match="duplicates: expected error, first or mean, got 'last'"):
        load_ratings(file, duplicates="last")


@pytest.mark.parametrize(
    ("name", "library", "said"),
    [
        ("a.parquet", "pyarrow", r"pip install 'rankpursuit\[parquet\]'"),
        ("a.xlsx", "openpyxl", "pip install openpyxl, or save the file as CSV"),
    ],
)
def test_a_library_that_is_absent_is_named(tmp_path, monkeypatch, name, library, said):
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / name).write_bytes(zipped("xl/workbook.xml"))
    with pytest.raises(DataError, match=said):
        load_ratings(tmp_path / name)


def test_parquet_is_read_where_pyarrow_is_installed(tmp_path):
    pytest.importorskip("pyarrow")

    frame = pd.DataFrame({"user": [1, 1, 2], "item": ["x", "y", "x"], "rating": [1, 2, 3.5]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert load_ratings(tmp_path / "a.parquet").user_ratings(1).tolist() == [3.5]
    frame.loc[1, "rating"] = None
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="row 2: the rating '' is not a number"):
        load_ratings(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_text("not parquet")
    with pytest.raises(DataError, match="not a Parquet file"):
        load_ratings(tmp_path / "a.parquet")


@pytest.mark.parametrize("index", ["user", ["user", "item"], None])
def test_parquet_of_a_frame_with_an_index_has_the_ratings_of_the_frame(tmp_path, index):
    pytest.importorskip("pyarrow")

    frame = pd.DataFrame({"user": [1, 2, 1], "item": ["x", "x", "y"], "rating": [1, 2, 3]})
    expected = load_ratings(write(tmp_path, frame.to_csv(index=False))).checksum()
    indexed = frame.sort_values("user") if index is None else frame.set_index(index)
    indexed.to_parquet(tmp_path / "a.parquet")
    layout = guess_layout(tmp_path / "a.parquet")
    assert load_ratings(tmp_path / "a.parquet", **layout).checksum() == expected


def test_a_file_without_a_header_has_numbers_for_columns(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("10\tann\tx\t3\n11\tbob\ty\t4\n")
    ratings = load_ratings(path, user=2, item=3, rating=4, separator="\t", header=False)
    assert ratings.user_ids.tolist() == ["ann", "bob"]
    assert ratings.values.tolist() == [3, 4]
    first_three = load_ratings(path, rating=1, user=4, item=3, separator="\t", header=False)
    assert first_three.values.tolist() == [10, 11]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"header": False, "user": "who"}, "user: expected a number from 1"),
        ({"header": True, "item": 2}, "item: expected a name"),
        ({"header": False, "rating": 9}, "no column '9'; its columns are 1, 2, 3"),
        ({"item": "user"}, "three different columns"),
    ],
)
def test_names_and_numbers_of_columns_are_not_mixed_up(options, problem, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n")
    with pytest.raises(DataError, match=problem):
        load_ratings(path, **options)


ROWS = [("ann", "x", 3), ("ann", "y", 4), ("bob", "x", 1)]


def write_rows(path, separator, *, header=None, rows=ROWS):
    lines = [header, *rows] if header else rows
    path.write_text("".join(separator.join(map(str, line)) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (("userId", "movieId", "rating", "timestamp"), ("userId", "movieId", "rating")),
        (("Score", "JokeNo", "Reviewer"), ("Reviewer", "JokeNo", "Score")),
        (("time", "who", "what", "stars"), ("who", "what", "stars")),
        (("date", "userId", "itemId", "rating_date", "x"), ("userId", "itemId", "x")),
        (("a", "b", "c"), ("a", "b", "c")),
        (("", "uid", "pid", "score"), ("uid", "pid", "score")),
    ],
)
def test_columns_are_found_by_name_or_else_by_order(header, columns, tmp_path):
    rows = [tuple(range(len(header)))] * 2
    layout = guess_layout(write_rows(tmp_path / "r.csv", ",", header=header, rows=rows))
    assert (layout["user"], layout["item"], layout["rating"]) == columns


@pytest.mark.parametrize(
    ("lines", "columns"),
    [
        (["1::1193::5::978300760", "1::661::3::978302109", "2::661::3::978298413"], (1, 3, 5)),
        (["978300760,7,1193,5", "978302109,7,661,3", "978298413,8,661,3"], (2, 3, 4)),
        (["2001-01-31 10:00:00;7;1193;5", "2001-02-01 11:30:00;7;661;3"], (2, 3, 4)),
        (["7,1193,978300760123,5", "7,661,978302109456,3"], (1, 2, 4)),
        (["978300760.5,7,1193,5", "978302109.0,7,661,3", "978298413.0,8,661,3"], (2, 3, 4)),
        (["900000001,1,5", "900000001,2,5", "900000002,1,4"], (1, 2, 3)),
    ],
)
def test_a_time_is_not_taken_for_a_user_an_item_or_a_rating(lines, columns, tmp_path):
    path = tmp_path / "ratings.dat"
    path.write_text("\n".join(lines))
    layout = guess_layout(path)
    assert (layout["user"], layout["item"], layout["rating"]) == columns
    assert load_ratings(path, **layout).n_ratings == len(lines)


def test_what_is_known_is_not_guessed(tmp_path):
    path = write_rows(tmp_path / "r.csv", ",", header=("who", "what", "stars"))
    assert guess_layout(path, user="what")["item"] == "who"
    assert guess_layout(path, header=False, item="1")["item"] == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty"),
        (b"just words\n", "not a table of three or more columns"),
        (b"\xff\xfe\x00", "not text in UTF-16"),
    ],
)
def test_what_is_no_table_is_refused_by_name(content, problem, tmp_path):
    path = tmp_path / "r.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=problem) as refused:
        guess_layout(path)
    assert str(refused.value).startswith(str(path))


def test_what_is_no_file_is_refused_by_name(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("none.csv", "pipe.csv", "."):
        with pytest.raises(DataNotFoundError, match="no such file"):
            guess_layout(tmp_path / name)


HEADER = b"user,item,rating\n"


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
def test_a_hostile_file_is_refused_with_its_line(tmp_path, content, message):
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
def test_a_path_that_is_no_file_is_refused(tmp_path, monkeypatch, load, name):
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
