"""Common to all clients: coroutines as Deferreds, and the cluster that a client uses."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.internet.interfaces import IReactorTime

from kafkatx.client.discovery.bootstrap import bootstrap_addresses
from kafkatx.client.plugins import check_plugin_settings
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common
from kafkatx.errors import SettingError
from kafkatx.networkclient.cluster import Cluster

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")


def deferred(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Deferred[T]]:
    """Wrap a coroutine method so that it returns a Deferred; cancelling that cancels the coroutine."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        return Deferred.fromCoroutine(method(*args, **kwargs))

    return call


async def gather_by_key(keys: Iterable[K], call: Callable[[K], Coroutine[Any, Any, T]]) -> dict[K, T]:
    """Call a coroutine function with each key, in parallel; return the results by key.

    The first error cancels the other calls and is raised; cancelling this cancels all calls.
    """
    asked = list(keys)
    running = [Deferred.fromCoroutine(call(key)) for key in asked]
    try:
        found = await gatherResults(running, consumeErrors=True)
    except Exception as error:  # not GeneratorExit: it means that the coroutine was discarded, not cancelled
        for one in running:
            one.cancel()
        if isinstance(error, FirstError):
            error.subFailure.raiseException()
        raise
    return dict(zip(asked, found, strict=True))


def client_cluster(
    kind: str,
    values: object,
    more: Mapping[str, object],
    reactor: IReactorTime | None,
    shared: Cluster | None,
) -> tuple[ClientSettings, Cluster]:
    """Check the settings of a client; return them and the cluster that it uses.

    :param values: the constructor's settings: a mapping, or else an error that says where the value belongs.
    :param more: its other arguments, likewise settings.
    :param shared: the cluster of another client; ``bootstrap.servers`` need not be set then.
    :param reactor: None: that of *shared*, else the installed one.
    :raises SettingError: a setting is unknown or has a bad value.
    """
    if not isinstance(values, Mapping):
        raise SettingError(f"{values!r} is not a mapping of settings: {_ARGUMENTS[kind]}")
    values = {**values, **more}
    if shared is None:
        settings = _checked(kind, values)
        reactor = reactor or _installed_reactor()
        return settings, Cluster(settings, reactor, bootstrap_addresses(settings, reactor))
    servers = shared.settings[common.BOOTSTRAP_SERVERS]
    named = any(name.replace("_", ".") == common.BOOTSTRAP_SERVERS.name for name in values)
    if servers and not named:
        values = {**values, common.BOOTSTRAP_SERVERS.name: list(servers)}
    return _checked(kind, values), shared


_NAMED_SETTINGS = "name each setting, for example bootstrap_servers='127.0.0.1:9092'"
_ARGUMENTS = {
    "admin": _NAMED_SETTINGS,
    "consumer": "pass topics to subscribe(), for example consumer.subscribe(['events'])",
    "producer": _NAMED_SETTINGS,
}
"""Advice for users of other libraries, whose clients have other arguments."""


def _checked(kind: str, values: Mapping[str, object]) -> ClientSettings:
    settings = ClientSettings.load(kind, values)
    check_plugin_settings(settings)
    return settings


def _installed_reactor() -> IReactorTime:
    """Return the installed reactor; importing the module installs one if need be."""
    from twisted.internet import reactor

    return reactor
