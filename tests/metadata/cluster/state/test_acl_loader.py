"""The loader of ACLs reads all nodes, or those that notifications name."""

from __future__ import annotations

from kafkatx.interfaces.nodes import Change, Create, SetData
from kafkatx.metadata.cluster.state.acl_loader import AclLoader, FoundAcls, with_found
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.security import acls
from kafkatx.testing.contracts.security.acl_store import NONE, PREFIX, READ, TOPIC, TRANSACTIONS, WRITE, on
from tests.metadata.cluster.cases import RunningCase


def _watch(change: Change) -> None:
    """Ignore a change."""


class AclLoaderTests(RunningCase):
    def setUp(self) -> None:
        """Make a cluster with ACLs."""
        super().setUp()
        self.store = self.started()
        self.result(self.store.alter_acls(on(TOPIC, READ, WRITE) | on(PREFIX, READ), NONE))
        self.complaints: list[UnreadableNode] = []
        self.loader = AclLoader(self.tool, self.complaints.append)

    def test_load(self) -> None:
        """All ACLs are found, with the notifications that are there already."""
        self.write(Create(f"{acls.CHANGES}/acl_changes_", b"TOPIC:clicks", sequential=True))
        found = self.done(self.loader.load(lambda path: _watch))
        self.assertEqual({one.pattern: one.entries for one in found}, {TOPIC: {READ, WRITE}, PREFIX: {READ}})
        self.assertEqual(len(self.loader.notifications[acls.CHANGES]), 1)
        self.assertEqual(self.done(self.loader.notified(acls.CHANGES, _watch)), [])

    def test_unreadable(self) -> None:
        """A node that cannot be read is complained about, and the entries that are known stay."""
        self.write(SetData("/kafka-acl/Topic/clicks", b"{}"))
        found = self.done(self.loader.load(lambda path: _watch))
        self.assertEqual(len(self.complaints), 1)
        known = {TOPIC: frozenset({READ})}
        after = with_found(known, found, everything=True)
        self.assertEqual(after, {TOPIC: {READ}, PREFIX: {READ}})

    def test_gone(self) -> None:
        """A notified pattern without a node has no entries; one that is foreign is complained about."""
        self.done(self.loader.load(lambda path: _watch))
        for data in (b"TOPIC:gone", b"nonsense"):
            self.write(Create(f"{acls.CHANGES}/acl_changes_", data, sequential=True))
        (found,) = self.done(self.loader.notified(acls.CHANGES, _watch))
        self.assertEqual((found.pattern.name, found.entries, len(self.complaints)), ("gone", frozenset(), 1))


class WithFoundTests(RunningCase):
    def test_same_object(self) -> None:
        """ACLs that have not changed stay the same object, whole or by pattern."""
        known = {TOPIC: frozenset({READ}), PREFIX: frozenset({WRITE})}
        same = [FoundAcls(pattern, frozenset(entries)) for pattern, entries in known.items()]
        self.assertIs(with_found(known, same, everything=True), known)
        after = with_found(known, [FoundAcls(TOPIC, frozenset()), FoundAcls(TRANSACTIONS, frozenset({READ}))])
        self.assertEqual(after, {PREFIX: {WRITE}, TRANSACTIONS: {READ}})
        self.assertIs(after[PREFIX], known[PREFIX])
