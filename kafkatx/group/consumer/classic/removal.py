"""The removal of members from a consumer group, and its downgrade to a classic group. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kafkatx.group.actions import Action, LogLine
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer.classic.conversion import can_downgrade, to_classic
from kafkatx.group.consumer.request_queue import Failed, RequestQueue, Then


class MemberRemoval:
    """Removes members; if only classic members remain, they become a classic group."""

    def __init__(
        self, queue: RequestQueue, new_member_id: Callable[[str], str], wall_ms: Callable[[], int]
    ) -> None:
        self._queue = queue
        self._new_member_id = new_member_id
        self._wall_ms = wall_ms

    def remove(
        self, reasons: Mapping[str, str], then: Then, failed: Failed, now_ms: int, warn: bool = False
    ) -> list[Action]:
        """Remove members and store that.

        :param reasons: the reason for the log, by member id.
        """
        text = "member {member} of group {group} was removed: {reason}"
        lines = [
            LogLine(text, {"member": member_id, "reason": reason}, warn)
            for member_id, reason in reasons.items()
        ]
        if can_downgrade(self._queue.rebalance, reasons):
            return self.downgrade(reasons, lambda at_ms, _: [*lines, *then(at_ms)], failed, now_ms)
        self._queue.rebalance.fence(reasons)
        return self._queue.write(lambda at_ms: [*lines, *then(at_ms)], failed)

    def downgrade(
        self,
        leaving: Iterable[str],
        then: Callable[[int, ClassicGroup], list[Action]],
        failed: Failed,
        now_ms: int,
    ) -> list[Action]:
        """Replace the group by a classic group of the remaining members; *then* is called with that group."""
        queue = self._queue
        rebalance = queue.rebalance
        classic = to_classic(rebalance, self._new_member_id, self._wall_ms, set(leaving), now_ms)
        queue.roll_back()  # the tombstones are those of the stored state
        line = LogLine("group {group} goes on with the classic protocol", {})
        return queue.store(
            [*queue.encoded(rebalance.state.tombstones()), classic.record()],
            lambda at_ms: [queue.replace(classic), line, *then(at_ms, classic)],
            failed,
        )
