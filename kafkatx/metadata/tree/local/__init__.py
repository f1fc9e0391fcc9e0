"""The tree of one machine: a server over a SQLite file and a Unix socket, and its client."""

from kafkatx.metadata.tree.local.session import LocalSettings
from kafkatx.metadata.tree.local.tree import LocalTree

__all__ = ["LocalSettings", "LocalTree"]
