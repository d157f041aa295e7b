import pytest
from pydantic import ValidationError

from rankpursuit.errors import ProtocolError
from rankpursuit.experiments.config import Protocol, group_name


def test_the_defaults_are_those_of_the_paper():
    protocol = Protocol()
    assert [group_name(group) for group in protocol.groups] == ["20-40", "40-60", "60-80"]
    assert protocol.test_user_bounds == (50, 300)
    assert (protocol.reference_users, protocol.test_users, protocol.holdout_users) == (300,) * 3
    assert (protocol.train_share, protocol.scored_share, protocol.fill) == (0.5, None, "median")


@pytest.mark.parametrize(
    ("n_items", "scored_share", "sizes"),
    [(50, None, (25, 25)), (51, None, (25, 25)), (50, 0.5, (25, 12)), (52, 0.5, (26, 13))],
)
def test_halves_are_rounded_down(n_items, scored_share, sizes):
    assert Protocol(scored_share=scored_share).sizes(n_items) == sizes


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"groups": ()}, "at least 1 item"),
        ({"groups": ((40, 20),)}, "expected low <= high"),
        ({"groups": ((0, 20),)}, "at least 1"),
        ({"test_user_bounds": (300, 50)}, "expected low <= high"),
        ({"reference_users": 0}, "reference_users"),
        ({"test_users": 0}, "test_users"),
        ({"holdout_users": -1}, "holdout_users"),
        ({"train_share": 1.0}, "train_share"),
        ({"train_share": 0.0}, "train_share"),
        ({"scored_share": 1.0}, "scored_share"),
        ({"fill": "mode"}, "fill"),
        ({"test_user_bounds": (3, 300)}, "1 scored training items and 2 test items"),
        ({"test_user_bounds": (7, 300), "scored_share": 0.5}, "1 scored training items"),
        ({"train_share": 0.99}, "1 test items"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_refused(wrong, said):
    with pytest.raises(ValidationError, match=said):
        Protocol(**wrong)


def test_a_user_with_too_few_ratings_is_refused():
    with pytest.raises(ProtocolError, match="1 scored training items"):
        Protocol().sizes(3)
