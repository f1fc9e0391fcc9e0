"""The retention policies, on segments that are only facts."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer
from zope.interface.verify import verifyObject

from kafkatx.config.log_config import LogConfig
from kafkatx.extension import extensions
from kafkatx.interfaces import IRetentionPolicy, ISegmentFacts
from kafkatx.log.retention import KeepAll, SizeRetention, TimeAndSizeRetention, TimeRetention
from kafkatx.testing.contracts.retention import RetentionPolicyContract


@implementer(ISegmentFacts)
@attrs.frozen
class Facts:
    """A segment."""

    base_offset: int
    size_bytes: int
    max_timestamp_ms: int


SEGMENTS = [Facts(0, 100, 1000), Facts(10, 100, 3000), Facts(20, 100, 2000), Facts(30, 50, 4000)]


class TimeContractTests(RetentionPolicyContract, SynchronousTestCase):
    make_policy = TimeRetention


class SizeContractTests(RetentionPolicyContract, SynchronousTestCase):
    make_policy = SizeRetention


class TimeAndSizeContractTests(RetentionPolicyContract, SynchronousTestCase):
    make_policy = TimeAndSizeRetention


class KeepAllContractTests(RetentionPolicyContract, SynchronousTestCase):
    make_policy = KeepAll


class RetentionTests(SynchronousTestCase):
    """The number of segments to delete."""

    def test_interface(self) -> None:
        """Every policy provides IRetentionPolicy, and every built-in one is found by its name."""
        for policy in (TimeRetention(), SizeRetention(), TimeAndSizeRetention(), KeepAll()):
            self.assertTrue(verifyObject(IRetentionPolicy, policy))
        found = {extension.name: extension.load() for extension in extensions(IRetentionPolicy)}
        expected = {
            "time": TimeRetention,
            "size": SizeRetention,
            "time+size": TimeAndSizeRetention,
            "keep": KeepAll,
        }
        self.assertEqual({name: found[name] for name in expected}, expected)

    def test_time(self) -> None:
        """The oldest segments are deleted while their newest record is too old, up to the first newer one."""
        for now_ms, count in ((1500, 0), (1501, 1), (3500, 1), (3501, 3), (4501, 4)):
            found = TimeRetention().expired(SEGMENTS, LogConfig(retention_ms=500), now_ms)
            self.assertEqual(found, count, now_ms)
        self.assertEqual(TimeRetention().expired(SEGMENTS, LogConfig(retention_ms=-1), 10**9), 0)

    def test_size(self) -> None:
        """The oldest segments are deleted while enough bytes are left without them."""
        table = ((-1, 0), (0, 4), (49, 3), (50, 3), (51, 2), (149, 2), (150, 2), (250, 1), (251, 0), (350, 0))
        for retention_bytes, count in table:
            found = SizeRetention().expired(SEGMENTS, LogConfig(retention_bytes=retention_bytes), 0)
            self.assertEqual(found, count, retention_bytes)

    def test_both(self) -> None:
        """Segments that are too old go, then the oldest of the rest by size."""
        config = LogConfig(retention_ms=500, retention_bytes=150)
        self.assertEqual(TimeAndSizeRetention().expired(SEGMENTS, config, 1501), 2)
        config = LogConfig(retention_ms=500, retention_bytes=300)
        self.assertEqual(TimeAndSizeRetention().expired(SEGMENTS, config, 1501), 1)
        self.assertEqual(TimeAndSizeRetention().expired(SEGMENTS, config, 0), 0)

    def test_keep(self) -> None:
        """No segment is deleted."""
        self.assertEqual(KeepAll().expired(SEGMENTS, LogConfig(retention_bytes=0, retention_ms=0), 10**9), 0)
