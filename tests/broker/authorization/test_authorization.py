"""Decisions are kept until ACLs change, and bounded in number."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx.acls import Access, AclOperation, Acls, Decision, ResourceType
from kafkatx.broker.authorization.authorization import Authorization
from kafkatx.broker.authorization.denials import Denials
from kafkatx.interfaces import IAuthorizer
from kafkatx.net.requests import Peer, Session
from kafkatx.testing.contracts.security.acl_store import READ as READ_CLICKS
from kafkatx.testing.contracts.security.acl_store import TOPIC
from kafkatx.types import ClusterDelta, ClusterState

READ, WRITE = AclOperation.READ, AclOperation.WRITE


@implementer(IAuthorizer)
class Recorder:
    """Allows reading, and notes what it is asked."""

    uses_acls = True

    def __init__(self) -> None:
        self.generation = 0
        self.asked: list[Access] = []
        self.acls: list[Acls] = []

    def use(self, acls: Acls) -> None:
        """Note new ACLs."""
        self.acls.append(acls)
        self.generation += 1

    def decide(self, access: Access) -> Decision:
        """Allow reading."""
        self.asked.append(access)
        return Decision(access.operation is READ)

    def allows_any(self, principal: str, host: str, operation: AclOperation, kind: ResourceType) -> bool:
        """Allow what one host wants."""
        return host == "192.0.2.1"


class Store:
    """A metadata store with one listener."""

    def subscribe(self, listener: object) -> None:
        """Remember the listener."""
        self.listener = listener


def peer(principal: str = "User:a", host: str = "192.0.2.1") -> Peer:
    """Return a peer."""
    return Peer(host, 1, "127.0.0.1", 9092, Session(principal))


class AuthorizationTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an authorization over the recorder."""
        self.authorizer, self.store = Recorder(), Store()
        self.authorization = self.make(100)

    def make(self, most: int) -> Authorization:
        """Return an authorization that keeps some decisions."""
        return Authorization(self.authorizer, self.store, Denials(Clock(), 10), most)  # type: ignore[arg-type]

    def allows(self, name: str, operation: AclOperation = READ, by: Peer | None = None) -> bool:
        """Return what the authorization decides about a topic."""
        return self.authorization.allows(by or peer(), operation, ResourceType.TOPIC, name)

    def test_kept(self) -> None:
        """Each access is decided once, however often it is tried; each part of it counts."""
        for _ in range(3):
            self.assertTrue(self.allows("a"))
            self.assertFalse(self.allows("a", WRITE))
            self.assertTrue(self.allows("b"))
            self.assertTrue(self.allows("a", by=peer("User:b")))
            self.assertTrue(self.allows("a", by=peer(host="192.0.2.9")))
        self.assertEqual(len(self.authorizer.asked), 5)
        self.assertEqual(
            self.authorizer.asked[0], Access("User:a", "192.0.2.1", READ, ResourceType.TOPIC, "a")
        )

    def test_forgotten(self) -> None:
        """A new generation makes all decisions anew."""
        self.allows("a")
        self.authorizer.generation += 1
        self.allows("a")
        self.allows("a")
        self.assertEqual(len(self.authorizer.asked), 2)

    def test_acls(self) -> None:
        """New ACLs of the cluster reach the authorizer; other changes do not."""
        before = ClusterState("c", 0)
        after = ClusterState("c", 0, acls={TOPIC: frozenset({READ_CLICKS})})
        self.allows("a")
        self.store.listener(ClusterDelta(before, after))  # type: ignore[operator]
        self.store.listener(ClusterDelta(after, after))  # type: ignore[operator]
        self.assertEqual(self.authorizer.acls, [after.acls])
        self.allows("a")
        self.assertEqual(len(self.authorizer.asked), 2)

    def test_bounded(self) -> None:
        """A client that asks about ever new names makes the broker keep no more than the setting allows."""
        self.authorization = self.make(10)
        for number in range(1000):
            self.allows(f"t{number}")
            self.assertLessEqual(len(self.authorization._kept), 10)

    def test_mapped_address(self) -> None:
        """An IPv4 address at a socket for IPv6 is the address that ACLs name."""
        self.allows("a", by=peer(host="::ffff:192.0.2.7"))
        self.assertEqual(self.authorizer.asked[0].host, "192.0.2.7")
        mapped = peer(host="::ffff:192.0.2.1")
        self.assertTrue(self.authorization.allows_any(mapped, READ, ResourceType.TOPIC))

    def test_operations(self) -> None:
        """The bits are those of the operations that are allowed."""
        self.assertEqual(self.authorization.operations(peer(), ResourceType.TOPIC, "a"), 1 << READ)
        self.assertEqual(self.authorization.operations(peer(), ResourceType.CLUSTER), 0)

    def test_reader(self) -> None:
        """A reader reads what it may; an unknown topic is not refused as forbidden."""
        may_read = self.authorization.reader(peer())
        self.assertTrue(may_read("a"))
        self.assertTrue(may_read(""))
        self.assertEqual(len(self.authorizer.asked), 1)
