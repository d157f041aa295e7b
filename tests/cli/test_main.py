"""What all commands have in common for a newcomer: help, version, suggestions, a quick answer."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankpursuit import __version__
from rankpursuit.cli.main import COMMANDS, main
from rankpursuit.experiments.names import shipped_configs

ROOT = Path(__file__).parents[2]


def invoke(*words, command=main):
    return CliRunner().invoke(command, list(words), prog_name="rp")


def test_every_script_is_a_command_of_the_module():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {f"rp-{name}": f"rankpursuit.cli.{name}:main" for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_short_help_and_a_version(name):
    command = import_module(f"rankpursuit.cli.{name}").main
    helped = [invoke(word, command=command) for word in ("-h", "--help")]
    assert helped[0].exit_code == 0
    assert helped[0].output == helped[1].output
    assert invoke("--version", command=command).output == f"rp, version {__version__}\n"
    assert invoke(name, "-h").exit_code == 0


@pytest.mark.parametrize("words", [(), ("data",)])
def test_without_a_command_the_help_is_shown_in_lines(words):
    shown, helped = invoke(*words), invoke(*words, "-h")
    assert shown.exit_code == 2
    assert shown.output.rstrip() == helped.output.rstrip()


def test_the_module_lists_the_commands_with_one_line_each():
    result = subprocess.run(
        [sys.executable, "-m", "rankpursuit", "-h"], capture_output=True, text=True, check=True
    )
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\S", result.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["rnu"], "did you mean run?"),
        (["data", "fech"], "did you mean fetch?"),
        (["run", "demo", "--quit"], "--quiet"),
        (["run", "demmo"], "did you mean demo, which comes with rankpursuit?"),
    ],
)
def test_a_mistyped_word_suggests_what_may_be_meant(words, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*words)
    assert result.exit_code == 2
    assert meant in result.output


def test_all_missing_configs_are_told_at_once_each_path_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("run", "one.yaml", "two.yaml")
    assert result.exit_code == 2
    assert [line.split(":")[1].strip() for line in result.output.splitlines()] == [
        "one.yaml",
        "two.yaml",
    ]


@pytest.mark.parametrize(
    "words", [["-h"], ["--version"], ["--list"], ["nosuch.yaml"], ["demo", "--quit"]]
)
def test_what_needs_no_numbers_imports_no_numpy(words):
    code = (
        "import sys; from rankpursuit.cli.run import main\n"
        f"try: main({words!r})\n"
        "finally: print({'numpy', 'pydantic', 'yaml'} & set(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.splitlines()[-1] == "set()"


def test_the_list_fits_80_columns_and_has_every_experiment():
    output = invoke("run", "--list").output
    assert max(map(len, output.splitlines())) <= 80
    assert [line.split()[0] for line in output.splitlines()[1:]] == list(shipped_configs())
