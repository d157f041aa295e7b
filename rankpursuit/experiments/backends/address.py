"""The address of a scheduler, looked at before anything is asked of it."""

from __future__ import annotations

import re

from rankpursuit.errors import ConfigError
from rankpursuit.visible import cut

_ADDRESS = re.compile(r"(?:(?P<scheme>\w+)://)?(?:\[[0-9A-Fa-f:.%]+\]|[\w.-]+):(?P<port>\d{1,5})/?")
_SCHEMES = ("tcp", "tls", "ws", "wss")
_WITH_CERTIFICATES = ("tls", "wss")


def check_address(address: str) -> None:
    """Refuse what cannot be the address of a scheduler, or needs certificates that are not there.

    Parameters
    ----------
    address : str
        Such as ``tcp://HOST:8786``.

    Raises
    ------
    ConfigError
    """
    found = _ADDRESS.fullmatch(address)
    scheme = (found["scheme"] or "tcp") if found else ""
    if not found or scheme not in _SCHEMES or not 1 <= int(found["port"]) <= 65535:
        raise ConfigError(
            [f"--scheduler {cut(address, 100)}: expected an address such as tcp://HOST:8786"]
        )
    if scheme in _WITH_CERTIFICATES and not _has_certificates():
        raise ConfigError(
            [
                f"--scheduler {cut(address, 100)}: {scheme} needs certificates: name them in "
                "distributed.comm.tls of Dask's configuration, or use tcp"
            ]
        )


def _has_certificates() -> bool:
    """Tell whether Dask knows of certificates; that it is not installed is told elsewhere."""
    try:
        from distributed.security import Security
    except ImportError:
        return True
    try:
        return Security().get_connection_args("client").get("ssl_context") is not None
    except (OSError, ValueError) as error:
        raise ConfigError([f"--scheduler: Dask's certificates cannot be used: {error}"]) from error
