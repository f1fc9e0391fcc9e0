"""The gate in front of a dispatch, while a client has not logged in or its session has ended."""

from __future__ import annotations

import struct
from collections.abc import Callable

from kafkatx.broker.logins.login import ConnectionLogin, State
from kafkatx.errors import ProtocolViolation
from kafkatx.net.requests import Answer, Peer, Requests
from kafkatx.wire.api import API_VERSIONS, APIS, SASL_AUTHENTICATE, SASL_HANDSHAKE

_API = struct.Struct(">hh")

_ALLOWED: dict[State, frozenset[int]] = {
    State.INITIAL: frozenset({API_VERSIONS.key, SASL_HANDSHAKE.key}),
    State.HANDSHAKE: frozenset({SASL_HANDSHAKE.key}),
    State.AUTHENTICATE: frozenset({SASL_AUTHENTICATE.key}),
    State.EXPIRED: frozenset({SASL_HANDSHAKE.key}),
    State.FAILED: frozenset(),
}


class Gate:
    """Lets the requests of a login through to the dispatch (``kafkatx.net.requests.Requests``).

    :param protocol: the security protocol of the listener, for messages.
    """

    def __init__(self, login: ConnectionLogin, dispatch: Requests, protocol: str) -> None:
        self._login = login
        self._dispatch = dispatch
        self._protocol = protocol

    @property
    def ordered(self) -> tuple[bytes, ...]:
        """The dispatch's, once the login is complete."""
        return self._dispatch.ordered if self._login.state is State.COMPLETE else ()

    @property
    def write_staged(self) -> Callable[[], dict[object, OSError]]:
        """The dispatch's."""
        return self._dispatch.write_staged

    @property
    def wake_waiting(self) -> Callable[[], None]:
        """The dispatch's."""
        return self._dispatch.wake_waiting

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer a request that the state of the login allows.

        :raises ProtocolViolation: it is another one.
        """
        login = self._login
        if login.state is State.COMPLETE:  # the last requests of the read that completed it
            return self._dispatch.answer(frame, peer)
        if login.state is State.TOKENS:
            return login.answer_token(bytes(frame))
        if len(frame) < _API.size:
            raise ProtocolViolation(f"a request of {len(frame)} bytes has no header")
        key, version = _API.unpack_from(frame)
        if key not in _ALLOWED[login.state]:
            raise ProtocolViolation(self._refusal(key))
        if login.state is State.INITIAL and self._protocol == "SASL_SSL":
            login.count()
        if key == API_VERSIONS.key and version in API_VERSIONS.versions:
            login.state = State.HANDSHAKE
        return self._dispatch.answer(frame, peer)

    def _refusal(self, key: int) -> str:
        name = APIS[key].name if key in APIS else f"API key {key}"
        if self._login.state is State.EXPIRED:
            return f"its session has ended, and it sent {name} before it has logged in again"
        return (
            f"it sent {name} before it has logged in; set security.protocol={self._protocol} in the client,"
            " or use a listener without SASL"
        )
