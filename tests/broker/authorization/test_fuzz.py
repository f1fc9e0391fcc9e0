"""Damaged frames of every API, of a client that has logged in and may do nothing: no traceback, no change.

KAFKATX_FUZZ_FRAMES is the number of frames; ``make fuzz-logins`` sends 100,000.
"""

from __future__ import annotations

import random
import struct
from typing import Any

from twisted.internet.error import ConnectionDone
from twisted.logger import LogLevel, capturedLogs
from twisted.python.failure import Failure

from kafkatx.net.connection import KafkaConnection
from kafkatx.net.requests import Session
from kafkatx.net.server import KafkaServerFactory, Limits
from kafkatx.wire import codec
from kafkatx.wire.headers import encode_request_header
from tests.broker.authorization.authorized import ADMIN, BOB, AuthorizedTestCase
from tests.broker.authorization.cases import CASES
from tests.broker.logins.test_fuzz import FRAMES, damaged
from tests.net.fakes import PullTransport

MAX_BYTES = 1 << 20
MOST_REPLY_BYTES = 100_000


class FuzzTests(AuthorizedTestCase):
    def seeds(self) -> list[bytes]:
        """Return a good request for each API and version, without its size."""
        self.use(ADMIN)
        found = []
        for key, cases in CASES.items():
            for case in cases:
                header = encode_request_header(key, case.version, 7, "fuzz")
                found.append(header + codec.encode(case.make(self), case.version))
        return found

    def connect(self) -> KafkaConnection:
        """Return a connection of bob, who has logged in."""
        self.transport = PullTransport()
        connection = self.server.buildProtocol(self.transport.getPeer())
        assert isinstance(connection, KafkaConnection)
        connection.makeConnection(self.transport)
        connection.peer.session = Session(BOB)
        return connection

    def state(self) -> tuple[Any, ...]:
        """Return what clients can change."""
        state = self.broker.metadata.state
        return (
            state.topics,
            state.acls,
            state.scram_credentials,
            state.client_quotas,
            state.broker_configs,
            state.group_configs,
            [topic.log.log_end_offset for topic in self.broker.topics.of("orders")],
            sorted(one.group_id for one in self.broker.groups.all()),
        )

    def test_frames(self) -> None:
        """Nothing that a client sends changes what it may not change, or is a fault of the broker."""
        chance, seeds = random.Random(26), self.seeds()
        self.server = KafkaServerFactory(self.dispatch, Limits(MAX_BYTES, -1, -1), self.clock)
        before, connection = self.state(), None
        with capturedLogs() as logged:
            for _ in range(FRAMES):
                if connection is None or self.transport.disconnecting or chance.random() < 0.05:
                    self.leave(connection)
                    connection = self.connect()
                frame = damaged(chance, chance.choice(seeds))
                connection.dataReceived(struct.pack(">i", len(frame)) + frame)
                self.clock.advance(0.01)
                self.assertLess(len(self.transport.value()), MOST_REPLY_BYTES)
                self.transport.clear()
            self.leave(connection)
        failures = [event for event in logged if event["log_level"] in (LogLevel.critical, LogLevel.error)]
        self.assertEqual(failures, [])
        self.assertEqual(self.state(), before)
        self.assertEqual(self.server.connections, set())

    def leave(self, connection: Any) -> None:
        """Close a connection."""
        if connection is not None:
            connection.connectionLost(Failure(ConnectionDone()))
