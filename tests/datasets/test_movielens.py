import zipfile

import pytest

from rankpursuit.datasets import load_movielens
from rankpursuit.errors import DataError, DataNotFoundError

PLAIN = "1::10::5\n1::20::3\n2::10::4\n"
STAMPED = "1::10::5::978300760\n1::20::3::978302109\n2::10::4::978301968\n"


def write(folder, text):
    file = folder / "ratings.dat"
    file.write_bytes(text.encode("latin-1"))
    return file


@pytest.mark.parametrize("text", [PLAIN, STAMPED, PLAIN.replace("\n", "\r\n"), PLAIN.rstrip("\n")])
def test_timestamps_and_line_ends_make_no_difference(tmp_path, text):
    table = load_movielens(write(tmp_path, text))
    assert table.user_ids.tolist() == [1, 2]
    assert table.item_ids.tolist() == [10, 20]
    assert table.user_ratings(0).tolist() == [5, 3]
    assert table.user_ratings(1).tolist() == [4]


def test_the_archive_and_its_unpacked_file_give_the_same_table(tmp_path):
    with zipfile.ZipFile(tmp_path / "ml-1m.zip", "w") as archive:
        archive.writestr("ml-1m/README", "terms")
        archive.writestr("ml-1m/ratings.dat", STAMPED)
    packed = load_movielens(tmp_path)
    (tmp_path / "ml-1m").mkdir()
    unpacked = load_movielens(write(tmp_path / "ml-1m", PLAIN))
    assert packed.checksum() == unpacked.checksum()


@pytest.mark.parametrize("line", ["1::20", "1::20::x", "1,20,3", "<html>"])
def test_a_malformed_line_is_refused(tmp_path, line):
    file = write(tmp_path, f"1::10::5\n{line}\n2::10::4\n")
    with pytest.raises(DataError, match=r"ratings\.dat: .*expected user::movie::rating"):
        load_movielens(file)


def test_a_duplicate_is_named_by_its_lines(tmp_path):
    with pytest.raises(DataError, match=r"ratings\.dat.*rated item 7 twice, in rows 1 and 3"):
        load_movielens(write(tmp_path, "1::7::5\n1::2::1\n1::7::4\n"))


@pytest.mark.parametrize("text", ["", "\n"])
def test_a_file_without_ratings_is_refused(tmp_path, text):
    with pytest.raises(DataError, match="empty"):
        load_movielens(write(tmp_path, text))


def test_a_truncated_archive_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "ml-1m.zip", "w") as archive:
        archive.writestr("ml-1m/ratings.dat", STAMPED)
    whole = (tmp_path / "ml-1m.zip").read_bytes()
    (tmp_path / "ml-1m.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(match="download it again"):
        load_movielens(tmp_path)


def test_an_empty_folder_is_refused_by_name(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"ml-1m\.zip"):
        load_movielens(tmp_path)
