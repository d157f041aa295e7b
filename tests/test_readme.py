"""The examples of README.md and docs/library.md print what the pages say."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import sklearn

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


SETTINGS = [
    {"transform_output": "pandas"},
    {
        "enable_metadata_routing": True,
        "assume_finite": True,
        "skip_parameter_validation": True,
        "print_changed_only": False,
        "display": "text",
        "working_memory": 1,
        "pairwise_dist_chunk_size": 1,
        "enable_cython_pairwise_dist": False,
    },
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: next(iter(settings)))
def test_the_first_example_prints_the_same_with_other_settings_of_scikit_learn(settings):
    with sklearn.config_context(**settings):
        test_an_example_prints_what_it_says(*EXAMPLES[0])


def test_the_first_example_takes_ten_lines():
    code, _ = EXAMPLES[0]
    assert len(code.strip().splitlines()) - 1 <= 10
