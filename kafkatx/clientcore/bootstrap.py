"""Parses and formats broker addresses (``bootstrap.servers``). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from kafkatx.errors import SettingError

DEFAULT_PORT = 9092
Address = tuple[str, int]


def parse_bootstrap(bootstrap: str | Iterable[str]) -> list[Address]:
    """Split ``host:port,host:port``; the port may be left out (9092); IPv6 is ``[::1]:9092``.

    :raises SettingError: an entry is not of that form.
    """
    entries = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
    addresses = [_address(entry.strip()) for entry in entries if entry.strip()]
    if not addresses:
        raise SettingError("bootstrap.servers is empty: give HOST:PORT, for example 127.0.0.1:9092")
    return addresses


def format_address(address: Address) -> str:
    """Return ``host:port``, with brackets around an IPv6 address."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _address(entry: str) -> Address:
    if entry.startswith("["):
        host, closing, rest = entry[1:].partition("]")
        port = rest[1:] if rest[:1] == ":" else rest
        good = bool(closing) and rest[:1] in ("", ":")
    elif entry.count(":") > 1:
        host, port, good = entry, "", True
    else:
        host, _, port = entry.partition(":")
        good = True
    if not good or not host or (port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
        raise SettingError(f"bootstrap server {entry!r}: give HOST:PORT, for example 127.0.0.1:9092")
    return host, int(port or DEFAULT_PORT)
