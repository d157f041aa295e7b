"""Random generators keyed by what they are for, never by the order in which they are asked for."""

from __future__ import annotations

import zlib

import numpy as np

from rankpursuit.errors import ProtocolError


def generator(*keys: int | str) -> np.random.Generator:
    """Return the generator that belongs to the keys.

    Parameters
    ----------
    *keys : int or str
        Integers from 0 to 2**32 - 1; text is turned into one by its CRC-32, which, unlike ``hash``,
        is the same in every process.

    Returns
    -------
    numpy.random.Generator
        Independent of the generators of all other keys of the same number.
    """
    # SeedSequence splits larger integers into 32-bit words, so that different keys could read
    # alike.
    words = [zlib.crc32(key.encode()) if isinstance(key, str) else int(key) for key in keys]
    for word in words:
        if not 0 <= word < 2**32:
            raise ProtocolError(f"a seed or key must be from 0 to 2**32 - 1, not {word}")
    return np.random.default_rng(np.random.SeedSequence(words))
