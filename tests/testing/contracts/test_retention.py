"""The contract of retention policies notices bad ones."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IRetentionPolicy, ISegmentFacts
from kafkatx.log.retention import KeepAll
from kafkatx.testing.contracts.retention import RetentionPolicyContract
from tests.testing.contracts.failures import failed_tests


@implementer(IRetentionPolicy)
class TooMany:
    """A policy that counts a segment more than there are."""

    def expired(self, segments: Sequence[ISegmentFacts], config: LogConfig, now_ms: int) -> int:
        """Return the number of segments to remove."""
        return len(segments) + 1


@implementer(IRetentionPolicy)
class Destructive:
    """A policy that changes the list that it is given."""

    def expired(self, segments: Sequence[ISegmentFacts], config: LogConfig, now_ms: int) -> int:
        """Return the number of segments to remove."""
        if isinstance(segments, MutableSequence):
            segments.clear()
        return 0


@implementer(IRetentionPolicy)
class Forgiving:
    """A policy that keeps more the later it is."""

    def expired(self, segments: Sequence[ISegmentFacts], config: LogConfig, now_ms: int) -> int:
        """Return the number of segments to remove."""
        return sum(1 for segment in segments if segment.max_timestamp_ms + 5 * 86_400_000 > now_ms)


class RetentionContractTests(SynchronousTestCase):
    def test_good(self) -> None:
        """A built-in policy keeps it."""
        self.assertEqual(failed_tests(RetentionPolicyContract, make_policy=KeepAll), set())

    def test_bad(self) -> None:
        """Each way to break it is noticed by the test for it."""
        for make_policy, test in (
            (object, "test_interface"),
            (TooMany, "test_count"),
            (Destructive, "test_pure"),
            (Forgiving, "test_later_is_not_less"),
        ):
            self.assertIn(test, failed_tests(RetentionPolicyContract, make_policy=make_policy))
