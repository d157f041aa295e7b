"""Hostile tables of ratings: CSV, TSV, Parquet, zip archives, spreadsheets, MovieLens's format."""

from __future__ import annotations

import io
import os
import random
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzzing.guard import attempt
from fuzzing.words import NUMBERS, TEXTS, spoilt
from rankpursuit.datasets import Ratings, load_jester, load_movielens, load_ratings
from rankpursuit.datasets.fetch import read_member
from rankpursuit.datasets.ratings import summarise

HEADER = "user,item,rating\n"
GOOD = HEADER + "".join(f"u{i // 5},i{i % 5},{i % 4}\n" for i in range(40))
DAT = "".join(f"{i // 5 + 1}::{i % 5 + 1}::{i % 5 + 1}::9\n" for i in range(40))
CSVS = (
    b"user,item,rating,rating\na,x,1,5\n",
    b"user,user,item,rating\na,b,x,1\n",
    b"\xef\xbb\xbf" + GOOD.encode(),
    b"user,item,rating\r\na,x,1\rb,x,2\nc,x,3\r\n",
    b'user,item,rating\n"a\nb",x,1\n"a""b",y,2\n',
    b'user,item,rating\n"a,x,1\n',
    HEADER.encode() + b"u,i," + b"1" * 2_000_000 + b"\n",
    HEADER.encode() + b"u" * 2_000_000 + b",i,1\n",
    HEADER.encode() + b"\xff,i,1\n",
    HEADER.encode() + b"a\0,i,1\na,i,2\n",
    HEADER.encode() + b"a,i,inf\n",
    HEADER.encode() + b"a,i,nan\n",
    HEADER.encode() + b"a,i,1e200\nb,i,-1e200\n",
    HEADER.encode() + b"a,i,1e400\n",
    HEADER.encode() + b"a,i,1\na,i,2\n",
    HEADER.encode() + b",i,1\n",
    HEADER.encode() + b"," * 3_000_000,
    b"," * 3_000_000 + b"\na,b,1\n",
    GOOD.encode("utf-16"),
    b"\n\n\n" + GOOD.encode(),
    HEADER.encode() + b"\x1b[31m,\xe2\x80\xae,x\n",
)
"""Text files that were once read wrongly, or refused without a line."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def attack(seed: int, folder: Path) -> str | None:
    """Load one hostile table; where it is accepted, look at what was read."""
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if seed < len(CSVS):
            path = folder / "named.csv"
            path.write_bytes(CSVS[seed])
            return _loaded(lambda: load_ratings(path))
        return rng.choice(KINDS)(rng, folder)


def _loaded(load: Callable[[], Ratings]) -> str | None:
    ratings, wrong = attempt(load)
    return wrong or (_wrong(ratings) if ratings is not None else None)


def _wrong(ratings: Ratings) -> str | None:
    """Return what is wrong with a table that was accepted."""
    if not np.isfinite(ratings.values).all():
        return "a rating that is not finite"
    if ratings.counts.sum() != ratings.n_ratings or ratings.counts.min() < 1:
        return "users without ratings"
    if ratings.user_ids.dtype == object or ratings.item_ids.dtype == object:
        return "ids whose checksum would be that of their addresses"
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        summarise(ratings)
        if not (np.isfinite(ratings.means).all() and np.isfinite(ratings.medians).all()):
            return "a mean or median that is not finite"
    return None


def _text(rng: random.Random, folder: Path) -> str | None:
    mark, ending = rng.choice([(",", ".csv"), ("\t", ".tsv"), (",", ".tsv"), ("\t", ".TAB")])
    columns = ["user", "item", "rating", *rng.sample(["user", "time", "", "x" * 500], 1)]
    lines = [mark.join(columns[: rng.choice([3, 3, 4])])]
    for row in range(rng.randint(0, 30)):
        fields = [f"u{row // 4}", f"i{row % 4}", str(rng.choice([1, 2, 3.5, *NUMBERS[:3]]))]
        if rng.random() < 0.03:
            fields[rng.randrange(3)] = rng.choice(TEXTS)
        if rng.random() < 0.02:
            fields[2] = str(rng.choice(NUMBERS))
        if rng.random() < 0.02:
            fields = fields[: rng.randrange(3)]
        lines.append(mark.join(fields))
    end = rng.choice(["\n", "\r\n", "\r"])
    content = end.join(lines).encode("utf-8", "surrogatepass") + rng.choice([b"", end.encode()])
    if rng.random() < 0.4:
        content = spoilt(rng, content)
    path = folder / f"table{ending}"
    path.write_bytes(content)
    options: dict[str, Any] = {}
    if rng.random() < 0.1:
        options["separator"] = rng.choice([*TEXTS[:12], ";", ",,", "\t"])
    if rng.random() < 0.1:
        options[rng.choice(["user", "item", "rating"])] = rng.choice(TEXTS)
    return _loaded(lambda: load_ratings(path, **options))


def _parquet(rng: random.Random, folder: Path) -> str | None:
    n_rows = rng.randint(0, 20)
    columns: list[Any] = [
        [f"u{i // 4}" for i in range(n_rows)],
        [i % 4 for i in range(n_rows)],
        [float(i % 3) for i in range(n_rows)],
        [rng.choice(TEXTS[5:20]) for _ in range(n_rows)],
        [None] * n_rows,
        [True] * n_rows,
        [b"\xff\x00"] * n_rows,
        [[1, 2]] * n_rows,
        [{"a": 1}] * n_rows,
        pd.to_datetime(["2020-01-01"] * n_rows),
        [rng.choice(NUMBERS[:8]) for _ in range(n_rows)],
        [1.0, None] * (n_rows // 2) + [2.0] * (n_rows % 2),
        pd.Categorical(["a"] * n_rows),
    ]
    fitting = rng.random() < 0.5
    chosen = columns[:3] if fitting else [rng.choice(columns) for _ in range(3)]
    frame = pd.DataFrame(dict(zip(("user", "item", "rating"), chosen, strict=True)))
    path = folder / "table.parquet"
    try:
        frame.to_parquet(path, index=rng.random() < 0.2)
    except Exception:  # what Parquet itself cannot hold
        path.write_bytes(b"PAR1" + rng.randbytes(50) + b"PAR1")
    if rng.random() < 0.4:
        path.write_bytes(spoilt(rng, path.read_bytes()))
    return _loaded(lambda: load_ratings(path))


def _zip(rng: random.Random, name: str, content: bytes) -> bytes:
    """Return an archive, often one that lies or is damaged."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", rng.choice(METHODS)) as archive:
        archive.writestr(name, content)
        while rng.random() < 0.1:
            archive.writestr(rng.choice(["../x", "/x", "C:\\x", "ok", name + "2", "é"]), b"1")
    result = bytearray(packed.getvalue())
    if rng.random() < 0.3:  # sizes, checksum, method, flags of the directory
        at = result.rfind(b"PK\x01\x02") + rng.choice([8, 10, 16, 20, 24, 28, 42])
        size = rng.choice([0, 1, 9, 12, 14, 99, 2**16 - 1, 2**28 + 1, 2**31, 2**32 - 1])
        result[at : at + 4] = struct.pack("<I", size)
    return spoilt(rng, bytes(result)) if rng.random() < 0.3 else bytes(result)


