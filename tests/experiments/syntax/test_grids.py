import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rankpursuit.experiments.syntax import (
    BasisGrid,
    FractionGrid,
    InvalidValue,
    PositiveGrid,
    WeightGrid,
    expand,
)


@pytest.mark.parametrize(
    ("grid", "numbers"),
    [
        ([2, 0.5, 1], (0.5, 1, 2)),
        (3, (3,)),
        (0.25, (0.25,)),
        ({"base": 2, "from": -2, "to": 1}, (0.25, 0.5, 1, 2)),
        ({"base": 10, "from": -3, "to": 3, "step": 3}, (0.001, 1, 1000)),
        ({"base": 4, "from": 0, "to": 1, "step": 0.5}, (1, 2, 4)),
        ({"base": 0.5, "from": 0, "to": 2}, (0.25, 0.5, 1)),
        ({"from": 1, "to": 6, "step": 2}, (1, 3, 5)),
        ({"from": 0.1, "to": 0.9, "step": 0.2}, (0.1, 0.3, 0.5, 0.7, 0.9)),
        ({"from": 0, "to": 0, "step": 1}, (0,)),
    ],
)
def test_every_notation_becomes_rising_numbers(grid, numbers):
    assert expand(grid) == numbers


def test_the_widths_of_the_paper_are_exact():
    assert expand({"base": 2, "from": -15, "to": 15}) == tuple(2.0**e for e in range(-15, 16))


def test_a_range_holds_the_decimals_that_one_would_write():
    twentieths = expand({"from": 0.05, "to": 1.0, "step": 0.05})
    assert twentieths == tuple(i / 20 for i in range(1, 21))


@given(st.integers(-500, 500), st.integers(1, 200), st.integers(0, 60))
def test_a_range_of_decimals_is_exact(low, step, count):
    grid = {"from": low / 100, "to": (low + count * step) / 100, "step": step / 100}
    assert expand(grid) == tuple((low + i * step) / 100 for i in range(count + 1))


def test_whole_numbers_stay_whole():
    assert all(type(number) is int for number in expand({"from": 1, "to": 5, "step": 2}))
    assert all(type(number) is int for number in expand({"base": 2, "from": 0, "to": 5}))
    assert all(type(number) is float for number in expand({"base": 2, "from": -1, "to": 5}))


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ([], "at least one number"),
        ([1, 2, 1.0], "1 stands in the grid more than once"),
        ([1, "2"], "a list of numbers"),
        ([1, True], "a list of numbers"),
        ([[1]], "a list of numbers"),
        ([float("nan")], "a list of numbers"),
        ([float("inf")], "a list of numbers"),
        ([10**400], "a list of numbers"),
        ("1, 2", "a list of numbers"),
        ("", "a list of numbers"),
        (None, "a list of numbers"),
        ({}, "required, but not given"),
        ({"from": 1, "to": 3}, "required, but not given"),
        ({"base": 2, "from": 3, "to": 1}, "expected from <= to, got from 3 to 1"),
        ({"base": 1, "from": 0, "to": 1}, "a positive number other than 1, got 1"),
        ({"base": -2, "from": 0, "to": 1}, "a positive number other than 1, got -2"),
        ({"base": 2, "from": 0, "to": 1, "step": 0}, "a positive number, got 0"),
        ({"from": 0, "to": 1, "step": 1e-9}, "at most 1000 numbers, got 1000000001"),
        ({"base": 2, "from": 0, "to": 5000, "step": 1000}, "within the range of numbers"),
        ({"base": "2", "from": 0, "to": 1}, 'expected a number, got "2"'),
        (list(range(1001)), "at most 1000 numbers, got 1001"),
    ],
)
def test_what_is_not_a_grid_is_refused(grid, said):
    with pytest.raises(InvalidValue) as refused:
        expand(grid)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "allowed", "refused"),
    [
        (PositiveGrid, [1, 2], [0, 1]),
        (WeightGrid, [0, 1], [-1, 1]),
        (FractionGrid, [0, 0.5, 1], [0.5, 1.5]),
        (BasisGrid, [0.5, 1.0], [0.5, 1]),
        (BasisGrid, [1, 50], [0, 1]),
        (BasisGrid, [0.01], [1.5]),
        (BasisGrid, {"base": 2, "from": -3, "to": 0}, {"base": 2, "from": -3, "to": 1}),
        (BasisGrid, {"base": 2, "from": 0, "to": 3}, {"from": 0.5, "to": 1.5, "step": 0.5}),
    ],
)
def test_each_kind_of_grid_has_its_range(kind, allowed, refused):
    adapter = TypeAdapter(kind)
    assert adapter.validate_python(allowed) == expand(allowed)
    with pytest.raises(ValueError, match="expected a list of"):
        adapter.validate_python(refused)


def test_real_grids_are_floats_however_they_are_written():
    numbers = TypeAdapter(PositiveGrid).validate_python([1, 2])
    assert all(type(number) is float for number in numbers)


def test_counts_are_ints_and_shares_are_floats():
    adapter = TypeAdapter(BasisGrid)
    assert type(adapter.validate_python(1)[0]) is int
    assert type(adapter.validate_python(1.0)[0]) is float
