"""``kafka-acls`` of Apache Kafka with a kafkatx broker, and on the nodes in ZooKeeper that kafkatx uses.

The tool runs as its shell script would run it. ``make interop`` fetches the jars.
"""

from __future__ import annotations

import re

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.acls import Acls
from kafkatx.security.acl.lines import format_line, parse_line
from kafkatx.testing import EmbeddedBroker
from tests.integration.zookeeper import ZooKeeperServer
from tests.interop.apache import run
from tests.until import until

SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
}
TOOL = "kafka.admin.AclCommand"


def acls(broker: EmbeddedBroker) -> list[str]:
    """Return the ACLs of a broker."""
    with Cluster(broker.bootstrap) as cluster:
        return [format_line(one) for one in Acls(cluster).describe()]


class ToolTests(SynchronousTestCase):
    """The tool over the protocol."""

    def test_add_list_remove(self) -> None:
        """ACLs that the tool adds are there, it lists them, and removes what it is told."""
        with EmbeddedBroker(SETTINGS) as broker:
            tool = (TOOL, "--bootstrap-server", broker.bootstrap)
            run(*tool, "--add", "--allow-principal", "User:alice", "--producer", "--topic", "orders")
            run(
                *tool,
                *("--add", "--deny-principal", "User:bob", "--deny-host", "192.0.2.7", "--operation", "All"),
                *("--topic", "or", "--resource-pattern-type", "prefixed"),
            )
            self.assertEqual(
                sorted(acls(broker)),
                [
                    "User:alice create topic:orders",
                    "User:alice describe topic:orders",
                    "User:alice write topic:orders",
                    "deny User:bob from 192.0.2.7 all prefixed topic:or",
                ],
            )
            listed = run(*tool, "--list", "--topic", "orders", "--resource-pattern-type", "match")
            self.assertEqual(len(re.findall("permissionType=", listed)), 4)
            run(*tool, "--remove", "--force", "--topic", "orders")
            self.assertEqual(acls(broker), ["deny User:bob from 192.0.2.7 all prefixed topic:or"])


class NodesTests(SynchronousTestCase):
    """The tool at ZooKeeper, as it was used before Apache Kafka 4."""

    def test_nodes(self) -> None:
        """Nodes that the tool writes count for a running broker, and the tool lists what kafkatx writes."""
        server = ZooKeeperServer()
        self.addCleanup(server.stop)
        address = f"127.0.0.1:{server.port}"
        settings = {**SETTINGS, "zookeeper.connect": address, "broker.id": "1"}
        with EmbeddedBroker(settings) as broker:
            tool = (
                *(TOOL, "--authorizer", "kafka.security.authorizer.AclAuthorizer"),
                *("--authorizer-properties", f"zookeeper.connect={address}"),
            )
            run(*tool, "--add", "--allow-principal", "User:alice", "--operation", "Read", "--topic", "t")
            until(lambda: acls(broker) == ["User:alice read topic:t"], "the broker follows the tool")
            run(
                *tool,
                *("--add", "--deny-principal", "User:*", "--operation", "Delete"),
                *("--group", "g", "--resource-pattern-type", "prefixed"),
            )
            until(lambda: len(acls(broker)) == 2, "the broker follows the tool, also for prefixes")
            self.assertIn("deny User:* delete prefixed group:g", acls(broker))
            with Cluster(broker.bootstrap) as cluster:
                Acls(cluster).create([parse_line("User:bob from 192.0.2.7 all transactional-id:x")])
            run(*tool, "--remove", "--force", "--topic", "t")
            until(lambda: len(acls(broker)) == 2, "the broker follows the removal")
            listed = run(*tool, "--list")
            self.assertIn("resourceType=TRANSACTIONAL_ID, name=x", listed)
            self.assertIn("principal=User:bob, host=192.0.2.7, operation=ALL, permissionType=ALLOW", listed)
