import subprocess
import sys

import pytest

from rankpursuit.errors import ProtocolError
from rankpursuit.experiments.protocol import generator


def drawn(*keys):
    return generator(*keys).integers(2**62)


def test_equal_keys_give_equal_generators():
    assert drawn(1, 2, "views") == drawn(1, 2, "views")


def test_every_key_and_its_place_matter():
    keys = [(1, 2, "a"), (2, 1, "a"), (1, 2, "b"), (0, 2, "a"), (1, 0, "a"), (1, 3, "a")]
    assert len({int(drawn(*key)) for key in keys}) == len(keys)


def test_another_process_with_another_hash_seed_draws_the_same():
    program = (
        "from rankpursuit.experiments.protocol import generator; "
        "print(generator(7, 'views').integers(2**62))"
    )
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(done.stdout) == drawn(7, "views")


@pytest.mark.parametrize("key", [-1, 2**32])
def test_a_key_that_could_be_read_as_two_is_refused(key):
    with pytest.raises(ProtocolError, match="from 0 to"):
        generator(key)
