"""A file system in memory that knows what is on its disk already, and that stops when it is told to."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from kafkatx.spark.ingest.table.files import Files


class Stop(BaseException):
    """The process ends here."""


class Node:
    """A file or directory: as it is, and as a power cut would leave it."""

    def __init__(self, directory: bool) -> None:
        self.names: dict[str, Node] | None = {} if directory else None
        self.names_on_disk: dict[str, Node] = {}
        self.data = self.data_on_disk = b""

    def cut(self) -> None:
        """Forget what is not on the disk."""
        self.data = self.data_on_disk
        if self.names is not None:
            self.names = dict(self.names_on_disk)
            for node in self.names.values():
                node.cut()


class MemoryFiles(Files):
    """Every change counts as a step; *stop_at* names the one before, in or after which it stops."""

    def __init__(self) -> None:
        self.root = "memory"
        self.top = Node(directory=True)
        self.steps = 0
        self.stop_at: tuple[int, str] | None = None
        self.fail_with: OSError | None = None

    def _step(self, change: Callable[[], Any]) -> Any:
        self.steps += 1
        step, when = self.stop_at or (-1, "")
        if step != self.steps:
            return change()
        if when == "before":
            raise self.fail_with or Stop
        change()
        raise self.fail_with or Stop

    def power_cut(self) -> None:
        """The machine starts again."""
        self.top.cut()

    def _find(self, path: str) -> Node | None:
        node: Node | None = self.top
        for name in filter(None, path.split("/")):
            node = node.names.get(name) if node is not None and node.names is not None else None
        return node

    def _directory(self, path: str) -> tuple[dict[str, Node], str]:
        folder, _, name = path.rpartition("/")
        node = self._find(folder)
        if node is None or node.names is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
        return node.names, name

    def uri(self, path: str) -> str:
        """Return a URI that nothing can open."""
        return f"memory:/{path}"

    def create_dir(self, path: str) -> None:
        """With those above."""
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            names, name = self._directory("/".join(parts[:depth]))
            if name not in names:
                self._step(partial(names.setdefault, name, Node(directory=True)))

    def output(self, path: str) -> Any:
        """A file that is empty until it is closed."""
        self.create_dir(path.rpartition("/")[0])
        names, name = self._directory(path)
        if name in names:
            raise FileExistsError(path)
        node = Node(directory=False)
        self._step(lambda: names.setdefault(name, node))
        files = self

        class Stream(io.BytesIO):
            def close(self) -> None:
                if not self.closed:
                    data = self.getvalue()
                    super().close()
                    node.data = data[: len(data) // 2]
                    files._step(lambda: setattr(node, "data", data))

        return Stream()

    def read(self, path: str) -> bytes:
        """All of it."""
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(path)
        return node.data

    def size(self, path: str) -> int | None:
        """Return the size of a file, -1 for a directory, None for neither."""
        node = self._find(path)
        if node is None:
            return None
        return len(node.data) if node.names is None else -1

    def names(self, path: str) -> list[str]:
        """Sorted."""
        node = self._find(path)
        return sorted(node.names) if node is not None and node.names is not None else []

    def move(self, source: str, target: str) -> None:
        """Rename."""
        names, name = self._directory(source)
        if name not in names:
            raise FileNotFoundError(source)
        new_names, new_name = self._directory(target)

        def change() -> None:
            new_names[new_name] = names.pop(name)

        self._step(change)

    def publish(self, source: str, target: str) -> None:
        """Rename unless it is there."""
        names, name = self._directory(target)
        if name in names:
            raise FileExistsError(target)
        self.move(source, target)

    def remove(self, path: str) -> None:
        """File by file, as rmtree does."""
        node = self._find(path)
        if node is None:
            return
        for name in list(node.names or ()):
            self.remove(f"{path}/{name}")
        names, name = self._directory(path)
        self._step(lambda: names.pop(name))

    def sync(self, path: str) -> None:
        """To the disk."""
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(path)

        def change() -> None:
            node.data_on_disk = node.data
            node.names_on_disk = dict(node.names or {})

        self._step(change)

    def visible(self) -> list[str]:
        """The paths of files that readers find: those without a name that begins with _ or a dot."""
        found: list[str] = []

        def walk(node: Node, path: str) -> None:
            for name, below in sorted((node.names or {}).items()):
                if name[0] not in "._":
                    walk(below, f"{path}/{name}" if path else name)
            if node.names is None:
                found.append(path)

        walk(self.top, "")
        return found
