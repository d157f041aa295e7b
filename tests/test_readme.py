"""The examples of README.md and docs/library.md print what the pages say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "docs" / "library.md"]
EXAMPLE = re.compile(r"<!-- tested -->\n```python\n(.*?)```\n```text\n(.*?)```", re.DOTALL)


EXAMPLES = [
    example for page in PAGES for example in EXAMPLE.findall(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("code", "output"), EXAMPLES, ids=["readme", "library", "blocks"])
def test_an_example_prints_what_it_says(code, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), {})
    assert printed.getvalue() == output
