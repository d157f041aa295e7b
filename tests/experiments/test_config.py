import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml

from rankpursuit.errors import ConfigError
from rankpursuit.experiments import config
from rankpursuit.experiments.config import (
    dump_yaml,
    json_schema,
    load_experiment,
    parse_experiment,
    ratings_of,
)
from rankpursuit.experiments.names import SCHEMA, SCHEMA_LINE
from rankpursuit.experiments.protocol import Protocol
from rankpursuit.experiments.registry import METHODS

CONFIGS = Path(__file__).parents[2] / "configs"
EXPERIMENTS = sorted(CONFIGS.glob("*.yaml"))
ALL = [path for path in sorted(CONFIGS.rglob("*.yaml")) if path.parent.name != "expected"]
OF_THE_PAPER = [path for path in EXPERIMENTS if path.stem != "demo"]
SUPERVISED = {
    "rls",
    "kernel_matching_pursuit",
    "rank_svm",
    "rank_rls",
    "sparse_rank_rls",
    "ranking_pursuit",
}
SMALL = {"name": "small", "data": {"name": "jester"}, "algorithms": {"rls": {"lambda": 1}}}


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "config.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("name", "table", "data", "algorithms"),
    [
        ("jester_supervised", 1, "jester", SUPERVISED),
        ("jester_semi_supervised", 2, "jester", SUPERVISED | {"semi_supervised_ranking_pursuit"}),
        ("movielens_supervised", 3, "movielens", SUPERVISED),
        (
            "movielens_semi_supervised",
            4,
            "movielens",
            SUPERVISED | {"semi_supervised_ranking_pursuit"},
        ),
        ("jester_crrp", 5, "jester", SUPERVISED | {"combined_ranking_regression_pursuit"}),
        ("demo", None, "synthetic", set(METHODS) - {"estimator"}),
    ],
)
def test_each_experiment_has_its_table_data_and_algorithms(name, table, data, algorithms):
    experiment = load_experiment(CONFIGS / f"{name}.yaml")
    assert (experiment.name, experiment.table, experiment.data.name) == (name, table, data)
    assert set(experiment.algorithms) == algorithms | {"mean_rating", "linear_rank_rls"}
    half = 0.5 if "semi_supervised_ranking_pursuit" in algorithms else None
    assert experiment.protocol.scored_share == half


@pytest.mark.parametrize("path", OF_THE_PAPER, ids=lambda path: path.stem)
def test_the_paper_s_experiments_have_the_paper_s_protocol(path):
    experiment = load_experiment(path)
    assert experiment.protocol == Protocol(scored_share=experiment.protocol.scored_share)
    assert experiment.kernel.widths == tuple(2.0**exponent for exponent in range(-15, 16))
    assert (experiment.repeats, experiment.kernel.parameter, experiment.ties) == (
        10,
        "sigma",
        "half",
    )
    reported = ("disagreement", "squared_error") if experiment.table == 5 else ("disagreement",)
    assert experiment.metrics == reported


def test_defaults_are_those_of_the_readme():
    experiment = parse_experiment(SMALL)
    readme = (CONFIGS / "README.md").read_text(encoding="utf-8")
    for key in ("ties", "tuning", "offset", "repeats", "seed"):
        value = getattr(experiment, key)
        assert re.search(rf"\| `{key}` \| [^|]* \| `?{value}`? \|", readme), key
    for key in ("train_share", "test_users", "holdout_users", "reference_users", "fill"):
        value = getattr(experiment.protocol, key)
        assert re.search(rf"\| `{key}` \| [^|]* \| `?{value}`? \|", readme), key


def test_sections_merge_and_grids_and_data_replace(write):
    write(
        """
        name: base
        data: {name: synthetic, n_users: 50}
        kernel: {parameter: gamma, widths: {base: 2, from: 0, to: 9}}
        protocol: {test_users: 7, holdout_users: 8}
        algorithms:
          rls: {lambda: [1]}
          rank_svm: {C: {base: 2, from: 0, to: 3, step: 3}, loss: squared_hinge}
        """,
        "base/all.yaml",
    )
    child = write(
        """
        extends: base/all.yaml
        name: child
        data: {name: movielens}
        kernel: {widths: {from: 1, to: 3, step: 1}}
        protocol: {test_users: 9}
        algorithms:
          rls: null
          rank_svm: {C: {base: 3, from: 0, to: 1}}
        """
    )
    experiment = load_experiment(child)
    assert (experiment.name, experiment.data.name) == ("child", "movielens")
    assert (experiment.kernel.parameter, experiment.kernel.widths) == ("gamma", (1, 2, 3))
    assert (experiment.protocol.test_users, experiment.protocol.holdout_users) == (9, 8)
    assert list(experiment.algorithms) == ["rank_svm"]
    assert experiment.algorithms["rank_svm"].C == (1, 3)
    assert experiment.algorithms["rank_svm"].loss == "squared_hinge"


