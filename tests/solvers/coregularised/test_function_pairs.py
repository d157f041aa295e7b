import numpy as np
import pytest
from coregularised_problems import ANY_AGREEMENT, Views, assert_basic_path, random_views


@ANY_AGREEMENT
@pytest.mark.parametrize("sizes", [[5, 5], [3, 6]])
@pytest.mark.parametrize("seed", range(3))
def test_two_views_take_the_best_of_all_pairs(agreement, sizes, seed):
    views, nus = random_views(seed, sizes=sizes, n_groups=2), [0.0, 0.3, 10.0]
    path = views.pursue(nus, 5, agreement=agreement)
    assert path.selected.shape == (2, 3, min(sizes), 2)
    assert np.all(path.n_steps == min(sizes))
    assert_basic_path(views, path, nus, agreement)


def test_of_equal_pairs_the_first_is_chosen():
    views, n_copies = random_views(74, sizes=[4, 4], n_scored=30), 3
    copied = Views(
        *([np.tile(part, n_copies) for part in parts] for parts in (views.scored, views.unscored)),
        views.scores,
        views.groups,
        views.unscored_groups,
    )
    selected = copied.pursue([0.0, 0.3], 8).selected
    for i, k, v in np.ndindex(2, 2, 2):
        chosen = selected[i, k, :, v].tolist()
        for step, index in enumerate(chosen):
            assert set(range(index % 4, index, 4)) <= set(chosen[:step])
