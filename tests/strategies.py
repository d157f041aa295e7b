"""Hypothesis strategies for hostile input: configs, command lines, files, stores and fits."""

import gzip
import inspect
import io
import json
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from hypothesis import strategies as st
from sklearn.model_selection import KFold

import rankpursuit

TEXTS = (
    "", " ", "a\nb", "\t", "\x1b[31m\u202ered", "\x07\u2066", "../../x", "~nouser/x.csv",
    "~", ".", "..", "x" * 300, "x" * 20_000, "d/" * 3000, "=cmd|' /C calc'!A0", r"\input{x}",
    "<script>", "{0.__class__}", "%s%n", "-1+1", "1:30", "010", "0x1F", "1_0", "yes", "null",
    "1e5", ".inf", "nan", "١٢٣", "é🙂", "'", '"', "[", "&a [*a]", "!!int x", "rls", "rlss",
    "synthetic", "jester", "points", "tiny.yaml", "mine.csv", "results",
)  # fmt: skip
CELLS = ("", "nan", "inf", "inf", "-1", "0", "1", "0.5", "1e999", "abc", "1,5", '"', "1_0", "\0")
SPLINTERS = (b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b'"', b"\t", b"&a ", b"*a", b": ", b"9")
EXTREMES = (1e-30, 1e-6, 0.01, 0.5, 3.0, 1e6, 1e30)

texts = st.sampled_from(TEXTS)
rarely = st.sampled_from([False] * 9 + [True])
few = st.sampled_from([0, 1, 1, 1, 2])
keys = st.sampled_from(("base", "from", "to", "step", "name", "method", "path", "x"))
values = st.recursive(
    texts | st.floats() | st.integers() | st.integers(0, 40) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


def _grid(options: Any, most: int = 2) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(options), min_size=1, max_size=most, unique=True).map(sorted)