def test_overrides_set_any_key():
    experiment = load_experiment(
        CONFIGS / "demo.yaml",
        [
            "protocol.test_users=5",
            "protocol.scored_share=null",
            "kernel.widths.to=2",
            "algorithms.rank_svm.C=[1, 1e-3]",
            "algorithms.rls=null",
            "algorithms.twice={method: rank_rls, lambda: 1}",
            "seed=7",
            "seed=8",
        ],
    )
    assert (experiment.protocol.test_users, experiment.protocol.scored_share) == (5, None)
    assert experiment.kernel.widths == (0.25, 1, 4)
    assert experiment.algorithms["rank_svm"].C == (0.001, 1)
    assert "rls" not in experiment.algorithms
    assert experiment.algorithms["twice"].method == "rank_rls"
    assert experiment.seed == 8


def test_an_override_of_one_grid_leaves_those_with_the_same_anchor_alone(write):
    path = write(
        """
        name: x
        data: {name: jester}
        algorithms:
          rls: {lambda: &shared {base: 2, from: 0, to: 1}}
          rank_rls: {lambda: *shared}
        """
    )
    experiment = load_experiment(path, ["algorithms.rls.lambda.to=2"])
    assert experiment.algorithms["rls"].lambdas == (1, 2, 4)
    assert experiment.algorithms["rank_rls"].lambdas == (1, 2)


def test_a_path_is_relative_to_the_file_that_it_is_written_in(write, tmp_path, monkeypatch):
    write("user,item,stars\n1,a,2\n1,b,3\n", "tables/mine.csv")
    columns = "user: user, item: item, rating: stars"
    write(f"data: {{name: ratings, path: mine.csv, {columns}}}\n", "tables/data.yaml")
    path = write(
        "extends: tables/data.yaml\nname: mine\nalgorithms: {rls: {lambda: 1}}\n",
    )
    experiment = load_experiment(path)
    assert experiment.data.path == str(tmp_path / "tables" / "mine.csv")
    assert ratings_of(experiment.data).n_ratings == 2
    monkeypatch.chdir(tmp_path)
    overridden = load_experiment(path, ["data.path=other.csv"])
    assert overridden.data.path == str(tmp_path / "other.csv")


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_a_dumped_config_loads_as_the_same_experiment(path, write):
    experiment = load_experiment(path)
    dumped = load_experiment(write(dump_yaml(experiment)))
    assert dumped == experiment
    assert dumped.digest() == experiment.digest()


def test_the_digest_depends_on_what_the_numbers_depend_on():
    digest = parse_experiment(SMALL).digest()
    assert re.fullmatch("[0-9a-f]{64}", digest)
    for same in (
        {"name": "other"},
        {"table": 1},
        {"repeats": 3},
        {"data": {"name": "jester", "path": "/somewhere"}},
        {"algorithms": {"rls": {"method": "rls", "lambda": {"base": 2, "from": 0, "to": 0}}}},
        {"protocol": {"test_users": 300}},
    ):
        assert parse_experiment({**SMALL, **same}).digest() == digest, same
    others = [
        {"seed": 2},
        {"data": {"name": "movielens"}},
        {"ties": "untied"},
        {"tuning": "own"},
        {"offset": "training_mean"},
        {"kernel": {"parameter": "gamma"}},
        {"metrics": ["squared_error"]},
        {"protocol": {"test_users": 301}},
        {"protocol": {"holdout_users": 301}},
        {"protocol": {"holdout_users": 302}},
        {"algorithms": {"rls": {"lambda": 2}}},
        {"algorithms": {"other": {"method": "rls", "lambda": 1}}},
    ]
    digests = {parse_experiment({**SMALL, **other}).digest() for other in others}
    assert len(digests | {digest}) == len(others) + 1


ESTIMATOR = {"method": "estimator", "class": "rankpursuit.RankRLS"}
CODE, WORDS = "\nX = 1\n", '"""Other words."""\n# other words\n'


