"""Tests of kafkatx.blocking.admin.mirrors."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin
from kafkatx.blocking.admin.mirrors import Mirrors
from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorStatus
from kafkatx.clientcore.admin.mirrors import NoMirrors
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_mirrors import DescribeMirrorsRequest
from kafkatx.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.blocking.fake_mirrors import FakeMirrors
from tests.blocking.fakes import LOSE_REPLY


class ReportTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two brokers, each with mirrored partitions."""
        self.fake = FakeMirrors(brokers=2)
        self.fake.links = {1: [LinkStatus("dc1", "s:1")], 2: [LinkStatus("dc1", "s:1", groups=4)]}
        self.fake.mirrored = {
            1: [MirrorStatus("dc1", "a", n, "mirroring") for n in range(5)],
            2: [MirrorStatus("dc2", "b", 0, "paused")],
        }
        self.cluster = self.fake.client(retries=3)
        self.mirrors = Mirrors(self.cluster)

    def test_whole_cluster(self) -> None:
        """Every broker is asked, page by page; each answer has the id of its broker."""
        self.fake.page = 2
        report = Admin(self.cluster).describe_mirrors()
        self.assertEqual(
            [(status.topic, status.partition, status.broker) for status in report.partitions],
            [*(("a", n, 1) for n in range(5)), ("b", 0, 2)],
        )
        self.assertEqual([(link.broker, link.groups) for link in report.links], [(1, -1), (2, 4)])
        self.assertEqual(len(self.fake.asked), 4)

    def test_filter(self) -> None:
        """Links and topics are the brokers' to choose."""
        self.assertEqual([s.topic for s in self.mirrors.report(["dc2"]).partitions], ["b"])
        self.assertEqual([s.topic for s in self.mirrors.report(None, ["b"]).partitions], ["b"])
        self.assertEqual(self.mirrors.report([]).partitions, ())

    def test_foreign(self) -> None:
        """A broker that closes the connection twice is told to be none of kafkatx."""
        self.fake.foreign = {2}
        error = self.assertRaises(NoMirrors, self.mirrors.report)
        self.assertIn("broker2:9092 has closed the connection on DescribeMirrors", str(error))
        self.assertEqual(len(self.fake.asked), 3)

    def test_lost(self) -> None:
        """A connection that is lost once is opened again; a broker that stays away is an error."""
        self.fake.faults[DescribeMirrorsRequest].append(LOSE_REPLY)
        self.assertEqual(len(self.mirrors.report().partitions), 6)
        self.fake.faults[DescribeMirrorsRequest].extend([LOSE_REPLY] * 100)
        self.assertRaises(ConnectionFailed, self.mirrors.report)

    def test_refused(self) -> None:
        """A refusal is raised."""
        self.fake.faults[DescribeMirrorsRequest].append(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self.assertRaises(RequestError, self.mirrors.report)


class SettingsTests(SynchronousTestCase):
    def test_alter(self) -> None:
        """One request sets, resets, appends and takes away, for all brokers."""
        fake = FakeMirrors()
        Mirrors(fake.client()).alter({"mirror.a.topics": "x"}, ["mirror.a.paused"], ["a", "b"], ["c"])
        (request,) = fake.sent(IncrementalAlterConfigsRequest)
        (resource,) = request.resources
        self.assertEqual((resource.resource_type, resource.resource_name), (4, ""))
        self.assertEqual(
            [(c.name, c.config_operation, c.value) for c in resource.configs],
            [
                ("mirror.a.topics", 0, "x"),
                ("mirror.a.paused", 1, None),
                ("mirror.links", 2, "a,b"),
                ("mirror.links", 3, "c"),
            ],
        )

    def test_settings(self) -> None:
        """The settings of links are those of all brokers."""
        fake = FakeMirrors()
        fake.settings[4, ""] = {"mirror.links": "a", "mirror.a.topics": "x"}
        found = Mirrors(fake.client()).settings()
        self.assertEqual(
            {link: {n: e.value for n, e in of.items()} for link, of in found.items()}, {"a": {"topics": "x"}}
        )
