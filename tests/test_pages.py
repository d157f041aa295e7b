"""The pages of the repository say what the committed results say."""

import importlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankpursuit.cli.check import main as check
from rankpursuit.reporting.claims import judge_claims

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("pages")


@pytest.mark.parametrize("name", ["README.md", "results/README.md", "results/ablations.md"])
def test_generated_parts_are_up_to_date(pages, name):
    text = (pages.ROOT / name).read_text(encoding="utf-8")
    assert "<!-- end -->" in text
    assert pages.filled(text) == text, "run python scripts/pages.py"


@pytest.mark.parametrize("table", [2, 4])
@pytest.mark.parametrize("setup", ["REFERENCE", "INFERRED"])
def test_the_central_claim_is_told_in_the_same_words_everywhere(pages, monkeypatch, table, setup):
    monkeypatch.chdir(pages.ROOT)
    folder, name = getattr(pages, setup), pages.EXPERIMENTS[table]
    verdicts = judge_claims([pages.runs(folder)[table]])
    (sentence,) = (x.sentence for x in verdicts if x.claim.id.endswith("semi-supervised-best"))
    assert "significantly better than" in sentence and "not told apart from" in sentence
    for page in (*("README.md", "results/README.md"), folder / name / "tables.md"):
        assert sentence in (pages.ROOT / page).read_text(encoding="utf-8")
    options = ["--only", name, *["--inferred"] * (setup == "INFERRED")]
    assert sentence in " ".join(CliRunner().invoke(check, options).stdout.split())


def test_an_edited_number_is_noticed(pages):
    text = (pages.ROOT / "README.md").read_text(encoding="utf-8")
    assert "0.391" in text
    assert pages.filled(text.replace("0.391", "0.392")) == text


def test_an_empty_part_is_filled_once_and_nothing_else_is_touched(pages):
    page = "a\n<!-- one -->\n<!-- end -->\nb\n<!-- two -->\nold\n<!-- end -->\n"
    expected = "a\n<!-- one -->\nnew\n<!-- end -->\nb\n<!-- two -->\nold\n<!-- end -->\n"
    assert pages.with_part(page, "one", "new") == expected
    assert pages.with_part(expected, "one", "new") == expected
