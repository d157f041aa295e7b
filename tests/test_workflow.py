"""The hosted checks call make targets that exist, for every Python that the package supports."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
JOBS = yaml.safe_load(TEXT)["jobs"]


def test_every_step_is_a_make_target_that_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    steps = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
    called = {step.split()[-1] for step in steps if step.startswith("make PYTHON=python ")}
    assert len(called) == len(steps)
    assert called <= targets
    assert called >= {"lint", "test", "test-all", "wheel", "data", "check", "check-full"}


def test_the_oldest_python_is_the_one_that_the_package_declares():
    (oldest,) = re.findall(r'requires-python = ">=(.*?)"', (ROOT / "pyproject.toml").read_text())
    assert JOBS["test"]["strategy"]["matrix"]["python"][0] == oldest


def test_every_time_that_a_job_waits_for_is_scheduled():
    scheduled = set(re.findall(r'- cron: "(.*?)"', TEXT))
    assert set(re.findall(r"github\.event\.schedule [!=]= '(.*?)'", TEXT)) == scheduled
