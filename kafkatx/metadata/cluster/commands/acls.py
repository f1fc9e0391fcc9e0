"""Commands about ACLs: conditional writes of their nodes. It touches the tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twisted.internet.defer import DeferredLock

from kafkatx.acls import AclBinding, ResourcePattern
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Create, Delete, Operation, SetData, parent_path
from kafkatx.metadata.cluster.commands.transactions import Plan, Transactions
from kafkatx.metadata.cluster.state.requests import each, read
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.metadata.layout.security import acls as layout

MOST_NODES = 100
"""The most nodes that one transaction changes: with more, a command takes several."""


class AclCommands:
    """Changes ACLs, one command after the other."""

    def __init__(self, tree: ITree, transactions: Transactions) -> None:
        self._tree = tree
        self._transactions = transactions
        self._lock = DeferredLock()

    async def alter(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> None:
        """Add ACLs, and remove others; those of one pattern in one transaction.

        :raises RequestError: INVALID_REQUEST: no node can have the name of a resource, and nothing is changed
            then; or as ``Transactions.make``.
        """
        changes: dict[ResourcePattern, tuple[set[AclBinding], set[AclBinding]]] = {}
        for number, bindings in enumerate((added, removed)):
            for binding in bindings:
                layout.acl_path(binding.pattern)
                changes.setdefault(binding.pattern, (set(), set()))[number].add(binding)
        patterns = list(changes)
        await self._lock.acquire()
        try:
            for first in range(0, len(patterns), MOST_NODES):
                await self._alter({one: changes[one] for one in patterns[first : first + MOST_NODES]})
        finally:
            self._lock.release()

    async def _alter(self, changes: dict[ResourcePattern, tuple[set[AclBinding], set[AclBinding]]]) -> None:
        async def write(pattern: ResourcePattern) -> Sequence[Operation]:
            added, removed = ({binding.entry for binding in bindings} for bindings in changes[pattern])
            path = layout.acl_path(pattern)
            found = await read(self._tree, path)
            old = frozenset() if found is None else layout.decode_entries(path, found[0])
            new = (old | added) - removed
            if found is None:
                return [Create(path, layout.encode_entries(new))] if new else []
            if new == old:
                return []
            version = found[1].version
            return [SetData(path, layout.encode_entries(new), version) if new else Delete(path, version)]

        async def plan() -> Plan | None:
            operations = [one for several in await each(write, changes) for one in several]
            record = ChangeRecord("", acls=[one.path for one in operations])
            return Plan([*await self._parents(operations), *operations], record) if operations else None

        await self._transactions.make(plan)

    async def _parents(self, operations: Sequence[Operation]) -> list[Operation]:
        """Return the operations that make the missing parents of new nodes."""
        parents = dict.fromkeys(parent_path(one.path) for one in operations if isinstance(one, Create))
        return [Create(parent) for parent in parents if await self._tree.exists(parent) is None]
