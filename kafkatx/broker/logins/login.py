"""The login of one connection at a listener with SASL, and logins again on it (KIP-43, KIP-152, KIP-368).

The states, and the requests that each lets through; any other request closes the connection:

| state | requests | next |
|---|---|---|
| INITIAL | ApiVersions | HANDSHAKE |
| INITIAL, HANDSHAKE, EXPIRED | SaslHandshake | AUTHENTICATE; version 0: TOKENS; FAILED |
| AUTHENTICATE | SaslAuthenticate | AUTHENTICATE, COMPLETE, FAILED |
| TOKENS | tokens without headers | TOKENS, COMPLETE, FAILED |
| COMPLETE | all; SaslHandshake begins a login again, where sessions end | EXPIRED, AUTHENTICATE |

In all states but COMPLETE a gate is in front of the dispatch; then the connection has the dispatch itself.
It touches the connection and the clock.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Protocol

import attrs
from twisted.cred.error import LoginFailed
from twisted.cred.portal import Portal
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater

from kafkatx.broker.logins.exchanges import Exchange, Step, make_exchange
from kafkatx.errors import ErrorCode
from kafkatx.net.admission.unauthenticated import Unauthenticated
from kafkatx.net.connection import KafkaConnection
from kafkatx.net.fair_turns import TooManyWaiting
from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.requests import Reply, Requests, Session
from kafkatx.security.identity import Identity
from kafkatx.security.sasl.errors import SaslError
from kafkatx.wire.frames import frame
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeResponse

MOST_STEPS = 4
"""Tokens of one exchange; SCRAM and a refused bearer token need two."""


class State(enum.Enum):
    """The state of a login: see the table of the module."""

    INITIAL = enum.auto()
    HANDSHAKE = enum.auto()
    AUTHENTICATE = enum.auto()
    TOKENS = enum.auto()
    COMPLETE = enum.auto()
    EXPIRED = enum.auto()
    FAILED = enum.auto()


@attrs.frozen
class LoginLimits:
    """Limits of logins (the settings' names in brackets)."""

    timeout_s: float = 10.0  #: kafkatx.sasl.timeout.ms
    delay_s: float = 0.1  #: connection.failed.authentication.delay.ms
    max_bytes: int = 524_288  #: sasl.server.max.receive.size


class Rules(Protocol):
    """The listener as its logins see it: :class:`kafkatx.broker.logins.listener.SaslListener`."""

    name: str
    has_tls: bool
    limits: LoginLimits
    unauthenticated: Unauthenticated
    clock: IReactorTime
    log: LimitedLog
    now_ms: Callable[[], int]
    mechanisms: Mapping[str, Portal]

    def max_session_ms(self, mechanism: str) -> int:
        """Return connections.max.reauth.ms of a mechanism; 0: a session does not end."""

    def logged_in(self, login: ConnectionLogin) -> None:
        """Take notice of a client that has logged in."""

    def lost(self, login: ConnectionLogin) -> None:
        """Forget a connection that has ended."""


class ConnectionLogin:
    """The login of one connection (``kafkatx.net.requests.Login``).

    :param dispatch: answers the requests once the login is complete, of at most *max_bytes*.
    :ivar mechanism: the mechanism of the login.
    :ivar identity: the client's; None: it has not logged in yet.
    """

    def __init__(self, rules: Rules, connection: KafkaConnection, dispatch: Requests, max_bytes: int) -> None:
        self.state = State.INITIAL
        self.mechanism = ""
        self.identity: Identity | None = None
        self._rules = rules
        self._connection = connection
        self._dispatch = dispatch
        self._max_bytes = max_bytes
        self._gate: Requests | None = None
        self._exchange: Exchange | None = None
        self._steps = 0
        self._counted = False
        self._timer: IDelayedCall | None = None

    def begin(self, gate: Requests) -> None:
        """Put a gate in front of the dispatch until the login is complete, which has a time-out."""
        self._gate = gate
        self._connection.peer.login = self
        self._connection.peer.when_lost.append(self._lost)
        self._close_gate(self._rules.limits.max_bytes)
        if not self._rules.has_tls:
            self.count()

    def count(self) -> None:
        """Count the connection among those that are not authenticated; TLS counts its own before."""
        if not self._counted:
            self._counted = True
            self._rules.unauthenticated.add(self, self._connection.peer.host)

    def drop(self, reason: str) -> None:
        """Close the connection at once, and log why."""
        self._connection.abort(reason)

    def _close_gate(self, max_bytes: int) -> None:
        assert self._gate is not None
        self._connection.use(self._gate, max_bytes, has_login=self.identity is not None)
        self._set_timer(self._rules.limits.timeout_s, self._too_late)

    def _set_timer(self, seconds: float | None, call: Callable[[], None]) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None if seconds is None else self._rules.clock.callLater(seconds, call)

    def _too_late(self) -> None:
        self._connection.abort(f"it did not log in within {self._rules.limits.timeout_s:g} s")

    def _lost(self) -> None:
        self._set_timer(None, self._lost)
        self._rules.unauthenticated.remove(self)
        self._rules.lost(self)

    # --- SaslHandshake

    def handshake(self, mechanism: str, version: int) -> SaslHandshakeResponse:
        """Answer a SaslHandshake request."""
        every = sorted(self._rules.mechanisms)
        again = self.identity is not None
        if again and not self.ends:
            return SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, every)
        if mechanism not in self._rules.mechanisms:
            self._fail(f"it asks for the SASL mechanism {mechanism[:100]!r}; there are {', '.join(every)}")
            return SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, every)
        if again and (mechanism != self.mechanism or version == 0):
            self._fail(f"it logged in with {self.mechanism}, and cannot log in again with another mechanism")
            return SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, every)
        self.mechanism = mechanism
        portal = self._rules.mechanisms[mechanism]
        self._exchange = make_exchange(mechanism, portal, self._connection.peer.host)
        self._steps = 0
        self.state = State.TOKENS if version == 0 else State.AUTHENTICATE
        if again:
            self._close_gate(self._max_bytes)
        return SaslHandshakeResponse(ErrorCode.NONE, every)

    @property
    def ends(self) -> bool:
        """True if the session of the client ends at some time."""
        return bool(self._rules.max_session_ms(self.mechanism)) or (
            self.identity is not None and self.identity.expires_at_ms is not None
        )

    # --- tokens

    def authenticate(self, token: bytes) -> Deferred[SaslAuthenticateResponse]:
        """Answer a SaslAuthenticate request."""
        if self.state is not State.AUTHENTICATE:
            return succeed(
                SaslAuthenticateResponse(ErrorCode.ILLEGAL_SASL_STATE, "SaslHandshake has to come first")
            )
        return Deferred.fromCoroutine(self._authenticate(token))

    async def _authenticate(self, token: bytes) -> SaslAuthenticateResponse:
        step = await self._step(token)
        if step is None:
            message = f"Authentication failed: invalid credentials with SASL mechanism {self.mechanism}"
            return SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, message)
        lifetime_ms = 0 if step.identity is None else self._complete(step.identity)
        return SaslAuthenticateResponse(ErrorCode.NONE, None, step.token, lifetime_ms)

    def answer_token(self, token: bytes) -> Deferred[Reply]:
        """Answer a token without a header, as after SaslHandshake v0."""
        return Deferred.fromCoroutine(self._answer_token(token))

    async def _answer_token(self, token: bytes) -> Reply:
        step = await self._step(token)
        if step is None:
            return None
        if step.identity is not None:
            self._complete(step.identity)
        return list(frame([step.token]))

    async def _step(self, token: bytes) -> Step | None:
        """Take a token; return None, after the delay of failed logins, if the login has failed."""
        exchange, clock = self._exchange, self._rules.clock
        assert exchange is not None
        began_s = clock.seconds()
        self._steps += 1
        try:
            if self._steps > MOST_STEPS:
                raise SaslError("the exchange has too many steps")
            step = await exchange.step(token)
            if step.identity is not None and self._is_other(step.identity):
                raise SaslError("it logs in again as another user")
            return step
        except TooManyWaiting:
            await deferLater(clock, self._rules.limits.delay_s)  # it would connect again at once
            self._connection.abort("too many logins of its address wait for the check of their passwords")
            return None  # no answer: a client that is refused would not try again
        except (SaslError, LoginFailed) as error:
            reason = str(error) or "wrong password, or unknown user"
        except Exception:
            self._rules.log.failure("a login by {mechanism} could not be checked", mechanism=self.mechanism)
            reason = "it could not be checked"
        # counted from the token on: a check that takes longer is not seen
        await deferLater(clock, max(0.0, began_s + self._rules.limits.delay_s - clock.seconds()))
        user = f" of {exchange.user[:100]!r}" if exchange.user else ""
        self._fail(f"its login by {self.mechanism}{user} failed: {reason}")
        return None

    def _is_other(self, identity: Identity) -> bool:
        return self.identity is not None and identity.principal != self.identity.principal

    def _fail(self, reason: str) -> None:
        """Close the connection once the answer is sent."""
        self.state = State.FAILED
        self._connection.end(reason)

    # --- sessions

    def _complete(self, identity: Identity) -> int:
        """Admit the client; return the lifetime of its session, 0 if it does not end."""
        self.state, self.identity, self._exchange = State.COMPLETE, identity, None
        self._connection.peer.session = Session(identity.principal, self._rules.name)
        self._connection.use(self._dispatch, self._max_bytes)
        lifetime_ms = self._lifetime_ms(identity)
        self._set_timer(None if lifetime_ms is None else lifetime_ms / 1000, self._expire)
        self._rules.unauthenticated.remove(self)
        self._rules.logged_in(self)
        return lifetime_ms or 0

    def _lifetime_ms(self, identity: Identity) -> int | None:
        most_ms = self._rules.max_session_ms(self.mechanism) or None
        if identity.expires_at_ms is None:
            return most_ms
        left_ms = max(1, identity.expires_at_ms - self._rules.now_ms())
        return left_ms if most_ms is None else min(left_ms, most_ms)

    def _expire(self) -> None:
        """End the session: the next request has to be a login again."""
        self.state = State.EXPIRED
        assert self._gate is not None
        self._connection.use(self._gate, self._max_bytes)
