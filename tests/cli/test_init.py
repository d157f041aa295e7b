"""``rp-init``: from a file of ratings to an experiment that runs."""

import gzip
import io
import shlex
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rankpursuit.cli import init
from rankpursuit.cli import run as run_command
from rankpursuit.experiments.config import load_experiment
from rankpursuit.experiments.run import Run


def write_ratings(path, *, n_users=200, separator=",", header=("user_id", "item_id", "stars")):
    """Write ratings of 200 users of 20 to 89 items each."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        if header:
            file.write(separator.join(header) + "\n")
        for user in range(n_users):
            for item in rng.choice(150, rng.integers(20, 90), replace=False):
                file.write(separator.join([str(user), str(item), str(rng.integers(1, 6))]) + "\n")
    return path


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(command, *arguments):
    return CliRunner().invoke(command.main, [str(argument) for argument in arguments])


def text(header, rows, mark=","):
    """Return rows as delimited text, after a header with commas unless it is empty."""
    head = [header.split(",")] if header else []
    return "".join(mark.join(map(str, row)) + "\n" for row in [*head, *rows])


def matrix(rows, blank="", *, header=True, users=True):
    """Return a row per user and a column per item."""
    table = pd.DataFrame(rows).pivot(index=0, columns=1, values=2).astype(object)
    return table.fillna(blank).to_csv(header=header, index=users, index_label="user")


def zipped(content):
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("ratings.csv", content)
        return file.getvalue()


_RNG = np.random.default_rng(0)
# 60 users and 30 items: a user rated from 24 to 29 of them.
ROWS = [
    (f"u{user}", f"i{item}", int(_RNG.integers(1, 6)))
    for user in range(60)
    for item in sorted(_RNG.choice(30, _RNG.integers(24, 30), replace=False))
]
NUMBERED = [(user[1:], item[1:], x) for user, item, x in ROWS]
TIMED = [(*row, 978300760 + at) for at, row in enumerate(NUMBERED)]
MARKED = [(f'"{user}"', f'"{item}é"', f'"{0 if x < 3 else x}"') for user, item, x in ROWS]
HEADER = "user,item,rating"
PLAIN = text(HEADER, ROWS)
USUAL = "columns: user user, item item, rating rating"
BY_NUMBER = "columns: user 1, item 2, rating 3"
MELT = "a matrix, with a row for each user and a column for each item?"
AMAZON = "Id,ProductId,UserId,ProfileName,Helpful,Score,Time,Summary"


def changed(change):
    """Return rows with other ratings."""
    return text(HEADER, [(user, item, change(x)) for user, item, x in ROWS])


# A file as people have it: its name, its content, and what rp-init says.
KINDS = [
    ("ratings.csv", PLAIN, f"from 1 to 5 ({USUAL})"),
    ("movielens.csv", text("userId,movieId,rating,timestamp", TIMED), "item movieId"),
    ("u.data", text("", TIMED, "\t"), BY_NUMBER),
    ("ratings.dat", text("", TIMED, "::"), "user 1, item 3, rating 5"),
    (
        "BX-Book-Ratings.csv",
        text('"User-ID","ISBN","Book-Rating"', MARKED, ";").encode("latin-1"),
        'ratings are 0; if that means "not rated"',
    ),
    ("amazon.csv", text("reviewerID,asin,overall,unixReviewTime", TIMED), "item asin"),
    (
        "Reviews.csv",
        text(AMAZON, [(7, i, u, "Ann B", 1, x, 1303862400, '"a, ""b"""') for u, i, x in ROWS]),
        "user UserId, item ProductId, rating Score",
    ),
    (
        "yelp.csv",
        text("review_id,user_id,business_id,stars,date", [("r", *r, "2020-01-02") for r in ROWS]),
        "user user_id, item business_id, rating stars",
    ),
    (
        "goodreads.csv",
        text("user_id,book_id,is_read,rating,is_reviewed", [(u, i, 1, x, 0) for u, i, x in ROWS]),
        "item book_id, rating rating",
    ),
    ("anime.csv", changed(lambda x: -1 if x == 1 else x), 'missing: ["-1"]'),
    ("plays.tsv", text("userID,artistID,weight", ROWS, "\t"), "item artistID"),
    ("index.csv", text(f",{HEADER}", [(at, *row) for at, row in enumerate(ROWS)]), USUAL),
    ("times.csv", text(f"date,{HEADER}", [(row[3], *row[:3]) for row in TIMED]), USUAL),
    ("order.csv", text("Score,JokeNo,Reviewer", [row[::-1] for row in ROWS]), "user Reviewer"),
    ("semi.csv", text(HEADER, [(u, i, f"{x},5") for u, i, x in ROWS], ";"), "1.5 to 5.5"),
    ("bars.txt", text(HEADER, ROWS, "|"), USUAL),
    ("ratings", text("", ROWS, " "), BY_NUMBER),
    ("quotes.csv", text('"user","item","rating"', MARKED).replace("\n", "\r\n"), USUAL),
    ("mark.csv", b"\xef\xbb\xbf" + PLAIN.encode(), USUAL),
    ("unicode.txt", text(HEADER, ROWS, "\t").encode("utf-16"), USUAL),
    ("latin.csv", text(f"{HEADER},café", TIMED).encode("latin-1"), USUAL),
    ("ratings.csv.gz", gzip.compress(PLAIN.encode(), mtime=0), USUAL),
    ("ratings.zip", zipped(PLAIN), USUAL),
    ("words.csv", changed(lambda x: "NA" if x == 1 else x), 'missing: ["NA"]'),
    ("blanks.csv", changed(lambda x: "" if x == 1 else x), 'missing: [""]'),
    ("jokes.csv", changed(lambda x: 99 if x > 4 else x - 3.5), "as those from -2.5 to 0.5: []"),
    ("twice.csv", text(HEADER, ROWS + ROWS[:50]), 'duplicates: "mean": 50 repeated ratings'),
    ("my ratings (1).csv", PLAIN, "wrote my_ratings_1.yaml"),
    ("names.csv", text("user naïve,item: #,rating 'null'", ROWS), "item item: #"),
    ("wide.csv", matrix(ROWS), MELT),
    ("numbers.csv", matrix(NUMBERED, 99, header=False, users=False), MELT),
]


