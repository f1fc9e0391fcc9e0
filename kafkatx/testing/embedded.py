"""A real broker for other people's tests: on a free port, gone when the test ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Literal

from kafkatx.errors import KafkaTXError
from kafkatx.net.reactors import close_reactor, new_reactor
from kafkatx.scratch import Scratch

READY = re.compile(r"kafkatx is ready: broker \d+ at (\S+),")
START_S = 30.0
STOP_S = 30.0


class BrokerDidNotStart(KafkaTXError):
    """An embedded broker could not start; the message says why."""


class EmbeddedBroker:
    """A broker in a thread of this process, or in a process of its own::

        with EmbeddedBroker() as broker:
            producer = KafkaProducer(bootstrap_servers=broker.bootstrap)

    :ivar bootstrap: ``host:port`` for clients, once started.
    :ivar data_dir: where its logs are.
    :ivar pid: the process, where there is one.
    """

    def __init__(
        self,
        settings: Mapping[str, str] = MappingProxyType({}),
        *,
        data_dir: str | None = None,
        run_in: Literal["thread", "process"] = "thread",
    ) -> None:
        """Make a broker; ``start()`` or ``with`` starts it.

        :param settings: broker settings by Kafka's names, over those that make it small and private.
        :param data_dir: where to keep the logs; without one they go with the broker. A broker that is
            started again with the same directory has what it had.
        :param run_in: a thread is quicker to start; a process can be killed, and shares no interpreter. It
            stops when this process ends, however that ends.
        """
        self._temporary = Scratch() if data_dir is None else None
        self.data_dir = data_dir if self._temporary is None else self._temporary.path
        self.settings = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(self.data_dir),
            "group.initial.rebalance.delay.ms": "0",
            **settings,
        }
        self.bootstrap = ""
        self.pid: int | None = None
        self._run: _Thread | _Process = (_Thread if run_in == "thread" else _Process)(self.settings)

    def start(self) -> EmbeddedBroker:
        """Start it and wait until clients can connect.

        :raises BrokerDidNotStart: why it could not.
        """
        self.bootstrap = self._run.start()
        self.pid = self._run.pid
        return self

    def stop(self) -> None:
        """Stop it as SIGTERM does: everything flushed, a marker of the clean shutdown left."""
        self._run.stop()

    def kill(self) -> None:
        """Kill it as ``kill -9`` does. Only a broker in a process can be killed."""
        self._run.kill()

    def output(self) -> str:
        """The last lines that a broker in a process has logged."""
        return self._run.output()

    def __enter__(self) -> EmbeddedBroker:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        if self._temporary is not None:
            self._temporary.close()


class _Thread:
    """A broker in a thread, with a reactor of its own that is installed nowhere."""

    pid = None

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._thread: threading.Thread | None = None
        self._reactor: Any = None
        self._service: Any = None

    def start(self) -> str:
        ready = threading.Event()
        outcome: list[Any] = []

        def settled(result: Any) -> None:
            outcome.append(result)
            ready.set()

        self._reactor = new_reactor()
        self._reactor.callWhenRunning(self._start_service, settled)
        self._thread = threading.Thread(
            target=self._reactor.run, args=(False,), name="kafkatx broker", daemon=True
        )
        self._thread.start()
        if not ready.wait(START_S):
            self._end()
            raise BrokerDidNotStart(f"the broker was not ready within {START_S:.0f} s")
        if outcome[0] is not self._service:
            self._end()
            raise BrokerDidNotStart(outcome[0].getErrorMessage())
        return str(self._service.bootstrap)

    def _start_service(self, settled: Any) -> None:
        from twisted.python.failure import Failure

        from kafkatx.broker import BrokerService
        from kafkatx.config import BrokerConfig
        from kafkatx.tap import installed_parts

        try:
            config = BrokerConfig.load(None, self._settings)
            self._service = BrokerService(config, installed_parts(config), self._reactor)
            self._service.started.addBoth(settled)
            self._service.startService()
        except Exception:
            settled(Failure())

    def stop(self) -> None:
        if self._thread is not None:
            self._end()

    def _end(self) -> None:
        self._reactor.callFromThread(self._stop_service)
        assert self._thread is not None
        self._thread.join(STOP_S)
        if not self._thread.is_alive():
            close_reactor(self._reactor)
        self._thread = self._reactor = self._service = None

    def _stop_service(self) -> None:
        if self._service is None:
            self._reactor.stop()
        else:
            self._service.stopService().addBoth(lambda _: self._reactor.stop())

    def kill(self) -> None:
        raise RuntimeError('a thread cannot be killed: use EmbeddedBroker(run_in="process")')

    def output(self) -> str:
        return ""


class _Process:
    """A broker in a process: ``twistd kafkatx`` as a user starts it, but that it ends with this process."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._lines: deque[str] = deque(maxlen=1000)
        self._ready = threading.Event()
        self._bootstrap = ""

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> str:
        command = [sys.executable, "-c", "from kafkatx.testing.child import main; main()"]
        command += ["--nodaemon", "--pidfile=", "kafkatx"]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        self._ready.clear()
        self._lines.clear()
        self._bootstrap = ""
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()
        if not self._ready.wait(START_S) or not self._bootstrap:
            self.kill()
            raise BrokerDidNotStart(self.output().strip() or f"not ready within {START_S:.0f} s")
        return self._bootstrap

    def _read(self, process: subprocess.Popen[str]) -> None:
        """Keep the pipe empty; see when the broker is ready, or has ended."""
        assert process.stdout is not None
        for line in process.stdout:
            self._lines.append(line)
            found = READY.search(line)
            if found:
                self._bootstrap = found[1]
                self._ready.set()
        self._ready.set()

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            os.kill(process.pid, number)
        process.wait(STOP_S)
        if self._reader is not None:
            self._reader.join(STOP_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def output(self) -> str:
        return "".join(self._lines)
