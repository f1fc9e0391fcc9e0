"""A listener with SASL in memory, and clients of it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, ClassVar

from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from kafkatx.broker.logins.listener import SaslFactory, SaslListeners
from kafkatx.clientcore.errors import AuthenticationFailed
from kafkatx.clientcore.login import ClientLogin, password_login
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import Listener
from kafkatx.net.connection import KafkaConnection
from kafkatx.net.server import KafkaServerFactory, Limits
from kafkatx.security.sasl.credential import MECHANISMS, ScramCredential
from kafkatx.wire import codec
from kafkatx.wire.api import APIS, SASL_AUTHENTICATE
from kafkatx.wire.headers import decode_response_header, encode_request_header
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.schema import Message
from tests.broker.running import BrokerTestCase
from tests.net.fakes import PullTransport

LISTENER = Listener("SASL", "127.0.0.1", 9092, "SASL_PLAINTEXT")
MAX_BYTES = 1 << 20
PREFIX = "listener.name.sasl."
USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a" user_bob="b";'
SCRAM = "SCRAM-SHA-256"


class Peer:
    """A client at the other end of a connection."""

    def __init__(self, case: LoginTestCase, factory: SaslFactory) -> None:
        self.case = case
        self.left = False
        self.transport = PullTransport()
        connection = factory.buildProtocol(self.transport.getPeer())
        assert isinstance(connection, KafkaConnection)
        self.connection = connection
        connection.makeConnection(self.transport)

    def send(self, message: Message, version: int, correlation_id: int = 7) -> None:
        """Send a request."""
        header = encode_request_header(message.API_KEY, version, correlation_id, "tests")
        self.send_frame(header + codec.encode(message, version))

    def send_frame(self, body: bytes) -> None:
        """Send a frame."""
        self.connection.dataReceived(struct.pack(">i", len(body)) + body)
        self.settle()

    def settle(self) -> None:
        """Run what the reactor would run at once."""
        for _ in range(3):
            self.case.clock.advance(0)

    def replies(self) -> list[bytes]:
        """Return the replies since the last call."""
        found = self.transport.replies()
        self.transport.clear()
        return found

    def ask(self, message: Message, version: int) -> Any:
        """Send a request; return its response, which has to be there at once."""
        self.send(message, version)
        return self.decoded(message.API_KEY, version)

    def decoded(self, key: int, version: int) -> Any:
        """Return the only reply, decoded."""
        (reply,) = self.replies()
        _, at = decode_response_header(key, version, reply)
        return codec.decode(APIS[key].response, version, memoryview(reply)[at:])

    def log_in(self, login: ClientLogin, token: str = "", version: int = 2) -> float | None:
        """Log in; return the seconds after which to do it again.

        :raises AuthenticationFailed: the broker refuses; its delay is over then.
        """
        requests = login.requests(token)
        try:
            request = next(requests)
            while True:
                chosen = version if SASL_AUTHENTICATE.key == request.API_KEY else 1
                self.send(request, chosen)
                if not self.transport.value():
                    self.case.clock.advance(0.1)
                request = requests.send(self.decoded(request.API_KEY, chosen))
        except StopIteration as end:
            after_s: float | None = end.value
            return after_s

    def works(self) -> bool:
        """Return True if ordinary requests are answered."""
        self.send(ApiVersionsRequest("tests", "1"), 3)
        return bool(self.replies())

    @property
    def principal(self) -> str:
        """The principal that the broker knows."""
        return self.connection.peer.session.principal

    @property
    def closed(self) -> bool:
        """True if the broker has closed the connection."""
        self.settle()
        return self.transport.disconnecting or self.transport.disconnected

    def leave(self) -> None:
        """Close the connection, unless that is done."""
        if not self.left:
            self.left = True
            self.connection.connectionLost(Failure(ConnectionDone()))


class LoginTestCase(BrokerTestCase):
    """A broker with a listener that has SASL; :meth:`connect` makes a client."""

    sasl: ClassVar[Mapping[str, str]] = {}

    def setUp(self) -> None:
        """Make the listener, with the users alice and bob of PLAIN and SCRAM."""
        super().setUp()
        credential = ScramCredential.of_password(MECHANISMS[SCRAM], "a", b"salt", 4096)
        self.successResultOf(
            self.broker.metadata.alter_scram_credentials({"alice": {SCRAM: str(credential)}})
        )
        self.factory = self.make_factory(**{"sasl.enabled.mechanisms": f"PLAIN,{SCRAM}", **self.sasl})
        self.peers: list[Peer] = []

    def make_factory(self, **settings: str) -> SaslFactory:
        """Return the factory of a listener with these settings."""
        config = BrokerConfig.load(
            None,
            {
                "listeners": "SASL://127.0.0.1:9092",
                "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
                f"{PREFIX}plain.sasl.jaas.config": USERS,
                **settings,
            },
        )
        listeners = SaslListeners(config, self.broker, None)
        server = KafkaServerFactory(self.dispatch, Limits(MAX_BYTES, -1, -1), self.clock)
        self.listeners = listeners
        return listeners.factory(LISTENER, self.dispatch, server)

    def connect(self) -> Peer:
        """Return a client that has not logged in; it leaves at the end of the test."""
        peer = Peer(self, self.factory)
        self.addCleanup(peer.leave)
        return peer

    def plain(self, user: str = "alice", password: str = "a") -> ClientLogin:
        """Return a login by PLAIN."""
        return password_login("PLAIN", user, password)

    def scram(self, user: str = "alice", password: str = "a", mechanism: str = SCRAM) -> ClientLogin:
        """Return a login by SCRAM."""
        return password_login(mechanism, user, password)

    def refused(self, login: ClientLogin, **more: Any) -> str:
        """Log in as a new client, which has to be refused and disconnected; return the message."""
        peer = self.connect()
        error = self.assertRaises(AuthenticationFailed, peer.log_in, login, **more)
        self.assertTrue(peer.closed)
        return str(error)
