"""What is wrong with a line of an svmlight file with query ids, in plain English."""

from __future__ import annotations

import math
import re

import numpy as np

NUMBER = rb"[+-]?+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
QUERY = rb"qid:[0-9]{1,19}+"
FEATURE = rb"[0-9]{1,9}+:" + NUMBER
COMMENT = rb"#[^\n]*+"
LINE = rb"[ \t]*+(?:%b[ \t]++%b(?:[ \t]++%b)*+)?+[ \t]*+(?:%b)?+\r?+" % (
    NUMBER,
    QUERY,
    FEATURE,
    COMMENT,
)
"""A row, a comment, or nothing, up to the line break."""

EXPECTED = "expected 'grade qid:query feature:value feature:value ... # comment'"

_NUMBER = re.compile(NUMBER)
_LINE = re.compile(LINE)
_LARGEST_QUERY = np.iinfo(np.int64).max


def fault_of(line: bytes) -> str | None:
    """Say what is wrong with a line, or return None if nothing is.

    Parameters
    ----------
    line : bytes
        Without its line break.

    Examples
    --------
    >>> fault_of(b"2 qid:10 1:0.5 2:0.25 # docid = 7")
    >>> fault_of(b"2 qid:10 2:0.5 1:0.25")
    'feature 1 comes after feature 2; features must rise'
    """
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not text in UTF-8 (byte {error.start + 1} of the line)"
    words = line.partition(b"#")[0].split()
    if not words:
        return None if _LINE.fullmatch(line) else f"malformed; {EXPECTED}"
    if not _is_number(words[0]):
        return f"the grade {_shown(words[0])} is not a finite number; {EXPECTED}"
    if len(words) == 1 or not words[1].startswith(b"qid:"):
        return f"no query id: after the grade, qid: must come; {EXPECTED}"
    query = words[1].removeprefix(b"qid:")
    if not query.isdigit() or int(query) > _LARGEST_QUERY:
        return f"the query id {_shown(query)} is not a whole number from 0 to {_LARGEST_QUERY}"
    before = 0
    for word in words[2:]:
        fault, before = _fault_of_feature(word, before)
        if fault is not None:
            return fault
    return None if _LINE.fullmatch(line) else f"malformed; {EXPECTED}"


def _fault_of_feature(word: bytes, before: int) -> tuple[str | None, int]:
    """Say what is wrong with ``feature:value`` after the feature `before`; return its feature."""
    name, colon, value = word.partition(b":")
    if not colon:
        return f"{_shown(word)} has no colon; {EXPECTED}", 0
    if not name.isdigit():
        return f"the feature {_shown(name)} is not a whole number", 0
    if len(name) > 9:
        return f"the feature {_shown(name)} has more than 9 digits", 0
    feature = int(name)
    if feature == 0:
        return "feature 0: features are counted from 1", 0
    if feature == before:
        return f"feature {feature} comes twice", 0
    if feature < before:
        return f"feature {feature} comes after feature {before}; features must rise", 0
    if not _is_number(value):
        return f"the value {_shown(value)} of feature {feature} is not a finite number", 0
    return None, feature


def _is_number(word: bytes) -> bool:
    return _NUMBER.fullmatch(word) is not None and math.isfinite(float(word))


def _shown(word: bytes) -> str:
    return repr(word[:40].decode("utf-8", errors="replace"))
