"""``rp-run`` on the small experiment, in a process of its own."""

import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest
import yaml
from small_experiment import small_config

RESULTS = ("repeats.csv", "users.csv.gz", "curves.csv")
RP_RUN = [sys.executable, "-c", "from rankpursuit.cli.run import main; main(prog_name='rp-run')"]


def write_config(folder, *labels, **changes):
    """Write the config of the small experiment with some of its algorithms."""
    path = folder / "small.yaml"
    algorithms = {label: small_config()["algorithms"][label] for label in labels}
    path.write_text(yaml.safe_dump(small_config(algorithms=algorithms, **changes)))
    return path


def command(config, output, *options):
    return [*RP_RUN, str(config), "--output", str(output), *map(str, options)]


def on(scheduler):
    """Return the options that send a run to a cluster."""
    return ("--scheduler", scheduler)


def run(config, output, *options, workers=("-j", 1), **settings):
    return subprocess.run(
        command(config, output, *workers, *options),
        capture_output=True,
        text=True,
        timeout=120,
        **settings,
    )


def start(config, output, *options, **settings):
    return subprocess.Popen(
        command(config, output, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **settings,
    )


def contents(folder):
    return {name: (folder / "small" / name).read_bytes() for name in RESULTS}


def wait_for_store(process, folder, size):
    """Wait until the store has grown to a size."""
    store = folder / "small" / "results.sqlite"
    while process.poll() is None:
        if store.exists() and store.stat().st_size >= size:
            return
        time.sleep(0.005)
    pytest.fail(f"the run ended before it could be stopped: {process.stderr.read()}")


def workers_of(process):
    """Return the processes that evaluate units, not joblib's own helpers."""
    found = []
    for child in psutil.Process(process.pid).children():
        with suppress(psutil.Error):  # one that has just ended
            if "popen_loky" in " ".join(child.cmdline()):
                found.append(child)
    return found


def finish(process, timeout=120):
    """Wait for the end of a run; return its status and what it said."""
    _, errors = process.communicate(timeout=timeout)
    assert "Traceback" not in errors
    return process.returncode, errors


def one_line(finished, status, *parts):
    assert finished.returncode == status, finished.stderr
    assert "Traceback" not in finished.stderr
    errors = [x for x in finished.stderr.splitlines() if x.startswith("error: ")]
    assert len(errors) == 1
    for part in parts:
        assert part in errors[0]
