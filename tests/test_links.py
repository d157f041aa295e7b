"""Every link of a Markdown page leads to a file, and to a heading of it if it has an anchor."""

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
