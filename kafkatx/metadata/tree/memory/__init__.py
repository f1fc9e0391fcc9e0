"""A tree in memory, for tests: one :class:`MemoryServer`, many :class:`MemoryTree`, driven by a ``Clock``."""

from kafkatx.metadata.tree.memory.link import Link
from kafkatx.metadata.tree.memory.server import MemoryServer
from kafkatx.metadata.tree.memory.tree import MemoryTree

__all__ = ["Link", "MemoryServer", "MemoryTree"]
