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


PAGES = ["README.md", "results/README.md", "results/reproduction.md", "results/reference/README.md"]


@pytest.mark.parametrize("name", [*PAGES, "docs/guide/comparison.rst"])
def test_generated_parts_are_up_to_date(pages, name):
    assert pages.ROOT / name in pages.PAGES
    text = (pages.ROOT / name).read_text(encoding="utf-8")
    assert pages.filled(text) == text, "run python scripts/pages.py"


@pytest.mark.parametrize("table", [2, 4])
@pytest.mark.parametrize("setup", ["REFERENCE", "INFERRED"])
def test_the_central_claim_is_told_in_the_same_words_everywhere(pages, monkeypatch, table, setup):
    monkeypatch.chdir(pages.ROOT)
    folder, name = getattr(pages, setup), pages.EXPERIMENTS[table]
    verdicts = judge_claims([pages.runs(folder)[table]])
    (sentence,) = (x.sentence for x in verdicts if x.claim.id.endswith("semi-supervised-best"))
    assert "significantly better than" in sentence and "not told apart from" in sentence
    for page in ("README.md", "results/reproduction.md", folder / name / "tables.md"):
        assert sentence in (pages.ROOT / page).read_text(encoding="utf-8")
    options = ["--only", name, *["--inferred"] * (setup == "INFERRED")]
    assert sentence in " ".join(CliRunner().invoke(check, options).stdout.split())


def test_every_part_that_is_made_is_on_a_page(pages):
    texts = "".join(page.read_text(encoding="utf-8") for page in pages.PAGES)
    lines = set(texts.splitlines())
    absent = [x for x in pages.PARTS if not lines & {f"<!-- {x} -->", f".. {x}"}]
    assert absent == []


def test_the_tables_of_the_reference_are_up_to_date_and_only_those_that_are_looked_at(pages):
    runs = pages.runs(pages.INFERRED)
    text = (runs[1].folder / "tables.md").read_text(encoding="utf-8")
    assert pages.looked_at(runs[1], runs.values()) == text, "run python scripts/pages.py"
    headings = [line.split(" on ")[0] for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "### Normalised disagreement error",
        "### Sparsity",
        "### Claims of the paper",
    ]


def test_pages_are_short(pages):
    words = {
        path.relative_to(pages.RESULTS): len(path.read_text(encoding="utf-8").split())
        for path in pages.RESULTS.rglob("*.md")
    }
    assert words[Path("README.md")] <= 1400
    kept = {
        path: n for path, n in words.items() if len(path.parts) == 1 or "reference" in path.parts
    }
    assert sum(kept.values()) <= 22_000


def test_an_empty_part_is_filled_once_and_nothing_else_is_touched(pages):
    page = "a\n<!-- one -->\n<!-- end -->\nb\n<!-- two -->\nold\n<!-- end -->\n"
    expected = "a\n<!-- one -->\nnew\n<!-- end -->\nb\n<!-- two -->\nold\n<!-- end -->\n"
    assert pages.with_part(page, "one", "new") == expected
    assert pages.with_part(expected, "one", "new") == expected
