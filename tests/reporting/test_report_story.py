"""The sentences that the report begins with are made from the data."""

from dataclasses import replace

import pytest
from made_up import write_results
from made_up_runs import write_run
from rankpursuit.reporting.report_story import finding, tell

from rankpursuit.reporting.published import published_tables
from rankpursuit.reporting.results import load_results

CELLS = published_tables()[1].cells["disagreement"]


def with_errors(results, error):
    """Return results in which each cell has the error that a function of label and group gives."""
    rows = results.repeats
    errors = [error(*key) for key in zip(rows["algorithm"], rows["group"], strict=True)]
    return replace(results, repeats=rows.assign(test_error=errors))


@pytest.fixture
def jester(tmp_path):
    return load_results(write_results(tmp_path / "jester", table=1))


def test_errors_as_published_are_counted(jester):
    same = with_errors(jester, lambda label, group: CELLS[label][group])
    assert finding(same)[0].startswith("18 of 18 published errors come out within sampling error.")
    rls_off = with_errors(
        jester, lambda label, group: CELLS[label][group] - 0.018 * (label == "rls")
    )
    assert finding(rls_off) == (
        "15 of 18 published errors come out within sampling error. On average, the error is 0.003 "
        "lower than published.",
    )
    assert tell([rls_off]).found == (
        "15 of 18 published errors come out within sampling error. 3 of the 18 are lower than "
        "published.",
    )


def test_small_runs_are_told_as_small(tmp_path):
    folders = [write_run(tmp_path, name=f"run_{table}", table=table) for table in (1, 2)]
    tried = " ".join(tell([load_results(folder) for folder in folders]).tried)
    assert tried == (
        "Tables 1 and 2 of the paper, run again with 4 methods. Smaller than the paper's 300 "
        "users, 10 repeats: Table 1 and Table 2."
    )


def test_run_about_no_table_tells_its_best_method(tmp_path):
    story = tell([load_results(write_run(tmp_path, name="mine"))])
    assert story.tried == ("mine: 4 methods, 4 users, 3 repeats in each group of users.",)
    (found,) = story.found
    assert found.startswith("mine: the lowest normalised disagreement error, mean over groups, is")
    assert "(RLS); own pursuit has 0.4" in found
    assert story.figure is None


def test_second_run_of_a_table_is_told_by_itself(jester):
    story = tell([jester, replace(jester)])
    assert len(story.found) == 2
    assert story.figure is not None


@pytest.mark.parametrize(
    ("tables", "said"),
    [((1,), "Table 1 of"), ((1, 2, 3), "Tables 1 to 3 of"), ((1, 2, 4), "Tables 1, 2 and 4 of")],
)
def test_tables_in_a_row_are_told_as_a_range(tmp_path, tables, said):
    runs = [load_results(write_results(tmp_path / str(n), table=n)) for n in tables]
    assert tell(runs).tried[0].startswith(said)
