"""Options that cannot be are refused before anything is written."""

import pytest
import yaml
from click.testing import CliRunner
from small_experiment import small_config

from rankpursuit.cli.run import main


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--n-jobs", "0"], "--n-jobs: expected 1 to 256, or -1, got 0"),
        (["--n-jobs", "1000000"], "--n-jobs: expected 1 to 256, or -1, got 1000000"),
        (["--n-jobs", "-2"], "--n-jobs: expected 1 to 256, or -1, got -2"),
        (["--n-jobs", "9" * 100], f"--n-jobs: expected 1 to 256, or -1, got {'9' * 47}..."),
        (
            ["--backend", "dask", "--scheduler", "tls://127.0.0.1:8786"],
            "--scheduler tls://127.0.0.1:8786: tls needs certificates: name them in "
            "distributed.comm.tls of Dask's configuration, or use tcp",
        ),
        *(
            (
                ["--backend", "dask", "--scheduler", address],
                f"--scheduler {address}: expected an address such as tcp://HOST:8786",
            )
            for address in (
                "foo://h:1",
                "inproc://x",
                "h",
                "tcp://h",
                "tcp://h:99999",
                "tcp://[::1",
            )
        ),
    ],
)
def test_they_are_refused_with_status_two(tmp_path, options, fault):
    pytest.importorskip("distributed")
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(small_config()))
    output = tmp_path / "out"
    result = CliRunner().invoke(main, [str(path), "--output", str(output), *options])
    assert result.exit_code == 2
    assert result.output == f"error: {fault}\n"
    assert not output.exists()
