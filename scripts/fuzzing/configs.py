"""Hostile configs: real ones with hostile values at any key, spoilt bytes, anchors, `extends`."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from fuzzing.guard import attempt
from fuzzing.words import TEXTS, hostile_value, spoilt
from rankpursuit.errors import ConfigError
from rankpursuit.experiments.config import Experiment, dump_yaml, load_experiment, parse_yaml
from rankpursuit.experiments.evaluate import evaluate_unit
from rankpursuit.experiments.run import Run

ROOT = Path(__file__).parents[2] / "configs"
SMALL: dict[str, Any] = {
    "name": "small",
    "data": {"name": "synthetic", "n_users": 60, "n_items": 30, "seed": 3},
    "protocol": {
        "groups": [[15, 30]],
        "test_user_bounds": [16, 30],
        "reference_users": 6,
        "test_users": 2,
        "holdout_users": 2,
        "scored_share": 0.5,
    },
    "kernel": {"widths": [1, 16]},
    "metrics": ["disagreement", "squared_error"],
    "repeats": 1,
    "algorithms": {
        "rls": {"lambda": [1]},
        "ranking_pursuit": {"n_basis": [0.5, 1.0]},
        "semi_supervised_ranking_pursuit": {"n_basis": [0.5], "nu": [1]},
        "combined_ranking_regression_pursuit": {"n_basis": [1, 2], "beta": [0.5]},
    },
}
SS = "algorithms.semi_supervised_ranking_pursuit"
LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30)
)
MERGED = "a0: &a0 {k: 1}\n" + "".join(
    f"a{i}: &a{i} {{k{i}: 1, <<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 30)
)

OVERRIDES = (
    f"{SS}.n_views=30",
    f"{SS}.n_views=100000",
    f"{SS}={{n_basis: 1, nu: 1, views: features, n_views: 30}}",
    f"{SS}={{n_basis: 1, nu: 1, views: loss, n_views: 4}}",
    "repeats=1:30",
    "repeats=010",
    "repeats=yes",
    "repeats=1000000000000",
    "data.n_users=10000000",
    "data.n_tastes=10000000",
    "data.noise=1e308",
    "repeats=!!bool abc",
    "repeats=!!int ''",
    "repeats=!!float 1:30",
    'data={name: ratings, path: "a\\0b.csv"}',
    'data={name: ratings, path: "a\\uD800b.csv"}',
    "data={name: ratings, path: ~nouser/x.csv}",
    "data={name: ratings, path: loop}",
    "kernel.widths=[1.0e-308, 1.0e+308]",
    "kernel.widths={from: 1, to: 1000, step: 1}",
    "algorithms.ranking_pursuit={n_basis: 1000000000, repeat: true}",
    "algorithms.ranking_pursuit.ridge=1.0e+308",
    "protocol.groups=[[1, 99999999999999999999999]]",
    "protocol.test_users=99999999999999999999",
    "a." * 5000 + "b=1",
    'metrics="\\ud800"',
    '"\\ud800"=1',
)
"""What was found with ``--set``."""
FILES = (
    LAUGHS,
    MERGED,
    LAUGHS + "repeats: *a29\n",
    "[" * 100_000,
    "a: " * 1000,
    "- " * 3000,
    "repeats: [" + "1," * 30_000 + "1]",
    "# " + "x" * 2_000_000,
    "extends: /dev/zero\n",
    "extends: fifo\n",
    "extends: loop\n",
    'extends: "a\\0b"\n',
    'extends: "a\\ud800b"\n',
    "extends: ~nouser/a.yaml\n",
    f"extends: {'x' * 5000}\n",
    "extends: config.yaml\n",
    "extends: .\n",
    '? "\\ud800"\n: 1\n',
    "".join(f"k{i}: 1\n" for i in range(3000)),
)
"""What was found in files."""


def attack(seed: int, folder: Path) -> str | None:
    """Load one hostile config; where it is accepted, run a little of it."""
    rng = random.Random(seed)
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    path = folder / "config.yaml"
    overrides: tuple[str, ...] = ()
    if seed < len(OVERRIDES):
        path.write_text(json.dumps(SMALL))
        overrides = (OVERRIDES[seed],)
    elif seed < len(OVERRIDES) + len(FILES):
        path.write_text(FILES[seed - len(OVERRIDES)])
    else:
        path.write_bytes(rng.choice(MAKERS)(rng))
        overrides = _overrides(rng)
    experiment, wrong = attempt(lambda: load_experiment(path, overrides))
    return wrong or (_use(experiment) if experiment is not None else None)


def _with_hostile_values(rng: random.Random) -> bytes:
    config = deepcopy(rng.choice(_real()))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        places = list(_places(config))
        here, key = rng.choice(places)
        match rng.randrange(8):
            case 0 if isinstance(here, dict):
                here[rng.choice(TEXTS)] = here.pop(key)
            case 1:
                del here[key]
            case 2 if isinstance(here, list):
                here.append(hostile_value(rng))
            case _:
                here[key] = hostile_value(rng)
    return _written(rng, config)


def _with_odd_values(rng: random.Random) -> bytes:
    """Return the small config with values that are allowed, each by itself."""
    config = deepcopy(SMALL)
    algorithms = config["algorithms"]
    extremes = (1e-100, 1e-30, 1e-6, 0.01, 0.5, 3, 1e6, 1e30, 1e100)
    config |= {
        "ties": rng.choice(["half", "all", "untied"]),
        "tuning": rng.choice(["reported", "own"]),
        "offset": rng.choice(["raw", "training_mean"]),
        "seed": rng.randrange(2**32),
        "kernel": {
            "parameter": rng.choice(["sigma", "gamma"]),
            "widths": sorted(rng.sample(extremes, rng.randint(1, 3))),
        },
    }
    config["metrics"] = rng.sample(["disagreement", "squared_error", "ndcg"], rng.randint(1, 3))
    config["data"] |= {
        "seed": rng.randrange(10),
        "scale": rng.choice(["jokes", "stars"]),
        "noise": rng.choice([0, 0.0, 1e-300, 1.6, 1e6]),
        "n_tastes": rng.choice([1, 2, 30]),
    }
    low = rng.randint(4, 20)
    config["protocol"] |= {
        "groups": [sorted([rng.randint(1, 30), rng.randint(15, 40)])],
        "test_user_bounds": [low, rng.randint(low, 40)],
        "reference_users": rng.randint(1, 8),
        "train_share": rng.uniform(0.2, 0.9),
        "scored_share": rng.choice([None, 0.2, 0.5, 0.99]),
        "fill": rng.choice(["median", "mean", "zero"]),
    }
    algorithms["rls"]["lambda"] = sorted(rng.sample(extremes, 2))
    algorithms["rank_rls"] = {"lambda": sorted(rng.sample(extremes, 2))}
    algorithms["rank_svm"] = {
        "C": sorted(rng.sample(extremes[2:7], 2)),
        "loss": rng.choice(["hinge", "squared_hinge"]),
    }
    algorithms["ranking_pursuit"] = {
        "n_basis": sorted(rng.sample([1, 2, 3, 50, 10_000], 2)),
        "fitting": rng.choice(["basic", "backfit", "prefit"]),
        "ridge": rng.choice([0, 1, 1e-100, 1e100]),
    }
    algorithms["semi_supervised_ranking_pursuit"] = {
        "n_basis": rng.choice([[0.5, 1.0], [1, 3], [1e-9]]),
        "nu": sorted(rng.sample([0, *extremes], 2)),
        "fitting": rng.choice(["basic", "backfit"]),
        "agreement": rng.choice(["cumulative", "incremental"]),
        "views": rng.choice(["points", "loss", "features"]),
        "n_views": rng.choice([1, 2, 3, 5, 8]),
    }
    algorithms["combined_ranking_regression_pursuit"]["beta"] = rng.choice([[0, 1], 1e-100, 0.5])
    return _written(rng, config)


def _written(rng: random.Random, config: Any) -> bytes:
    """Write a config as JSON, which YAML contains, or as YAML."""
    if rng.random() < 0.7:
        return json.dumps(config).encode()
    try:
        return yaml.safe_dump(config, allow_unicode=rng.random() < 0.5, sort_keys=False).encode()
    except (UnicodeEncodeError, ValueError):  # half a surrogate pair, a number of many digits
        return json.dumps(config).encode()


def _with_spoilt_bytes(rng: random.Random) -> bytes:
    files = sorted(ROOT.rglob("*.yaml"))
    content = rng.choice([*(file.read_bytes() for file in files), yaml.safe_dump(SMALL).encode()])
    return spoilt(rng, content.replace(b"extends: ", f"extends: {ROOT}/base/../".encode()))


def _with_anchors(rng: random.Random) -> bytes:
    lines = ["a0: &a0 " + rng.choice(["[1]", "{k: 1}", "x"])]
    width = rng.choice([1, 2, 9])
    for at in range(1, rng.choice([3, 10, 60])):
        names = ", ".join(f"*a{rng.randrange(max(0, at - 2), at + 1)}" for _ in range(width))
        form = rng.choice(["[%s]", "{k: [%s]}", "{<<: [%s]}", "{<<: [%s], k: 2}"])
        lines.append(f"a{at}: &a{at} {form % names}")
    return ("\n".join(lines) + "\n" + json.dumps(SMALL)[1:-1].replace(", ", ",\n")).encode()


def _nested(rng: random.Random) -> bytes:
    left, right = rng.choice([("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", ""), ("[[a]: ", "]")])
    depth = rng.choice([10, 48, 49, 50, 51, 52, 1000, 20_000])
    close = right * rng.choice([depth, 0])
    key = rng.choice(["repeats: ", "kernel: ", "algorithms: ", "zzz: ", ""])
    return f"{key}{left * depth}1{close}\n".encode()


def _extending(rng: random.Random) -> bytes:
    base = rng.choice([*TEXTS, "fifo", "loop", "config.yaml", str(ROOT / "base" / "paper.yaml")])
    return _written(rng, {"extends": base} | deepcopy(SMALL))


MAKERS: tuple[Callable[[random.Random], bytes], ...] = (
    _with_hostile_values,
    _with_hostile_values,
    _with_hostile_values,
    _with_hostile_values,
    _with_odd_values,
    _with_odd_values,
    _with_odd_values,
    _with_spoilt_bytes,
    _with_spoilt_bytes,
    _with_anchors,
    _nested,
    _extending,
)


def _overrides(rng: random.Random) -> tuple[str, ...]:
    found = []
    while rng.random() < 0.2:
        key = rng.choice(["repeats", "seed", "protocol.test_users", "kernel.widths.to", "data.path",
                          "algorithms.rls", f"{SS}.n_views", "name", *TEXTS])  # fmt: skip
        value = rng.choice([*TEXTS, json.dumps(hostile_value(rng)), "!!int x", "&a [*a]", "[", "'"])
        found.append(f"{key}={value}")
    return tuple(found)


@lru_cache(maxsize=1)
def _real() -> list[dict[str, Any]]:
    """Return the small config several times, and the real ones with their bases written out."""
    configs = [SMALL] * 12
    for file in sorted(ROOT.rglob("*.yaml")):
        try:
            configs.append(load_experiment(file).resolved())
        except ConfigError:  # a base, which is no experiment by itself
            configs.append(yaml.safe_load(file.read_text()))
    return configs


def _places(value: Any) -> Any:
    """Return every (container, key) of a config."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in list(items):
        yield value, key
        if isinstance(below, dict) or (isinstance(below, list) and below):
            yield from _places(below)


