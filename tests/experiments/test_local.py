"""Worker processes of this machine: what they give, and when they end."""

import sys
import threading
import time
from contextlib import contextmanager

import pytest
from joblib.externals.loky.process_executor import _ExecutorManagerThread
from small_experiment import few_jobs, run_of, small_config, sums

from rankpursuit.errors import RunError
from rankpursuit.experiments import backends
from rankpursuit.experiments.backends import Local
from rankpursuit.experiments.evaluate import evaluate_unit


@pytest.fixture(scope="module")
def run():
    return run_of(small_config())


class Evaluated:
    """What a worker gets when this is sent to it: the value of an expression."""

    def __init__(self, expression):
        self._expression = expression

    def __reduce__(self):
        return eval, (self._expression,)


def test_workers_give_what_this_process_gives(run):
    jobs = few_jobs(run, 6)
    with Local(2) as local:
        found = sums(local.evaluate(run.experiment, jobs))
    assert found == sums(evaluate_unit(run.experiment, *job) for job in jobs)


def test_the_private_parts_of_joblib_that_start_workers_exist():
    parts = backends.loky()
    assert callable(parts.get_reusable_executor) and callable(parts.start_tracker)
    assert issubclass(parts.WorkerLostError, Exception)


def test_a_joblib_without_them_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib.externals.loky.backend.resource_tracker", None)
    with Local(2) as local, pytest.raises(RunError, match=r"joblib \d.*: use --n-jobs 1"):
        list(local.evaluate(run.experiment, few_jobs(run, 2)))


def test_a_single_job_starts_no_worker(run, monkeypatch):
    monkeypatch.setattr(backends, "loky", None)
    jobs = few_jobs(run, 1)
    with Local(2) as local:
        found = sums(local.evaluate(run.experiment, jobs))
    assert found == sums([evaluate_unit(run.experiment, *jobs[0])])


def test_jobs_are_taken_as_they_are_needed(run):
    taken = []

    def jobs():
        for job in few_jobs(run, 4) * 5:
            taken.append(job)
            yield job

    with Local(2) as local:
        results = local.evaluate(run.experiment, jobs())
        next(results)
        assert len(taken) < 10
        assert len(list(results)) == 19


def test_a_fault_of_the_program_keeps_its_own_error_and_tells_where_it_was(run):
    (unit, _, choices), other = few_jobs(run, 2)
    with pytest.raises(TypeError, match="NoneType") as problem, Local(2) as local:
        list(local.evaluate(run.experiment, [(unit, None, choices), other]))
    assert "in evaluate_unit" in str(problem.value.__cause__)


def test_a_worker_that_dies_in_a_unit_is_told_and_others_can_start(run):
    deadly = (Evaluated("__import__('os')._exit(1)"), ("rls",), {})
    with Local(2) as local:
        with pytest.raises(RunError, match="a worker process was killed or ran out of"):
            list(local.evaluate(run.experiment, [*few_jobs(run, 2), deadly]))
        assert len(list(local.evaluate(run.experiment, few_jobs(run, 4)))) == 4


def test_an_exception_here_ends_workers_in_the_middle_of_units_at_once(run):
    sleepy = (Evaluated("__import__('time').sleep(60)"), ("rls",), {})
    begun = time.monotonic()
    with pytest.raises(SystemExit), Local(2) as local:
        for _ in local.evaluate(run.experiment, [*few_jobs(run, 1), sleepy, sleepy]):
            begun = time.monotonic()
            raise SystemExit
    assert time.monotonic() - begun < 50


def test_a_stop_before_workers_have_all_first_units_leaves_no_traceback(run, monkeypatch):
    wait, defer, failed = (
        _ExecutorManagerThread.wait_result_broken_or_wakeup,
        backends._signals_deferred,
        [],
    )

    def wait_long(thread):
        found = wait(thread)
        time.sleep(0.3)
        return found

    @contextmanager
    def stop_after():
        with defer():
            yield
        raise KeyboardInterrupt

    def late_jobs():
        for number, job in enumerate(few_jobs(run, 4)):
            if number == 2:  # the thread waits for more by then
                time.sleep(1.0)
            yield job

    monkeypatch.setattr(_ExecutorManagerThread, "wait_result_broken_or_wakeup", wait_long)
    monkeypatch.setattr(threading, "excepthook", lambda thrown: failed.append(thrown.exc_value))
    monkeypatch.setattr(backends, "_start_trackers", lambda parts: None)
    monkeypatch.setattr(backends, "_signals_deferred", stop_after)
    with pytest.raises(KeyboardInterrupt), Local(2) as local:
        list(local.evaluate(run.experiment, late_jobs()))
    assert failed == []
