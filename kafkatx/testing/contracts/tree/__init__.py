"""The contract of implementations of :class:`~kafkatx.interfaces.ITree`."""

from kafkatx.testing.contracts.tree.contract import TreeContract

__all__ = ["TreeContract"]
