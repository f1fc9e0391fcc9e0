"""What a member of a group knows of itself, and how its machine says what it wants done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkatx.clientcore.group.assignors import Assignor
from kafkatx.clientcore.group.membership.actions import (
    NEVER_MS,
    Action,
    Ask,
    Call,
    Change,
    Fail,
    Forget,
    Left,
    Tell,
)
from kafkatx.clientcore.group.membership.leader import Lead
from kafkatx.clientcore.group.membership.pulse import Patience, Pulse
from kafkatx.clientcore.group.membership.settings import MemberSettings
from kafkatx.clientcore.group.membership.states import Event, State, next_state
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from kafkatx.wire.schema import Message

NO_GENERATION = -1
AT_ONCE = 3
"""So many failures in a row may be followed by a new attempt without a pause, where there is hope."""

Partitions = frozenset[TopicPartition]


class Core:
    """The state of a member.

    :ivar generation: of the group, with the partitions in :attr:`owned`; NO_GENERATION: they are lost.
    :ivar member_id: as the coordinator knows the member; "" if it does not.
    :ivar owned: what the application has. It shrinks when the application has been told so, not before.
    """

    def __init__(self, settings: MemberSettings) -> None:
        self.settings = settings
        self.state = State.UNJOINED
        self.generation = NO_GENERATION
        self.member_id = ""
        self.owned: Partitions = frozenset()
        self._assignor: Assignor | None = None
        self._topics: frozenset[str] | None = None
        self._matches: Callable[[str], bool] | None = None
        self._joined_topics: frozenset[str] = frozenset()
        self._last: tuple[Partitions | None, int] = (None, NO_GENERATION)
        """The last assignment and its generation, which assignors tell the leader of."""
        self._target: Partitions | None = None
        """An assignment that the application has not been told of yet."""
        self._lead: Lead | None = None
        self._reason: str | None = None
        """Why to join (again); None: there is no need to."""
        self._calling: Call | None = None
        self._leaving: Event | None = None
        self._error: KafkaTXError | None = None
        self._pulse = Pulse(settings.heartbeat_interval_ms, settings.session_timeout_ms)
        self._patience = Patience(settings.max_poll_interval_ms)
        self._failures = 0
        self._retry_ms = 0
        self._token: int | None = None
        """Of the request, or of the look at topics, that the next step waits for."""
        self._tokens = 0
        self._out: list[Action] = []

    @property
    def error(self) -> KafkaTXError | None:
        """Why the member is closed, if it failed."""
        return self._error

    @property
    def subscribed(self) -> bool:
        """Whether there is a subscription, be it to no topics."""
        return self._topics is not None

    @property
    def deadline_ms(self) -> int:
        """When :meth:`advance` must be called; it may turn out then that nothing is due yet."""
        deadline_ms = self._pulse.deadline_ms
        if self._is_member:
            deadline_ms = min(deadline_ms, self._patience.over_ms)
        if self._wants_to_join:
            deadline_ms = min(deadline_ms, self._retry_ms)
        return deadline_ms

    @property
    def _is_member(self) -> bool:
        """Whether heartbeats go on, and the application's time counts."""
        return self.state in (State.SYNCING, State.STABLE) and self.generation != NO_GENERATION

    @property
    def _wants_to_join(self) -> bool:
        """Whether only time is between the member and a new attempt."""
        return (
            self.state in (State.UNJOINED, State.STABLE)
            and self._calling is None
            and self._topics is not None
            and self._reason is not None
            and not self._patience.asleep
        )

    # Saying what is wanted

    def _done(self) -> list[Action]:
        out, self._out = self._out, []
        return out

    def _ask(self, request: Message, timeout_ms: int = 0, aside: bool = False) -> int:
        self._tokens += 1
        self._out.append(Ask(self._tokens, request, timeout_ms, aside))
        return self._tokens

    def _call(self, change: Change, partitions: Partitions) -> None:
        self._calling = Call(change, partitions)
        self._out.append(self._calling)

    def _tell(self, text: str, warn: bool = False, **values: Any) -> None:
        self._out.append(Tell(text, values, warn))

    # What happens in many places

    def _move(self, event: Event) -> None:
        self.state = next_state(self.state, event)

    def _pause_ms(self) -> int:
        return round(self.settings.backoff.pause_s(max(self._failures - 1, 0)) * 1000)

    def _again(self, reason: str, now_ms: int, *, at_once: bool) -> None:
        """An attempt to join failed: try again, at once or after a pause."""
        self._failures += 1
        self._reason = reason
        self._retry_ms = now_ms if at_once and self._failures <= AT_ONCE else now_ms + self._pause_ms()

    def _forget(self) -> None:
        self._out.append(Forget())

    def _reset(self, reason: str, *, forget_id: bool) -> None:
        """The coordinator does not know the member in this generation: all that it has is lost.

        :param forget_id: it does not know the member id either.
        """
        self._tell("{member} of group {group} is out of its generation: {reason}", reason=reason)
        self._move(Event.RESET)
        self.generation = NO_GENERATION
        if forget_id:
            self.member_id = ""
        self._token = self._target = self._lead = None
        self._reason = reason
        self._pulse.stop()

    def _fail(self, error: KafkaTXError) -> None:
        """The membership is over, once the application knows that its partitions are lost."""
        self._error = error
        self.generation = NO_GENERATION
        self._token = self._target = self._lead = None
        self._pulse.stop()

    def _end_failed(self, error: KafkaTXError) -> None:
        self._move(Event.CLOSE)
        self._retry_ms = NEVER_MS
        self._out.append(Fail(error))
        if self._leaving is not None:
            self._out.append(Left())
