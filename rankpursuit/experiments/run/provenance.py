"""Where results came from: config, data, versions, commit, machine, time."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import rankpursuit

_PACKAGES = ("numpy", "scipy", "scikit-learn", "joblib", "pandas")


def provenance() -> dict[str, Any]:
    """Return what was used to compute something here and now."""
    return {
        "rankpursuit": rankpursuit.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
        },
    }


def _commit() -> str | None:
    """Commit of the working copy that the package runs from, marked if it has changes."""
    root = Path(rankpursuit.__file__).parents[1]
    if not (root / ".git").exists():  # installed, perhaps below somebody else's repository
        return None
    try:
        described = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
