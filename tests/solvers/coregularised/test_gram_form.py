import numpy as np
from coregularised_problems import ANY_AGREEMENT

from rankpursuit.solvers.coregularised import Gram, GramForm, JointProblem, PairSearch, ResidueForm


@ANY_AGREEMENT
def test_gram_matrices_follow_the_residue(agreement):
    rng = np.random.default_rng(73)
    sizes, nu = [9, 12], np.array([0.0, 0.3, 10.0])
    scored = [rng.normal(size=(2, size, 20)) for size in sizes]
    unscored = [rng.normal(size=(2, size, 8)) for size in sizes]
    targets = [rng.normal(size=20), rng.normal(size=(2, 20))]
    problem = JointProblem(scored, unscored, targets, nu, agreement)
    gram, other = Gram(problem), ResidueForm(problem)
    search, form = PairSearch(gram, nu), GramForm(problem, gram)
    active = np.array([[True, True, True], [True, False, True]])
    for _ in range(9):
        best = search.best(form.correlations())
        lengths = form.take(best, active)
        assert np.array_equal(lengths, other.take(best, active))
        assert np.array_equal(lengths[1, 1], [0.0, 0.0])
        search.forbid(best.chosen, active)
        np.testing.assert_allclose(form.cost, other.cost, rtol=1e-10)
        for products, expected in zip(form.correlations(), other.correlations(), strict=True):
            np.testing.assert_allclose(products, expected, rtol=1e-9, atol=1e-10)
