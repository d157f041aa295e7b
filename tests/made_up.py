"""Made-up results of a run, written as files like those of ``rp-run``."""

import hashlib
import itertools
import json

import yaml

from rankpursuit.experiments.registry import METHODS
from rankpursuit.experiments.store import write_csv
from rankpursuit.reporting.claims import published_tables

GROUPS = ("20-40", "40-60", "60-80")
SPARSE = {"kernel_matching_pursuit", "sparse_rank_rls", "ranking_pursuit"}


def write_results(
    folder,
    *,
    table=1,
    errors=None,
    repeats=10,
    declared=10,
    n_users=300,
    noise=1e-5,
    basis=None,
    leave_out=lambda row: False,
    data="jester",
    baselines=None,
    config=None,
):
    """Write the files of a run whose errors are known.

    Without more, means are the published ones. Every repeat moves all algorithms alike, and each
    algorithm by itself by `noise`, up and down in turn: over an even number of repeats the means
    are as given.

    errors: {(metric, label, group) or label: mean}, in place of the published ones.
    basis: {label: number of basis functions}, of 40 points; 20 for sparse methods.
    data: the name of the data set, which is not read.
    leave_out: of rows of repeats.csv, those that are not there yet.
    baselines: {label: mean error} of baselines to add.
    config: the resolved config of an experiment, in place of a small one.
    """
    cells = published_tables()[table or 1].cells
    labels = [*next(iter(cells.values())), *(baselines or {})]
    errors, basis = (baselines or {}) | (errors or {}), basis or {}
    if config is None:
        algorithms = {label: _options(label) for label in labels}
        config = config_of(folder.name, table, data, cells, declared, algorithms)
        config["protocol"]["test_users"] = n_users
    rows, users = [], []
    for group, repeat, (at, label), metric in itertools.product(
        GROUPS, range(1, repeats + 1), enumerate(labels), cells
    ):
        published = cells[metric].get(label, {}).get(group)
        mean = errors.get((metric, label, group), errors.get(label, published))
        turn = repeat // 2 if at % 2 else repeat
        error = mean + 0.002 * (-1) ** repeat + noise * (at + 1) * (-1) ** turn
        key = {"group": group, "repeat": repeat, "algorithm": label}
        row = key | _row(label, metric, repeat, error, basis.get(label)) | {"n_users": n_users}
        if not leave_out(row):
            rows.append(row)
            users += [
                key | {"metric": metric, "user": user, "error": error + shift}
                for user, shift in enumerate((-0.003, 0.0, 0.003))
            ]
    keys = [{key: row[key] for key in ("group", "repeat", "algorithm", "metric")} for row in rows]
    point = {"axis": "width", "value": 1, "holdout_error": 0.4}
    curves = [key | point for key in keys]
    return write_files(folder, config, rows, users, curves, {"commit": "made up"})


def config_of(name, table, data, metrics, repeats, algorithms):
    """Return the resolved config of a small experiment."""
    groups = [[20, 40], [40, 60], [60, 80]]
    return {
        "name": name,
        "table": table,
        "data": {"name": data} | ({"path": "mine.csv"} if data == "ratings" else {}),
        "protocol": {"groups": groups, "test_users": 300, "fill": "median"},
        "kernel": {"parameter": "sigma", "widths": [1.0, 2.0]},
        "ties": "half",
        "tuning": "reported",
        "metrics": list(metrics),
        "offset": "raw",
        "repeats": repeats,
        "seed": 1,
        "algorithms": algorithms,
    }


def write_files(folder, config, rows, users, curves, provenance):
    """Write the files of a run, and their checksums into the provenance, as a run does."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    tables = {"repeats.csv": rows, "users.csv.gz": users, "curves.csv": curves}
    for name, content in tables.items():
        write_csv(folder / name, content)
    return seal(folder, provenance)


def seal(folder, provenance=None):
    """Write the checksums of the files into the provenance, as a run does."""
    path = folder / "provenance.json"
    provenance = json.loads(path.read_text()) if provenance is None else provenance
    provenance["files"] = {
        file.name: {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        for file in sorted(folder.iterdir())
        if file.is_file() and file != path
    }
    path.write_text(json.dumps(provenance))
    return folder


def _row(label, metric, repeat, error, n_basis):
    n_basis = n_basis if n_basis is not None else 20 if label in SPARSE else 40
    return {
        "method": label,
        "metric": metric,
        "test_error": error,
        "holdout_error": error,
        "width": 64.0 if repeat % 2 else 128.0,
        "lambda": 0.3 if label.endswith("rls") else "",
        "n_basis": 0.5 if label in SPARSE else "",
        "on_edge": "width" if repeat == 1 else "",
        "basis_functions": n_basis,
        "basis_share": n_basis / 40,
    }


def _options(label):
    grids = {axis.column: [0.25, 0.5] for axis in METHODS[label].axes}
    options = {"method": label} | grids
    return options | ({"loss": "squared_hinge"} if label == "rank_svm" else {})
