"""The settings of a member's state machine."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, RANGE, Assignor, assignors_of, built_in
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import SettingError


@attrs.frozen
class MemberSettings:
    """Values of the consumer settings with these names."""

    group_id: str
    group_instance_id: str | None = None
    assignors: tuple[Assignor, ...] = (RANGE, COOPERATIVE_STICKY)
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3000
    max_poll_interval_ms: int = 300_000
    """Also the rebalance timeout: how long the group waits for this member to rejoin."""
    rack: str | None = None
    backoff: Backoff = attrs.Factory(Backoff)

    @property
    def cooperative(self) -> bool:
        """True if members keep their partitions during a rebalance: all assignors must allow that."""
        return all(assignor.cooperative for assignor in self.assignors)

    @classmethod
    def of(cls, settings: ClientSettings, installed: Callable[[str], object] = built_in) -> MemberSettings:
        """Read the settings.

        :param installed: makes an assignor by name; see
            :func:`~kafkatx.clientcore.group.assignors.assignors_of`.
        :raises SettingError: there is no group, an assignor is unknown, or the heartbeat interval is too
            long.
        """
        group_id = settings[consumer.GROUP_ID]
        session_ms = settings[consumer.SESSION_TIMEOUT_MS]
        heartbeat_ms = settings[consumer.HEARTBEAT_INTERVAL_MS]
        if not group_id:
            raise SettingError("group.id is not set: give the group a name to subscribe and to commit")
        if heartbeat_ms >= session_ms:
            raise SettingError(
                f"heartbeat.interval.ms={heartbeat_ms}: it must be less than session.timeout.ms, {session_ms}"
            )
        return cls(
            group_id=group_id,
            group_instance_id=settings[consumer.GROUP_INSTANCE_ID] or None,
            assignors=assignors_of(
                settings.objects.get(
                    consumer.PARTITION_ASSIGNMENT_STRATEGY.name,
                    settings[consumer.PARTITION_ASSIGNMENT_STRATEGY],
                ),
                installed,
            ),
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=heartbeat_ms,
            max_poll_interval_ms=settings[consumer.MAX_POLL_INTERVAL_MS],
            rack=settings[common.CLIENT_RACK] or None,
            backoff=Backoff(
                first_ms=settings[common.RETRY_BACKOFF_MS],
                longest_ms=settings[common.RETRY_BACKOFF_MAX_MS],
                jitter=JITTER,
            ),
        )
