"""Made-up results of runs with users and curves, for the figures and the report."""

import numpy as np
from made_up import config_of, write_files

ALGORITHMS = {
    "rls": {"method": "rls", "lambda": [0.5, 1.0]},
    "rank_rls": {"method": "rank_rls", "lambda": [0.5, 1.0]},
    "ranking_pursuit": {"method": "ranking_pursuit", "n_basis": [0.25, 0.5, 1.0]},
    "own_pursuit": {"method": "ranking_pursuit", "n_basis": [0.25, 0.5, 1.0], "ridge": 0.1},
}
WIDTHS = [0.5, 1.0, 2.0, 4.0]


def write_run(
    folder,
    *,
    name="made_up",
    table=None,
    repeats=3,
    declared_repeats=3,
    users=4,
    metrics=("disagreement",),
    algorithms=ALGORITHMS,
    leave_out=(),
    data="jester",
):
    """Write a folder of results; `leave_out` are pairs of algorithm and group that are missing."""
    rng = np.random.default_rng(0)
    groups = {"20-40": [20, 40], "60-80": [60, 80]}
    rows, errors, curves = [], [], []
    for group in groups:
        for repeat in range(1, repeats + 1):
            for place, (label, spec) in enumerate(algorithms.items()):
                for metric in metrics:
                    if (label, group) in leave_out:
                        continue
                    key = {"group": group, "repeat": repeat, "algorithm": label, "metric": metric}
                    of_users = 0.4 + 0.01 * place + 0.02 * rng.random(users)
                    sparse = "n_basis" in spec
                    share = 0.5 if sparse else 1.0
                    rows.append(
                        key
                        | {"method": spec["method"], "test_error": of_users.mean()}
                        | {"holdout_error": 0.4, "n_users": users, "width": 2.0}
                        | {"lambda": "" if sparse else 1.0, "n_basis": share if sparse else ""}
                        | {"on_edge": "" if sparse else "lambda"}
                        | {"basis_functions": 20 * share, "basis_share": share}
                    )
                    errors += [
                        key | {"user": user, "error": error, "n_basis": 20 * share}
                        for user, error in enumerate(of_users)
                    ]
                    point = {"axis": "width", "holdout_error": 0.4, "test_error": ""}
                    curves += [key | point | {"value": width} for width in WIDTHS]
                    curves += [
                        key
                        | {"axis": "n_basis", "value": size}
                        | {"holdout_error": 0.5 - 0.1 * size, "test_error": 0.5 - 0.05 * size}
                        for size in spec.get("n_basis", [])
                    ]
    config = config_of(name, table, data, metrics, declared_repeats, algorithms)
    config["protocol"] = {"groups": [*groups.values()], "test_users": users, "fill": "median"}
    config["kernel"]["widths"] = WIDTHS
    provenance = {"rankpursuit": "0.1.0", "packages": {"numpy": "2.0"}, "command": "rp-run <x> & y"}
    return write_files(folder / name, config, rows, errors, curves, provenance)
