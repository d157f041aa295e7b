"""No solver, protocol or random choice changes its results unnoticed.

The golden figures are those of a small experiment on synthetic ratings with every algorithm;
``scripts/golden.py`` writes them after a deliberate change.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_experiment import run_small_experiment

GOLDEN = Path(__file__).parent / "small_repeats.csv"
MEASURED = ["test_error", "holdout_error", "basis_functions", "basis_share"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    results = run_small_experiment(tmp_path_factory.mktemp("golden"))
    return pd.read_csv(results / "repeats.csv"), pd.read_csv(GOLDEN)


def test_errors_and_sizes_are_the_golden_ones(tables):
    found, golden = tables
    np.testing.assert_allclose(found[MEASURED], golden[MEASURED], rtol=1e-8)


def test_the_same_parameters_are_chosen(tables):
    found, golden = (table.drop(columns=MEASURED) for table in tables)
    pd.testing.assert_frame_equal(found, golden)
