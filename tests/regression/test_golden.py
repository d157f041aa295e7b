"""No solver, protocol or random choice changes its results unnoticed, on any processor.

The golden figures are those of a small experiment on synthetic ratings with every algorithm, and of
a few dozen users of each of the paper's experiments on the real data. ``scripts/golden.py`` writes
them after a deliberate change, with the BLAS kernels of `golden.KERNELS`.
"""

import subprocess
import sys
from functools import cache
from pathlib import Path

import golden
import numpy as np
import pandas as pd
import pytest

MEASURED = ["test_error", "holdout_error", "basis_functions", "basis_share"]
ERRORS = MEASURED[:2]
PROCESSORS = ["Prescott", "Sandybridge", "Zen", "SkylakeX"]
FEW = 8


def compare(name: str, folder: Path, tolerance: float) -> None:
    program = [sys.executable, golden.__file__, name, "--to", str(folder)]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = pd.read_csv(folder / f"{name}.csv")
    expected = pd.read_csv(golden.GOLDEN / f"{name}.csv")
    pd.testing.assert_frame_equal(found.drop(columns=MEASURED), expected.drop(columns=MEASURED))
    for algorithm, rows in found.groupby("algorithm"):
        np.testing.assert_allclose(
            rows[MEASURED],
            expected.loc[rows.index, MEASURED],
            rtol=tolerance,
            err_msg=f"{name}, {algorithm}",
        )


def test_the_small_experiment_gives_the_golden_figures(tmp_path):
    compare("small", tmp_path, 1e-8)


@pytest.mark.parametrize("name", golden.OF_THE_PAPER)
def test_users_of_the_paper_give_the_golden_figures(name, real_data, tmp_path):
    compare(name, tmp_path, 1e-6)


@cache
def few_users(folder: Path, kernels: str) -> pd.DataFrame:
    return pd.read_csv(golden.run("movielens_semi_supervised", folder / kernels, kernels, FEW))


@pytest.mark.parametrize("kernels", PROCESSORS)
def test_errors_and_choices_do_not_depend_on_the_processor(kernels, real_data, tmp_path_factory):
    if kernels == "SkylakeX" and not has_avx512():
        pytest.skip("this processor has no AVX-512")
    folder = tmp_path_factory.getbasetemp()
    expected, found = few_users(folder, golden.KERNELS), few_users(folder, kernels)
    pd.testing.assert_frame_equal(found.drop(columns=MEASURED), expected.drop(columns=MEASURED))
    apart = (found[ERRORS] - expected[ERRORS]).abs().max()
    assert (apart <= 1 / 300 / FEW).all()  # one pair of one user with 25 test items


def has_avx512() -> bool:
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and "avx512f" in cpuinfo.read_text(encoding="utf-8")
