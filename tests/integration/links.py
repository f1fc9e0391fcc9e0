"""The source of a link, the commands about it, and what a test waits for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.configs import Configs
from kafkatx.blocking.admin.groups import Groups
from kafkatx.blocking.admin.mirrors import Mirrors
from kafkatx.clientcore.admin.configs import Resource, ResourceType
from kafkatx.clientcore.admin.mirror_status import LinkStatus
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord
from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.messages import create_topic, produce
from tests.until import until

QUICK = ("-s", "refresh.interval.ms=200", "-s", "groups.interval.ms=200")


class LinkCase(SynchronousTestCase):
    """A source, and a target that a test starts.

    :ivar target: the bootstrap servers of the target.
    """

    target: str

    def setUp(self) -> None:
        """Start the source, with a topic."""
        self.source = self.broker()
        create_topic(self.source.bootstrap, "orders", 2, {"retention.ms": "7200000"})
        for partition in range(2):
            self.source.produce("orders", *[b"%d" % n for n in range(100)], partition=partition)

    def broker(self) -> EmbeddedBroker:
        """Start a broker in a process."""
        broker = EmbeddedBroker({"group.initial.rebalance.delay.ms": 0}, run_in="process")
        self.addCleanup(broker.close)
        return broker.start()

    def kafkatx(self, *arguments: str, on: str = "", exit_code: int = 0) -> str:
        """Run a command, on the target unless told otherwise; return its output."""
        command = [sys.executable, "-m", "kafkatx", *arguments, "-b", on or self.target]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        return done.stdout

    def add(self, topics: str = ".*") -> None:
        """Add the link."""
        self.kafkatx("mirror", "add", "dc1", "--source", self.source.bootstrap, "--topics", topics, *QUICK)

    def status(self) -> list[Any]:
        """Return what the brokers tell of the mirrored partitions."""
        with Cluster(self.target) as cluster:
            return list(Mirrors(cluster).report(["dc1"]).partitions)

    def link(self) -> LinkStatus:
        """Return what the controller tells of the link."""
        with Cluster(self.target) as cluster:
            return max(Mirrors(cluster).report(["dc1"]).links, key=lambda link: link.groups)

    def caught_up(self, partitions: int, end: int | None = None) -> None:
        """Wait until so many partitions have all that the source has."""

        def are_equal() -> bool:
            found = self.status()
            ends = {one.log_end for one in found}
            return len(found) == partitions and all(one.lag == 0 for one in found) and end in (None, *ends)

        until(are_equal, f"{partitions} partitions are equal: {self.status()}")

    def configs(self, topic: str) -> dict[str, str | None]:
        """Return the configs of a topic of the target."""
        with Cluster(self.target) as cluster:
            found = Configs(cluster).describe(Resource(ResourceType.TOPIC, topic))
        return {name: entry.value for name, entry in found.items()}

    def record(self, topic: str = "orders") -> MirrorRecord:
        """Return the record of a mirror."""
        return MirrorRecord.parse(self.configs(topic)[KAFKATX_MIRROR] or "")

    def until_state(self, state: str, topic: str = "orders") -> None:
        """Wait for the state of a mirror."""
        until(lambda: self.record(topic).state.value == state, f"{topic} is {state}: {self.record(topic)}")

    def write(self, partition: int, *values: bytes) -> None:
        """Produce to the topic of the target.

        :raises KafkaTXError: that is refused.
        """
        produce(self.target, "orders", values, None, partition, (), None)

    def read(self, *arguments: str) -> list[str]:
        """Return what a consumer of the target reads."""
        return self.kafkatx("consume", *arguments, "-f", "%p:%o:%s\n").splitlines()

    def set_offsets(self, group: str, offset: int, on: str) -> None:
        """Set the offsets of a group."""
        arguments = ("groups", "reset", group, "-t", "orders", "--to-offset", str(offset), "--execute")
        self.kafkatx(*arguments, on=on)

    def group(self, name: str) -> Sequence[str]:
        """Return the committed offsets of a group in the target; none if it is not there."""
        with Cluster(self.target) as cluster:
            found = Groups(cluster).offsets(name)
        return [str(found[at].offset) for at in sorted(found)]
