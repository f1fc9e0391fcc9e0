"""The client instances that ask what to push, and push (KIP-714). Pure: the time is an argument.

The rules are those of Apache Kafka's ``ClientMetricsManager`` and ``ClientMetricsInstance``:

| request | error |
|---|---|
| get, earlier than an interval after the last get or push (1) | THROTTLING_QUOTA_EXCEEDED |
| push without the id of an instance, or after a terminating one | INVALID_REQUEST |
| push, earlier than an interval after the last push (2) | THROTTLING_QUOTA_EXCEEDED |
| push with another subscription id | UNKNOWN_SUBSCRIPTION_ID |
| push in an unknown compression | UNSUPPORTED_COMPRESSION_TYPE |
| push of more than ``telemetry.max.bytes`` | TELEMETRY_TOO_LARGE |

(1) But a get is answered when subscriptions have changed, and after UNKNOWN_SUBSCRIPTION_ID and
UNSUPPORTED_COMPRESSION_TYPE. (2) But a push is taken after a get, and when it is terminating.
"""

from __future__ import annotations

import math
import uuid
from collections import OrderedDict
from collections.abc import Iterator

import attrs

from kafkatx.broker.telemetry.subscriptions import Client, Selection, Subscriptions
from kafkatx.errors import ErrorCode, RequestError

MOST_INSTANCES = 16_384
"""Kafka's limit; beyond it the instance that is idle longest is forgotten."""

SHORTEST_EXPIRY_MS = 60_000
INTERVALS_KEPT = 3
"""An instance is forgotten when it has been idle for three intervals, at least a minute."""

SWEEP_MS = 10_000

RESERVED_IDS = frozenset({uuid.UUID(int=0), uuid.UUID(int=1)})
"""Ids of nothing, and of the topic of KRaft's metadata."""

_ASK_AGAIN = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
"""Errors after which a client asks for its subscription at once."""


@attrs.define(eq=False)
class ClientInstance:
    """A client instance.

    :ivar selection: what it is asked for, by the subscriptions of *generation*.
    :ivar last_ms: the time of its last request.
    """

    id: uuid.UUID
    client: Client
    selection: Selection
    generation: int
    last_ms: float = 0.0
    got_ms: float = -math.inf
    pushed_ms: float = -math.inf
    last_error: ErrorCode = ErrorCode.NONE
    terminating: bool = False

    @property
    def subscription_id(self) -> int:
        """The id of what it is asked for."""
        return self.selection.subscription_id(self.id)

    def is_idle(self, now_ms: float) -> bool:
        """Return True if it has made no request for so long that it is forgotten."""
        kept_ms = max(SHORTEST_EXPIRY_MS, INTERVALS_KEPT * self.selection.interval_ms)
        return now_ms - self.last_ms > kept_ms

    def check_get(self, now_ms: float) -> None:
        """Check that a get comes in time.

        :raises RequestError: THROTTLING_QUOTA_EXCEEDED.
        """
        if now_ms - max(self.got_ms, self.pushed_ms) >= self.selection.interval_ms:
            self.got_ms = now_ms
        elif self.last_error not in _ASK_AGAIN:
            raise self._early()
        self.last_error = ErrorCode.NONE

    def check_push(self, pushed: Pushed, now_ms: float) -> None:
        """Check that a push may be taken.

        :raises RequestError: it may not: see the table of the module.
        """
        try:
            self._check_push(pushed, now_ms)
        except RequestError as error:
            self.last_error = error.code
            raise
        finally:
            self.terminating = pushed.terminating
        self.last_error = ErrorCode.NONE

    def _check_push(self, pushed: Pushed, now_ms: float) -> None:
        if self.terminating:
            raise RequestError(
                ErrorCode.INVALID_REQUEST, f"client instance {self.id} has sent its terminating push before"
            )
        if self.got_ms > self.pushed_ms or now_ms - self.pushed_ms >= self.selection.interval_ms:
            self.pushed_ms = now_ms
        elif not pushed.terminating:
            raise self._early()
        if pushed.subscription_id != self.subscription_id:
            raise RequestError(
                ErrorCode.UNKNOWN_SUBSCRIPTION_ID,
                f"client instance {self.id} has no subscription {pushed.subscription_id}",
            )
        if not pushed.is_supported:
            raise RequestError(
                ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
                f"client instance {self.id} has sent an unknown compression",
            )
        if pushed.size > pushed.most_bytes:
            raise RequestError(
                ErrorCode.TELEMETRY_TOO_LARGE,
                f"{pushed.size} bytes of metrics are above telemetry.max.bytes={pushed.most_bytes}",
            )

    def _early(self) -> RequestError:
        return RequestError(
            ErrorCode.THROTTLING_QUOTA_EXCEEDED,
            f"client instance {self.id} has sent a request before its interval of"
            f" {self.selection.interval_ms} ms has passed",
        )


@attrs.frozen
class Pushed:
    """A push, as far as it decides whether it may be taken."""

    subscription_id: int
    terminating: bool
    is_supported: bool
    size: int
    most_bytes: int


class ClientInstances:
    """The client instances of a broker, in the order of their last requests."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self.subscriptions = subscriptions
        self._generation = 0
        self._instances: OrderedDict[uuid.UUID, ClientInstance] = OrderedDict()
        self._forgotten: list[uuid.UUID] = []
        self._swept_ms = -math.inf

    def __iter__(self) -> Iterator[ClientInstance]:
        return iter(self._instances.values())

    def __len__(self) -> int:
        return len(self._instances)

    def use(self, subscriptions: Subscriptions) -> None:
        """Use other subscriptions: each instance is looked at again with its next request."""
        self.subscriptions = subscriptions
        self._generation += 1

    def find(self, instance_id: uuid.UUID, client: Client, now_ms: float) -> ClientInstance:
        """Return an instance, new if it is unknown or if subscriptions have changed."""
        self.sweep(now_ms)
        found = self._instances.get(instance_id)
        if found is None or found.generation != self._generation:
            known = client if found is None else found.client
            selection = self.subscriptions.select(known)
            found = ClientInstance(instance_id, known, selection, self._generation)
            if instance_id not in self._instances and len(self._instances) >= MOST_INSTANCES:
                self._forgotten.append(self._instances.popitem(last=False)[0])
            self._instances[instance_id] = found
        self._instances.move_to_end(instance_id)
        found.last_ms = now_ms
        return found

    def sweep(self, now_ms: float) -> None:
        """Forget idle instances; look at most each ten seconds."""
        if now_ms - self._swept_ms < SWEEP_MS:
            return
        self._swept_ms = now_ms
        for gone in [one.id for one in self._instances.values() if one.is_idle(now_ms)]:
            del self._instances[gone]
            self._forgotten.append(gone)

    def knows(self, instance_id: uuid.UUID) -> bool:
        """Return True if an instance is not forgotten."""
        return instance_id in self._instances

    def take_forgotten(self) -> list[uuid.UUID]:
        """Return the ids of forgotten instances, each of them once."""
        forgotten, self._forgotten = self._forgotten, []
        return forgotten
