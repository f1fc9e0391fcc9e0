"""The source text of a generated function: indented lines, and its global names. Pure.

The generators of codecs (:mod:`kafkatx.wire.decoders`, :mod:`kafkatx.wire.encoders`) write Python functions
with it, once per message and version.
"""

from __future__ import annotations

import linecache
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    """The lines and globals of a function."""

    def __init__(self, **scope: object) -> None:
        self.scope: dict[str, object] = dict(scope)
        self._lines: list[str] = []
        self._depth = 0

    def add(self, line: str) -> None:
        """Add a line at the current indentation."""
        self._lines.append("    " * self._depth + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add *head* and indent the following lines; an empty block gets a ``pass``."""
        self.add(head)
        before = len(self._lines)
        self._depth += 1
        yield
        if len(self._lines) == before:
            self.add("pass")
        self._depth -= 1

    def name(self, wanted: str, value: object) -> str:
        """Return a global name for *value*: *wanted*, with a number if another value has that name."""
        name, number = wanted, 2
        while self.scope.setdefault(name, value) is not value:
            name, number = f"{wanted}_{number}", number + 1
        return name

    def packing(self, letters: str, verb: str) -> str:
        """Return a global name for the bound ``pack`` or ``unpack_from`` of a big-endian format."""
        name = f"{verb}_{letters.replace('?', 'o')}"
        if name not in self.scope:
            layout = struct.Struct(">" + letters)
            self.scope[name] = layout.pack if verb == "pack" else layout.unpack_from
        return name

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"

    def function(self, name: str, title: str) -> Any:
        """Compile the lines and return the function called *name*.

        :param title: the file name in tracebacks, which can also show the lines.
        """
        text, filename = str(self), f"<{title}>"
        exec(compile(text, filename, "exec"), self.scope)
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        return self.scope[name]
