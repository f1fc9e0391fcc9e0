"""Damaged frames before a login: no traceback, no growth, no way in.

KAFKATX_FUZZ_FRAMES is the number of frames; ``make fuzz-logins`` sends 100,000.
"""

from __future__ import annotations

import os
import random

from twisted.logger import LogLevel, capturedLogs

from kafkatx.security.sasl.plain import PlainToken
from kafkatx.wire import codec
from kafkatx.wire.headers import encode_request_header
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeRequest
from kafkatx.wire.schema import Message
from tests.broker.logins.case import SCRAM, LoginTestCase, Peer

FRAMES = int(os.environ.get("KAFKATX_FUZZ_FRAMES", "3000"))


def body(message: Message, version: int) -> bytes:
    """Return a request without its size."""
    return encode_request_header(message.API_KEY, version, 7, "fuzz") + codec.encode(message, version)


SEEDS = (
    body(ApiVersionsRequest("fuzz", "1"), 3),
    body(SaslHandshakeRequest("PLAIN"), 1),
    body(SaslHandshakeRequest("PLAIN"), 0),
    body(SaslHandshakeRequest(SCRAM), 1),
    body(SaslAuthenticateRequest(PlainToken("alice", "wrong password").encode()), 2),
    body(SaslAuthenticateRequest(b"n,,n=alice,r=fyko+d2lbbFgONRv9qkxdawL"), 1),
    body(SaslAuthenticateRequest(b"c=biws,r=fyko,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="), 0),
    body(MetadataRequest(None), 1),
    PlainToken("alice", "wrong password").encode(),
)


def damaged(chance: random.Random, frame: bytes) -> bytes:
    """Return a frame with some bytes changed, left out, repeated or added."""
    data = bytearray(frame)
    for _ in range(chance.choice((0, 1, 1, 2, 8))):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0 if at < len(data):
                data[at] = chance.randrange(256)
            case 1:
                del data[at : at + chance.randrange(1, 9)]
            case 2:
                data[at:at] = data[:at][: chance.randrange(1, 30)]
            case _:
                data[at:at] = chance.randbytes(chance.randrange(1, 5))
    return bytes(data)


class FuzzTests(LoginTestCase):
    def test_frames(self) -> None:
        """No damaged frame is answered but as a login says, and none lets a client in."""
        chance = random.Random(26)
        peer: Peer | None = None
        rules = self.listeners.listeners["SASL"]
        with capturedLogs() as logged:
            for _ in range(FRAMES):
                if peer is None or peer.closed or chance.random() < 0.05:
                    if peer is not None:
                        peer.leave()
                    peer = Peer(self, self.factory)
                peer.send_frame(damaged(chance, chance.choice(SEEDS)))
                self.clock.advance(0.1)
                self.assertEqual(peer.principal, "User:ANONYMOUS")
                self.assertLess(len(peer.transport.value()), 100_000)
            assert peer is not None
            peer.leave()
        failures = [event for event in logged if event["log_level"] in (LogLevel.critical, LogLevel.error)]
        self.assertEqual(failures, [])
        self.assertEqual(rules._logins, {})
        self.assertEqual(self.factory.server.connections, set())
        self.clock.advance(60)  # the end of the minute whose lines are limited
        self.assertEqual(self.clock.getDelayedCalls(), [])
