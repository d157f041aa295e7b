"""The README's examples print what the README says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLE = re.compile(r"<!-- tested -->\n```python\n(.*?)```\n```text\n(.*?)```", re.DOTALL)


EXAMPLES = EXAMPLE.findall(README.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("code", "output"), EXAMPLES, ids=["library", "routing", "blocks"])
def test_an_example_prints_what_it_says(code, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(README), "exec"), {})
    assert printed.getvalue() == output


def test_the_first_example_takes_ten_lines():
    code, _ = EXAMPLES[0]
    assert len(code.strip().splitlines()) - 1 <= 10
