"""A simulated power cut: the contents of the disk if the power failed now.

:class:`PowerCutFiles` works on real files, and keeps beside them what the disk is sure to have. Between two
syncs the disk may have any of it:

*   of a file, each sector or page (chosen per cut) that was written since its last sync, or what stood there
    before, zeros where nothing did; its old size, its new one, or one in between;
*   of a directory, the first few of the creations, renames and removals since its own last sync. The sync of
    a file does not bring its name to the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

from kafkatx.log.files import Buffers, Files
from kafkatx.types import SharedFile

TORN_AT = (512, 4096)


class FileNode:
    """A file: its content, its content at the last sync, and the 512-byte sectors written since."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.durable = bytes(data)
        self.dirty: set[int] = set()

    def write(self, data: bytes, position: int) -> None:
        """Write; fill with zeros up to a position beyond the end."""
        end = position + len(data)
        if len(self.data) < end:
            self.data.extend(bytes(end - len(self.data)))
        self.data[position:end] = data
        self.dirty.update(range(position // 512, (end + 511) // 512))

    def truncate(self, size: int) -> None:
        """Truncate, or extend with zeros."""
        if size < len(self.data):
            del self.data[size:]
        else:
            self.data.extend(bytes(size - len(self.data)))
        self.dirty.add(size // 512)

    def sync(self) -> None:
        """Bring all of the file to the disk."""
        self.durable = bytes(self.data)
        self.dirty.clear()

    def survivor(self, random: Random) -> bytes:
        """Return the files after a power cut."""
        old, new = len(self.durable), len(self.data)
        size = random.choice((old, new, random.randint(min(old, new), max(old, new))))
        content = bytearray(self.durable[:size].ljust(size, b"\0"))
        grain = random.choice(TORN_AT)
        share = random.choice((0.0, 0.5, 1.0))
        for number in {sector * 512 // grain for sector in self.dirty}:
            if random.random() < share:
                at = number * grain
                part = self.data[at : min(at + grain, size)]
                content[at : at + len(part)] = part
        return bytes(content)


class DirNode:
    """A directory: its entries, those that are on the disk, and the changes between them."""

    def __init__(self) -> None:
        self.entries: dict[str, FileNode | DirNode] = {}
        self._durable: dict[str, FileNode | DirNode] = {}
        self._pending: list[tuple[str, str, FileNode | DirNode | None]] = []

    def link(self, name: str, node: FileNode | DirNode) -> None:
        """Make an entry."""
        self._change(("link", name, node))

    def unlink(self, name: str) -> None:
        """Remove an entry."""
        self._change(("unlink", name, None))

    def rename(self, old: str, new: str) -> None:
        """Rename an entry, replacing another; a disk does that wholly or not at all."""
        self._change((old, new, self.entries[old]))

    def _change(self, change: tuple[str, str, FileNode | DirNode | None]) -> None:
        _apply(self.entries, change)
        self._pending.append(change)

    def sync(self) -> None:
        """Bring all entries to the disk."""
        self._durable = dict(self.entries)
        self._pending.clear()

    def survivors(self, random: Random, path: str = "") -> Iterator[tuple[str, bytes | None]]:
        """Yield each path that is there after a power cut, with the content; None for a directory."""
        entries = dict(self._durable)
        for change in self._pending[: random.randint(0, len(self._pending))]:
            _apply(entries, change)
        for name, node in entries.items():
            at = os.path.join(path, name)
            if isinstance(node, DirNode):
                yield at, None
                yield from node.survivors(random, at)
            else:
                yield at, node.survivor(random)


def _apply(
    entries: dict[str, FileNode | DirNode], change: tuple[str, str, FileNode | DirNode | None]
) -> None:
    what, name, node = change
    if node is None:
        entries.pop(name, None)
        return
    if what != "link":
        entries.pop(what, None)
    entries[name] = node


class PowerCutFiles(Files):
    """The files under a directory, until the power is cut before the change of this number.

    Changes after the cut still seem to succeed, but do not survive; :attr:`dead` is True then.

    :param root: an existing directory; what is in it counts as synced.
    :ivar changes: how many changes and syncs there were.
    """

    def __init__(self, root: str, random: Random, cut_at: int) -> None:
        self.root = os.path.abspath(root)
        self.changes = 0
        self._random = random
        self._cut_at = cut_at
        self._survivors: dict[str, bytes | None] | None = None
        self._top = _load(self.root)

    @property
    def dead(self) -> bool:
        """True if the power is gone."""
        return self._survivors is not None

    def cut(self) -> None:
        """Cut the power now, unless it is."""
        if self._survivors is None:
            self._survivors = dict(self._top.survivors(self._random))

    def restore(self, root: str) -> None:
        """Write what survived into a new directory."""
        self.cut()
        assert self._survivors is not None
        os.makedirs(root)
        for name, content in self._survivors.items():
            path = os.path.join(root, name)
            if content is None:
                os.mkdir(path)
            else:
                with open(path, "wb") as file:
                    file.write(content)

    def _step(self) -> None:
        self.changes += 1
        if self.changes >= self._cut_at:
            self.cut()

    def _names(self, path: str) -> list[str]:
        relative = os.path.relpath(os.path.abspath(path), self.root)
        return [] if relative == "." else relative.split(os.sep)

    def _node(self, names: list[str]) -> FileNode | DirNode:
        node: FileNode | DirNode = self._top
        for name in names:
            assert isinstance(node, DirNode)
            node = node.entries[name]
        return node

    def _dir(self, path: str) -> tuple[DirNode, str]:
        """Return the directory that a path is in, and its name there."""
        *names, name = self._names(path)
        node = self._node(names)
        assert isinstance(node, DirNode)
        return node, name

    def _nodes_of(self, file: SharedFile) -> FileNode:
        node: FileNode = file.node  # type: ignore[attr-defined]  # set by open() and create()
        return node

    # --- as Files

    def open(self, path: str, flags: int = os.O_RDWR) -> SharedFile:
        """Open, and remember the file's node, whatever its name is later."""
        file = _Noted(path, flags)
        directory, name = self._dir(path)
        if name not in directory.entries:
            self._step()
            directory.link(name, FileNode())
        file.node = directory.entries[name]
        return file

    def create(self, path: str) -> SharedFile:
        """Create or truncate."""
        self._step()
        file = _Noted(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        directory, name = self._dir(path)
        found = directory.entries.get(name)
        if isinstance(found, FileNode):
            found.truncate(0)
        else:
            directory.link(name, FileNode())
        file.node = directory.entries[name]
        return file

    def writev(self, file: SharedFile, buffers: Buffers, position: int, size: int) -> None:
        """Write."""
        self._step()
        super().writev(file, buffers, position, size)
        self._nodes_of(file).write(b"".join(buffers), position)

    def truncate(self, file: SharedFile, size: int) -> None:
        """Truncate."""
        self._step()
        super().truncate(file, size)
        self._nodes_of(file).truncate(size)

    def sync(self, file: SharedFile) -> None:
        """Bring a file's bytes to the simulated disk."""
        self._step()
        self._nodes_of(file).sync()

    def sync_dir(self, path: str) -> None:
        """Bring a directory's entries to the simulated disk."""
        self._step()
        names = self._names(path)
        if names[:1] == [os.pardir]:
            return  # what the root stands in is not simulated
        node = self._node(names)
        assert isinstance(node, DirNode)
        node.sync()

    def rename(self, old: str, new: str) -> None:
        """Rename within a directory."""
        self._step()
        super().rename(old, new)
        directory, old_name = self._dir(old)
        target, new_name = self._dir(new)
        assert directory is target, (old, new)
        directory.rename(old_name, new_name)

    def unlink(self, path: str) -> None:
        """Remove a file."""
        directory, name = self._dir(path)
        if name in directory.entries:
            self._step()
            directory.unlink(name)
        super().unlink(path)

    def remove_tree(self, path: str) -> None:
        """Remove a directory, one entry after the other."""
        directory, name = self._dir(path)
        node = directory.entries.get(name)
        if isinstance(node, DirNode):
            for inner in list(node.entries):
                self._step()
                node.unlink(inner)
            self._step()
            directory.unlink(name)
        super().remove_tree(path)

    def make_dirs(self, path: str) -> None:
        """Make a directory."""
        node = self._top
        for name in self._names(path):
            if name not in node.entries:
                self._step()
                node.link(name, DirNode())
            found = node.entries[name]
            assert isinstance(found, DirNode)
            node = found
        super().make_dirs(path)


class _Noted(SharedFile):
    """An open file that knows its node."""

    __slots__ = ("node",)
    node: FileNode | DirNode


def _load(root: str) -> DirNode:
    """Return the content of a directory, all of it synced."""
    node = DirNode()
    for entry in os.scandir(root):
        if entry.is_dir():
            node.link(entry.name, _load(entry.path))
        else:
            with open(entry.path, "rb") as file:
                node.link(entry.name, FileNode(file.read()))
    node.sync()
    return node
