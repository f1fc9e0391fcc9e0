"""The console of a broker, which is imported and made with its first request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from kafkatx.config.table import network as n
from kafkatx.web.calls import Answer, Application, Call

if TYPE_CHECKING:
    from kafkatx.broker.broker import Broker
    from kafkatx.broker.console.factory import Console
    from kafkatx.broker.metrics.holder import MetricsHolder
    from kafkatx.broker.registry.holder import RegistryHolder
    from kafkatx.broker.sampling.recorder import Recorder
    from kafkatx.net.server import KafkaServerFactory
    from kafkatx.web.logins import Certificates, Logins

FindLogins = Callable[[], "Logins | Certificates | None"]
"""Returns the logins of a listener, once it listens."""

_CONSOLE = "kafkatx.broker.console"
_API = f"{_CONSOLE}.api"

IMPORTED_FIRST = (
    "kafkatx.broker.guards.guard",
    "kafkatx.broker.handlers",
    "kafkatx.broker.registry.factory",
    f"{_CONSOLE}.pages.static_files",
    f"{_CONSOLE}.kafka_requests",
    f"{_CONSOLE}.cluster.cluster",
    "kafkatx.views.formats.masks",
    f"{_CONSOLE}.views",
    f"{_CONSOLE}.parts",
    f"{_API}.configs",
    f"{_API}.topics.reads",
    f"{_API}.topics.changes",
    f"{_API}.groups.reads",
    f"{_API}.groups.changes",
    f"{_API}.schemas",
    f"{_API}.security.acls",
    f"{_API}.security.users",
    f"{_API}.security.quotas",
    f"{_API}.cluster.overview",
    "kafkatx.clientcore.transactions.requests",
    f"{_API}.cluster.transactions",
    f"{_API}.cluster.mirrors",
    "kafkatx.views.formats.decoder",
    f"{_CONSOLE}.messages.topic_reader",
    "kafkatx.views.filter.compiler",
    f"{_CONSOLE}.messages.schema_source",
    "kafkatx.views.step",
    f"{_CONSOLE}.messages.steps",
    f"{_CONSOLE}.messages.produce",
    f"{_CONSOLE}.messages.search",
    f"{_CONSOLE}.messages.routes",
    f"{_CONSOLE}.table",
    f"{_CONSOLE}.application",
    f"{_CONSOLE}.factory",
)
"""The modules that the first request imports, one in each turn of the reactor."""


class ConsoleHolder:
    """Makes the console of a broker, once, and its application at each listener.

    :ivar made: the console; None before the first request.
    :param list_decoders: returns the paths of the factories of installed decoders by name.
    """

    def __init__(
        self,
        broker: Broker,
        server: KafkaServerFactory,
        metrics: MetricsHolder,
        registry: RegistryHolder,
        list_decoders: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._list_decoders = list_decoders
        self._broker = broker
        self._server = server
        self._metrics = metrics
        self._registry = registry
        self._recorder: Recorder | None = None
        self.made: Console | None = None

    @property
    def is_enabled(self) -> bool:
        """True if the settings ask for a console."""
        return self._broker.config[n.CONSOLE_ENABLE]

    def application(self, find_logins: FindLogins, has_tls: bool) -> Application:
        """Return what answers the requests of a listener."""
        made: list[Callable[[Call], Awaitable[Answer]]] = []

        async def answer(call: Call) -> Answer:
            if not made:
                await self._load()
            if not made:  # another request may have made it meanwhile
                made.append(self._console().application(find_logins(), has_tls))
            return await made[0](call)

        return answer

    async def _load(self) -> None:
        for name in IMPORTED_FIRST:
            import_module(name)
            await deferLater(self._broker.clock, 0)

    def _console(self) -> Console:
        if self.made is None:
            from kafkatx.broker.console.factory import Console

            decoders = self._list_decoders()
            self.made = Console(self._broker, self._server, self._registry, decoders)
        return self.made

    def mount(self, find_logins: FindLogins, has_tls: bool) -> Callable[[], Application]:
        """Return the maker of a listener's application.

        :raises SettingError: a rule of ``kafkatx.console.masking`` is wrong: it would hide nothing.
        """
        rules = self._broker.config[n.CONSOLE_MASKING]
        if rules:
            from kafkatx.views.formats.masks import read_rule  # few consoles hide something

            for rule in rules:
                read_rule(rule)
        return partial(self.application, find_logins, has_tls)

    @property
    def recorder(self) -> Recorder:
        """The samples of the past."""
        if self._recorder is None:
            from kafkatx.broker.sampling.factory import make_recorder

            metrics = self._metrics
            self._recorder = make_recorder(self._broker, self._server, metrics.meter, metrics.web)
        return self._recorder

    def start(self) -> None:
        """Begin to sample, if the settings ask for a console; later calls do nothing."""
        if self.is_enabled and self._recorder is None:
            Deferred.fromCoroutine(self.recorder.start())

    async def stop(self) -> None:
        """End all event streams, and keep the samples."""
        if self.made is not None:
            await self.made.stop()
        if self._recorder is not None:
            await self._recorder.stop()
