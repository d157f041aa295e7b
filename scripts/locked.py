"""Report where the environment differs from ``requirements.lock``: ``python scripts/locked.py``."""

from importlib import metadata
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements.lock"


def differences(lock: str) -> list[str]:
    """Return a line for each package whose installed version is not the one in a lock file."""
    found = []
    for line in lock.splitlines():
        name, _, wanted = line.partition("==")
        if not wanted:
            continue
        try:
            here = metadata.version(name)
        except metadata.PackageNotFoundError:
            here = "not installed"
        if here != wanted:
            found.append(f"{name}: {here}, the reference was made with {wanted}")
    return found


if __name__ == "__main__":
    lines = differences(LOCK.read_text(encoding="utf-8"))
    if lines:
        print("The environment differs from requirements.lock; figures may differ in last digits:")
        print("\n".join(f"  {line}" for line in lines))
