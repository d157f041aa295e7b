import numpy as np

from rankpursuit.solvers import pursue
from rankpursuit.solvers._linalg import first_best


def test_the_highest_gain_is_found():
    gain = np.random.default_rng(0).uniform(size=(3, 4, 20))
    np.testing.assert_array_equal(first_best(gain), gain.argmax(axis=-1))


def test_the_first_of_those_that_rounding_sets_apart_is_taken():
    assert first_best(np.array([0.1, 1.0 - 1e-12, 1.0, 1.0 + 1e-12])) == 1
    assert first_best(np.array([0.1, 1.0 - 1e-6, 1.0])) == 2


def test_nothing_to_gain():
    assert first_best(np.array([-1.0, -1.0])) == 0
    assert first_best(np.array([0.0, 0.0, 0.0])) == 0


def test_a_pursuit_takes_the_first_of_equal_functions_on_any_machine():
    rng = np.random.default_rng(1)
    dictionary = np.abs(rng.normal(size=(1, 6, 4)))
    target = rng.normal(size=6)
    best = pursue(dictionary, target, 1).selected[0, 0]
    twice = np.concatenate([dictionary, dictionary * (1.0 + 1e-13)], axis=2)
    noisy = np.concatenate([dictionary * (1.0 + rng.normal(size=(1, 6, 4)) * 1e-14)] * 2, axis=2)
    assert pursue(twice, target, 1).selected[0, 0] == best
    assert pursue(noisy, target, 1).selected[0, 0] == best
