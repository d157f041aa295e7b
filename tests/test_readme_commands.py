"""The commands of the README run as they stand and in the order in which they stand.

Those that take minutes run with ``--dry-run``, those of make with ``-n``; downloads do not run.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rankpursuit.cli.main import COMMANDS
from rankpursuit.datasets.fetch import DATA_SETS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WORDS = [
    re.sub(r"\s+#.*", "", line)
    for block in re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
]
OF_THE_PAPER = re.findall(r"`(rp-run jester_\w+)`", README)
LONG = ("rp-run ratings.yaml",)


def write_ratings(path):
    """Write ratings of 200 users with the columns that the README names."""
    lines = ["user_id,item_id,stars"]
    for user in range(200):
        n_items = 20 + 37 * user % 70
        lines += [f"{user},{7 * user + item},{1 + (user * item) % 5}" for item in range(n_items)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Return a function that runs a command in an empty folder, as in the activated environment."""
    scripts, folder = tmp_path_factory.mktemp("bin"), tmp_path_factory.mktemp("folder")
    for name in COMMANDS:
        script = scripts / f"rp-{name}"
        start = f"from rankpursuit.cli.{name} import main; main(prog_name='rp-{name}')"
        script.write_text(f"#!{sys.executable}\n{start}\n")
        script.chmod(0o755)
    write_ratings(folder / "ratings.csv")

    def run(command, where=folder):
        path = f"{scripts}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", command],
            cwd=where,
            env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def test_there_are_commands():
    assert len(WORDS) >= 9
    assert {"make run", "make test", "make paper", "make tables"} < set(WORDS)
    assert WORDS.index(". .venv/bin/activate") < WORDS.index("rp-run ratings.yaml")


def test_the_commands_run_in_their_order(shell):
    for command in WORDS:
        if command.startswith("make "):
            done = shell(f"{command} -n", ROOT)
        elif command == "pip install .":
            continue
        elif command == ". .venv/bin/activate":
            assert "VENV := .venv\n" in (ROOT / "Makefile").read_text()
            continue
        elif command.startswith("rp-data fetch "):
            assert set(command.split()[2:]) <= set(DATA_SETS)
            continue
        else:
            done = shell(f"{command} --dry-run" if command.startswith(LONG) else command)
        assert done.returncode == 0, f"{command}: {done.stderr}"


def test_the_commands_on_the_papers_data_run(shell, real_data):
    assert OF_THE_PAPER
    for command in OF_THE_PAPER:
        done = shell(f"{command} --dry-run")
        assert done.returncode == 0, f"{command}: {done.stderr}"


def test_the_config_by_hand_has_five_lines_and_runs_on_200_users(shell, tmp_path):
    page = (ROOT / "configs" / "README.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(extends: paper\n.*?)```", page, flags=re.DOTALL)
    assert len(text.splitlines()) == 5
    (tmp_path / "by_hand.yaml").write_text(text)
    write_ratings(tmp_path / "ratings.csv")
    done = shell("rp-run by_hand.yaml --dry-run", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "750 hold-out users" in done.stdout


BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
(PLUGIN,) = (block for block in BLOCKS if "register_method" in block)


def test_the_plug_in_is_that_of_the_guide():
    guide = (ROOT / "docs" / "guide" / "smoothing.py").read_text(encoding="utf-8")
    method = PLUGIN[PLUGIN.index("class Options") :]
    assert f"{method}\n\n@register_metric" in guide


def test_the_plug_in_runs(shell, tmp_path):
    (tmp_path / "smoothing.py").write_text(PLUGIN)
    (entry,) = re.findall(r"`(smoothing: .*?)`", README)
    (tmp_path / "mine.yaml").write_text(f"""\
extends: demo
name: mine
algorithms: {{{entry}}}
""")
    command = "rp-run mine.yaml --plugin smoothing.py --only smoothing --repeats 1 -j 1"
    done = shell(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Smoothing" in done.stdout


def test_every_extra_that_the_pages_install_is_declared():
    declared = (ROOT / "pyproject.toml").read_text()
    others = [ROOT / "docs" / name for name in ("cluster.md", "library.md")]
    pages = [README, *(path.read_text(encoding="utf-8") for path in others)]
    for extra in re.findall(r"pip install '[\w.]*\[(\w+)\]'", " ".join(pages)):
        assert re.search(rf"^{extra} = \[", declared, re.MULTILINE)
