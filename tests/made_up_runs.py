"""Made-up results of runs with users and curves, for the figures and the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from made_up import seal

ALGORITHMS = {
    "rls": {"method": "rls", "lambda": [0.5, 1.0]},
    "rank_rls": {"method": "rank_rls", "lambda": [0.5, 1.0]},
    "ranking_pursuit": {"method": "ranking_pursuit", "n_basis": [0.25, 0.5, 1.0]},
    "own_pursuit": {"method": "ranking_pursuit", "n_basis": [0.25, 0.5, 1.0], "ridge": 0.1},
}
WIDTHS = [0.5, 1.0, 2.0, 4.0]


def write_run(
    folder: Path,
    *,
    name: str = "made_up",
    table: int | None = None,
    repeats: int = 3,
    declared_repeats: int = 3,
    users: int = 4,
    metrics: tuple[str, ...] = ("disagreement",),
    algorithms: dict[str, dict[str, object]] = ALGORITHMS,
    leave_out: tuple[tuple[str, str], ...] = (),
    data: str = "jester",
) -> Path:
    """Write a folder of results; `leave_out` are pairs of algorithm and group that are missing."""
    rng = np.random.default_rng(0)
    groups = {"20-40": [20, 40], "60-80": [60, 80]}
    rows: dict[str, list[dict[str, object]]] = {"repeats": [], "users": [], "curves": []}
    for group in groups:
        for repeat in range(1, repeats + 1):
            for place, (label, spec) in enumerate(algorithms.items()):
                for metric in metrics:
                    if (label, group) not in leave_out:
                        key = {"group": group, "repeat": repeat, "algorithm": label}
                        key["metric"] = metric
                        _add(rows, key, spec, place, users, rng)
    folder = folder / name
    folder.mkdir(parents=True)
    pd.DataFrame(rows["repeats"]).to_csv(folder / "repeats.csv", index=False)
    pd.DataFrame(rows["users"]).to_csv(folder / "users.csv.gz", index=False)
    pd.DataFrame(rows["curves"]).to_csv(folder / "curves.csv", index=False)
    config = {
        "name": name,
        "table": table,
        "data": {"name": data} | ({"path": "mine.csv"} if data == "ratings" else {}),
        "protocol": {"groups": list(groups.values()), "test_users": users, "fill": "median"},
        "kernel": {"parameter": "sigma", "widths": WIDTHS},
        "ties": "half",
        "tuning": "reported",
        "metrics": list(metrics),
        "offset": "raw",
        "repeats": declared_repeats,
        "seed": 1,
        "algorithms": algorithms,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    provenance = {"rankpursuit": "0.1.0", "packages": {"numpy": "2.0"}, "command": "rp-run <x> & y"}
    return seal(folder, provenance)


def _add(
    rows: dict[str, list[dict[str, object]]],
    key: dict[str, object],
    spec: dict[str, object],
    place: int,
    users: int,
    rng: np.random.Generator,
) -> None:
    errors = 0.4 + 0.01 * place + 0.02 * rng.random(users)
    sparse = "n_basis" in spec
    share = 0.5 if sparse else 1.0
    rows["repeats"].append(
        {
            **key,
            "method": spec["method"],
            "test_error": errors.mean(),
            "holdout_error": 0.4,
            "n_users": users,
            "width": 2.0,
            "lambda": None if sparse else 1.0,
            "n_basis": share if sparse else None,
            "on_edge": "" if sparse else "lambda",
            "basis_functions": 20 * share,
            "basis_share": share,
        }
    )
    for user, error in enumerate(errors):
        rows["users"].append({**key, "user": user, "error": error, "n_basis": 20 * share})
    for value in WIDTHS:
        rows["curves"].append({**key, "axis": "width", "value": value, "holdout_error": 0.4})
    for value in spec.get("n_basis", []):  # type: ignore[attr-defined]
        found = {"holdout_error": 0.5 - 0.1 * value, "test_error": 0.5 - 0.05 * value}
        rows["curves"].append({**key, "axis": "n_basis", "value": value, **found})
