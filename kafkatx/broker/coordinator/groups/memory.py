"""The memory of groups: limits for one member, one group and all groups, checked before a member joins.

A member is refused with GROUP_MAX_SIZE_REACHED for each limit. Java's consumer treats that as fatal in
responses to JoinGroup and ConsumerGroupHeartbeat, franz-go does not retry it, and librdkafka passes it to the
application; after another error they would retry at once. It touches the clock only.
"""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.requests.quotation import quoted
from kafkatx.group.actions import Group
from kafkatx.group.settings import GroupSettings
from kafkatx.group.sizes import GROUP_BYTES, text_bytes

LOG_INTERVAL_S = 1.0


class GroupMemory:
    """The memory that each group takes.

    :ivar used_bytes: the memory of all groups.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._sizes: dict[str, int] = {}
        self._logged_s = clock.seconds() - LOG_INTERVAL_S
        self.used_bytes = 0

    def count(self, group: Group, has_offsets: bool) -> None:
        """Set the memory of a group to its present size.

        :param has_offsets: True if it has committed offsets. Such a group exists as long as these, so it is
            not counted while it has no members.
        """
        size = group.held_bytes
        if size or not has_offsets:
            size += GROUP_BYTES + text_bytes(group.group_id)
        self._set(group.group_id, size)

    def drop(self, group_id: str) -> None:
        """Set the memory of a group to 0: it was removed."""
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
        """Return why a member must not join, or rejoin; None if it may.

        :param group: the group; None if there is none yet.
        :param size: the size of the member's ids and metadata, as :mod:`kafkatx.group.sizes` counts them.
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
                self._log_refusal(group_id, why)
                return why
        return None

    def _log_refusal(self, group_id: str, why: str) -> None:
        """Log at most one line per interval: members retry."""
        now_s = self._clock.seconds()
        if now_s - self._logged_s >= LOG_INTERVAL_S:
            self._logged_s = now_s
            self._log.warn("a member of group {group} is refused: {why}", group=quoted(group_id), why=why)
