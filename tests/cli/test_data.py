import hashlib
import io
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest
from click.testing import CliRunner

from rankpursuit.cli.data import main
from rankpursuit.datasets import fetch

RATINGS = "".join(f"{user}::{movie}::{1 + user % 5}\n" for user in range(30) for movie in range(25))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run rp-data with all data in one folder; return (status, standard output, standard error)."""
    monkeypatch.setenv(fetch.DATA_VARIABLE, str(tmp_path / "data"))

    def run(*arguments):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def tiny_movielens(server, tmp_path, monkeypatch):
    """Register a small archive, served on loopback, as MovieLens."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ml-1m/ratings.dat", RATINGS)
    body = packed.getvalue()
    (file,) = fetch.DATA_SETS["movielens"].files
    served = file._replace(
        sha256=hashlib.sha256(body).hexdigest(),
        urls=(server.url("/gone.zip"), server.serve("/ml-1m.zip", body)),
    )
    tiny = replace(
        fetch.DATA_SETS["movielens"],
        files=(served,),
        table_sha256="669f",
    )
    monkeypatch.setitem(fetch.DATA_SETS, "movielens", tiny)
    return tiny


def put_ratings(folder, text=RATINGS):
    file = folder / "data" / "movielens" / "ml-1m" / "ratings.dat"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def test_help_teaches_by_examples(run):
    status, printed, _ = run("--help")
    assert status == 0
    assert "rp-data fetch jester" in printed
    assert "RANKPURSUIT_DATA" in printed