def _use(experiment: Experiment) -> str | None:
    """Write an experiment and read it back; evaluate a few users of a small one."""
    again = parse_yaml(dump_yaml(experiment), "the config as written")
    if again != json.loads(json.dumps(experiment.resolved())):
        return "the config as written is not what was read"
    points = max(
        len(experiment.kernel.widths)
        * math.prod(len(x) for x in spec.model_dump().values() if isinstance(x, tuple))
        for spec in experiment.algorithms.values()
    )
    data = experiment.data
    cells = data.n_users * data.n_items if data.name == "synthetic" else 10**9
    tasks = experiment.repeats * len(experiment.protocol.groups) * experiment.protocol.test_users
    if points > 200 or cells > 10_000 or tasks > 200:
        return None
    run, wrong = attempt(lambda: Run.of(experiment))
    return wrong or (_evaluate(experiment, run) if run is not None else None)


def _evaluate(experiment: Experiment, run: Run) -> str | None:
    unit = run.plan.units[run.plan.cells[0], "holdout"][0]
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        result = evaluate_unit(experiment, unit, run.labels, {})
    for label, reason in result.failures.items():
        return f"{label} failed: {reason}"
    for label, found in result.results.items():
        if not all(np.isfinite(sums).all() for sums in found.sums.values()):
            return f"{label}: errors that are not finite"
    return None
