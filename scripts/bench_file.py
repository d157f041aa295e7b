"""What all benchmarks share: goals, and one Markdown file with a section for each benchmark."""

from __future__ import annotations

import operator
import os
import platform
import re
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import joblib

from rankpursuit.experiments.export import provenance
from rankpursuit.writing import write_atomically

_COMPARE = {"at least": operator.ge, "at most": operator.le, "below": operator.lt}


def is_met(goal: str, value: float) -> bool:
    """Return whether a value meets a goal such as "at least 40"."""
    words, limit = goal.rsplit(" ", 1)
    return bool(_COMPARE[words](value, float(limit)))


def exit_if_missed(missed: Iterable[str]) -> None:
    """End with the status 1 if there is something that missed its goal."""
    missed = list(missed)
    if missed:
        sys.exit("goal missed: " + "; ".join(missed))


def write_section(path: Path, title: str, body: str) -> None:
    """Write a section of the file, in place of its earlier version if there is one.

    Sections that were measured on another machine or with other versions are dropped.
    """
    head = f"# Benchmarks\n{environment()}.\n"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    kept = re.split(r"^## ", text, flags=re.MULTILINE)[1:] if text.startswith(head) else []
    sections = {section.partition("\n")[0]: section.partition("\n")[2] for section in kept}
    sections[title] = f"`{_command()}`, {date.today()}.\n\n{body}\n"
    parts = [f"## {name}\n{text.rstrip()}\n" for name, text in sections.items()]
    write_atomically(path, "\n".join([head, *parts]).encode())


def environment() -> str:
    """Return the machine and the versions in one line."""
    origin = provenance()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {"rankpursuit": origin["rankpursuit"], "Python": origin["python"]}
    versions |= origin["packages"]
    return (
        f"{_processor()}, {joblib.cpu_count()} cores, {gigabytes:.0f} GB, {platform.system()}; "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
    )


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    text = information.read_text(encoding="utf-8") if information.exists() else ""
    found = re.search(r"^model name\s*: (.+)$", text, flags=re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def _command() -> str:
    """Return the command that runs, without the folders of this machine."""
    words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return " ".join(["python", f"scripts/{Path(sys.argv[0]).name}", *words])