@pytest.mark.parametrize(
    ("file", "before", "after", "algorithms", "changed"),
    [
        ("metrics.py", "", CODE, {}, True),
        ("solvers/pursuit.py", "", CODE, {}, True),
        ("experiments/methods.py", "", CODE, {}, True),
        ("datasets/ratings.py", "", CODE, {}, True),
        ("new.py", "", CODE, {}, True),
        ("metrics.py", WORDS, "# the end\n", {}, False),
        ("reporting/tables.py", "", CODE, {}, False),
        ("cli/run.py", "", CODE, {}, False),
        ("__init__.py", "", CODE, {}, False),
        ("estimators/pursuit.py", "", CODE, {}, False),
        ("estimators/pursuit.py", "", CODE, {"ranker": ESTIMATOR}, True),
    ],
)
def test_the_code_of_an_experiment_is_what_its_numbers_depend_on(
    file, before, after, algorithms, changed, tmp_path, monkeypatch
):
    package = Path(config.__file__).parents[1]
    copied = tmp_path / "rankpursuit"
    shutil.copytree(package, copied, ignore=lambda *_: ["__pycache__"])
    monkeypatch.setattr(config, "__file__", str(copied / "experiments" / "config.py"))
    experiment = parse_experiment(SMALL | {"algorithms": SMALL["algorithms"] | algorithms})
    codes = []
    for prefix, suffix in (("", ""), (before, after)):
        text = (copied / file).read_text("utf-8") if (copied / file).exists() else ""
        (copied / file).write_text(prefix + text + suffix, "utf-8")
        config.package_code.cache_clear()
        codes.append(set(experiment.code().splitlines()))
    config.package_code.cache_clear()
    files = {line.split()[0] for line in codes[0] ^ codes[1]}
    assert files == ({f"rankpursuit/{file}"} if changed else set())


def _keys(schema: dict) -> set[str]:
    keys = set(schema.get("properties", {}))
    for value in schema.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                keys |= _keys(part)
    return keys


def test_every_key_of_the_schema_is_in_the_readme():
    keys = _keys(json_schema())
    assert {"extends", "lambda", "groups", "n_tastes", "step", "views"} <= keys
    readme = (CONFIGS / "README.md").read_text(encoding="utf-8")
    assert [key for key in sorted(keys) if f"`{key}`" not in readme] == []


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_the_schema_accepts_every_config(path):
    jsonschema.Draft202012Validator.check_schema(json_schema())
    validator = jsonschema.Draft202012Validator(json_schema())
    validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_the_first_line_of_a_config_names_its_schema(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    named = path.parent / first.removeprefix(SCHEMA_LINE)
    assert first.startswith(SCHEMA_LINE)
    assert named.resolve() == CONFIGS / SCHEMA


def test_the_schema_beside_the_configs_is_up_to_date():
    kept = json.loads((CONFIGS / SCHEMA).read_text(encoding="utf-8"))
    assert kept == json_schema(), "run rp-run --schema > configs/schema.json"


def test_the_schema_defines_each_kind_of_grid_once_and_refers_to_it():
    schema = json_schema()
    text = json.dumps(schema)
    for name in ("PositiveGrid", "WeightGrid", "FractionGrid", "BasisGrid"):
        assert schema["$defs"][name]["anyOf"][-1] == {"$ref": "#/$defs/Steps"}
        assert f'"$ref": "#/$defs/{name}"' in text
    assert text.count('"from": {') == 1


def test_a_config_of_more_than_a_megabyte_is_refused(tmp_path):
    (tmp_path / "large.yaml").write_text("name: small\n#" + "x" * 1_000_000)
    with pytest.raises(ConfigError, match="too large for a config: more than 1 MB"):
        load_experiment(tmp_path / "large.yaml")


def test_the_schema_accepts_resolved_configs():
    for path in EXPERIMENTS:
        resolved = load_experiment(path).resolved()
        jsonschema.Draft202012Validator(json_schema()).validate(resolved)


def test_a_chain_of_files_is_followed_and_a_base_may_be_used_twice(write):
    write("repeats: 3\nalgorithms: {rls: {lambda: 1}}\n", "a/one.yaml")
    write("extends: one.yaml\ndata: {name: jester}\nrepeats: 4\n", "a/two.yaml")
    experiment = load_experiment(write("extends: a/two.yaml\nname: three\n"))
    assert (experiment.name, experiment.repeats, experiment.data.name) == ("three", 4, "jester")