def test_help_does_not_import_what_is_slow():
    program = (
        "import sys; from rankpursuit.cli.data import main; "
        "main(['--help'], standalone_mode=False); "
        "print(sorted({'numpy', 'pandas', 'matplotlib', 'pooch', 'xlrd'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_list_tells_what_is_here_and_what_is_not(run, tmp_path):
    put_ratings(tmp_path)
    status, printed, _ = run("list")
    assert status == 0
    assert f"present in {tmp_path / 'data' / 'movielens' / 'ml-1m'}" in printed
    assert "absent; `rp-data fetch jester`" in printed
    assert "do not redistribute" in printed
    assert "nobody gave them" in printed


def test_fetch_downloads_and_prints_the_terms(run, tiny_movielens, tmp_path):
    status, printed, _ = run("fetch", "movielens")
    assert status == 0
    assert tiny_movielens.terms in printed
    assert tiny_movielens.citation in printed
    assert "gone.zip: download failed (404" in printed
    assert (tmp_path / "data" / "movielens" / "ml-1m.zip").is_file()
    assert "750" in run("describe", "movielens")[1]


def test_fetch_puts_files_where_it_is_told(run, tiny_movielens, tmp_path):
    assert run("fetch", "movielens", "--to", tmp_path / "here")[0] == 0
    assert (tmp_path / "here" / "movielens" / "ml-1m.zip").is_file()


def test_fetch_without_network_says_where_to_put_the_files(run, monkeypatch, tmp_path):
    import requests

    def no_network(url, **options):
        raise requests.exceptions.ConnectionError("Name or service not known")

    monkeypatch.setattr(requests, "get", no_network)
    status, _, said = run("fetch")
    assert status == 1
    jester, movielens = said.splitlines()
    names = "jester_dataset_1_1.zip, jester_dataset_1_2.zip, jester_dataset_1_3.zip"
    assert jester.startswith("error: jester")
    assert jester.endswith(f"put {names} into {tmp_path / 'data' / 'jester'}")
    assert movielens.endswith(f"put ml-1m.zip into {tmp_path / 'data' / 'movielens'}")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_unknown_name_is_a_usage_error(run):
    for command in ("fetch", "verify"):
        status, _, said = run(command, "netflix")
        assert status == 2
        assert "'netflix' is not one of 'jester', 'movielens'" in said


def test_verify_passes_when_checksums_and_counts_agree(run, tiny_movielens, monkeypatch):
    run("fetch", "movielens")
    status, printed, said = run("verify", "movielens")
    assert status == 1  # the registered checksum of the table is made up
    assert "WRONG SHA-256 of the table" in printed
    found = printed.splitlines()[-2].split(": ")[1]
    right = replace(tiny_movielens, table_sha256=found)
    monkeypatch.setitem(fetch.DATA_SETS, "movielens", right)
    status, printed, said = run("verify", "movielens")
    assert (status, said) == (0, "")
    assert "750 ratings" in printed
    assert printed.count("ok ") == 2
    assert "WRONG" not in printed


def test_verify_names_what_is_wrong(run, tmp_path):
    put_ratings(tmp_path)
    status, printed, said = run("verify", "movielens")
    assert status == 1
    assert "WRONG SHA-256 of the table" in printed
    assert said.startswith("error: movielens: SHA-256 of the table is ")


def test_verify_checks_the_checksum_of_an_archive(run, tiny_movielens, tmp_path):
    run("fetch", "movielens")
    archive = tmp_path / "data" / "movielens" / "ml-1m.zip"
    archive.write_bytes(archive.read_bytes() + b"\0")
    status, printed, _ = run("verify", "movielens")
    assert status == 1
    assert f"WRONG SHA-256 of {archive}" in printed


def test_verify_without_data_fails_and_says_what_to_do(run):
    status, _, said = run("verify")
    assert status == 1
    assert [line.split(":")[1] for line in said.splitlines()] == [" jester", " movielens"]
    assert "rp-data fetch jester" in said


def test_verify_passes_on_the_real_data(real_data):
    result = CliRunner().invoke(main, ["verify"])
    assert result.exit_code == 0
    assert "4,136,360 ratings" in result.stdout
    assert "1,000,209 ratings" in result.stdout
    assert "WRONG" not in result.stdout


def test_describe_prints_groups_histogram_and_density(run, tmp_path):
    put_ratings(tmp_path)
    status, printed, _ = run("describe", "movielens")
    assert status == 0
    assert "density      100.00%" in printed
    assert "  20 to 40          30" in printed
    assert printed.splitlines()[-1].split() == ["5", "150", "#" * 40]


def test_describe_says_that_synthetic_ratings_are_synthetic_and_has_twenty_bins(run):
    status, printed, _ = run("describe", "synthetic")
    assert status == 0
    assert printed.startswith("SYNTHETIC ratings, drawn from a model; nobody gave them")
    assert len(printed.split("\nratings\n")[1].splitlines()) == 20


def test_describe_reads_a_file_with_other_column_names(run, tmp_path):
    (tmp_path / "mine.tsv").write_text("who\twhat\tstars\na\tx\t1\nb\tx\t2\n")
    columns = ("--user", "who", "--item", "what", "--rating", "stars")
    status, printed, _ = run("describe", tmp_path / "mine.tsv", *columns)
    assert status == 0
    assert "users        2" in printed


def test_describe_detects_the_separator_and_the_columns(run, tmp_path):
    (tmp_path / "mine.csv").write_text("userId;movieId;stars;timestamp\na;x;1;9\nb;x;2;9\n")
    status, printed, _ = run("describe", tmp_path / "mine.csv")
    assert status == 0
    assert "ratings      2, from 1 to 2" in printed


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("netflix", "neither a file nor a data set"),
        ("jestr", "did you mean jester?"),
        ("no.csv", "no such file"),
        ("jester", "not found"),
    ],
)
def test_a_source_that_is_not_there_is_one_line_and_status_one(run, source, said):
    status, printed, message = run("describe", source)
    assert (status, printed) == (1, "")
    assert message.startswith("error: ")
    assert said in message
    assert message.count("\n") == 1


def test_a_malformed_file_is_one_line_with_its_number(run, tmp_path):
    put_ratings(tmp_path, "1::1::5\n1::2\n")
    status, printed, message = run("describe", "movielens")
    assert (status, printed) == (1, "")
    assert "ratings.dat: " in message and "expected user::movie::rating" in message
    assert message.count("\n") == 1


def test_a_file_of_any_ending_and_without_a_header_is_described(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("1\t7\t3\n2\t7\t5\n")
    result = CliRunner().invoke(main, ["describe", str(path), "--separator", "\t", "--no-header"])
    assert result.exit_code == 0, result.output
    assert "from 3 to 5" in result.output
