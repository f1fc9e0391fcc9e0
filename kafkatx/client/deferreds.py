"""The border between coroutines, which the client is made of, and Deferreds, which applications get."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from twisted.internet.defer import Deferred, FirstError, gatherResults

from kafkatx.client.plugins import check_plugin_settings
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common
from kafkatx.networkclient.cluster import Cluster

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")


def deferred(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Deferred[T]]:
    """Make a method written as a coroutine return a Deferred; cancelling that cancels the coroutine."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> Deferred[T]:
        return Deferred.fromCoroutine(method(*args, **kwargs))

    return call


async def gather_by_key(keys: Iterable[K], call: Callable[[K], Coroutine[Any, Any, T]]) -> dict[K, T]:
    """Call with each of the keys, all at once; what each gave.

    The first that fails cancels the others, and its error is raised; cancelling it cancels all.
    """
    asked = list(keys)
    running = [Deferred.fromCoroutine(call(key)) for key in asked]
    try:
        found = await gatherResults(running, consumeErrors=True)
    except Exception as error:  # not GeneratorExit: who forgets this while it waits has nothing cancelled
        for one in running:
            one.cancel()
        if isinstance(error, FirstError):
            error.subFailure.raiseException()
        raise
    return dict(zip(asked, found, strict=True))


def client_cluster(
    kind: str, values: Mapping[str, Any], reactor: Any, shared: Cluster | None
) -> tuple[ClientSettings, Cluster]:
    """The settings of a client, and the cluster that it works on.

    :param shared: the cluster of another client; its brokers need not be named again.
    :param reactor: None: that of *shared*, else the one that is installed.
    :raises SettingError: a setting is unknown or has a bad value.
    """
    if shared is None:
        settings = _checked(kind, values)
        return settings, Cluster(settings, reactor or _installed_reactor())
    servers = shared.settings[common.BOOTSTRAP_SERVERS]
    named = any(name.replace("_", ".") == common.BOOTSTRAP_SERVERS.name for name in values)
    if not named:
        values = {**values, common.BOOTSTRAP_SERVERS.name: list(servers)}
    return _checked(kind, values), shared


def _checked(kind: str, values: Mapping[str, Any]) -> ClientSettings:
    settings = ClientSettings.load(kind, values)
    check_plugin_settings(settings)
    return settings


def _installed_reactor() -> Any:
    """Imported only here: importing it installs one."""
    from twisted.internet import reactor

    return reactor
