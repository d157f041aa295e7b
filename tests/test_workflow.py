"""The hosted checks call make targets that exist, for every Python that the package supports."""

import re
import tomllib
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


def test_the_conda_recipe_needs_what_the_package_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "conda/meta.yaml").read_text(encoding="utf-8")
    recipe = yaml.safe_load(re.sub(r"{%.*?%}", "", text).replace("{{ version }}", "1.0"))
    needed = [one.replace(" ", "").replace("-base", "") for one in recipe["requirements"]["run"]]
    assert needed == [f"python{project['requires-python']}", *project["dependencies"]]
    commands = [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert recipe["build"]["entry_points"] == commands


def test_a_release_is_published_without_a_stored_token():
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    publish = yaml.safe_load(text)["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in text
    for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        assert {"name", "description", "body"} <= set(yaml.safe_load(path.read_text()))


def test_one_placeholder_is_the_address_of_the_project():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    home = urls["Homepage"]
    assert all(url.startswith(home) for url in urls.values())
    for name in ("CITATION.cff", "SECURITY.md", "conda/meta.yaml"):
        assert home in (ROOT / name).read_text(encoding="utf-8")
