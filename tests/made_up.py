"""Made-up results of a run, written as files like those of ``rp-run``."""

import csv
import gzip
import json
import math

import yaml

from rankpursuit.reporting.published import published_tables

GROUPS = ("20-40", "40-60", "60-80")
SUPERVISED = (
    "rls",
    "kernel_matching_pursuit",
    "rank_svm",
    "rank_rls",
    "sparse_rank_rls",
    "ranking_pursuit",
)
SPARSE = {"kernel_matching_pursuit", "sparse_rank_rls"} | {
    f"{start}_pursuit" for start in ("ranking", "semi_supervised_ranking")
}


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
):
    """Write the files of a run whose errors are known.

    Without more, means are the published ones. Every repeat moves all algorithms alike, and each
    algorithm by itself by `noise`, up and down in turn: over an even number of repeats the means
    are as given.

    errors: {(metric, label, group) or label: mean}, in place of the published ones.
    basis: {label: number of basis functions}, of 40 points; 20 for sparse methods.
    leave_out: of rows of repeats.csv, those that are not there yet.
    """
    cells = published_tables()[table or 1].cells
    labels = list(next(iter(cells.values())))
    errors, basis = errors or {}, basis or {}
    config = {
        "name": folder.name,
        "table": table,
        "protocol": {
            "groups": [[20, 40], [40, 60], [60, 80]],
            "test_users": n_users,
            "fill": "median",
        },
        "kernel": {"parameter": "sigma", "widths": [1.0, 2.0]},
        "ties": "all",
        "metrics": list(cells),
        "offset": "raw",
        "repeats": declared,
        "algorithms": {label: _options(label) for label in labels},
    }
    rows, users = [], []
    for group in GROUPS:
        for repeat in range(1, repeats + 1):
            for at, label in enumerate(labels):
                for metric in cells:
                    mean = errors.get(
                        (metric, label, group), errors.get(label, cells[metric][label][group])
                    )
                    shared = 0.002 * math.cos(math.pi * repeat)
                    own = noise * (at + 1) * math.cos(math.pi * (repeat // 2 if at % 2 else repeat))
                    error = mean + shared + own
                    key = dict(group=group, repeat=repeat, algorithm=label)
                    n_basis = basis.get(label, 20 if label in SPARSE else 40)
                    row = key | dict(
                        method=label,
                        metric=metric,
                        test_error=error,
                        holdout_error=error,
                        n_users=n_users,
                        width=64.0 if repeat % 2 else 128.0,
                        **{"lambda": 0.3 if label.endswith("rls") else ""},
                        C="",
                        nu="",
                        beta="",
                        n_basis=0.5 if label in SPARSE else "",
                        on_edge="width" if repeat == 1 else "",
                        basis_functions=n_basis,
                        basis_share=n_basis / 40,
                    )
                    if leave_out(row):
                        continue
                    rows.append(row)
                    users += [
                        key | dict(metric=metric, user=user, error=error + shift)
                        for user, shift in enumerate((-0.003, 0.0, 0.003))
                    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    (folder / "provenance.json").write_text(json.dumps({"commit": "made up"}))
    _write(folder / "repeats.csv", rows)
    _write(folder / "users.csv.gz", users)
    curve = rows[0]["group"], 1, rows[0]["algorithm"], rows[0]["metric"], "width", 1.0, 0.4
    names = ("group", "repeat", "algorithm", "metric", "axis", "value", "holdout_error")
    _write(folder / "curves.csv", [dict(zip(names, curve, strict=True))])
    return folder


def _options(label):
    if label.endswith("pursuit"):
        return {"method": label, "fitting": "basic", "ridge": 0.0}
    return {"method": label} | ({"loss": "squared_hinge"} if label == "rank_svm" else {})


def _write(path, rows):
    opened = gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w")
    with opened as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
