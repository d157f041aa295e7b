import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankpursuit.reporting.render import (
    Table,
    Value,
    to_csv,
    to_latex,
    to_markdown,
    to_text,
)

ROWS = {
    "A & B": (Value("0.5", " ± 0.1", True, {"mean": 0.5}), Value("50%")),
    "C_1": (Value("−1", numbers={"mean": -1.0}), Value("2^-3 (1 of 2)")),  # noqa: RUF001
}
TABLE = Table("t", "A title", ("20-40", "diff."), {"Task": ROWS}, ("p < 0.05, a_b.",))


def test_text_is_aligned_and_a_star_marks_the_best():
    assert to_text([TABLE]).splitlines() == [
        "A title",
        "=======",
        "Task        20-40          diff.",
        "-----  ----------  -------------",
        "A & B  *0.5 ± 0.1            50%",
        "C_1            −1  2^-3 (1 of 2)",  # noqa: RUF001
        "",
        "  p < 0.05, a_b.",
    ]


def test_markdown_has_the_best_in_bold():
    assert to_markdown([TABLE]).splitlines() == [
        "### A title",
        "",
        "| Task   |         20-40 |         diff. |",
        "|:-------|--------------:|--------------:|",
        "| A & B  | **0.5** ± 0.1 |           50% |",
        "| C_1    |            −1 | 2^-3 (1 of 2) |",  # noqa: RUF001
        "",
        "- p \\< 0.05, a\\_b.",
    ]


def test_blocks_of_a_table_have_the_same_columns_in_text():
    blocks = {"Task": ROWS, "The other task": {"D": (Value("10.25"), Value(""))}}
    lines = to_text([Table("t", "T", ("20-40", "diff."), blocks)]).splitlines()
    assert lines[2:] == [
        "Task                 20-40          diff.",
        "--------------  ----------  -------------",
        "A & B           *0.5 ± 0.1            50%",
        "C_1                     −1  2^-3 (1 of 2)",  # noqa: RUF001
        "",
        "The other task       20-40          diff.",
        "--------------  ----------  -------------",
        "D                    10.25",
        "",
    ]


@pytest.mark.parametrize("word", ["0.10", "1e5", "0x10", "1_000", "nan", "True", "1,000", "-0"])
def test_numbers_are_printed_as_they_were_written(word):
    table = Table("t", "T", ("x",), {"P": {word: (Value(word),)}})
    assert to_text([table]).splitlines()[4].split() == [word, word]
    assert to_markdown([table]).splitlines()[4].strip("| ").split(" | ")[0].strip() == word


def test_sentences_are_aligned_left():
    table = Table("t", "T", ("x",), {"P": {"a": (Value("yes"),)}}, align="l")
    assert to_text([table]).splitlines()[2:5] == ["P  x", "-  ---", "a  yes"]
    assert "|:----|:----|" in to_markdown([table])


def test_a_bar_in_a_cell_does_not_split_it():
    table = Table("t", "T", ("x|y",), {"P": {"a|b": (Value("1|2"),)}})
    lines = [line.replace("\\|", "") for line in to_markdown([table]).splitlines()[2:5]]
    assert [line.count("|") for line in lines] == [3, 3, 3]
    assert "| a\\|b |" in to_markdown([table])


def test_latex_is_escaped_with_rules_of_booktabs():
    text = to_latex([TABLE])
    assert r"A \& B & \textbf{0.5} $\pm$ 0.1 & 50\% \\" in text
    assert r"C\_1 & $-$1 & $2^{-3}$ (1 of 2) \\" in text
    assert [word for word in ("toprule", "midrule", "bottomrule") if f"\\{word}" not in text] == []
    assert r"p $<$ 0.05, a\_b." in text


def test_latex_has_ranges_quotes_and_no_table_wider_than_the_line():
    table = Table("t", "T", ("20-40",), {"P": {"2^-3": (Value('"to" it'),)}})
    text = to_latex([table])
    assert "P & 20--40" in text
    assert r"$2^{-3}$ & ``to'' it \\" in text
    assert "max width=\\linewidth" in text


def test_columns_of_sentences_share_the_line():
    cells = (Value("holds"), Value("a sentence of some length, and of some more"))
    table = Table("t", "T", ("verdict", "words"), {"P": {"name": cells}}, align="l")
    shares = [float(one) for one in re.findall(r"p\{([\d.]+)\\linewidth\}", to_latex([table]))]
    assert len(shares) == 3
    assert sum(shares) < 0.85
    assert shares[2] > shares[1]


def test_csv_has_every_number_in_full_under_its_group():
    rows = list(csv.DictReader(io.StringIO(to_csv([TABLE]))))
    assert [(row["row"], row["column"], row["quantity"], row["value"]) for row in rows] == [
        ("A & B", "20-40", "mean", "0.5"),
        ("C_1", "20-40", "mean", "-1.0"),
    ]


def test_groups_of_columns_are_folded_to_the_width_and_stay_whole():
    columns = ("20-40", "paper", "diff.", "40-60", "paper", "diff.")
    table = Table("t", "T", columns, {"m": {"a": tuple(map(Value, "123456"))}})
    assert to_text([table], 24).splitlines()[2:9] == [
        "m  20-40  paper  diff.",
        "-  -----  -----  -----",
        "a      1      2      3",
        "",
        "m  40-60  paper  diff.",
        "-  -----  -----  -----",
        "a      4      5      6",
    ]


def test_sentences_are_broken_into_lines_below_each_other():
    rows = {"a-long-name": (Value("one two three four five six"),)}
    table = Table("t", "T", ("because",), {"claim": rows}, align="l")
    assert [line.rstrip() for line in to_text([table], 33).splitlines()[4:6]] == [
        "a-long-name  one two three four",
        "             five six",
    ]


@given(n_columns=st.integers(1, 12), size=st.integers(1, 15), width=st.integers(30, 120))
def test_no_line_is_wider_than_the_terminal_and_no_value_is_lost(n_columns, size, width):
    values = tuple(Value(f"{number:0{size}d}") for number in range(n_columns))
    columns = tuple(f"c{number}" for number in range(n_columns))
    table = Table("t", "A title of several words", columns, {"row": {"name": values}})
    text = to_text([table], width)
    assert max(map(len, text.splitlines())) <= width
    for value in values:
        assert value.text in text