def _choice(*options: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(options)


_SMALL = Path(__file__).with_name("small.yaml").read_bytes()
TINY: dict[str, Any] = yaml.safe_load(_SMALL) | {"name": "tiny", "repeats": 1}
TINY["kernel"]["widths"] = [1, 16]
TINY["protocol"] |= {"groups": [[15, 30]], "test_users": 2, "holdout_users": 2}
for _label in ("kernel_matching_pursuit", "rank_rls", "sparse_rank_rls", "ranking_pursuit_backfit"):
    del TINY["algorithms"][_label]
_SEMI = "algorithms.semi_supervised_ranking_pursuit"
OPTIONS = {
    "tuning": _choice("reported", "own"),
    "metrics": _grid(("disagreement", "squared_error", "ndcg"), 3),
    "data.seed": st.integers(0, 5),
    "data.noise": _choice(0, 1e-300, 1.6, 1e6),
    "kernel.widths": _grid(EXTREMES, 3),
    "protocol.groups": _choice([[1, 30]], [[15, 15]], [[20, 60]], [[30, 15]]),
    "protocol.test_user_bounds": _choice([4, 60], [16, 30], [20, 20], [30, 4]),
    "protocol.reference_users": st.integers(1, 8),
    "protocol.train_share": st.floats(0.2, 0.9),
    "protocol.scored_share": _choice(None, 0.2, 0.5, 0.99),
    "algorithms.rls.lambda": _grid(EXTREMES),
    "algorithms.rank_svm.C": _grid(EXTREMES[1:6]),
    "algorithms.ranking_pursuit.n_basis": _grid((1, 2, 3, 50)),
    "algorithms.ranking_pursuit.fitting": _choice("basic", "backfit", "prefit"),
    "algorithms.ranking_pursuit.ridge": _choice(0, 1, 1e-30, 1e30),
    f"{_SEMI}.n_basis": _choice([0.5, 1.0], [1, 3], [1e-9]),
    f"{_SEMI}.nu": _grid((0, *EXTREMES)),
    f"{_SEMI}.views": _choice("points", "loss", "features"),
    f"{_SEMI}.n_views": st.integers(1, 4),
    "algorithms.combined_ranking_regression_pursuit.beta": _choice([0, 1], 1e-30, 0.5),
}
"""Values that are valid by themselves, though not always with the others."""
overrides = st.fixed_dictionaries({}, optional=OPTIONS).map(
    lambda options: [f"{key}={json.dumps(value)}" for key, value in options.items()]
)
hostile_override = st.builds(
    "{}={}".format, st.sampled_from((*OPTIONS, "repeats", "name", "extends", "x.y")) | texts, texts
)


def _places(config: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a nested config."""
    keys = list(config) if isinstance(config, dict) else range(len(config))
    inner = [config[key] for key in keys if isinstance(config[key], dict | list)]
    return [(config, key) for key in keys] + [place for part in inner for place in _places(part)]


@st.composite
def changed(draw: st.DrawFn, config: Any) -> Any:
    """Replace, remove or add values of a nested config."""
    config = deepcopy(config)
    for _ in range(draw(few)):
        container, key = draw(st.sampled_from(_places(config)))
        match draw(_choice("replace", "replace", "remove", "add")):
            case "remove":
                del container[key]
            case "add" if isinstance(container, dict):
                container[draw(texts)] = draw(values)
            case _:
                container[key] = draw(values)
    return config


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Change a byte, or replace, remove, double or insert some; seldom in runs of zeros."""
    result = bytearray(content)
    used = [at for at, byte in enumerate(content) if byte] or [0]
    for _ in range(draw(few)):
        at = draw(st.sampled_from(used))
        end = draw(_choice(at, at + 1, at + 8, at + 64, len(result)))
        others = _choice(*SPLINTERS, bytes(result[at:end] * 2))
        change = st.integers(1, 255).map(lambda mask, at=at: bytes([content[at] ^ mask]))
        end, new = draw(st.tuples(st.just(at + 1), change) | st.tuples(st.just(end), others))
        result[at:end] = new
    return bytes(result)


@st.composite
def config_files(draw: st.DrawFn) -> bytes:
    """Write a config with changed values, as YAML or JSON, or one with damaged bytes."""
    if draw(st.booleans()):
        return draw(_choice(json.dumps, yaml.safe_dump))(draw(changed(TINY))).encode()
    return draw(damaged(_SMALL))


@st.composite
def commands(draw: st.DrawFn) -> list[str]:
    """Return a command and its arguments; tiny.yaml, mine.csv and results/ exist."""

    def some(*good: str) -> str:
        return draw(texts if draw(rarely) else _choice(*good))

    def maybe(*words: str) -> list[str]:
        return list(words) if draw(st.booleans()) else []

    match draw(_choice("run", "run", "run", "describe", "init", "tables", "check")):
        case "run":
            words = ["run", some("tiny.yaml"), "--output", some("out"), "-q", "-j", some("1")]
            words += maybe("--set", draw(hostile_override)) + maybe(some("--quick", "--fresh"))
            words += maybe("--only", some("rls")) + maybe("--groups", some("15-30"))
            return words + maybe("--repeats", some("1", "0", "9" * 12)) + maybe("--dry-run")
        case "describe":
            column = draw(_choice("--user", "--item", "--rating", "--separator"))
            return ["data", "describe", some("mine.csv", "results"), *maybe(column, some("user"))]
        case "init":
            return ["init", some("mine", "tiny"), some("mine.csv", "tiny.yaml", "results")]
        case "tables":
            words = ["tables", some("results", "results/tiny"), *maybe("--control", some("rls"))]
            return [*words, "--output", some("new"), *maybe("--format", some("md", "tex"))]
        case _:
            return [draw(_choice("check", "report")), draw(texts)]


RATINGS = [["user", "item", "rating"]]
RATINGS += [[f"u{i // 5}", f"i{i % 5}", str(i % 4)] for i in range(40)]
DAT = "".join(f"{i // 5 + 1}::{i % 5 + 1}::{i % 5 + 1}::9\n" for i in range(40))
LETOR = "".join(f"{i % 3} qid:{i // 5} 1:{i / 7:.3f} 2:{i % 4} # doc {i}\n" for i in range(40))


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, str, bytes]:
    """Return the kind of a table, its file name and content: ratings, MovieLens, LETOR."""
    kind = draw(_choice("ratings", "ratings", "movielens", "letor"))
    content, name = LETOR.encode(), "letor.txt"
    if kind == "movielens":
        content, name = DAT.encode(), draw(_choice("ratings.dat", "ml-1m.zip"))
    elif kind == "ratings":
        mark, name = draw(_choice((",", "a.csv"), ("\t", "a.tsv"), (";", "a.csv"), (",", "a.tsv")))
        rows = [list(row) for row in RATINGS]
        for _ in range(draw(few)):
            draw(st.sampled_from(rows))[draw(st.integers(0, 2))] = draw(st.sampled_from(CELLS))
        content = draw(_choice("\n", "\r\n", "\r")).join(map(mark.join, rows)).encode()
    content = draw(damaged(content)) if draw(st.booleans()) else content
    if name.endswith(".zip"):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            member = zipfile.ZipInfo("ml-1m/ratings.dat")  # with a fixed date, unlike a name
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
        content = draw(damaged(packed.getvalue()))
    return kind, name, content


@st.composite
def damaged_files(draw: st.DrawFn, files: dict[str, bytes]) -> dict[str, bytes | None]:
    """Return one or two files of a finished run that are damaged, or None if missing."""
    found: dict[str, bytes | None] = {}
    for name in draw(st.lists(st.sampled_from(sorted(files)), min_size=1, max_size=2, unique=True)):
        content, packed = files[name], name.endswith(".gz")
        match draw(_choice("bytes", "text", "text", "text", "missing")):
            case "missing":
                found[name] = None
            case "text" if ".csv" in name:
                lines = (gzip.decompress(content) if packed else content).decode().split("\n")
                at = draw(st.integers(0, len(lines) - 2))
                cells = lines[at].split(",")
                cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(CELLS))
                lines[at : at + 1] = draw(_choice([",".join(cells)], [], [lines[at]] * 2))
                content = "\n".join(lines).encode()
                found[name] = gzip.compress(content, mtime=0) if packed else content
            case "text" if name in ("config.yaml", "provenance.json"):
                found[name] = json.dumps(draw(changed(yaml.safe_load(content)))).encode()
            case _:
                found[name] = draw(damaged(content))
    return found


