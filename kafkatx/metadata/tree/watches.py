"""The watches that a tree's server keeps: one-shot, by path. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from kafkatx.interfaces.nodes import Change
from kafkatx.interfaces.tree import Watch

Owner = TypeVar("Owner")


class Watches(Generic[Owner]):
    """The watches of one tree. An owner is a session or a connection, with which they end."""

    def __init__(self) -> None:
        self._data: dict[str, list[tuple[Owner, Watch]]] = {}
        self._children: dict[str, list[tuple[Owner, Watch]]] = {}

    def on_data(self, path: str, owner: Owner, watch: Watch | None) -> None:
        """Call *watch* when the node is created, deleted or its data change; None is no watch."""
        if watch is not None:
            self._data.setdefault(path, []).append((owner, watch))

    def on_children(self, path: str, owner: Owner, watch: Watch | None) -> None:
        """Call *watch* when a child is created or deleted, or the node is deleted; None is no watch."""
        if watch is not None:
            self._children.setdefault(path, []).append((owner, watch))

    def drop(self, owner: Owner) -> None:
        """Remove the watches of an owner."""
        for watches in (self._data, self._children):
            for path in list(watches):
                watches[path] = [each for each in watches[path] if each[0] != owner]
                if not watches[path]:
                    del watches[path]

    def report(self, changes: Sequence[tuple[str, Change]]) -> None:
        """Call, and remove, the watches for the changes of a transaction, in their order."""
        for path, change in changes:
            if change is not Change.CHILDREN:
                for _, watch in self._data.pop(path, ()):
                    watch(change)
            if change in (Change.CHILDREN, Change.DELETED):
                for _, watch in self._children.pop(path, ()):
                    watch(change)
