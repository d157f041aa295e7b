"""Whether a Dask scheduler answers at an address.

A `distributed.Client` asks too, but tells of some faults in a traceback, and waits for ever for an
answer from a server of another kind.
"""

from __future__ import annotations

import asyncio

from rankpursuit.errors import RunError

_TLS = (
    "tls:// needs certificates, which Dask reads from its configuration: "
    "set distributed.comm.tls.client.cert, .key and distributed.comm.tls.ca-file"
)


def check_scheduler(address: str, seconds: float) -> None:
    """Ask who is at an address.

    Parameters
    ----------
    address : str
    seconds : float
        Time for the answer.

    Raises
    ------
    RunError
        If it is not a scheduler, or there is no answer.
    """
    try:
        kind = asyncio.run(asyncio.wait_for(_kind(address), seconds))
    except Exception as error:  # servers of other kinds, and bad addresses, fail in many ways
        without_certificates = address.startswith("tls:") and isinstance(error, TypeError)
        reason = _TLS if without_certificates else str(error) or f"no answer in {seconds:g} seconds"
        raise RunError(
            f"no Dask scheduler answers at {address}: start one with `dask scheduler`, or correct "
            f"the address ({reason})"
        ) from error
    if kind != "Scheduler":
        raise RunError(f"at {address} is a Dask {kind.lower()}: give the scheduler's address")


async def _kind(address: str) -> str:
    from distributed.core import rpc
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    async with rpc(address, connection_args=arguments) as server:
        about = await server.identity()
    return str(about["type"])
