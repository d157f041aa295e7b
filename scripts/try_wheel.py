"""Install a wheel into a new environment, and use it from an empty folder as a newcomer would.

Run it as ``make wheel``, or ``python scripts/try_wheel.py dist/NAME.whl``. It prints every command
with its output, and ends with status 1 at the first that fails.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import click
import numpy as np

COMMANDS = (
    "rp-run --version",
    "rp-run --list",
    "rp-run demo --quick",
    "rp-tables results/quick/demo",
    "rp-init mine ratings.data",
    "rp-run mine.yaml --dry-run",
    "python -m rankpursuit data list",
    "python -c 'import rankpursuit; print(rankpursuit.RankingPursuit())'",
)


@click.command(help=__doc__)
@click.argument("wheel", type=click.Path(exists=True, resolve_path=True, path_type=Path))
def main(wheel: Path) -> None:
    """Try a wheel."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "empty")
        folder.mkdir()
        programs = Path(name, "venv", "Scripts" if sys.platform == "win32" else "bin")
        print(f"installing {wheel.name} into a new environment: a minute or more", flush=True)
        venv.create(programs.parent, with_pip=True)
        write_ratings(folder / "ratings.data")
        outside = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        inside = outside | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        for command in (f"python -m pip install --quiet {shlex.quote(str(wheel))}", *COMMANDS):
            print(f"$ {command}", flush=True)
            done = subprocess.run(command, shell=True, cwd=folder, env=inside, check=False)
            if done.returncode:
                sys.exit(f"status {done.returncode}: {command}")


def write_ratings(path: Path) -> None:
    """Write ratings of 200 users, without a header and with an ending that says nothing."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((200, 150)) < rng.uniform(0.13, 0.6, size=(200, 1)))
    values = rng.integers(1, 6, size=len(users))
    np.savetxt(path, np.column_stack([users, items, values]), fmt="%d", delimiter="\t")


if __name__ == "__main__":
    main()
