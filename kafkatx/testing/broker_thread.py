"""A broker in a thread of this process, with a reactor of its own that is installed nowhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from twisted.logger import globalLogPublisher
from twisted.python.failure import Failure

from kafkatx.net.reactors import close_reactor, new_reactor
from kafkatx.testing.broker_log import BrokerLog, ThreadLogObserver
from kafkatx.testing.errors import BrokerDidNotStart

if TYPE_CHECKING:
    from twisted.internet.posixbase import PosixReactorBase

    from kafkatx.broker import BrokerService
    from kafkatx.broker.service import Parts
    from kafkatx.config import BrokerConfig
    from kafkatx.interfaces import IMetadataStore, Workers
    from kafkatx.testing.faults import BrokerFaults
    from kafkatx.testing.faults.network import CuttableReactor

STOP_S = 30.0

Settled = Callable[["BrokerService | Failure"], object]
"""Called with the service once clients can connect, or with the failure."""


class BrokerThread:
    """One broker that can be started and stopped again and again.

    :ivar pid: None, as the broker has no process of its own.
    """

    pid = None

    def __init__(self, settings: Mapping[str, str], log: BrokerLog, faults: BrokerFaults) -> None:
        self._settings = settings
        self._faults = faults
        self._thawed: threading.Event | None = None
        self._network: CuttableReactor | None = None
        self._observer = ThreadLogObserver(log, lambda: threading.current_thread() is self._thread)
        self._thread: threading.Thread | None = None
        self._reactor: PosixReactorBase | None = None
        self._service: BrokerService | None = None

    @property
    def running(self) -> bool:
        """True after a start and before a stop."""
        return self._thread is not None

    def start(self, timeout_s: float) -> str:
        """Start the broker and return its address for clients.

        :raises BrokerDidNotStart: the settings are wrong, a port is taken, a directory cannot be used.
        """
        ready = threading.Event()
        outcome: list[BrokerService | Failure] = []

        def settled(result: BrokerService | Failure) -> None:
            outcome.append(result)
            ready.set()

        globalLogPublisher.addObserver(self._observer)
        self._reactor = reactor = new_reactor()
        reactor.callWhenRunning(self._start_service, settled)
        self._thread = threading.Thread(target=reactor.run, args=(False,), name="kafkatx broker", daemon=True)
        self._thread.start()
        if not ready.wait(timeout_s):
            self.stop()
            raise BrokerDidNotStart(f"the broker was not ready within {timeout_s:g} s")
        if isinstance(outcome[0], Failure):
            self.stop()
            raise BrokerDidNotStart(outcome[0].getErrorMessage())
        return str(outcome[0].bootstrap)

    def _start_service(self, settled: Settled) -> None:
        from kafkatx.broker import BrokerService
        from kafkatx.config import BrokerConfig

        try:
            config = BrokerConfig.load(None, self._settings)
            self._service = BrokerService(config, self._parts(config), self._reactor)
            self._service.started.addBoth(settled)
            self._service.startService()
        except Exception:
            settled(Failure())

    def _parts(self, config: BrokerConfig) -> Parts:
        """Return the parts of the broker, with faults that can be injected into them."""
        import attrs

        from kafkatx.broker.handlers import SERVED
        from kafkatx.log.store.file_store import FileLogStore
        from kafkatx.tap import installed_parts
        from kafkatx.testing.faults.handlers import with_faults
        from kafkatx.testing.faults.network import CuttableReactor

        parts = installed_parts(config)
        network = self._network = CuttableReactor(self._reactor)
        find_metadata = parts.metadata

        def metadata(
            config: BrokerConfig, workers: Workers, durable: bool, reactor: object
        ) -> IMetadataStore:
            return find_metadata(config, workers, durable, network)

        parts = attrs.evolve(
            parts,
            served=with_faults(SERVED, self._faults.rules),
            metadata=metadata,
            make_endpoint=network.make_endpoint,
        )
        if parts.log_store is FileLogStore:
            parts = attrs.evolve(parts, log_store=partial(FileLogStore, files=self._faults.files))
        return parts

    def freeze(self) -> None:
        """Keep the broker from doing anything; connections to it stay open, and get no answers."""
        if self._reactor is not None and self._thawed is None:
            self._thawed = thawed = threading.Event()
            frozen = threading.Event()

            def stand_still() -> None:
                frozen.set()
                thawed.wait()

            self._reactor.callFromThread(stand_still)
            frozen.wait(STOP_S)

    def thaw(self) -> None:
        """End the freeze of the broker."""
        thawed, self._thawed = self._thawed, None
        if thawed is not None:
            thawed.set()

    def cut(self) -> None:
        """Close all connections of the broker, and allow no others until :meth:`heal`."""

        def cut(service: BrokerService, network: CuttableReactor) -> None:
            service.isolate()
            network.cut()

        self._in_thread(cut)

    def heal(self) -> None:
        """Allow connections again."""

        def heal(service: BrokerService, network: CuttableReactor) -> None:
            service.accept()
            network.heal()

        self._in_thread(heal)

    def _in_thread(self, work: Callable[[BrokerService, CuttableReactor], None]) -> None:
        """Do something in the broker's thread, and wait until it is done."""
        reactor, service, network = self._reactor, self._service, self._network
        if reactor is None or service is None or network is None:
            return
        done = threading.Event()

        def run() -> None:
            try:
                work(service, network)
            finally:
                done.set()

        reactor.callFromThread(run)
        done.wait(STOP_S)

    def stop(self) -> None:
        """Stop the broker and wait for its thread to end. Does nothing if it is not running."""
        self.thaw()
        thread, reactor = self._thread, self._reactor
        if thread is None or reactor is None:
            return
        reactor.callFromThread(self._stop_service, reactor)
        thread.join(STOP_S)
        if not thread.is_alive():
            close_reactor(reactor)
        globalLogPublisher.removeObserver(self._observer)
        self._thread = self._reactor = self._service = None

    def _stop_service(self, reactor: PosixReactorBase) -> None:
        if self._service is None:
            reactor.stop()
        else:
            self._service.stopService().addBoth(lambda _: reactor.stop())

    def kill(self) -> None:
        """Refuse: a thread cannot be killed.

        :raises RuntimeError: always.
        """
        raise RuntimeError('a thread cannot be killed: use EmbeddedBroker(run_in="process")')
