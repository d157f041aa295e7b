"""Fixtures that all tests share."""

import os
import signal
import struct
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from rankpursuit.datasets import Ratings, load_named
from rankpursuit.datasets import fetch as locate
from rankpursuit.errors import DataNotFoundError

# test_fuzz.py has seven properties, which share the 100,000 examples of the profile "fuzz".
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=40)
for _name, _examples in (("long", 1000), ("fuzz", 100_000 // 7)):
    settings.register_profile(
        _name,
        deadline=None,
        max_examples=_examples,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
# scripts/mutate.py wants to know that a test fails, not the smallest example.
settings.register_profile(
    "unshrunk", settings.get_profile("suite"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

_OUTSIDE = {name: os.environ.get(name) for name in (locate.DATA_VARIABLE, locate.CACHE_VARIABLE)}
_WORKING_COPY = locate.working_copy


@pytest.fixture(scope="session", autouse=True)
def _signals_as_usual() -> None:
    """Undo that a shell ignores Ctrl-C in background jobs, and ``nohup`` SIGHUP.

    Programs that the tests start would inherit it.
    """
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture(scope="session", autouse=True)
def _no_data_and_no_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the machine's data and cache, so that no test reads or writes them by chance."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(locate.DATA_VARIABLE, raising=False)
        patch.setenv(locate.CACHE_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        patch.setattr(locate, "working_copy", lambda: None)
        yield


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a fresh cache folder to one test."""
    monkeypatch.setenv(locate.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def real_ratings() -> Callable[[str], Ratings]:
    """Return a function that loads a real data set, once, and skips the test if it is absent.

    The only fixture that uses the cache of the machine: the spreadsheets are slow to parse.
    """
    loaded: dict[str, Ratings] = {}

    def load(name: str) -> Ratings:
        if name not in loaded:
            with _machine_as_it_is():
                try:
                    loaded[name] = load_named(name)
                except DataNotFoundError:
                    pytest.skip(f"{name} is absent: set {locate.DATA_VARIABLE} to its folder")
        return loaded[name]

    return load


@pytest.fixture
def real_data(real_ratings: Callable[[str], Ratings]) -> Iterator[None]:
    """Let one test see the real data sets where they are; skip it if one is absent."""
    real_ratings("jester"), real_ratings("movielens")
    with _machine_as_it_is():
        yield


@pytest.fixture(scope="session")
def real_letor() -> list[Path]:
    """Return the real parts of LETOR's MQ2008, and skip the test if they are absent."""
    folder = Path(_OUTSIDE[locate.DATA_VARIABLE] or "nowhere", "letor", "MQ2008")
    files = sorted(folder.glob("S*.txt"))
    if not files:
        pytest.skip(f"letor/MQ2008 is absent: set {locate.DATA_VARIABLE} to its folder")
    return files


@contextmanager
def _machine_as_it_is() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locate, "working_copy", _WORKING_COPY)
        for variable, value in _OUTSIDE.items():
            if value is None:
                patch.delenv(variable, raising=False)
            else:
                patch.setenv(variable, value)
        yield


def spreadsheet(rows: Sequence[Sequence[float | str]]) -> bytes:
    """Return a small .xls (the simplest format that Excel ever had, BIFF 2) with these cells."""
    records = [struct.pack("<HHHH", 0x0009, 4, 2, 0x0010)]
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            if isinstance(value, str):
                body = struct.pack("<HH3sB", r, c, b"\0\0\0", len(value)) + value.encode("ascii")
                records.append(struct.pack("<HH", 0x0004, len(body)) + body)
            else:
                records.append(struct.pack("<HHHH3sd", 0x0003, 15, r, c, b"\0\0\0", value))
    records.append(struct.pack("<HH", 0x000A, 0))
    return b"".join(records)


@pytest.fixture
def write_jester(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the three Jester archives, given the rows of each."""

    def write(*parts: Sequence[Sequence[float | str]], folder: Path | None = None) -> Path:
        folder = folder or tmp_path / "jester"
        folder.mkdir(parents=True, exist_ok=True)
        for number, rows in enumerate(parts, start=1):
            with zipfile.ZipFile(folder / f"jester_dataset_1_{number}.zip", "w") as archive:
                archive.writestr(f"jester-data-{number}.xls", spreadsheet(rows))
        return folder

    return write


@pytest.fixture
def jester_row() -> Callable[[dict[int, float]], list[float | str]]:
    """Return a function that makes a row of a Jester spreadsheet from {joke: rating}."""

    def row(ratings: dict[int, float]) -> list[float | str]:
        jokes = [float(ratings.get(joke, 99)) for joke in range(1, 101)]
        return [float(len(ratings)), *jokes]

    return row


class Server:
    """An HTTP server on loopback that answers each path as it was told to."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        self.done = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                answer = server.answers.get(self.path)
                if answer is None:
                    self.send_error(404)
                else:
                    answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True

    def serve(
        self, path: str, body: bytes, *, announced: int | None = None, then_hang: bool = False
    ) -> str:
        """Answer `path` with `body`, announce another length or never end if told; give its URL."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(announced or len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            handler.wfile.flush()
            if then_hang:
                self.done.wait()

        self.answers[path] = answer
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.http.server_port}{path}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Run an HTTP server on loopback while the test runs."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.done.set()
    server.http.shutdown()
    server.http.server_close()
    thread.join()
