"""Options that every command has, and the cluster that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
CONNECT_TIMEOUT_S = 10.0

F = TypeVar("F", bound=Callable[..., Any])


def cluster_options(command: F) -> F:
    """Add ``-b/--bootstrap-server`` and ``--timeout``, passed as *bootstrap* and *timeout*."""
    bootstrap = click.option(
        "-b",
        "--bootstrap-server",
        "bootstrap",
        metavar="HOST:PORT,...",
        default=DEFAULT_BOOTSTRAP,
        envvar="KAFKATX_BOOTSTRAP",
        show_default=True,
        show_envvar=True,
        help="Brokers to ask first.",
    )
    timeout = click.option(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        show_default=True,
        help="How long a broker may keep silent.",
    )
    return bootstrap(timeout(command))


def connect(bootstrap: str, timeout_s: float) -> Cluster:
    """The cluster that the options name; it connects at its first use.

    :raises SettingError: *bootstrap* is not of the form host:port,...
    """
    from kafkatx.blocking import Cluster

    return Cluster(
        bootstrap, timeout_s=timeout_s, connect_timeout_s=min(timeout_s, CONNECT_TIMEOUT_S), on_wait=_say_wait
    )


def _say_wait(line: str) -> None:
    from kafkatx.cli.output.terminal import say

    say(f"kafkatx: {line}")


def client_settings(bootstrap: str, timeout_s: float) -> dict[str, object]:
    """The same for a client of :mod:`kafkatx.client`."""
    timeout_ms = max(1, round(timeout_s * 1000))
    return {
        "bootstrap.servers": bootstrap,
        "client.id": "kafkatx",
        "request.timeout.ms": timeout_ms,
        "default.api.timeout.ms": timeout_ms,
    }


def pairs(option: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Split ``name=value`` options.

    :raises click.UsageError: one has no ``=`` or no name.
    """
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.UsageError(f"{option} {text}: give NAME=VALUE")
        found.append((name, value))
    return found


def check_changes(values: Mapping[str, str], deleted: Iterable[str]) -> None:
    """Refuse settings that are to be set and deleted.

    :raises click.UsageError: there is one.
    """
    both = sorted(set(values) & set(deleted))
    if both:
        raise click.UsageError(f"{both[0]} cannot be set and deleted at once")


def changes_text(values: Mapping[str, str], deleted: Iterable[str]) -> str:
    """``set a=1, deleted b``."""
    done = [f"set {name}={value}" for name, value in values.items()]
    return ", ".join([*done, *(f"deleted {name}" for name in deleted)])
