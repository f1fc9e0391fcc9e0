"""The service of the supervisor: the cluster's state, the bootstrap port, and the processes of the brokers.

It starts in this order: lock, bootstrap port, state, brokers; and stops in the reverse one.
:mod:`kafkatx.supervisor.brokers` starts brokers again that end.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import frozen
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.config.listeners import advertise, bracketed
from kafkatx.config.table import broker as b
from kafkatx.config.table import log as log_table
from kafkatx.daemon.foreground import MainReactor
from kafkatx.daemon.hang_up import HangUp
from kafkatx.daemon.process_file import ProcessNote
from kafkatx.daemon.settings_source import SettingsSource
from kafkatx.errors import SettingError
from kafkatx.metadata.embedded.location import put_aside
from kafkatx.metadata.sqlite.database import DatabaseDamaged
from kafkatx.metadata.tree.local.listener import TreeListener
from kafkatx.net.shared_port import reserve_port
from kafkatx.net.workers import ThreadWorkers
from kafkatx.supervisor.brokers import Brokers, Process
from kafkatx.supervisor.child import Child, spawn
from kafkatx.supervisor.directory import ADVICE, Directory, check_tree, idle_brokers, past_id
from kafkatx.supervisor.plan import make_plan, with_addresses
from kafkatx.supervisor.status import Order, Report
from kafkatx.supervisor.takeover import is_alone, take_over

_log = Logger()


@frozen
class Output:
    """The log of the brokers: standard error, as that of the supervisor.

    :ivar log_file: absolute path of the file that standard error is, if it is one.
    """

    level: str
    format: str
    log_file: str | None = None


class SupervisorService:
    """The brokers of this machine, in processes of their own (``foreground.DaemonService``).

    :ivar started: fires with this service when all brokers serve; fails with SettingError.
    :ivar halted: fires with the reason when the cluster's state can be neither written nor read.
    """

    def __init__(
        self, source: SettingsSource, count: int, output: Output, reactor: Any, *, reloads: bool
    ) -> None:
        """Read the settings and plan the brokers.

        :param reloads: True if SIGHUP has the brokers read their settings again; otherwise it stops all.
        :raises SettingError: the settings are wrong, or not for several brokers.
        """
        self.started: Deferred[SupervisorService] = Deferred()
        self.halted: Deferred[str] = Deferred()
        self.bootstrap = self.advertised = ""
        config = source.load()
        log_dirs = [str(path) for path in config[log_table.LOG_DIRS]]
        self.plan = make_plan(config, count, past_id(log_dirs))
        self._config = config
        self._source = source
        self._output = output
        self._reactor = reactor
        self._threads = ThreadWorkers(reactor)
        self._directory = Directory(self.plan.directory)
        self._reserved: socket.socket | None = None
        self._tree: TreeListener | None = None
        self._brokers = Brokers([each.name for each in self.plan.brokers], self._start, reactor)
        self._hang_up = HangUp(self._reload if reloads else None, reactor)
        self._opening: Deferred[None] = succeed(None)
        self._stopping = False

    def privilegedStartService(self) -> None:
        """Install the handler of SIGHUP."""
        self._hang_up.start()

    def startService(self) -> None:
        """Start; :attr:`started` tells the outcome."""
        for warning in self._config.warnings:
            _log.warn("{complaint}", complaint=warning)
        self._opening = Deferred.fromCoroutine(self._open())
        self._opening.addCallbacks(lambda _: self._serve(), self.started.errback)

    def stopService(self) -> Deferred[None]:
        """Stop the brokers, then the cluster's state; fires when that is done."""
        self._stopping = True
        self._hang_up.stop()
        return Deferred.fromCoroutine(self._close())

    def write_note(self, note: ProcessNote, *, pid_file: bool) -> Deferred[None]:
        """Write the note about this process to the data directory; a failure is logged."""

        def failed(failure: Failure) -> None:
            _log.warn(
                "log.dirs={path}: kafkatx status cannot find these brokers there: {error}",
                path=self.plan.directory,
                error=failure.getErrorMessage(),
            )

        written = self._threads("files")(partial(self._directory.write_note, note, pid_file))
        return written.addErrback(failed)

    def settle(self) -> None:
        """Do nothing: the supervisor has everything that it needs."""

    def rotate(self) -> None:
        """Tell the brokers to open the log file anew."""
        self._brokers.signal(signal.SIGUSR1)

    async def _open(self) -> None:
        """Take the lock and the port, and open the cluster's state."""
        files = self._threads("files")
        await files(self._directory.lock)
        self._reserved = reserve_port(self.plan.host, self.plan.port)
        port = int(self._reserved.getsockname()[1])
        self.plan = with_addresses(self.plan, port, self._directory.tree_socket)
        if self.plan.local:
            await files(self._check_state)
            try:
                tree = await self._start_tree()
            except DatabaseDamaged as error:
                if not self._config[b.KAFKATX_START_ANEW]:
                    raise SettingError(f"{error}; {ADVICE}") from error
                aside = await files(partial(put_aside, self._directory.tree_file))
                _log.error("{error}; it is put aside as {aside}", error=error, aside=aside)
                tree = await self._start_tree()
            self._tree = tree
            tree.server.broken.addErrback(self._state_lost)
            log_dirs = [os.path.abspath(path) for path in self._config[log_table.LOG_DIRS]]
            await take_over(log_dirs, self._directory.tree_socket, self._reactor, files)

    async def _start_tree(self) -> TreeListener:
        """Open the cluster's state, and listen at its socket.

        :raises SettingError: as :meth:`TreeListener.start`.
        """
        tree = TreeListener(
            self._directory.tree_file, self._directory.tree_socket, self._reactor, self._threads("tree")
        )
        await tree.start()
        return tree

    def _check_state(self) -> None:
        """Check that the cluster's state is there, if it was; in a worker.

        :raises SettingError: it is missing.
        """
        if not self._config[b.KAFKATX_START_ANEW]:
            directories = [each.directory for each in self.plan.brokers]
            check_tree(self._directory.tree_file, [path for path in directories if not is_alone([path])])

    def _serve(self) -> None:
        """Start the brokers."""
        if self._stopping:
            self.started.errback(SettingError("stopped before it was ready"))
            return
        for name in idle_brokers(self.plan.directory, [each.directory for each in self.plan.brokers]):
            _log.warn(
                "broker {name} has data in {path} and is not started: what only it has is offline; start more"
                " brokers (--brokers)",
                name=name,
                path=self.plan.directory,
            )
        self._brokers.started.addCallbacks(self._ready, self.started.errback)
        self._brokers.start()

    @property
    def http_url(self) -> str | None:
        """The URL of the HTTP listener of the first broker."""
        return self._brokers.http_url

    def _ready(self, _: None) -> None:
        first = self._config.listeners()[0]
        local = "127.0.0.1" if first.host in ("", "0.0.0.0", "::", "localhost") else first.host
        self.bootstrap = f"{bracketed(local)}:{self.plan.port}"
        host, _port = advertise(first, self.plan.port)
        self.advertised = f"{bracketed(self.plan.advertised or host)}:{self.plan.port}"
        _log.info(
            "kafkatx is ready: {count} brokers at {bootstrap}",
            count=len(self.plan.brokers),
            bootstrap=self.bootstrap,
        )
        self.started.callback(self)

    async def _close(self) -> None:
        try:
            await self._opening
        except Exception:  # started has told it
            _log.debug("a start that failed is stopped")
        await self._brokers.stop()
        if self._tree is not None:
            await self._tree.stop()
        if self._reserved is not None:
            self._reserved.close()
        self._directory.remove_note()
        self._directory.unlock()
        self._threads.stop()

    def _start(self, index: int, reported: Callable[[Report], None], ended: Callable[[str], None]) -> Process:
        """Start the process of a broker."""
        planned = self.plan.brokers[index]
        order = Order(
            planned.name,
            self._source.path,
            [*self._source.overrides, *planned.overrides],
            self._output.level,
            self._output.format,
            self._output.log_file,
            planned.directory != self.plan.directory,
        )
        child = Child(order, reported, ended)
        spawn(self._reactor, child)
        return child

    def _reload(self) -> None:
        """Tell the brokers to read their settings again."""
        _log.info("SIGHUP: the brokers read their settings again")
        self._brokers.signal(signal.SIGHUP)

    def _state_lost(self, failure: Failure) -> None:
        self.halted.callback(f"the cluster's state is lost: {failure.getErrorMessage()}")


def several_brokers(
    source: SettingsSource, count: int, output: Output
) -> Callable[[MainReactor, bool], SupervisorService]:
    """Return what makes the service of several brokers, for ``foreground.run``."""

    def make(reactor: MainReactor, reloads: bool) -> SupervisorService:
        return SupervisorService(source, count, output, reactor, reloads=reloads)

    return make
