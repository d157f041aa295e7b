"""Tables folded to a width."""

from hypothesis import given
from hypothesis import strategies as st
from rankpursuit.reporting.folding import GAP, fold_columns, fold_sentences
from rankpursuit.reporting.table import Cell, Part, Table

from rankpursuit.reporting.render import to_text


def rows(*lines):
    return [line.split() for line in lines]


def test_columns_that_belong_together_are_not_parted():
    part = rows("m 20-40 paper diff. 40-60 paper diff.", "a 1 2 3 4 5 6")
    blocks = fold_columns([part], 24, [1, 4])
    assert [block[0][0] for block in blocks] == [
        ["m", "20-40", "paper", "diff."],
        ["m", "40-60", "paper", "diff."],
    ]


def test_a_table_that_fits_is_one_block():
    part = rows("m 20-40 40-60", "a 1 2")
    assert fold_columns([part], 15, [1, 2]) == [[part]]
    assert len(fold_columns([part], 14, [1, 2])) == 2


def test_sentences_are_broken_into_lines_below_each_other():
    part = [["claim", "because"], ["a-long-name", "one two three four five six"]]
    assert fold_sentences([part], 33) == [
        [["claim", "because"], ["a-long-name", "one two three four"], ["", "five six"]]
    ]
    assert fold_sentences([part], 40) == [part]


@given(
    n_columns=st.integers(1, 12),
    wide=st.integers(1, 15),
    width=st.integers(30, 120),
)
def test_no_line_is_wider_than_asked_for_and_no_cell_is_lost(n_columns, wide, width):
    cells = tuple(Cell(f"{number:0{wide}d}") for number in range(n_columns))
    columns = tuple(f"c{number}" for number in range(n_columns))
    table = Table("t", "A title of several words", columns, (Part("row", {"name": cells}),))
    text = to_text([table], width)
    assert max(map(len, text.splitlines())) <= width
    for cell in cells:
        assert cell.text in text


def test_room_goes_to_the_columns_that_save_lines():
    rows = [["says", "n"]] + [["a sentence of a good many words in a row", "3 of 21 agree"]] * 4
    (folded,) = fold_sentences([rows], 40)
    assert all(len(first) + GAP + len(second) <= 40 for first, second in folded)
    assert len(folded) == 1 + 2 * 4  # shared equally it takes three lines each
