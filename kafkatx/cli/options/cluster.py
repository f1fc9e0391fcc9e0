"""Options that every command has: the cluster to talk to, and how long to wait for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from kafkatx.cli.options.numbers import FiniteRange

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.cli.output.silence import Watch

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
CONNECT_TIMEOUT_S = 10.0

F = TypeVar("F", bound=Callable[..., object])
V = TypeVar("V")


def last_given(ctx: click.Context, option: click.Parameter, value: V) -> V:
    """Return the option's last value on the command line, before or after the command; else *value*."""
    key = f"kafkatx.{option.name}"
    if ctx.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE:
        ctx.meta[key] = value  # the contexts of a command line share it
    found: V = ctx.meta.get(key, value)
    return found


def cluster_options(command: F) -> F:
    """Add ``-b/--bootstrap-server`` and ``--timeout``, passed as *bootstrap* and *timeout*.

    ``--command-config`` is kept for :func:`connect` and :func:`client_settings`.
    """
    bootstrap = click.option(
        "-b",
        "--bootstrap-server",
        "bootstrap",
        metavar="HOST:PORT,...",
        default=DEFAULT_BOOTSTRAP,
        envvar="KAFKATX_BOOTSTRAP",
        show_default=True,
        show_envvar=True,
        callback=bootstrap_given,
        help="Addresses of some brokers of the cluster.",
    )
    timeout = click.option(
        "--timeout",
        metavar="SECONDS",
        type=FiniteRange(min=0, min_open=True),
        default=30.0,
        show_default=True,
        callback=last_given,
        help="Time to wait for a broker's reply.",
    )
    return bootstrap(timeout(command_config_option()(command)))


def command_config_option(hidden: bool = False) -> Callable[[F], F]:
    """Return the decorator that adds ``--command-config``; it is not passed to the command."""
    return click.option(
        "--command-config",
        metavar="FILE",
        type=click.Path(dir_okay=False),
        envvar="KAFKATX_COMMAND_CONFIG",
        show_envvar=True,
        hidden=hidden,
        expose_value=False,
        is_eager=True,  # before -b, which it may stand for
        callback=_read_properties,
        help="Properties file with client settings, such as bootstrap.servers, security.protocol and sasl.*.",
    )


_properties: dict[str, str] = {}
"""The settings of ``--command-config``, of the command that runs."""


def _read_properties(ctx: click.Context, option: click.Parameter, path: str | None) -> None:
    """Keep the settings of the file.

    :raises SettingError: it cannot be read.
    """
    from kafkatx.config.properties import read_properties

    path = last_given(ctx, option, path)
    _properties.clear()
    if path is not None:
        _properties.update(read_properties(path))


def bootstrap_given(ctx: click.Context, option: click.Parameter, value: V) -> V | str:
    """Return the addresses of ``-b``, else of the environment, of ``--command-config``, or the default."""
    found = last_given(ctx, option, value)
    given = f"kafkatx.{option.name}" in ctx.meta
    if given or ctx.get_parameter_source(option.name or "") is ParameterSource.ENVIRONMENT:
        return found
    return _properties.get("bootstrap.servers", found)


def command_config() -> dict[str, str]:
    """Return the settings of ``--command-config``; none without it."""
    return dict(_properties)


def group_options(hidden: bool = True) -> Callable[[F], F]:
    """Accept the same two options before the command of a group, too; the last one on the line wins."""
    bootstrap = click.option(
        "-b",
        "--bootstrap-server",
        "bootstrap",
        metavar="HOST:PORT,...",
        hidden=hidden,
        expose_value=False,
        callback=last_given,
        help="Addresses of some brokers of the cluster; may also follow the command.",
    )
    timeout = click.option(
        "--timeout",
        metavar="SECONDS",
        type=FiniteRange(min=0, min_open=True),
        hidden=hidden,
        expose_value=False,
        callback=last_given,
        help="Time to wait for a broker's reply; may also follow the command.",
    )

    def decorate(command: F) -> F:
        return bootstrap(timeout(command_config_option(hidden)(command)))

    return decorate


def connect(bootstrap: str, timeout_s: float, properties: Mapping[str, str] | None = None) -> Cluster:
    """Return a client of the cluster that the options name; it connects at its first use.

    :param properties: the settings of its connections; None: those of ``--command-config``.
    :raises SettingError: *bootstrap* does not have the form host:port,...
    """
    from kafkatx.blocking import Cluster
    from kafkatx.blocking.security import dial_with
    from kafkatx.cli.output.silence import Watch, WatchedConnection

    connect_timeout_s = min(timeout_s, CONNECT_TIMEOUT_S)
    connection = partial(
        WatchedConnection,
        watch=Watch(_say_wait),
        timeout_s=timeout_s,
        connect_timeout_s=connect_timeout_s,
        dial=dial_with(_properties if properties is None else properties),
    )
    return Cluster(bootstrap, timeout_s=timeout_s, connect=connection, on_wait=_say_wait)


def first_contact(bootstrap: str) -> AbstractContextManager[Watch]:
    """Return a context that prints a line every few seconds until a broker answers."""
    from kafkatx.cli.output.silence import Watch

    return Watch(_say_wait).waiting(f"no broker at {bootstrap}")


def _say_wait(line: str) -> None:
    from kafkatx.cli.output.terminal import say

    say(f"kafkatx: {line}")


def client_settings(bootstrap: str, timeout_s: float) -> dict[str, object]:
    """Return the same for a client of :mod:`kafkatx.client`, as its settings.

    The settings of a schema registry are left out: see :func:`kafkatx.cli.options.registry.open_registry`.
    """
    from kafkatx.clientcore.tables.registry import NAMES

    timeout_ms = max(1, round(timeout_s * 1000))
    return {
        **{name: value for name, value in _properties.items() if name not in NAMES},
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
    """Check that no setting is both set and deleted.

    :raises click.UsageError: one is.
    """
    both = sorted(set(values) & set(deleted))
    if both:
        raise click.UsageError(f"{both[0]} cannot be set and deleted at once")


def changes_text(values: Mapping[str, str], deleted: Iterable[str]) -> str:
    """Return ``set a=1, deleted b``."""
    done = [f"set {name}={value}" for name, value in values.items()]
    return ", ".join([*done, *(f"deleted {name}" for name in deleted)])
