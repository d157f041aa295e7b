"""Hostile values and words, and ways to spoil bytes."""

from __future__ import annotations

import random
from typing import Any

TEXTS = (
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\u202egnp.exe",
    "\ufeff",
    "a\nb",
    "a\rb",
    "\t",
    "../../etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "/etc/shadow",
    "~nouser/x.csv",
    "~",
    ".",
    "..",
    "x" * 300,
    "x" * 100_000,
    "/" + "d/" * 3000 + "x",
    r"\input{/etc/passwd}\write18{id}",
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "-1+1",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "%s%s%n",
    "{0.__class__}",
    "1:30",
    "010",
    "0x1F",
    "1_000",
    "yes",
    "on",
    "null",
    "1e5",
    ".inf",
    "nan",
    "١٢٣",
    "é" * 60,
    "🙂" * 40,
    "'",
    '"',
    "rls",
    "synthetic",
    "jester",
    "points",
    "features",
)
NUMBERS = (
    0, 1, -1, 2, 3, 7, 50, 51, 256, 999, 1000, 1001, 10**6, 10**9, 2**31, 2**32 - 1, 2**32,
    2**63, 2**64, 10**20, 10**100, 10**400, -(10**20), 0.0, -0.0, 0.5, 1.0, 1.5, 1e-5, 1e-100,
    1e-101, 1e-308, 5e-324, 1e15, 1e100, 1e101, 1e154, 1e200, 1e308, -1e308, float("inf"),
    float("-inf"), float("nan"),
)  # fmt: skip


def hostile_value(rng: random.Random, depth: int = 3) -> Any:
    """Return a value of any type that a config can hold."""
    kind = rng.randrange(11 if depth else 6)
    if kind <= 1:
        return rng.choice(NUMBERS)
    if kind <= 3:
        return rng.choice(TEXTS)
    if kind == 4:
        return rng.choice([True, False, None, [], {}])
    if kind == 5:
        return rng.choice([rng.randint(0, 20), rng.random(), rng.random() * 100])
    if kind == 6:
        if rng.random() < 0.1:
            return [rng.choice(NUMBERS)] * rng.choice([1000, 1001, 3000])
        return [hostile_value(rng, depth - 1) for _ in range(rng.randint(1, 4))]
    if kind == 7:
        keys = ("base", "from", "to", "step", "name", "method", "path", rng.choice(TEXTS))
        return {rng.choice(keys): hostile_value(rng, depth - 1) for _ in range(rng.randint(1, 4))}
    return sorted({rng.randint(1, 40) for _ in range(rng.randint(1, 4))})


def spoilt(rng: random.Random, content: bytes) -> bytes:
    """Return bytes with a few changes: flipped, cut out, doubled, moved, or others put in."""
    result = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        if not result:
            return bytes(result)
        at = rng.randrange(len(result))
        end = min(len(result), at + rng.choice([1, 2, 8, 64]))
        match rng.randrange(6):
            case 0:
                result[at] ^= 1 << rng.randrange(8)
            case 1:
                del result[at:end]
            case 2:
                result[at:at] = result[at:end] * rng.randint(1, 3)
            case 3:
                result[at:at] = rng.choice(
                    (b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b'"', b"\t", b"[", b"{", b"&a ",
                     b"*a", b": ", b"- ", b"!!", b"|\n", b"\xed\xa0\x80", b"9" * 20, b",", b"<<: ")
                )  # fmt: skip
            case 4:
                result[at:end] = rng.randbytes(end - at)
            case 5:
                del result[at:]
    return bytes(result)
