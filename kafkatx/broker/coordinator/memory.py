"""How much memory groups may take: of one member, one group and all of them, before a member is let in.

GROUP_MAX_SIZE_REACHED is what a member is refused with, whichever limit it is. Java's consumer takes it as
fatal in answers to JoinGroup and to ConsumerGroupHeartbeat, franz-go does not retry it, and librdkafka hands
it to the application; a code of another meaning would have them try again at once.
"""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.requests.quotation import quoted
from kafkatx.group.actions import Group
from kafkatx.group.settings import GroupSettings
from kafkatx.group.sizes import GROUP_BYTES, text_bytes

SAY_EVERY_S = 1.0


class GroupMemory:
    """Counts what each group takes.

    :ivar used_bytes: what all groups take.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._sizes: dict[str, int] = {}
        self._said_s = clock.seconds() - SAY_EVERY_S
        self.used_bytes = 0

    def count(self, group: Group, has_offsets: bool) -> None:
        """A group was called, or is new: count what it takes now.

        :param has_offsets: it stays as long as its offsets do, so without members it is not counted.
        """
        size = group.held_bytes
        if size or not has_offsets:
            size += GROUP_BYTES + text_bytes(group.group_id)
        self._set(group.group_id, size)

    def drop(self, group_id: str) -> None:
        """A group is gone."""
        self._set(group_id, 0)

    def _set(self, group_id: str, size: int) -> None:
        before = self._sizes.get(group_id, 0)
        if size != before:
            self.used_bytes += size - before
            if size:
                self._sizes[group_id] = size
            else:
                del self._sizes[group_id]

    def refusal(
        self,
        settings: GroupSettings,
        group_id: str,
        group: Group | None,
        size: int,
        member_id: str,
        group_instance_id: str | None,
    ) -> str | None:
        """Return why a member must not join, or join again, with so much metadata; None if it may.

        :param group: the group as it is; None if there is none.
        :param size: of its ids and metadata, as :mod:`kafkatx.group.sizes` counts them.
        """
        held = before = new = 0
        if group is None:
            new = GROUP_BYTES + text_bytes(group_id)
        else:
            held, before = group.held_bytes, group.bytes_of(member_id, group_instance_id)
        more = size - before
        for what, wanted, setting, limit in (
            ("the member", size, "kafkatx.group.member.max.bytes", settings.member_max_bytes),
            ("the group", held + more, "kafkatx.group.max.bytes", settings.group_max_bytes),
            (
                "all groups",
                self.used_bytes + more + new,
                "kafkatx.groups.max.bytes",
                settings.groups_max_bytes,
            ),
        ):
            if wanted > limit and more > 0:
                why = f"{what} would take {wanted} bytes, and {setting}={limit}"
                self._say(group_id, why)
                return why
        return None

    def _say(self, group_id: str, why: str) -> None:
        """Tell it once in a while: members try again."""
        now_s = self._clock.seconds()
        if now_s - self._said_s >= SAY_EVERY_S:
            self._said_s = now_s
            self._log.warn("a member of group {group} is refused: {why}", group=quoted(group_id), why=why)
