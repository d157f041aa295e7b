"""Configs that cannot be used: each with the exact line, or lines, that say so."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from rankpursuit.errors import ConfigError
from rankpursuit.experiments.config import json_schema, load_experiment
from rankpursuit.experiments.registry import METHODS as REGISTERED

GOOD = """\
name: good
table: 1
data: {name: synthetic, n_users: 500}
protocol: {test_users: 30, holdout_users: 30, reference_users: 60}
kernel: {parameter: sigma, widths: {base: 2, from: -2, to: 2}}
metrics: [disagreement]
repeats: 2
seed: 1
algorithms:
  rls: {lambda: [1]}
  rank_svm: {C: [1], loss: hinge}
  ranking_pursuit: {n_basis: [0.5], fitting: basic}
  semi_supervised_ranking_pursuit: {n_basis: [5], nu: [1]}
"""
METHODS = ", ".join(REGISTERED)
PLUGIN = " (methods of a plug-in need --plugin)"
SHARES_OR_COUNTS = (
    "expected a list of counts (integers from 1), or of fractions (numbers with a decimal point, "
    "above 0, up to 1.0), not both"
)


def errors_of(path: Path, overrides: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        load_experiment(path, overrides)
    return refused.value.problems


@pytest.fixture
def good(tmp_path) -> Path:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_the_config_that_the_bad_ones_are_made_of_is_good(good):
    load_experiment(good)
    jsonschema.validate(yaml.safe_load(GOOD), json_schema())


# What is set in a good config, and what is said of it after the key. A value that JSON Schema
# cannot tell from a good one (it compares no two numbers) stands in the second list.
BAD_FOR_EDITORS_TOO = [
    ("nme=x", ": unknown key; did you mean name?"),
    ("protcol={}", ": unknown key; did you mean protocol?"),
    (
        "colour=red",
        ": unknown key; choose from name, table, data, protocol, kernel, ties, metrics, "
        "tuning, tuning_on, offset, repeats, seed, algorithms, extends",
    ),
    ("name=two words", ': expected letters, digits, _ and -, got "two words"'),
    ("name=../up", ': expected letters, digits, _ and -, got "../up"'),
    ("name=3", ": expected a valid string, got 3"),
    ("repeats=ten", ': expected a valid integer, got "ten"'),
    ("repeats=true", ": expected a valid integer, got true"),
    ("repeats=0", ": expected greater than or equal to 1, got 0"),
    ("seed=-1", ": expected greater than or equal to 0, got -1"),
    ("ties=some", ': expected half, all or untied, got "some"'),
    ("metrics=[]", ": expected at least one, got []"),
    (
        "metrics=[accuracy]",
        '[0]: unknown metric "accuracy"; choose from disagreement, squared_error, ndcg',
    ),
    ("data={}", ".name: required, but not given"),
    ("data={name: jster}", '.name: unknown name "jster"; did you mean jester?'),
    ("data={name: ratings}", ".path: required, but not given"),
    ("data.n_user=5", ": unknown key; did you mean n_users?"),
    ("data.scale=points", ': expected jokes or stars, got "points"'),
    ("data.noise=-0.5", ": expected greater than or equal to 0, got -0.5"),
    ("protocol.test_user=5", ": unknown key; did you mean test_users?"),
    ("protocol.test_users=0", ": expected greater than or equal to 1, got 0"),
    ("protocol.groups=[]", ": expected at least one, got []"),
    ("protocol.groups=[[20, 40], [60]]", "[1]: expected two integers, 1 <= low <= high, got [60]"),
    ("protocol.train_share=1", ": expected less than 1, got 1"),
    ("protocol.fill=mode", ': expected median, mean or zero, got "mode"'),
    ("kernel.parameter=width", ': expected sigma or gamma, got "width"'),
    ("kernel.widths=[]", ": expected a list of numbers, got []"),
    ("kernel.widths=[1, -2]", ": expected a list of positive numbers, got [1, -2]"),
    ("kernel.widths=[1, 1]", ": expected distinct values, got [1, 1]"),
    ("kernel.widths.too=3", ": unknown key; did you mean to?"),
    ("kernel.widths.step=0", ": expected greater than 0, got 0"),
    ("kernel.widths={from: 1}", ".to: required, but not given"),
    ("algorithms=[rls]", ': expected a mapping with at least one algorithm, got ["rls"]'),
    ("algorithms.rls=1", ": expected a mapping, got 1"),
    ("algorithms.rank_svn={C: [1]}", ": unknown algorithm; did you mean rank_svm?" + PLUGIN),
    ("algorithms.x={n_basis: 3}", f": unknown algorithm; choose from {METHODS}{PLUGIN}"),
    (
        "algorithms.x={method: rank_rsl, lambda: 1}",
        '.method: unknown method "rank_rsl"; did you mean rank_rls?' + PLUGIN,
    ),
    (
        "algorithms.my rls={method: rls, lambda: 1}",
        ': expected letters, digits, _ and -, got "my rls"',
    ),
    ("algorithms.rank_svm.C=[-1]", ": expected a list of positive numbers, got [-1]"),
    ("algorithms.rank_svm.loss=square", ': expected hinge or squared_hinge, got "square"'),
    ("algorithms.rls.lambdas=1", ": unknown key; did you mean lambda?"),
    ("algorithms.rls.C=1", ": unknown key; choose from method, lambda"),
    ("algorithms.ranking_pursuit.n_basis=[0.5, 1.5]", f": {SHARES_OR_COUNTS}, got [0.5, 1.5]"),
    ("algorithms.ranking_pursuit.repeat=1", ": expected a valid boolean, got 1"),
    ("algorithms.ranking_pursuit.ridge=-1", ": expected a list of numbers of at least 0, got -1"),
    (
        "algorithms.semi_supervised_ranking_pursuit.nu=[-1]",
        ": expected a list of numbers of at least 0, got [-1]",
    ),
    (
        "algorithms.semi_supervised_ranking_pursuit.fitting=prefit",
        ': expected basic or backfit, got "prefit"',
    ),
    (
        "algorithms.x={method: combined_ranking_regression_pursuit, n_basis: 3, beta: 2}",
        ".beta: expected a list of numbers from 0 to 1, got 2",
    ),
]
BAD_BY_NUMBERS = [
    ("algorithms={}", ": expected a mapping with at least one algorithm, got {}"),
    ("algorithms.rank_svm={loss: hinge}", ".C: required, but not given"),
    ("repeats=", ": expected a valid integer, got null"),
    (
        "metrics=[disagreement, disagreement]",
        ': expected distinct values, got ["disagreement", "disagreement"]',
    ),
    (
        "protocol.groups=[[20, 40], [60, 40]]",
        "[1]: expected two integers, 1 <= low <= high, got [60, 40]",
    ),
    (
        "protocol.test_user_bounds=[300, 50]",
        ": expected two integers, 1 <= low <= high, got [300, 50]",
    ),
    ("protocol.train_share=.nan", ": expected a finite number, got NaN"),
    (
        "algorithms.ranking_pursuit={n_basis: 3, fitting: backfit, repeat: true}",
        ".repeat: expected false with backfit fitting, got true",
    ),
    ("algorithms.ranking_pursuit.n_basis=[0.5, 1]", f": {SHARES_OR_COUNTS}, got [0.5, 1]"),
    ("algorithms.rank_svn=null", ": no such algorithm to drop; did you mean rank_svm?"),
    ("repeats", ": expected key=value, such as protocol.test_users=50"),
    ("seed.low=3", ": no such key: seed is 1, not a mapping"),
]
BAD = [
    (override, override.partition("=")[0] + said)
    for override, said in BAD_FOR_EDITORS_TOO + BAD_BY_NUMBERS
]
BAD += [
    (
        "algorithms.rls.method=rank_rls",
        "algorithms.rls: rls is a method: use another label for rank_rls",
    ),
    (
        "protocol.test_user_bounds=[3, 300]",
        "protocol: a user with 3 ratings would have 1 scored training items and 2 test items, and "
        "each must be at least 2: change train_share, scored_share or the lower bound of "
        "test_user_bounds",
    ),
    ("kernel.widths.from=5", "kernel.widths: expected from <= to, got from 5 to 2"),
    ("a..b=3", "a..b=3: expected key=value, such as protocol.test_users=50"),
    ("extends=a.yaml", "extends=a.yaml: extends is allowed in a file only"),
    (
        "seed=!!python/object/apply:os.system [true]",
        "seed=!!python/object/apply:os.system [true], line 1: could not "
        "determine a constructor for the tag 'tag:yaml.org,2002:python/object/apply:os.system'",
    ),
]


@pytest.mark.parametrize(("override", "error"), BAD, ids=[override for override, _ in BAD])
def test_a_bad_value_is_refused_with_its_key(good, override, error):
    assert errors_of(good, (override,)) == [error]


@pytest.mark.parametrize(
    "override", [override for override, _ in BAD_FOR_EDITORS_TOO], ids=lambda text: text
)
def test_the_schema_refuses_it_too(good, override):
    key, _, value = override.partition("=")
    config = yaml.safe_load(GOOD)
    *sections, last = key.split(".")
    here = config
    for section in sections:
        here = here[section]
    here[last] = yaml.safe_load(value)
    assert not jsonschema.Draft202012Validator(json_schema()).is_valid(config)


def test_all_errors_are_told_at_once(good):
    overrides = ["repeats=0", "protocol.test_user=5", "algorithms.rls.lambda=[-1]", "data.noise=a"]
    assert errors_of(good, (*overrides, "algorithms.rank_svm.loss=cubic")) == [
        'data.noise: expected a valid number, got "a"',
        "protocol.test_user: unknown key; did you mean test_users?",
        "repeats: expected greater than or equal to 1, got 0",
        "algorithms.rls.lambda: expected a list of positive numbers, got [-1]",
        'algorithms.rank_svm.loss: expected hinge or squared_hinge, got "cubic"',
    ]


def test_all_errors_of_a_grid_are_told_at_once(good):
    assert errors_of(good, ("kernel.widths={base: two, form: 1, to: 3}",)) == [
        "kernel.widths.from: required, but not given",
        'kernel.widths.base: expected a number, got "two"',
        "kernel.widths.form: unknown key; did you mean from?",
    ]


def test_what_is_missing_is_told(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("seed: 1\n", encoding="utf-8")
    assert errors_of(path) == [
        f"{key}: required, but not given" for key in ("name", "data", "algorithms")
    ]


FILES = [
    ("", "{file}: expected a mapping of keys, got null"),
    (
        "just text\n",
        '{file}: expected a mapping of keys, got "just text"; for a file of ratings: '
        "rp-init NAME {file}",
    ),
    ("name: x\nseed: [1, 2\n", "{file}, line 3: expected ',' or ']', but got '<stream end>'"),
    ("name: x\n\tseed: 1\n", "{file}, line 2: found character '\\t' that cannot start any token"),
    ("name: x\nname: y\n", "{file}, line 2: the key name is also on line 1"),
    ("name: *nobody\n", "{file}, line 1: found undefined alias 'nobody'"),
    ("? [a]\n: b\n", "{file}, line 1: found unhashable key"),
    ("name: x\n---\nname: y\n", "{file}, line 2: but found another document"),
    (
        "name: !!python/object/apply:os.system ['touch ran']\n",
        "{file}, line 1: could not determine a constructor for the tag "
        "'tag:yaml.org,2002:python/object/apply:os.system'",
    ),
    ("extends: [a, b]\n", 'extends: expected a name or the path of a file, got ["a", "b"]'),
    (
        "extends: nowhere.yaml\n",
        "{folder}/nowhere.yaml: no such file; `rp-run --list` lists those that come with "
        "rankpursuit",
    ),
    (
        "extends: base/paper.yaml\n",
        "{folder}/base/paper.yaml: no such file; did you mean paper, which comes with rankpursuit?",
    ),
    ("extends: confg.yaml\n", "{folder}/confg.yaml: no such file; did you mean {file}?"),
    ("extends: .\n", "{folder}: cannot be read: Is a directory"),
    ("seed: !!int x\n", "{file}: invalid literal for int() with base 10: 'x'"),
    ('extends: "a\\uD800b"\n', 'extends: expected a name or the path of a file, got "a\\ud800b"'),
]


@pytest.mark.parametrize(("text", "error"), FILES, ids=[repr(text) for text, _ in FILES])
def test_a_file_that_cannot_be_read_is_refused_with_its_line(tmp_path, monkeypatch, text, error):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    assert errors_of(path) == [error.format(file=path, folder=tmp_path)]
    assert list(tmp_path.iterdir()) == [path]  # nothing ran


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"name: \xff\xfe\n")
    assert errors_of(path) == [f"{path}: not a text file in UTF-8"]


def test_a_file_nested_too_deeply_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("name: " + "[" * 5000 + "]" * 5000, encoding="utf-8")
    [error] = errors_of(path)
    assert error.startswith(f"{path}: maximum recursion depth exceeded")


def test_files_that_extend_each_other_are_refused(tmp_path):
    for name, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.yaml").write_text(f"extends: {other}.yaml\n", encoding="utf-8")
    assert errors_of(tmp_path / "a.yaml") == [
        f"{tmp_path}/c.yaml: circular extends: a.yaml -> b.yaml -> c.yaml -> a.yaml"
    ]


def test_an_algorithm_without_options_that_is_not_inherited_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(GOOD + "  rank_rls:\n", encoding="utf-8")
    assert errors_of(path) == ["algorithms.rank_rls: expected a mapping, got null"]


def test_a_long_value_is_cut(good):
    [error] = errors_of(good, (f"ties={'x' * 1000}",))
    assert error == f'ties: expected half, all or untied, got "{"x" * 66}...'


def test_a_control_character_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"name: \x00\n")
    [error] = errors_of(path)
    assert error.startswith(f"{path}: unacceptable character #x0000")
