import pytest
from rp_run import RESULTS
from small_experiment import run_into, run_of, small_config

from rankpursuit.experiments import evaluate
from rankpursuit.experiments.config import parse_experiment
from rankpursuit.experiments.run.folder import RunFolder
from rankpursuit.experiments.run.sharing import Lender, lends

LABELS = ("rls", "rank_rls", "ranking_pursuit")
ALGORITHMS = {label: small_config()["algorithms"][label] for label in LABELS}


def config(*metrics, **changes):
    return small_config(metrics=list(metrics), algorithms=ALGORITHMS, repeats=1) | changes


def contents(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A run that reports both metrics."""
    folder = tmp_path_factory.mktemp("both")
    run = run_of(config("disagreement", "squared_error"))
    assert run_into(run, folder) == []
    return Lender(run, RunFolder(folder))


@pytest.mark.parametrize("tuning", ["reported", "own"])
@pytest.mark.parametrize("metric", ["disagreement", "squared_error"])
def test_shared_results_are_the_bytes_of_a_run_apart(metric, tuning, tmp_path, monkeypatch):
    wide, narrow = (
        run_of(config(*metrics, tuning=tuning))
        for metrics in (["squared_error", "disagreement"], [metric])
    )
    for run, name in ((wide, "wide"), (narrow, "apart")):
        assert run_into(run, tmp_path / name) == []
    monkeypatch.setattr(evaluate, "predict_grid", None)  # nothing is computed again
    lender = Lender(wide, RunFolder(tmp_path / "wide"))
    assert run_into(narrow, tmp_path / "shared", lenders=[lender]) == []
    assert contents(tmp_path / "shared") == contents(tmp_path / "apart")


def test_what_the_lender_lacks_is_computed(both, tmp_path):
    more = {"algorithms": ALGORITHMS | {"rank_svm": small_config()["algorithms"]["rank_svm"]}}
    run = run_of(config("disagreement", **more), repeats=2)
    lines = []
    assert run_into(run, tmp_path / "shared", lenders=[both], tell=lines.append) == []
    assert run_into(run, tmp_path / "apart") == []
    assert contents(tmp_path / "shared") == contents(tmp_path / "apart")
    assert lines == ["48 users of small serve again"]


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 8},
        {"ties": "all"},
        {"tuning": "own"},
        {"kernel": {"widths": [4]}},
        {"metrics": ["disagreement", "ndcg"]},
        {"algorithms": {"rls": {"lambda": [1]}}},
    ],
)
def test_nothing_is_shared_with_an_experiment_that_is_unlike(changes):
    wide = parse_experiment(config("disagreement", "squared_error"))
    assert lends(wide, parse_experiment(config("disagreement")), "rls")
    assert not lends(wide, parse_experiment(config("disagreement") | changes), "rls")
