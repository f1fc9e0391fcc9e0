"""Commands about ACLs: Apache Kafka's nodes, and changes that come at the same time."""

from __future__ import annotations

from kafkatx.acls import AclBinding, ResourcePattern, ResourceType
from kafkatx.interfaces.nodes import Create, Delete
from kafkatx.metadata.cluster.commands.acls import MOST_NODES
from kafkatx.testing.contracts.security.acl_store import NONE, PREFIX, READ, TOPIC, WRITE, on
from tests.metadata.cluster.cases import RunningCase


class AclCommandTests(RunningCase):
    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.store = self.started()

    def test_nodes(self) -> None:
        """A pattern's entries are in its node, as Apache Kafka has them; without entries it is deleted."""
        self.result(self.store.alter_acls(on(TOPIC, READ) | on(PREFIX, READ), NONE))
        content = (
            '{"version":1,"acls":[{"principal":"User:CN=änn,O=x","permissionType":"Allow","operation":"Read",'
            '"host":"*"}]}'
        ).encode()
        self.assertEqual(self.read("/kafka-acl/Topic/clicks"), content)
        self.assertEqual(self.read("/kafka-acl-extended/prefixed/Topic/clicks"), content)
        self.result(self.store.alter_acls(NONE, on(TOPIC, READ)))
        self.assertEqual(self.children("/kafka-acl/Topic"), [])

    def test_nothing_to_do(self) -> None:
        """A change that changes nothing writes no record."""
        self.result(self.store.alter_acls(on(TOPIC, READ), NONE))
        before = self.children("/kafkatx/changes")
        self.result(self.store.alter_acls(on(TOPIC, READ), on(PREFIX, READ)))
        self.assertEqual(self.children("/kafkatx/changes"), before)

    def test_many(self) -> None:
        """A change of many patterns takes several transactions of a bounded size."""
        before = len(self.children("/kafkatx/changes"))
        patterns = [ResourcePattern(ResourceType.TOPIC, f"t{n}") for n in range(2 * MOST_NODES + 1)]
        self.result(self.store.alter_acls(frozenset(AclBinding(one, READ) for one in patterns), NONE))
        self.assertEqual(len(self.store.state.acls), len(patterns))
        self.assertEqual(len(self.children("/kafkatx/changes")) - before, 3)

    def test_changed_meanwhile(self) -> None:
        """An entry that another program has written, and this broker has not seen, is kept."""
        self.result(self.store.alter_acls(on(TOPIC, READ), NONE))
        content = self.read("/kafka-acl/Topic/clicks").replace(b'"*"', b'"192.0.2.9"')
        self.write(Delete("/kafka-acl/Topic/clicks"))
        self.write(Create("/kafka-acl/Topic/clicks", content))
        self.result(self.store.alter_acls(on(TOPIC, WRITE), NONE))
        found = self.store.state.acls[TOPIC]
        self.assertEqual(found, {READ._replace(host="192.0.2.9"), WRITE})
