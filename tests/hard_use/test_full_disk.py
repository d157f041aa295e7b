"""A disk that is full, played by a limit on the size of files: one line, and nothing is lost."""

import multiprocessing
import resource
import signal
import subprocess
import sys

import pytest
from made_up import write_results
from rp_run import contents, one_line, run, write_config

from rankpursuit.errors import OutputError
from rankpursuit.writing import write_atomically

SIZES = (0, 5_000, 20_000)


def limited_to(size):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def program(command, *words):
    code = f"from rankpursuit.cli.{command} import main; main(prog_name='rp-{command}')"
    return [sys.executable, "-c", code, *map(str, words)]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return write_config(tmp_path_factory.mktemp("configs"), "rls", "ranking_pursuit")


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert run(config, folder).returncode == 0
    return folder


def test_a_run_that_meets_a_full_disk_again_and_again_ends_with_the_same_bytes(
    config, whole, tmp_path
):
    for size in SIZES:
        one_line(run(config, tmp_path, "-q", preexec_fn=limited_to(size)), 1, "cannot write")
    assert run(config, tmp_path, "-q").returncode == 0
    assert contents(tmp_path) == contents(whole)
    assert not list(tmp_path.rglob("*.partial"))


def test_results_that_do_not_fit_leave_those_that_were_there(config, whole, tmp_path):
    part = run(config, tmp_path, "-q", "--only", "rls")
    assert part.returncode == 0
    before = contents(tmp_path)
    for size in (3_000, 9_000):
        limited = run(config, tmp_path, "-q", "--repeats", "1", preexec_fn=limited_to(size))
        one_line(limited, 1, "cannot write")
        for name, content in contents(tmp_path).items():
            assert content in (before[name], contents(whole)[name])
    assert run(config, tmp_path, "-q").returncode == 0
    assert contents(tmp_path) == contents(whole)


@pytest.mark.parametrize("command", ["tables", "report"])
def test_other_commands_tell_in_one_line_and_keep_their_earlier_files(command, tmp_path):
    folder = write_results(tmp_path / "one", repeats=2)
    words = {"tables": [folder], "report": [folder, "-o", tmp_path / "report.html"]}[command]
    old = {"tables": folder / "tables.md", "report": tmp_path / "report.html"}[command]
    old.write_text("old")
    finished = subprocess.run(
        program(command, *words),
        capture_output=True,
        text=True,
        preexec_fn=limited_to(1_000),
    )
    one_line(finished, 1, f"cannot write {old}: File too large")
    assert old.read_text() == "old"
    assert not list(tmp_path.rglob("*.partial"))


def test_a_table_printed_to_a_full_disk_is_one_line(tmp_path):
    folder = write_results(tmp_path / "one", repeats=2)
    with open("/dev/full", "w") as full:
        finished = subprocess.run(
            program("tables", folder, "--format", "csv"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    one_line(finished, 1, "the output cannot be written: No space left on device")


def test_the_writer_names_the_file(tmp_path):
    def child():
        limited_to(10)()
        with pytest.raises(OutputError, match="file: File too large"):
            write_atomically(tmp_path / "file", b"x" * 11)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert list(tmp_path.iterdir()) == []
