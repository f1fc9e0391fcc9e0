"""Three brokers over one tree: what one of them is told about ACLs, all decide by."""

from __future__ import annotations

from twisted.internet.task import Clock

from kafkatx.acls import AclBinding, AclOperation, ResourceType
from kafkatx.broker.authorization.authorization import Authorization
from kafkatx.broker.authorization.denials import Denials
from kafkatx.config import BrokerConfig
from kafkatx.metadata.cluster.store import ClusterMetadataStore
from kafkatx.net.requests import Peer, Session
from kafkatx.security.acl.lines import parse_line
from kafkatx.security.authorizers.by_acls import AclAuthorizer
from tests.metadata.cluster.cases import RunningCase

READ = parse_line("User:alice read prefixed topic:or")
DENY = parse_line("deny User:* all topic:orders")
NONE: frozenset[AclBinding] = frozenset()


class PropagationTests(RunningCase):
    def setUp(self) -> None:
        """Start three brokers, each with an authorizer of its own."""
        super().setUp()
        self.alice = Peer("192.0.2.1", 1, "127.0.0.1", 9092, Session("User:alice"))
        self.all = [self.started(number) for number in (1, 2, 3)]
        self.authorizations = [self.authorization(store) for store in self.all]

    def authorization(self, store: ClusterMetadataStore) -> Authorization:
        """Return the authorization of a broker."""
        made = Authorization(AclAuthorizer(BrokerConfig.load()), store, Denials(Clock(), 10), 100)
        if store.state.acls:
            made.authorizer.use(store.state.acls)
        return made

    def decisions(self) -> list[bool]:
        """Return whether alice may read, by each broker."""
        return [
            one.allows(self.alice, AclOperation.READ, ResourceType.TOPIC, "orders")
            for one in self.authorizations
        ]

    def settle(self) -> None:
        """Give the watches time to tell."""
        for _ in range(5):
            self.clock.advance(0.2)

    def test_all_follow(self) -> None:
        """A right that one broker adds counts at all, and one that another takes away at none."""
        self.assertEqual(self.decisions(), [False] * 3)
        self.result(self.all[0].alter_acls(frozenset({READ}), NONE))
        self.settle()
        self.assertEqual(self.decisions(), [True] * 3)
        self.result(self.all[1].alter_acls(frozenset({DENY}), NONE))
        self.settle()
        self.assertEqual(self.decisions(), [False] * 3)
        self.result(self.all[2].alter_acls(NONE, frozenset({DENY})))
        self.settle()
        self.assertEqual(self.decisions(), [True] * 3)
        self.result(self.all[2].alter_acls(NONE, frozenset({READ})))
        self.settle()
        self.assertEqual(self.decisions(), [False] * 3)

    def test_missed(self) -> None:
        """A broker that was cut off decides by the new ACLs as soon as it is connected again."""
        self.result(self.all[0].alter_acls(frozenset({READ}), NONE))
        self.settle()
        link = self.tree(self.all[2]).link
        link.cut()
        self.result(self.all[0].alter_acls(NONE, frozenset({READ})))
        self.settle()
        self.assertEqual(self.decisions()[:2], [False] * 2)
        link.heal()
        self.settle()
        self.assertEqual(self.decisions(), [False] * 3)
