"""Reads of the nodes of ACLs: all of them, or those that have changed.

It touches the tree, and does not change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from kafkatx.acls import AccessControlEntry, Acls, ResourcePattern
from kafkatx.interfaces import ITree
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.cluster.state.requests import children, each, read
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.security import acls as layout


@attrs.frozen
class FoundAcls:
    """The entries of a pattern, as its node was read; none if there is no node.

    :ivar entries: None if the node cannot be read: what is known of it stays.
    """

    pattern: ResourcePattern
    entries: frozenset[AccessControlEntry] | None


class AclLoader:
    """Reads the nodes of ACLs.

    :param unreadable: called for a node that cannot be read; it may raise.
    :ivar notifications: names of Apache Kafka's notifications when they were last listed, by their parent.
    """

    def __init__(self, tree: ITree, unreadable: Callable[[UnreadableNode], None]) -> None:
        self.notifications: dict[str, tuple[str, ...]] = {}
        self._tree = tree
        self._unreadable = unreadable

    async def load(self, watch: Callable[[str], Watch]) -> list[FoundAcls]:
        """Read all ACLs.

        :param watch: makes the watches of the lists of notifications.
        """
        for path in (layout.CHANGES, layout.EXTENDED_CHANGES):
            self.notifications[path] = tuple(await self._tree.children(path, watch(path)))
        names = await each(lambda parent: children(self._tree, parent), layout.PARENTS)
        found = [
            ResourcePattern(resource_type, name, pattern_type)
            for (pattern_type, resource_type), listed in zip(layout.PARENTS.values(), names, strict=True)
            for name in listed
        ]
        return await self.read(found)

    async def read(self, patterns: Iterable[ResourcePattern]) -> list[FoundAcls]:
        """Read the entries of some patterns."""
        return await each(self._read, patterns)

    async def notified(self, parent: str, watch: Watch) -> list[FoundAcls]:
        """Read what new notifications of Apache Kafka's tools name."""
        names = await self._tree.children(parent, watch)
        known = set(self.notifications.get(parent, ()))
        changed: dict[ResourcePattern, None] = {}
        for name in names:
            path = f"{parent}/{name}"
            found = None if name in known else await read(self._tree, path)
            if found is not None:
                try:
                    changed[layout.decode_notification(path, found[0])] = None
                except UnreadableNode as error:
                    self._unreadable(error)
        self.notifications[parent] = tuple(names)
        return await self.read(changed)

    async def _read(self, pattern: ResourcePattern) -> FoundAcls:
        path = layout.acl_path(pattern)
        found = await read(self._tree, path)
        try:
            entries = frozenset() if found is None else layout.decode_entries(path, found[0])
        except UnreadableNode as error:
            self._unreadable(error)
            return FoundAcls(pattern, None)
        return FoundAcls(pattern, entries)


def with_found(known: Acls, found: Iterable[FoundAcls], *, everything: bool = False) -> Acls:
    """Return ACLs with those that were read in place of the known ones; patterns without a change stay.

    :param everything: True if no other patterns exist.
    """
    found = list(found)
    after = {} if everything else dict(known)
    for one in found:
        entries, before = one.entries, known.get(one.pattern)
        after.pop(one.pattern, None)
        if entries is None or entries == before:
            entries = before
        if entries:
            after[one.pattern] = entries
    return known if after == known else after
