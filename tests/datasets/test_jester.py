import zipfile

import pytest

from rankpursuit.datasets import load_jester
from rankpursuit.errors import DataError, DataNotFoundError


def test_users_of_the_three_files_follow_each_other(write_jester, jester_row):
    folder = write_jester(
        [jester_row({1: -9.95, 100: 10}), jester_row({2: 0.5})],
        [jester_row({1: 1, 2: 2, 3: 3})],
        [jester_row({100: 0})],
    )
    table = load_jester(folder)
    assert table.name == "jester"
    assert table.user_ids.tolist() == [1, 2, 3, 4]
    assert table.item_ids.tolist() == [1, 2, 3, 100]
    assert table.user_ratings(0).tolist() == [-9.95, 10]
    assert table.user_ratings(3).tolist() == [0]
    assert table.counts.tolist() == [2, 1, 3, 1]


def test_a_folder_that_holds_a_folder_jester_will_do(write_jester, jester_row, tmp_path):
    write_jester(*[[jester_row({1: 1})]] * 3)
    assert load_jester(tmp_path).n_users == 3


def test_a_missing_archive_is_named_with_what_to_do(write_jester, jester_row, tmp_path):
    write_jester([jester_row({1: 1})], [jester_row({1: 1})])
    with pytest.raises(DataNotFoundError, match=r"jester_dataset_1_3\.zip"):
        load_jester(tmp_path)
    with pytest.raises(DataNotFoundError, match="rp-data fetch jester"):
        load_jester()


def test_one_archive_alone_is_refused(write_jester, jester_row):
    folder = write_jester(*[[jester_row({1: 1})]] * 3)
    with pytest.raises(DataError, match="pass the folder"):
        load_jester(folder / "jester_dataset_1_1.zip")


@pytest.mark.parametrize(
    "change",
    [
        lambda row: [row[0], 10.5, *row[2:]],
        lambda row: [row[0], 1.0, 1.0, *row[3:]],
    ],
)
def test_a_row_that_contradicts_itself_is_refused_by_its_number(write_jester, jester_row, change):
    good = jester_row({1: 1})
    folder = write_jester([good], [good, change(good)], [good])
    said = "row 2: expected the number of jokes rated, then 100 ratings"
    with pytest.raises(DataError, match=rf"jester_dataset_1_2\.zip: {said}"):
        load_jester(folder)


@pytest.mark.parametrize(
    "change",
    [lambda row: row[:-1], lambda row: [*row, 99.0], lambda row: [row[0], "funny", *row[2:]]],
)
def test_a_spreadsheet_of_another_kind_is_refused(write_jester, jester_row, change):
    good = jester_row({1: 1})
    folder = write_jester([good], [good, change(good)], [good])
    with pytest.raises(DataError, match=r"1_2\.zip: not an \.xls file with 101 columns of numbers"):
        load_jester(folder)


def test_a_refused_spreadsheet_leaves_nothing_in_the_cache(write_jester, jester_row, cache):
    folder = write_jester([jester_row({1: 11})], [jester_row({1: 1})], [jester_row({1: 1})])
    with pytest.raises(DataError, match="row 1: expected"):
        load_jester(folder)
    assert not cache.exists()


def test_a_member_that_is_no_spreadsheet_is_refused(write_jester, jester_row):
    folder = write_jester(*[[jester_row({1: 1})]] * 3)
    with zipfile.ZipFile(folder / "jester_dataset_1_1.zip", "w") as archive:
        archive.writestr("jester-data-1.xls", b"not a spreadsheet at all")
    with pytest.raises(DataError, match=r"1_1\.zip: not an \.xls"):
        load_jester(folder)
