"""svmlight files with query ids, and pursuits that learn from them."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from rankpursuit.datasets import letor, letor_blocks, load_letor
from rankpursuit.errors import DataError, DataNotFoundError

GOOD = (
    "# made up\n"
    "2 qid:10 1:0.5 3:-2.5e-1 # docid = 7 qid:3 9:9\n"
    "\n"
    "0 qid:10 2:1\t\r\n"
    "  1.5\tqid:11  1:.5 2:+3. 3:1e2#no space\n"
    "1 qid:10\n"
)


def write(folder, text, name="train.txt"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@st.composite
def sound_files(draw):
    value = st.floats(allow_nan=False, allow_infinity=False, width=32)
    row = st.tuples(
        st.sampled_from(["0", "1", "-1", "2.5", "1e1"]),
        st.integers(0, 5) | st.just(2**63 - 1),
        st.dictionaries(st.integers(1, 6), value, max_size=5),
        st.sampled_from(["", " ", " # doc 1:2", "#é", "\r", "\n# only a comment", "\n \t"]),
        st.sampled_from([" ", "\t", "  "]),
    )
    return "".join(
        space.join([grade, f"qid:{query}", *(f"{j}:{features[j]!r}" for j in sorted(features))])
        + end
        + "\n"
        for grade, query, features, end, space in draw(st.lists(row, min_size=1, max_size=8))
    )


@given(sound_files(), st.sampled_from([1, 3, letor._ROWS]), st.booleans())
def test_what_is_read_is_what_scikit_learn_reads(tmp_path_factory, text, piece, sparse):
    file = write(tmp_path_factory.mktemp("letor"), text)
    X, y, queries = load_svmlight_file(
        io.BytesIO(text.encode()), query_id=True, n_features=6, zero_based=False
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letor, "_ROWS", piece)
        data = load_letor(file, n_features=6, sparse=sparse)
    found = data.X.toarray() if sparse else data.X
    np.testing.assert_array_equal(found, X.toarray())
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.groups, queries)


def test_comments_blank_lines_and_all_kinds_of_numbers_are_read(tmp_path):
    data = load_letor(write(tmp_path, GOOD))
    assert data.y.tolist() == [2, 0, 1.5, 1]
    assert data.groups.tolist() == [10, 10, 11, 10]
    assert data.X.tolist() == [[0.5, 0, -0.25], [0, 1, 0], [0.5, 3, 100], [0, 0, 0]]
    assert repr(data) == "<Letor: 4 rows, 3 features, 2 queries>"
    assert (data.X.dtype, data.y.dtype, data.groups.dtype) == (np.float64, np.float64, np.int64)


@pytest.mark.parametrize("sparse", [False, True])
def test_single_precision_and_sparse_matrices_on_request(tmp_path, sparse):
    file = write(tmp_path, GOOD)
    data = load_letor(file, dtype="float32", sparse=sparse)
    assert data.X.dtype == np.float32
    expected = load_letor(file).X.astype(np.float32)
    np.testing.assert_array_equal(data.X.toarray() if sparse else data.X, expected)
    if sparse:
        assert data.X.nnz == np.count_nonzero(expected)
        assert data.X.has_canonical_format


def test_files_packed_by_gzip_are_unpacked(tmp_path):
    plain, packed = (
        write(tmp_path, GOOD),
        write(tmp_path, gzip.compress(GOOD.encode(), mtime=0), "a.txt.gz"),
    )
    np.testing.assert_array_equal(load_letor(packed).X, load_letor(plain).X)


def test_query_ids_of_any_length_are_exact(tmp_path):
    ids = [2**53 + 1, 2**63 - 1, 0, -10]
    file = write(tmp_path, "".join(f"0 qid:{number} 1:1\n" for number in ids))
    assert load_letor(file).groups.tolist() == ids
    assert [block.groups.tolist() for block in letor_blocks(file, rows=2)] == [ids[:2], ids[2:]]


def test_zeros_in_the_file_are_not_stored(tmp_path):
    data = load_letor(write(tmp_path, "1 qid:1 1:0 2:0.5 3:-0.0\n0 qid:1 1:2\n"), sparse=True)
    assert data.X.data.tolist() == [0.5, 2]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 1:0.5", "no query id"),
        ("1", "no query id"),
        ("1 1:0.5 qid:3", "expected 'grade qid:query"),
        ("qid:3 1:0.5", "expected 'grade qid:query"),
        ("good qid:3 1:0.5", "could not convert string to float: b'good'"),
        ("nan qid:3 1:0.5", "not finite"),
        ("1,qid:3,1:0.5", "expected 'grade qid:query"),
        ("1 qid:a 1:0.5", "expected 'grade qid:query"),
        ("1 qid:9223372036854775808 1:0.5", "expected 'grade qid:query"),
        ("1 qid:3 0:0.5", "Invalid index 0"),
        ("1 qid:3 a:0.5", "invalid literal for int() with base 10: b'a'"),
        ("1 qid:3 -1:0.5", "Invalid index -1"),
        ("1 qid:3 2:0.5 1:0.5", "should be sorted and unique"),
        ("1 qid:3 2:0.5 2:0.5", "should be sorted and unique"),
        ("1 qid:3 1:nan", "not finite"),
        ("1 qid:3 1:1e999", "not finite"),
        ("1 qid:3 1: 0.5", "could not convert string to float: b''"),
        ("1 qid:3 1", "expected 'grade qid:query"),
    ],
)
@pytest.mark.parametrize("piece", [1, letor._ROWS])
def test_a_malformed_line_is_refused_by_file_and_number(tmp_path, monkeypatch, line, reason, piece):
    monkeypatch.setattr(letor, "_ROWS", piece)
    file = write(tmp_path, f"# comment\n1 qid:1 1:1\n{line}\n1 qid:4 1:1\n")
    for read in (load_letor, lambda file: list(letor_blocks(file))):
        with pytest.raises(DataError, match=r"train\.txt, line 3: ") as caught:
            read(file)
        assert reason in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"# only\n\n", "the file contains no rows"),
        ("1 qid:1 1:1\n".encode("utf-16"), "line 1: "),
        (b"<!DOCTYPE html>\n<p>404</p>\n", "line 1: malformed"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, content, said):
    with pytest.raises(DataError, match=rf"train\.txt.*{said}") as caught:
        load_letor(write(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_a_bad_gzip_file_is_refused(tmp_path):
    packed = gzip.compress(GOOD.encode(), mtime=0)
    for content in (packed[:-9], packed[:20] + b"spoilt" * 9, b"not packed"):
        with pytest.raises(DataError, match=r"train\.gz: gzip file truncated or damaged"):
            load_letor(write(tmp_path, content, "train.gz"))


def test_a_file_without_a_final_newline_is_read(tmp_path):
    first = write(tmp_path, "1 qid:1 1:1\n0 qid:1 1:0.5", "1.txt")
    second = write(tmp_path, "2 qid:2 1:7", "2.txt")
    assert load_letor([first, second]).X.ravel().tolist() == [1, 0.5, 7]
    assert [block.y.tolist() for block in letor_blocks([first, second], rows=2)] == [[1, 0], [2]]


def test_missing_files_folders_and_no_files_are_refused(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"nowhere\.txt: no such file"):
        load_letor(tmp_path / "nowhere.txt")
    with pytest.raises(DataNotFoundError, match="no such file"):
        load_letor(tmp_path)
    with pytest.raises(DataError, match="expected at least one file"):
        load_letor([])


def test_more_features_than_asked_for_are_refused_with_their_line(tmp_path):
    file = write(tmp_path, "1 qid:1 1:1\n1 qid:1\n1 qid:1 1:1 4:1\n")
    for sparse in (False, True):
        with pytest.raises(DataError, match=r"line 3: feature 4, but there are 3 features"):
            load_letor(file, n_features=3, sparse=sparse)


def test_a_value_too_large_for_single_precision_is_refused_with_its_line(tmp_path):
    file = write(tmp_path, "1 qid:1 1:1\n1 qid:1 1:1 2:-1e300\n")
    assert load_letor(file).X[1, 1] == -1e300
    with pytest.raises(DataError, match=r"line 2: .*too large for float32"):
        load_letor(file, dtype=np.float32)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtype": int}, "dtype must be float64 or float32; got int64"),
        ({"n_features": 0}, "n_features must be an integer of at least 1; got 0"),
        ({"n_features": 2.0}, "n_features must be an integer"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, said):
    file = write(tmp_path, GOOD)
    for read in (load_letor, letor_blocks):
        with pytest.raises(ValueError, match=said):
            read(file, **options)
    with pytest.raises(ValueError, match="rows must be an integer of at least 1; got 0"):
        letor_blocks(file, rows=0)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
    st.integers(1, 12),
    st.sampled_from([1, 3, letor._ROWS]),
    st.booleans(),
)
def test_blocks_are_as_many_whole_queries_as_fit(tmp_path_factory, sizes, rows, piece, sparse):
    folder = tmp_path_factory.mktemp("letor")
    queries = np.repeat(np.arange(len(sizes))[::-1], sizes)
    lines = [f"{i % 3} qid:{query} 1:{i + 1} 2:1\n" for i, query in enumerate(queries)]
    middle = len(lines) // 2  # also in the middle of a query
    parts = [part for part in (lines[:middle], lines[middle:]) if part]
    files = [write(folder, "".join(part), f"{i}.txt") for i, part in enumerate(parts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letor, "_ROWS", piece)
        blocks = list(letor_blocks(files, rows=rows, sparse=sparse))
    expected, current = [], []
    for query, size in zip(range(len(sizes))[::-1], sizes, strict=True):
        if current and len(current) + size > rows:
            expected.append(current)
            current = []
        current = current + [query] * size
    expected.append(current)
    assert [block.groups.tolist() for block in blocks] == expected
    whole = load_letor(files)
    found = [block.X.toarray() if sparse else block.X for block in blocks]
    np.testing.assert_array_equal(np.concatenate(found), whole.X)
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), whole.y)


@pytest.mark.parametrize("piece", [1, letor._ROWS])
def test_a_query_that_comes_again_is_refused_in_blocks_with_its_line(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(letor, "_ROWS", piece)
    file = write(tmp_path, "# comment\n1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n")
    assert set(load_letor(file).groups) == {1, 2}
    with pytest.raises(DataError, match=r"train\.txt, line 4: group 1 continues after another"):
        list(letor_blocks(file))


def test_all_blocks_have_the_features_of_the_first(tmp_path):
    file = write(tmp_path, "1 qid:1 1:1 3:1\n1 qid:2 1:1\n1 qid:3 4:1\n")
    blocks = iter(letor_blocks(file, rows=1))
    assert [next(blocks).X.shape[1] for _ in range(2)] == [3, 3]
    with pytest.raises(
        DataError, match="line 3: feature 4, but there are 3 features; set n_features"
    ):
        next(blocks)
    assert [block.X.shape[1] for block in letor_blocks(file, rows=1, n_features=4)] == [4, 4, 4]


def test_the_real_parts_are_what_scikit_learn_reads(real_letor):
    for file, n_rows in zip(real_letor, [2933, 3635, 3062], strict=True):
        data = load_letor(file)
        X, y, queries = load_svmlight_file(str(file), query_id=True)
        assert data.X.shape == (n_rows, 46)
        np.testing.assert_array_equal(data.X, X.toarray())
        np.testing.assert_array_equal(data.y, y)
        np.testing.assert_array_equal(data.groups, queries)
        blocks = list(letor_blocks(file, rows=500))
        np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), data.X)
