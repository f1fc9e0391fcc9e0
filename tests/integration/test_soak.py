"""A bad day: a thousand idle connections, 20,000 frames that are almost requests; more in ``make long``."""

from __future__ import annotations

import errno
import resource
import selectors
import socket
import struct
import time
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records.builder import build_values
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.integration.mutants import mutants, valid_frames
from tests.integration.raw import RawClient, rss_bytes
from tests.measured import check_below

IDLE = 1000
SEED = 20261121
AT_ONCE = 40
PATIENCE_S = 0.1
MOST_S = 240.0
GROWTH_BYTES = 50 << 20
TOPIC = "soak"
OPEN_FILES = 4096


class Attacker:
    """One connection after the other: sends a frame, waits for a reply, the end, or not much longer."""

    def __init__(self, address: tuple[str, int], selector: selectors.BaseSelector) -> None:
        self._address = address
        self._selector = selector
        self.sent = self.answered = self.closed = self.ignored = 0
        self.deadline = 0.0
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(self._address, 20)
        # gone at once when it is closed, so that ports do not run out
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._selector.register(self._socket, selectors.EVENT_READ, self)

    def reconnect(self) -> None:
        """Leave this connection for another."""
        self.close()
        self._connect()

    def close(self) -> None:
        """Leave."""
        self._selector.unregister(self._socket)
        self._socket.close()

    def send(self, frame: bytes) -> None:
        """Send a frame."""
        try:
            self._socket.sendall(frame)
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                raise
        self.sent += 1
        self.deadline = time.monotonic() + PATIENCE_S

    def hear(self) -> None:
        """Take what came; connect anew if that was the end."""
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if data:
            self.answered += 1
        else:
            self.closed += 1
            self.reconnect()

    def give_up(self) -> None:
        """Nothing came: half a frame, a request without a reply, or one that waits."""
        self.ignored += 1
        self.reconnect()


def attack(address: tuple[str, int], frames: Iterator[bytes]) -> list[Attacker]:
    """Send all *frames* over ``AT_ONCE`` connections, each as soon as the one before has had its effect."""
    with selectors.DefaultSelector() as selector:
        attackers = [Attacker(address, selector) for _ in range(AT_ONCE)]
        busy = set(attackers)
        for attacker in attackers:
            attacker.send(next(frames))
        while busy:
            free = []
            for key, _ in selector.select(PATIENCE_S):
                key.data.hear()
                free.append(key.data)
            now = time.monotonic()
            late = [attacker for attacker in busy if attacker.deadline < now and attacker not in free]
            for attacker in late:
                attacker.give_up()
            for attacker in dict.fromkeys([*free, *late]):
                frame = next(frames, None)
                if frame is None:
                    busy.discard(attacker)
                else:
                    attacker.send(frame)
        for attacker in attackers:
            attacker.close()
    return attackers


class SoakTests(SynchronousTestCase):
    frames = 20_000

    def setUp(self) -> None:
        """Allow this process, and the broker that it starts, as many open files as the test needs."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < OPEN_FILES:
            self.skipTest(f"no more than {hard} open files are allowed here")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, OPEN_FILES), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def serve_well(self, broker: EmbeddedBroker) -> None:
        """Produce a record and fetch it."""
        now_ms = int(time.time() * 1000)
        data = [TopicProduceData(TOPIC, [PartitionProduceData(1, build_values([b"still here"], now_ms))])]
        with RawClient(broker.bootstrap) as client:
            produced = (
                client.ask(0, 9, ProduceRequest(None, -1, 1000, data)).responses[0].partition_responses[0]
            )
            self.assertEqual(produced.error_code, 0)
            wanted = FetchPartition(1, -1, produced.base_offset, partition_max_bytes=1 << 20)
            fetch = FetchRequest(topics=[FetchTopic(TOPIC, partitions=[wanted])])
            fetched = client.ask(1, 12, fetch).responses[0].partitions[0]
            self.assertIn(b"still here", bytes(fetched.records))

    def test_soak(self) -> None:
        """After 1,000 idle connections and many mutated frames the broker serves, and has hardly grown."""
        # A mutant of another request can be one that deletes the topic.
        settings = {"auto.create.topics.enable": "false", "delete.topic.enable": "false"}
        broker = EmbeddedBroker(settings, run_in="process")
        broker.log.keep_all()
        with broker:
            with RawClient(broker.bootstrap) as client:
                client.ask(19, 4, CreateTopicsRequest([CreatableTopic(TOPIC, 2, 1)]))
            self.serve_well(broker)
            before = rss_bytes(broker.pid or 0)
            idle = [RawClient(broker.bootstrap) for _ in range(IDLE)]
            for client in idle:
                self.addCleanup(client.__exit__)
            host, _, port = broker.bootstrap.rpartition(":")
            frames = valid_frames(TOPIC, int(time.time() * 1000))
            began = time.monotonic()
            attackers = attack((host, int(port)), mutants(frames, self.frames, SEED))
            took = time.monotonic() - began
            self.serve_well(broker)
            for client in (idle[0], idle[-1]):
                self.assertEqual(client.ask(18, 3, ApiVersionsRequest("idle", "1")).error_code, 0)
            growth = rss_bytes(broker.pid or 0) - before
        outcomes = {
            name: sum(getattr(a, name) for a in attackers)
            for name in ("sent", "answered", "closed", "ignored")
        }
        told = f"{outcomes} in {took:.0f} s, RSS grew by {growth / 2**20:.1f} MiB"
        self.assertEqual(outcomes["sent"], self.frames)
        self.assertGreater(min(outcomes["answered"], outcomes["closed"]), self.frames // 10, told)
        check_below(self, growth, GROWTH_BYTES, f"growth of the broker, bytes; {told}")
        check_below(self, took, MOST_S, f"seconds; {told}")
        self.assertEqual([line for line in broker.output().splitlines() if "Traceback" in line], [])
