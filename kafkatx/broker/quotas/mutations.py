"""The quota of partitions that are created and deleted, ``controller_mutation_rate`` (KIP-599).

Each client has a bucket of tokens: a mutation of a partition takes one, and they come back at the rate of the
quota, up to those of the whole window. A mutation may begin while tokens are left, and may take more than
there are: so a topic with many partitions can be created, and the next one waits. Only the clock is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.quotas.entities import Accounts
from kafkatx.config.table.row import INT_MAX
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.net.requests import Peer
from kafkatx.types import QuotaEntity


class Throttled(Protocol):
    """A response with a throttle time."""

    throttle_time_ms: int


ThrottledT = TypeVar("ThrottledT", bound=Throttled)


class Bucket:
    """The mutations of one client that its quota has not made up for yet."""

    __slots__ = ("_at_ms", "_used", "_used_up_ms")

    def __init__(self) -> None:
        self._used = 0.0
        self._at_ms = 0
        self._used_up_ms = 0.0  # the time at which nothing is used any more

    def used(self, limit: float, now_ms: int) -> float:
        """Return the tokens that are taken now."""
        passed_ms = max(0, now_ms - self._at_ms)
        self._used = max(0.0, self._used - passed_ms * limit / 1000)
        self._at_ms = now_ms
        return self._used

    def take(self, limit: float, count: int, now_ms: int) -> None:
        """Take tokens, also more than are left."""
        self._used = self.used(limit, now_ms) + count
        self._used_up_ms = now_ms + self._used / limit * 1000

    def is_idle(self, now_ms: int) -> bool:
        """Return True if all tokens are back."""
        return now_ms >= self._used_up_ms


class Mutations:
    """The mutations and quotas of clients, in partitions per second.

    :param window_s: the seconds whose mutations may come at once.
    """

    def __init__(self, window_s: float, clock: IReactorTime, limits: Mapping[QuotaEntity, float]) -> None:
        self.accounts = Accounts(limits, Bucket)
        self._window_s = window_s
        self._clock = clock

    def throttle_time_ms(self, principal: str, client_id: str | None) -> int:
        """Return the time until a client may begin another mutation, in ms; 0: now."""
        return self.charge(principal, client_id, 0)

    def charge(self, principal: str, client_id: str | None, count: int) -> int:
        """Count mutations; return the throttle time in ms, mostly 0."""
        now_ms = int(self._clock.seconds() * 1000)
        found = self.accounts.find(principal, client_id, now_ms)
        if found is None:
            return 0
        limit, bucket = found
        if count:
            bucket.take(limit, count, now_ms)
        missing = bucket.used(limit, now_ms) - limit * self._window_s
        return min(-int(-missing / limit * 1000 // 1), INT_MAX) if missing > 0 else 0


def count(mutations: RequestMutations | None, partitions: int) -> None:
    """Count the partitions of a topic before it is changed, if there are quotas for that.

    :raises RequestError: as :meth:`RequestMutations.record`.
    """
    if mutations is not None:
        mutations.record(partitions)


class RequestMutations:
    """The mutations of one request.

    :param peer: the client's connection.
    :param is_strict: True for a version that can be told to come back later: its mutations are refused when
        no tokens are left. Those of older versions are made, and their client is throttled.
    :ivar throttle_time_ms: the time for which the client has to be throttled.
    """

    def __init__(self, of_all: Mutations, peer: Peer, client_id: str | None, is_strict: bool) -> None:
        self.throttle_time_ms = 0
        self._of_all = of_all
        self._peer = peer
        self._client = peer.session.principal, client_id
        self._is_strict = is_strict

    def record(self, count: int) -> None:
        """Count the partitions of a topic, before it is changed.

        :raises RequestError: THROTTLING_QUOTA_EXCEEDED; nothing is counted.
        """
        if self._is_strict:
            self._note(self._of_all.throttle_time_ms(*self._client))
            if self.throttle_time_ms:
                raise RequestError(
                    ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded."
                )
            self._of_all.charge(*self._client, count)
        else:
            self._note(self._of_all.charge(*self._client, count))

    def throttle(self, response: ThrottledT) -> ThrottledT:
        """Throttle the client if it has exceeded its quota; return the response, which tells it so."""
        if self.throttle_time_ms:
            response.throttle_time_ms = self.throttle_time_ms
            self._peer.throttle_time_ms = max(self.throttle_time_ms, self._peer.throttle_time_ms)
        return response

    def _note(self, throttle_time_ms: int) -> None:
        self.throttle_time_ms = max(self.throttle_time_ms, throttle_time_ms)
