"""Pursuits learn from svmlight files in blocks, and what is wrong with a file leaves them alone."""

import numpy as np
import pytest
from all_estimators import PURSUITS, id_of
from sklearn.base import clone

from rankpursuit import RankingPursuit
from rankpursuit.datasets import letor_blocks, load_letor
from rankpursuit.errors import DataError

each_pursuit = pytest.mark.parametrize("estimator", PURSUITS, ids=id_of)


def lines(n_rows=200, per_query=7):
    """Return lines of a file, with three features."""
    rng = np.random.default_rng(0)
    found = []
    for row in range(n_rows):
        x = rng.random(3)
        grade = int(2 * x[0] + x[1] > 1.0) + int(x[2] > 0.7)
        features = " ".join(f"{number}:{value:.4f}" for number, value in enumerate(x, start=1))
        found.append(f"{grade} qid:{row // per_query} {features}\n")
    return found


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "train.txt"
        path.write_text("".join(text))
        return path

    return write


def model_of(estimator=PURSUITS[1]):
    return clone(estimator).set_params(n_basis=8, n_candidates=40, fitting="backfit", gamma="scale")


@each_pursuit
@pytest.mark.parametrize("rows", [10, 64, 1000])
def test_blocks_of_a_file_give_the_model_of_all_its_rows(file, estimator, rows):
    path = file(lines())
    found = model_of(estimator).fit_blocks(letor_blocks(path, rows=rows))
    data = load_letor(path)
    expected = model_of(estimator).fit(*data)
    np.testing.assert_array_equal(found.basis_, expected.basis_)
    np.testing.assert_allclose(found.predict(data.X), expected.predict(data.X), atol=1e-9)


def test_blocks_of_the_real_parts_give_the_model_of_all_their_rows(real_letor):
    model = RankingPursuit(30, n_candidates=200, fitting="backfit", ridge=1.0, random_state=0)
    found = clone(model).fit_blocks(letor_blocks(real_letor, rows=500))
    data = load_letor(real_letor)
    expected = clone(model).fit(*data)
    np.testing.assert_array_equal(found.basis_, expected.basis_)
    np.testing.assert_allclose(found.predict(data.X), expected.predict(data.X), atol=1e-9)
    assert found.n_groups_ == expected.n_groups_ == 471


FAULTS = {
    "cut off": (lambda text: [*text[:-1], text[-1][:-4]], "line 200: .*"),
    "too many features": (lambda text: [*text[:150], "1 qid:99 4:1\n"], "line 151: feature 4"),
    "query again": (lambda text: [*text, text[0]], "line 201: query 0 comes again"),
    "not a number": (lambda text: [*text, "1 qid:99 1:x\n"], "line 201: "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_file_is_one_error_by_line_and_leaves_the_model_as_it_was(file, fault):
    spoil, message = FAULTS[fault]
    path = file(lines())
    model = model_of().fit_blocks(letor_blocks(path, rows=50))
    X = load_letor(path).X
    before = model.predict(X)
    path = file(spoil(lines()))
    for candidates in (None, X[:20]):
        with pytest.raises(DataError, match=rf"train\.txt, {message}") as caught:
            model.fit_blocks(letor_blocks(path, rows=50), candidates=candidates)
        assert "\n" not in str(caught.value)
        np.testing.assert_array_equal(model.predict(X), before)
    block = load_letor(file(lines()[:70]))
    model.partial_fit(block.X, block.y, block.groups + 1000)
    assert model.n_groups_ == 10  # a model of all blocks begins anew