_public = [getattr(rankpursuit, name) for name in sorted(rankpursuit.__all__)]
ESTIMATORS = [cls for cls in _public if inspect.isclass(cls) and hasattr(cls, "predict")]
ESTIMATORS.remove(rankpursuit.PathCV)  # RankingPursuitCV is one
MAGNITUDES = (*[1.0] * 9, 1e-300, 1e-100, 1e-8, 1e8, 1e100, 1e290)
_positive = st.floats(0.1, 3.0) | st.sampled_from(MAGNITUDES)
_several = st.lists(_positive, min_size=1, max_size=3)
PARAMETERS = {
    **dict.fromkeys(("alpha", "C"), _positive),
    **dict.fromkeys(("nu", "ridge"), st.just(0.0) | _positive),
    **dict.fromkeys(("alphas", "ridges", "nus"), _several),
    **dict.fromkeys(("repeat", "shared_basis", "scale"), st.booleans()),
    "kernel": _choice("rbf", "linear", "poly", "sigmoid", "cosine", "chi2", "precomputed"),
    "gamma": _choice(None, "scale") | _positive,
    "gammas": st.none() | _several,
    "degree": _choice(1, 2, 3, 50),
    "coef0": _choice(0.0, 1.0, -2.0) | _positive,
    "group_weight": _choice("pairs", "equal", {0: 1.0, 1: 1e-3, 2: 5.0}, {0: "heavy"}),
    "beta": _choice(0, 1, 0.5, 1e-300),
    "loss": _choice("hinge", "squared_hinge"),
    "n_basis": _choice(1, 3, 7, 100, np.int8(5), 0.5),
    "fitting": _choice("basic", "backfit", "prefit"),
    "n_candidates": _choice(None, 1, 2, 5, 1000),
    "n_views": st.integers(1, 4) | st.just(1000),
    "views": _choice("points", "loss", "features", ["rbf", "linear"], ["rbf", "poly", "cosine"]),
    "cv": _choice(2, 3, 40, KFold(2), "x"),
    "scoring": _choice("pairwise_accuracy", "ndcg@3", "map", "kendall", "r2", "x"),
}
_arrays = _choice(
    *[lambda rng, shape: rng.normal(size=shape)] * 4,
    lambda rng, shape: rng.integers(0, 3, shape).astype(float),
    lambda rng, shape: np.full(shape, 0.5),
    lambda rng, shape: 1e8 + rng.normal(size=shape),
)


@st.composite
def fits(draw: st.DrawFn) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return an estimator and what its `fit` gets: points, scores and other arguments."""
    cls = draw(st.sampled_from(ESTIMATORS))
    known = sorted(PARAMETERS.keys() & inspect.signature(cls).parameters)
    names = draw(st.lists(st.sampled_from(known), max_size=6, unique=True))
    chosen = {name: draw(PARAMETERS[name]) for name in names}
    if names and draw(rarely):
        chosen[names[0]] = draw(_choice(None, -1, 0, np.nan, np.inf, "x", 10**400, True, [], {}))
    n = draw(_choice(30, 20, 15, 12, 8, 3, 2))
    shape = (n, n if chosen.get("kernel") == "precomputed" else draw(st.integers(1, 4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X, y = draw(_arrays)(rng, shape), draw(_arrays)(rng, shape[:1])
    X = X @ X.T if chosen.get("kernel") == "precomputed" and not draw(rarely) else X
    X, y = X * draw(st.sampled_from(MAGNITUDES)), y * draw(st.sampled_from(MAGNITUDES))
    if draw(rarely):
        draw(_choice(X, y)).flat[draw(st.integers(0, n - 1))] = draw(_choice(np.nan, np.inf))
    groups = rng.integers(0, 3, n)
    arguments: dict[str, Any] = {}
    if draw(st.booleans()):
        arguments["groups"] = draw(_choice(groups, groups, groups.astype(str), list(groups)))
    elif draw(rarely) and "pairs" in inspect.signature(cls.fit).parameters:
        arguments["pairs"], y = rng.integers(0, n, (n, 2)), None
    if draw(rarely):
        arguments["groups"] = draw(_choice(groups[1:], "one", np.where(groups, groups, np.nan)))
    if y is not None and draw(rarely):
        y = draw(_choice(y[1:], y.astype(str), np.column_stack([y, y]), None))
    return (
        cls(**chosen),
        draw(_choice(np.asarray, np.ndarray.tolist, pd.DataFrame))(X),
        y,
        arguments,
    )
