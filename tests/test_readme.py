"""The README's example prints what the README says."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
EXAMPLE = re.compile(r"<!-- tested -->\n```python\n(.*?)```\n```text\n(.*?)```", re.DOTALL)


def test_the_example_prints_what_it_says():
    code, output = EXAMPLE.search(README.read_text(encoding="utf-8")).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(README), "exec"), {})
    assert printed.getvalue() == output


def test_the_example_takes_ten_lines():
    code, _ = EXAMPLE.search(README.read_text(encoding="utf-8")).groups()
    assert len(code.strip().splitlines()) - 1 <= 10
