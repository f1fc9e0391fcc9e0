"""The settings that the machine of a member needs, read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, RANGE, Assignor, assignors_of, built_in
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import SettingError


@attrs.frozen
class MemberSettings:
    """Values of the consumer's settings that carry these names."""

    group_id: str
    group_instance_id: str | None = None
    assignors: tuple[Assignor, ...] = (RANGE, COOPERATIVE_STICKY)
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3000
    max_poll_interval_ms: int = 300_000
    """Also the rebalance time-out: so long others wait for this member to join again."""
    rack: str | None = None
    backoff: Backoff = attrs.Factory(Backoff)

    @property
    def cooperative(self) -> bool:
        """Whether members keep their partitions while they rebalance: all assignors must allow that."""
        return all(assignor.cooperative for assignor in self.assignors)

    @classmethod
    def of(cls, settings: ClientSettings, installed: Callable[[str], Any] = built_in) -> MemberSettings:
        """Read them.

        :param installed: makes an assignor by name; see
            :func:`~kafkatx.clientcore.group.assignors.assignors_of`.
        :raises SettingError: there is no group, or an assignor is unknown, or heartbeats come too seldom.
        """
        group_id = settings[consumer.GROUP_ID]
        session_ms = settings[consumer.SESSION_TIMEOUT_MS]
        beat_ms = settings[consumer.HEARTBEAT_INTERVAL_MS]
        if not group_id:
            raise SettingError("group.id is not set: give the group a name to subscribe and to commit")
        if beat_ms >= session_ms:
            raise SettingError(
                f"heartbeat.interval.ms={beat_ms}: it must be less than session.timeout.ms, {session_ms}"
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
            heartbeat_interval_ms=beat_ms,
            max_poll_interval_ms=settings[consumer.MAX_POLL_INTERVAL_MS],
            rack=settings[common.CLIENT_RACK] or None,
            backoff=Backoff(
                first_ms=settings[common.RETRY_BACKOFF_MS],
                longest_ms=settings[common.RETRY_BACKOFF_MAX_MS],
                jitter=JITTER,
            ),
        )
