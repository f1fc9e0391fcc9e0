"""The contract of retention policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from zope.interface import implementer
from zope.interface.verify import verifyObject

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IRetentionPolicy, ISegmentFacts

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

NOW_MS = 1_700_000_000_000
DAY_MS = 24 * 3600 * 1000
CONFIGS = (
    LogConfig(),
    LogConfig(retention_ms=-1, retention_bytes=-1),
    LogConfig(retention_ms=0, retention_bytes=0),
    LogConfig(retention_ms=DAY_MS, retention_bytes=1000),
)


@implementer(ISegmentFacts)
@attrs.frozen
class Segment:
    """The facts of a segment that a policy sees."""

    base_offset: int
    size_bytes: int
    max_timestamp_ms: int


def segments(*ages_ms: int) -> tuple[Segment, ...]:
    """Return segments of 400 bytes whose newest records have these ages, the oldest segment first."""
    return tuple(Segment(10 * number, 400, NOW_MS - age_ms) for number, age_ms in enumerate(ages_ms))


SEQUENCES = (
    segments(0),
    segments(30 * DAY_MS),
    segments(3 * DAY_MS, 2 * DAY_MS, DAY_MS, 0),
    segments(2 * DAY_MS, 0, 2 * DAY_MS, DAY_MS),
    segments(-DAY_MS, 9 * DAY_MS, 0),
    (Segment(0, 0, 0),),
    (Segment(0, 0, -1), Segment(0, 0, NOW_MS)),
)


class RetentionPolicyContract(_Case):
    """For an :class:`~kafkatx.interfaces.IRetentionPolicy`."""

    def make_policy(self) -> IRetentionPolicy:
        """Return the policy to be tested, configured if it has settings."""
        raise NotImplementedError

    def test_interface(self) -> None:
        """Check that it provides IRetentionPolicy."""
        self.assertTrue(verifyObject(IRetentionPolicy, self.make_policy()))

    def test_count(self) -> None:
        """Check that it returns a number of existing segments, for every log and config."""
        policy = self.make_policy()
        for found in SEQUENCES:
            for config in CONFIGS:
                count = policy.expired(found, config, NOW_MS)
                self.assertIs(type(count), int)
                self.assertTrue(0 <= count <= len(found), count)

    def test_pure(self) -> None:
        """Check that it changes no segment list, and returns the same each time."""
        policy = self.make_policy()
        for given in SEQUENCES:
            for config in CONFIGS:
                found = list(given)
                count = policy.expired(tuple(found), config, NOW_MS)
                self.assertEqual(policy.expired(found, config, NOW_MS), count)
                self.assertEqual(tuple(found), given)

    def test_later_is_not_less(self) -> None:
        """Check that what may be removed now may be removed later as well."""
        policy = self.make_policy()
        for found in SEQUENCES:
            for config in CONFIGS:
                now, later = (policy.expired(found, config, at) for at in (NOW_MS, NOW_MS + 10 * DAY_MS))
                self.assertLessEqual(now, later)