def _archive(rng: random.Random, folder: Path) -> str | None:
    path = folder / "a.zip"
    content = rng.choice([b"", b"x" * 10, bytes(5_000_000), rng.randbytes(20_000), DAT.encode()])
    path.write_bytes(_zip(rng, "a/x.dat", content))
    found, wrong = attempt(lambda: read_member(path, "x.dat"))
    return wrong or ("other bytes than were packed" if found not in (None, content) else None)


def _movielens(rng: random.Random, folder: Path) -> str | None:
    content = DAT.encode() if rng.random() < 0.3 else spoilt(rng, DAT.encode())
    zipped = rng.random() < 0.4
    path = folder / ("ml-1m.zip" if zipped else "ratings.dat")
    path.write_bytes(_zip(rng, "ml-1m/ratings.dat", content) if zipped else content)
    return _loaded(lambda: load_movielens(path))


def _jester(rng: random.Random, folder: Path) -> str | None:
    for number in (1, 2, 3):
        sheet = _spreadsheet(rng)
        if rng.random() < 0.3:
            sheet = spoilt(rng, sheet)
        path = folder / f"jester_dataset_1_{number}.zip"
        path.write_bytes(_zip(rng, f"jester-data-{number}.xls", sheet))
    return _loaded(lambda: load_jester(folder))


def _spreadsheet(rng: random.Random) -> bytes:
    """Return a sheet of BIFF 2, the oldest format: records of a kind, a length and cells."""
    stream = io.BytesIO()

    def record(kind: int, body: bytes) -> None:
        stream.write(struct.pack("<HH", kind, len(body)) + body)

    record(0x09, struct.pack("<HH", 2, 0x10))
    odd = rng.random() < 0.3
    for row in range(rng.randint(1, 3)):
        rated = rng.sample(range(1, 101), 3)
        for column in range(101):
            value = 3.0 if column == 0 else (2.5 if column in rated else 99.0)
            place = struct.pack("<HH3x", row, column)
            if odd and rng.random() < 0.01:
                value = float(rng.choice([11, -10.5, 1e300, float("nan"), float("inf")]))
            if odd and rng.random() < 0.01:
                record(0x04, place + b"\x03abc")
            elif odd and rng.random() < 0.01:
                record(0x05, place + bytes([rng.randrange(2), rng.randrange(2)]))
            else:
                record(0x03, place + struct.pack("<d", value))
    record(0x0A, b"")
    return stream.getvalue()


def _arrays(rng: random.Random, folder: Path) -> str | None:
    n_rows = rng.randint(0, 12)
    labels: list[Any] = [
        [f"u{i // 3}" for i in range(n_rows)],
        np.array([f"u{i // 3}" for i in range(n_rows)], dtype=object),
        list(range(n_rows)),
        np.array([1, "a", None][:n_rows] + [2] * max(0, n_rows - 3), dtype=object),
        np.array([[1]] * n_rows),
        [float("nan")] * n_rows,
        [rng.choice(TEXTS[:10]) for _ in range(n_rows)],
    ]
    values = rng.choice([[1.0] * n_rows, [rng.choice(NUMBERS[:30]) for _ in range(n_rows)]])
    users, items = rng.choice(labels), rng.choice(labels)
    return _loaded(lambda: Ratings.from_arrays(users, items, values))


def _missing(rng: random.Random, folder: Path) -> str | None:
    os.mkfifo(folder / "fifo.csv")
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "folder.csv").mkdir()
    words = [*TEXTS, *(f"{text}.csv" for text in TEXTS), "fifo.csv", "loop.csv", "folder.csv"]
    path = os.path.join(folder, word) if (word := rng.choice(words)) else folder
    load = rng.choice([load_ratings, load_movielens, load_jester])
    return _loaded(lambda: load(path))


KINDS: tuple[Callable[[random.Random, Path], str | None], ...] = (
    _text,
    _text,
    _text,
    _parquet,
    _archive,
    _movielens,
    _jester,
    _arrays,
    _missing,
)