@pytest.mark.parametrize(("name", "content", "said"), KINDS, ids=[kind[0] for kind in KINDS])
def test_any_kind_of_file_becomes_a_config_that_runs(name, content, said, here):
    (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    written = invoke(init, name)
    assert said in written.output
    if said == MELT:
        assert written.exit_code == 1
        written = invoke(init, name, "--melt")
    assert written.exit_code == 0, written.output
    assert "60 users, 30 items" in written.output
    (config,) = here.glob("*.yaml")
    planned = invoke(run_command, config.name, "--dry-run", "--only", "rank_rls")
    assert planned.exit_code == 0, planned.output


def test_paths_are_relative_to_the_config(here):
    (here / "data").mkdir()
    write_ratings(here / "data" / "ratings.csv")
    assert invoke(init, "mine", here / "data" / "ratings.csv").exit_code == 0
    text = (here / "mine.yaml").read_text()
    assert 'path: "data/ratings.csv"' in text
    schema = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert not Path(schema).is_absolute() and (here / schema).is_file()


def test_a_config_has_only_what_is_not_a_default(here):
    write_ratings(here / "ratings.csv", header=("user", "item", "rating"))
    assert invoke(init, "mine", "ratings.csv").exit_code == 0
    text = (here / "mine.yaml").read_text()
    assert not any(f"  {key}:" in text for key in ("separator", "header", "decimal"))


def test_a_first_run_ends_with_a_table(here):
    write_ratings(here / "ratings.csv")
    assert invoke(init, "mine", "ratings.csv").exit_code == 0
    small = ["--set", "protocol.test_users=3", "--set", "protocol.holdout_users=3"]
    ended = invoke(run_command, "mine.yaml", *small, "--repeats", 1, "-j", 1, "--only", "rank_rls")
    assert ended.exit_code == 0, ended.output
    assert "RankRLS" in ended.output
    assert "next: rp-report results/mine (a web page with figures), rp-tables results/mine" in (
        ended.output
    )
    assert "to rank what a user has not rated: the guide" in ended.output


def test_without_ratings_it_writes_what_to_fill_in():
    assert invoke(init, "mine").exit_code == 0
    experiment = load_experiment("mine.yaml")
    assert experiment.data.path.endswith("ratings.csv")
    assert experiment.protocol == load_experiment("jester_supervised").protocol


def test_a_config_that_is_there_is_not_overwritten(here):
    (here / "mine.yaml").write_text("precious")
    result = invoke(init, "mine")
    assert result.exit_code == 1
    assert "already exists" in result.output
    assert (here / "mine.yaml").read_text() == "precious"


@pytest.mark.parametrize("name", ["a/b", "../x", "", "a b", "-x.y"])
def test_a_name_that_no_folder_can_have_is_refused(name, here):
    assert invoke(init, "--", name).exit_code == 2
    assert list(here.iterdir()) == []


def test_too_few_users_are_told_and_nothing_is_written(here):
    write_ratings(here / "ratings.csv", n_users=1)
    result = invoke(init, "mine", "ratings.csv")
    assert result.exit_code == 1
    assert "too few users" in result.output
    assert not (here / "mine.yaml").exists()


def test_a_run_with_too_few_users_says_what_sizes_would_work(here):
    write_ratings(here / "ratings.csv", header=("user", "item", "rating"))
    (here / "mine.yaml").write_text(
        "extends: paper\nname: mine\ndata: {name: ratings, path: ratings.csv}\n"
        "algorithms: {semi_supervised_ranking_pursuit: null}"
    )
    refused = invoke(run_command, "mine.yaml", "--dry-run")
    assert refused.exit_code == 2
    *_, attempt = refused.output.splitlines()
    assert attempt.startswith("try: rp-run mine.yaml --set ")
    words = shlex.split(attempt.removeprefix("try: rp-run "))
    assert Run.of(load_experiment(words[0], words[2::2])).plan.cells


def test_columns_that_it_cannot_guess_are_told_and_can_be_given(here):
    rows = [f"{user},d{item % 5},{item},{user % 5}" for user in range(60) for item in range(60)]
    (here / "log.csv").write_text("\n".join(["who,when,what,score", *rows]))
    refused = invoke(init, "mine", "log.csv")
    assert refused.exit_code == 1
    assert "columns: user who, item when, rating score" in refused.stderr
    written = invoke(
        init, "mine", "log.csv", "--user", "who", "--item", "what", "--rating", "score"
    )
    assert "60 users, 60 items" in written.output
    assert load_experiment("mine.yaml").data.item == "what"


def test_columns_without_a_header_are_given_by_number(here):
    write_ratings(here / "u.data", separator="\t", header=None)
    given = invoke(init, "mine", "u.data", "--user", 2, "--item", 1)
    assert "150 users, 200 items" in given.output


def test_what_means_not_rated_can_be_given(here):
    (here / "r.csv").write_text(PLAIN)
    given = invoke(init, "r.csv", "mine", "--missing", 5)
    assert "from 1 to 4" in given.output
    assert 'missing: ["5"]' in (here / "mine.yaml").read_text()


def test_a_mistyped_file_is_told_with_the_one_that_may_be_meant(here):
    write_ratings(here / "ratings.csv")
    refused = invoke(init, "mine", "rating.csv")
    assert refused.stderr == "error: rating.csv: no such file; did you mean ratings.csv?\n"
    (here / "mine.yaml").touch()
    assert "did you mean" not in invoke(run_command, "nope.yaml").stderr  # only ".yaml" is alike
    assert "did you mean mine.yaml?" in invoke(run_command, "mien.yaml").stderr


def test_items_that_are_all_rated_once_are_refused_with_the_columns(here):
    write_ratings(here / "log.csv", header=("who", "session", "score"))
    rows = (here / "log.csv").read_text().splitlines()
    numbered = [f"{row},{place or 'item'}" for place, row in enumerate(rows)]
    (here / "log.csv").write_text("\n".join(numbered))
    result = invoke(init, "mine", "log.csv")
    assert result.exit_code == 1
    assert "no item has two ratings; columns: user who, item item, rating score" in result.output
    assert not (here / "mine.yaml").exists()
