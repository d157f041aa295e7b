"""Every link of a page leads to a file, and to a heading of it if it has an anchor.

So does every file of the repository that a page names, except in the changelog.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not {".venv", ".venv-lowest", "node_modules"} & set(path.relative_to(ROOT).parts)
    and not path.match("docs/_build/**")
    and not path.match("docs/auto_examples/**")
)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
GUIDE = sorted((ROOT / "docs").glob("*.rst")) + sorted((ROOT / "docs" / "guide").glob("*.rst"))
NAME = re.compile(r"`((?:scripts|docs|configs|rankpursuit|tests|results/reference)/[^`\s]+)`")


def is_tracked(path):
    """Return whether git keeps the page; results of runs may lie next to those it keeps."""
    done = subprocess.run(
        ["git", "ls-files", "--error-unmatch", str(path)], cwd=ROOT, capture_output=True
    )
    return done.returncode == 0 or not (ROOT / ".git").exists()


def anchors(page):
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {words.replace(" ", "-") for words in kept}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    if not is_tracked(page):
        pytest.skip(f"{page.name} is not kept in the repository")
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", GUIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_the_guide_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r":doc:`(?:[^`<]*<)?([^`<>]+)>?`", text):
        base = ROOT / "docs" if link.startswith("/") else page.parent
        target = base / f"{link.lstrip('/')}.rst"
        if link.startswith("/auto_examples/plot_"):
            target = ROOT / "docs" / "examples" / f"{Path(link).name}.py"
        assert target.exists() or Path(link).parts[-2:] == ("auto_examples", "index"), link
    for link in re.findall(r"^\.\. literalinclude:: (\S+)", text, re.MULTILINE):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES + GUIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_files_exist(page):
    if page.name == "CHANGELOG.md" or not is_tracked(page):
        pytest.skip(f"{page.name} may name files that are gone, or is not kept in the repository")
    for name in NAME.findall(page.read_text(encoding="utf-8")):
        is_pattern = re.search(r"\b(NAME|FOLDER)\b|_build", name)
        assert is_pattern or list(ROOT.glob(name.rstrip("/"))), name
