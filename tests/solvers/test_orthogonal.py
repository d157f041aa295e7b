import numpy as np

from rankpursuit.solvers._linalg import GrowingBasis


def grown(columns):
    """Basis of the columns (b, m, p), with its unit vectors stacked to (b, m, p)."""
    basis = GrowingBasis((len(columns),), columns.shape[1], columns.shape[2])
    units = [basis.append(columns[:, :, p]) for p in range(columns.shape[2])]
    return basis, np.stack(units, axis=2)


def test_basis_is_orthonormal_however_close_the_columns_are():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(3, 20, 1))
    columns = common + 1e-5 * rng.normal(size=(3, 20, 8))
    basis, units = grown(columns)
    gram = np.matmul(units.swapaxes(1, 2), units)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(8), gram.shape), atol=1e-14)
    np.testing.assert_allclose(np.matmul(columns, basis.directions), units, atol=1e-9)


def test_directions_are_upper_triangular():
    basis, _ = grown(np.random.default_rng(1).normal(size=(2, 6, 4)))
    assert np.array_equal(basis.directions, np.triu(basis.directions))


def test_dependent_column_adds_nothing_to_its_own_problem_only():
    columns = np.random.default_rng(2).normal(size=(2, 6, 4))
    columns[0, :, 2] = 3.0 * columns[0, :, 0] - columns[0, :, 1]
    basis, units = grown(columns)
    assert not units[0, :, 2].any()
    assert not basis.directions[0, :, 2].any()
    norms = np.linalg.norm(units, axis=1)
    np.testing.assert_allclose(norms, [[1, 1, 0, 1], [1, 1, 1, 1]], rtol=1e-14)
    np.testing.assert_allclose(np.matmul(columns, basis.directions), units, atol=1e-13)


def test_zero_column_adds_nothing():
    _, units = grown(np.zeros((1, 3, 2)))
    assert not units.any()


def test_problems_that_go_on_alone_keep_the_directions_of_all():
    columns = np.random.default_rng(3).normal(size=(5, 8, 6))
    whole, _ = grown(columns)
    basis = GrowingBasis((5,), 8, 6)
    running = np.arange(5)
    for p in range(6):
        basis.append(columns[running, :, p])
        if p in (1, 3):
            kept = np.array([0, 2, 3]) if p == 1 else np.array([1, 2])
            basis.keep(kept)
            running = running[kept]
    assert running.tolist() == [2, 3]
    n_columns = {0: 4, 1: 2, 2: 6, 3: 6, 4: 2}
    for problem, n in n_columns.items():
        expected = whole.directions[problem].copy()
        expected[:, n:] = 0.0
        np.testing.assert_allclose(basis.directions[problem], expected, atol=1e-13)
