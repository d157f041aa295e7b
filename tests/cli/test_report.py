import subprocess
import sys

import pytest
from click.testing import CliRunner
from made_up_runs import write_run

from rankpursuit.cli.report import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_report_of_all_runs_in_a_folder_and_the_figures(tmp_path):
    for name in ("one", "two"):
        write_run(tmp_path / "results", name=name)
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    result = run(tmp_path / "results", "-o", page, "--figures", figures)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"report: {page}\nfigures: {figures}\n"
    assert page.read_text().count('<section id="run-') == 2
    names = sorted(path.name for path in (figures / "one").iterdir())
    kinds = ("basis", "ranks", "sparsity", "width")
    assert names == [f"{kind}-disagreement.{end}" for kind in kinds for end in ("png", "svg")]


def test_report_is_the_same_each_time(tmp_path):
    folder = write_run(tmp_path)
    for name in ("a.html", "b.html"):
        run(folder, "-o", tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_results_that_are_not_there_are_an_error_in_one_line(tmp_path):
    result = run(tmp_path / "none", "-o", tmp_path / "page.html")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {tmp_path / 'none'}: no such folder of results")
    assert not (tmp_path / "page.html").exists()


def test_without_arguments_the_reference_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "results" / "reference", name="one", table=1)
    result = run()
    assert result.exit_code == 0, result.output
    assert result.stderr == "Table 1: results/reference/one (the reference)\n"
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize("module", ["jinja2", "matplotlib", "pandas", "scipy", "tabulate"])
def test_help_does_not_wait_for_heavy_imports(module):
    code = (
        "import sys, rankpursuit.cli.report as report\n"
        "try:\n    report.main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"sys.exit({module!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "RESULTS" in done.stdout
