"""Groups of our ConsumerConnector and of Apache Kafka 0.8.2's Java consumer, over ZooKeeper.

``python -m tests.interop.zookeeper_groups --minutes 5`` lets members of both come and go by chance.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import uuid
from collections.abc import Callable, Mapping

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedCluster
from tests.integration.zookeeper import ZooKeeperServer, shared_server
from tests.integration.zookeeper_group import ChurnedGroup, our_member, pause
from tests.interop.old import kafka

PARTITIONS = 8
MOST_MEMBERS = 4
STEP_S = (3.0, 9.0)
SETTINGS = {
    "zookeeper.session.timeout.ms": "6000",
    "rebalance.backoff.ms": "1000",
    "rebalance.max.retries": "30",  # Kafka 0.8 gives up after them
}
COMMANDS: Mapping[str, Callable[[str, int, bool, Mapping[str, str]], list[str]]] = {
    "ours": our_member,
    "java": kafka.old_member,
}


class MixedGroupTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start two brokers on ZooKeeper."""
        kafka.prepare()
        self.connect = f"127.0.0.1:{shared_server().port}/mixed-{uuid.uuid4().hex[:8]}"
        self.cluster = EmbeddedCluster(2, zookeeper=self.connect, run_in="process")
        self.addCleanup(self.cluster.close)
        self.cluster.start()

    def churned(self, **settings: str) -> ChurnedGroup:
        """Return a group without members."""
        topic = self.cluster.topic("mixed", partitions=PARTITIONS, replication=1)
        more = {**SETTINGS, **settings}
        return ChurnedGroup(self.connect, self.cluster.bootstrap, topic, PARTITIONS, COMMANDS, more)

    def test_members_come_and_go(self) -> None:
        """Both share the partitions by Algorithm 1; a member that leaves or dies is replaced by any other."""
        with self.churned() as group:
            ours, java = group.join("ours", streams=2), group.join("java", streams=2, filtered=True)
            group.wait_balanced()
            for name in (ours, java):
                group.wait_for_records(name)
            group.kill(java)
            other = group.join("ours", filtered=True)
            group.wait_balanced()
            group.wait_for_records(other)
            group.kill(ours)
            java = group.join("java")
            group.wait_balanced()
            group.wait_for_records(java)
            group.leave(other)
            group.wait_balanced()
            group.join("ours")
            group.wait_balanced()
            group.leave(java)
            group.finish()
            self.check_tool(group)

    def check_tool(self, group: ChurnedGroup) -> None:
        """Kafka 0.8's tool finds offsets and owners in our nodes."""
        connect = ("--zookeeper", self.connect, "--group", group.group)
        told = kafka.tool("kafka.tools.ConsumerOffsetChecker", *connect)
        rows = [line.split() for line in told.splitlines() if line.startswith(group.group)]
        found = {int(row[2]): (int(row[3]), row[6]) for row in rows}
        offsets, owners = group.nodes.offsets(), group.nodes.owners()
        self.assertEqual(found, {number: (offsets[number], owners[number]) for number in range(PARTITIONS)})

    def test_offsets_in_kafka(self) -> None:
        """With offsets.storage=kafka the one goes on where the other has committed."""
        storage = {"offsets.storage": "kafka", "dual.commit.enabled": "false"}
        with self.churned(**storage) as group:
            for kind in ("java", "ours", "java"):
                last = group.join(kind)
                group.wait_balanced()
                group.wait_for_records(last)
                group.leave(last)
            group.join("ours")
            group.finish()
            self.assertEqual(group.nodes.offsets(), {})
            again = group.read_again_by()
            # Java's consumer commits, and then still gives out records that it has fetched; ours does not.
            self.assertLess(again[last], PARTITIONS, again)
            self.assertLess(max(again.values()), group.read_by(last), again)


def churn(minutes: float, seed: int) -> str:
    """Make members come and go; return what there was, in words.

    :raises AssertionError: something does not hold.
    """
    chance = random.Random(seed)
    kafka.prepare()
    server = ZooKeeperServer(tick_ms=1000)
    connect = f"127.0.0.1:{server.port}/churn"
    cluster = EmbeddedCluster(2, zookeeper=connect, run_in="process")
    try:
        cluster.start()
        topic = cluster.topic("mixed", partitions=PARTITIONS, replication=1)
        end_s = time.monotonic() + minutes * 60
        with ChurnedGroup(connect, cluster.bootstrap, topic, PARTITIONS, COMMANDS, SETTINGS) as group:
            group.join("java")
            group.join("ours")
            while time.monotonic() < end_s:
                step(group, chance)
                if chance.random() < 0.3:
                    group.wait_balanced()
                pause(chance.uniform(*STEP_S))
            return group.finish()
    finally:
        cluster.close()
        server.stop()


def step(group: ChurnedGroup, chance: random.Random) -> None:
    """Start a member, or make one leave, or kill it."""
    present = list(group.members)
    if len(present) < 2 or (len(present) < MOST_MEMBERS and chance.random() < 0.5):
        kinds = {name.split()[0] for name in present}
        kind = chance.choice(sorted(COMMANDS.keys() - kinds) or sorted(COMMANDS))
        name = group.join(kind, chance.randint(1, 3), chance.random() < 0.5)
        what = "joins"
    else:
        name, what = chance.choice(present), chance.choice(("leaves", "is killed"))
        (group.leave if what == "leaves" else group.kill)(name)
    sys.stdout.write(f"{name} {what}; {len(group.members)} members\n")
    sys.stdout.flush()


def main() -> None:
    """Run for some minutes, and print what there was."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    sys.stdout.write(churn(a.minutes, a.seed) + "\n")


if __name__ == "__main__":
    main()
