"""Connections in memory between machines: bytes that are slow, held back, or lost with the connection.

It touches the clocks of the processes only. All chance comes from the source that it is handed, so a run can
be repeated. :mod:`.machine` listens and connects; :mod:`.chances` makes the faults.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost, ConnectionRefusedError
from twisted.internet.interfaces import IProtocolFactory
from twisted.internet.task import Clock
from twisted.python.failure import Failure

LATENCY_S = 0.0005
"""Time that bytes take at least: nothing arrives at the moment at which it is sent."""
MOST_ROUNDS = 1000
"""Pieces that a producer may write at once."""


class Life(Protocol):
    """One process: it takes what arrives by its own clock, when it runs.

    :ivar machine: the name of its machine.
    :ivar arrivals: calls of what arrives.
    """

    machine: str
    arrivals: Clock

    @property
    def alive(self) -> bool:
        """True until the process has ended."""


class Address:
    """The address of an end of a connection."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Way:
    """One direction between two machines.

    :ivar delay_s: seconds that bytes take.
    :ivar held: True while nothing gets through.
    """

    def __init__(self) -> None:
        self.delay_s = LATENCY_S
        self.held = False


class End:
    """One end of a connection: the transport of a protocol."""

    disconnecting = False

    def __init__(self, network: Network, life: Life, here: Address, there: Address) -> None:
        self.life = life
        self.protocol: Any = None
        self.peer: End
        self.open = True
        self._network = network
        self._here, self._there = here, there
        self._way = network.way(life.machine, there.host)
        self._out: deque[bytes | None] = deque()  # None is the end of the stream
        self._due_s = 0.0
        self._in: list[bytes] = []
        self._paused = False
        self._producer: Any = None
        self._waits_for_room = False

    # --- the transport

    def getPeer(self) -> Address:
        """Return the other end's address."""
        return self._there

    def getHost(self) -> Address:
        """Return this end's address."""
        return self._here

    def write(self, data: Any) -> None:
        """Send bytes."""
        if self.open and not self.disconnecting and len(data):
            self._send(bytes(data))

    def writeSequence(self, chunks: Any) -> None:
        """Send bytes."""
        self.write(b"".join([each.tobytes() if hasattr(each, "tobytes") else each for each in chunks]))

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Ask a pull producer for all it has, unless the way is full."""
        self._producer = None if streaming else producer
        self._pull()

    def unregisterProducer(self) -> None:
        """Ask the producer no more."""
        self._producer = None

    def pauseProducing(self) -> None:
        """Deliver nothing for now."""
        self._paused = True

    def resumeProducing(self) -> None:
        """Deliver again, soon."""
        self._paused = False
        if self._in:
            self.life.arrivals.callLater(0, self._deliver)

    def loseConnection(self) -> None:
        """Close, after all that was written."""
        if self.open and not self.disconnecting:
            self.disconnecting = True
            self._send(None)
            self.life.arrivals.callLater(0, self.lose, Failure(ConnectionDone()))

    def abortConnection(self) -> None:
        """Close at once; the other end hears of it after what is under way."""
        self.loseConnection()

    # --- delivery

    def _pull(self) -> None:
        for _ in range(MOST_ROUNDS):
            if self._producer is None:
                return
            if self._way.held:
                self._waits_for_room = True
                return
            self._producer.resumeProducing()
        raise AssertionError("a producer writes without an end")

    def _send(self, data: bytes | None) -> None:
        self._out.append(data)
        if not self._way.held:
            self._schedule()

    def _schedule(self) -> None:
        clock = self.peer.life.arrivals
        self._due_s = max(self._due_s, clock.seconds() + self._way.delay_s)
        clock.callLater(self._due_s - clock.seconds(), self._arrive)

    def _arrive(self) -> None:
        """Hand the next piece to the other end."""
        if self._way.held or not self._out:
            return
        data = self._out.popleft()
        peer = self.peer
        if not self._out and not self.open:
            self._network.ends.pop(self, None)
        if data is None:
            peer.lose(Failure(ConnectionDone()))
        elif peer.open:
            peer._in.append(data)
            peer._deliver()

    def _deliver(self) -> None:
        if self._in and not self._paused and self.open and self.protocol is not None:
            data, self._in = b"".join(self._in), []
            self.protocol.dataReceived(data)

    def release(self) -> None:
        """Send what was held back."""
        for _ in self._out:
            self._schedule()
        if self._waits_for_room:
            self._waits_for_room = False
            self.life.arrivals.callLater(0, self._pull)

    # --- the end

    def lose(self, reason: Failure) -> None:
        """End the connection here."""
        if self.open:
            self.open = False
            producer, self._producer = self._producer, None
            self._in.clear()
            if not self._out:
                self._network.ends.pop(self, None)
            if producer is not None:
                producer.stopProducing()
            if self.protocol is not None and self.life.alive:
                self.protocol.connectionLost(reason)

    def break_off(self, random: Random) -> None:
        """Break the connection; of what is under way to the other end a part arrives, in the middle of a
        frame.
        """
        under_way = b"".join([each for each in self._out if each is not None])
        self._out.clear()
        part = under_way[: random.randint(0, len(under_way))]
        peer = self.peer
        peer.life.arrivals.callLater(0, peer._broken, part)

    def _broken(self, part: bytes) -> None:
        if part and self.open:
            self._in.append(part)
            self._deliver()
        self.lose(Failure(ConnectionLost()))

    def vanish(self) -> None:
        """End without a word: the machine has no power."""
        self.open = False
        self._out.clear()
        self._network.ends.pop(self, None)


class Port:
    """A port at which a process listens (``IListeningPort``)."""

    def __init__(self, network: Network, life: Life, address: Address, factory: Any) -> None:
        self._network = network
        self.life = life
        self.address = address
        self.factory = factory
        self._waiting: list[Callable[[], None]] | None = None

    def getHost(self) -> Address:
        """Return the address."""
        return self.address

    def stopReading(self) -> None:
        """Keep connections waiting."""
        self._waiting = []

    def startReading(self) -> None:
        """Take the connections that wait, and new ones."""
        waiting, self._waiting = self._waiting or [], None
        for accept in waiting:
            accept()

    def stopListening(self) -> None:
        """Listen no more."""
        self._network.ports.pop((self.address.host, self.address.port), None)

    def accept(self, end: End, address: Address) -> None:
        """Take a connection, now or when reading begins."""

        def take() -> None:
            end.protocol = self.factory.buildProtocol(address)
            if end.protocol is None:
                end.loseConnection()
            else:
                end.protocol.makeConnection(end)
                end._deliver()

        if self._waiting is None:
            take()
        else:
            self._waiting.append(take)


class Network:
    """All machines' connections.

    :ivar ends: the open ends, in the order in which they were made.
    :ivar ports: the ports at which processes listen, by machine and number.
    :ivar dark: machines without power: nothing answers there.
    """

    def __init__(self) -> None:
        self.ends: dict[End, None] = {}
        self.ports: dict[tuple[str, int], Port] = {}
        self.dark: set[str] = set()
        self._ways: dict[tuple[str, str], Way] = {}
        self._client_ports = 40_000

    def way(self, source: str, target: str) -> Way:
        """Return one direction between two machines."""
        return self._ways.setdefault((source, target), Way())

    def listen(self, life: Life, port: int, factory: Any) -> Port:
        """Listen at a port of a machine."""
        made = Port(self, life, Address(life.machine, port), factory)
        self.ports[life.machine, port] = made
        return made

    def endpoint(self, life: Life, host: str, port: int) -> Endpoint:
        """Return an endpoint for connections from a process to a port."""
        return Endpoint(self, life, Address(host, port))

    def connect(self, life: Life, there: Address, factory: Any, connected: Deferred[Any]) -> None:
        """Connect two processes; while one of the ways is held, nothing answers."""
        out, back = self.way(life.machine, there.host), self.way(there.host, life.machine)
        if out.held or back.held or there.host in self.dark:
            return
        port = self.ports.get((there.host, there.port))
        delay_s = out.delay_s + back.delay_s
        if port is None:
            life.arrivals.callLater(delay_s, _fail, connected, ConnectionRefusedError())
            return
        self._client_ports += 1
        here = Address(life.machine, self._client_ports)
        ours, theirs = End(self, life, here, there), End(self, port.life, there, here)
        ours.peer, theirs.peer = theirs, ours
        self.ends[ours] = self.ends[theirs] = None
        port.life.arrivals.callLater(out.delay_s, port.accept, theirs, here)
        life.arrivals.callLater(delay_s, partial(_made, ours, factory, connected))

    def hold(self, source: str, target: str) -> None:
        """Hold everything that one machine sends to another."""
        self.way(source, target).held = True

    def release(self, source: str, target: str) -> None:
        """Send on what was held between two machines, and hold nothing any more."""
        way = self.way(source, target)
        if way.held:
            way.held = False
            for end in list(self.ends):
                if end._way is way:
                    end.release()

    def held(self) -> list[tuple[str, str]]:
        """Return the ways on which nothing gets through."""
        return [key for key, way in self._ways.items() if way.held]

    def break_between(self, one: str, other: str, random: Random) -> int:
        """Break all connections between two machines; return their number."""
        found = [end for end in self.ends if (end._here.host, end._there.host) == (one, other)]
        for end in found:
            peer = end.peer
            end.break_off(random)
            peer.break_off(random)
        return len(found)

    def end_life(self, life: Life, silent: bool) -> None:
        """End all connections of a process that has ended.

        :param silent: True if its machine has no power: the others hear nothing.
        """
        for end in [end for end in self.ends if end.life is life]:
            if silent:
                end.vanish()
            else:
                if end.open and not end.disconnecting:
                    end._send(None)
                end.open = False
        for key in [key for key, port in self.ports.items() if port.life is life]:
            del self.ports[key]


class Endpoint:
    """An endpoint in memory (``IStreamClientEndpoint``)."""

    def __init__(self, network: Network, life: Life, there: Address) -> None:
        self._network = network
        self._life = life
        self._there = there

    def connect(self, factory: IProtocolFactory) -> Deferred[Any]:
        """Connect; fires with the protocol. Cancelling it gives up."""
        connected: Deferred[Any] = Deferred()
        self._network.connect(self._life, self._there, factory, connected)
        return connected


def _fail(connected: Deferred[Any], error: Exception) -> None:
    if not connected.called:
        connected.errback(error)


def _made(end: End, factory: Any, connected: Deferred[Any]) -> None:
    if connected.called:  # given up
        end.loseConnection()
        return
    end.protocol = factory.buildProtocol(end.getPeer())
    end.protocol.makeConnection(end)
    connected.callback(end.protocol)
    end._deliver()
