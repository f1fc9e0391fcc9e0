"""The classic group protocol: members join, their leader assigns, all sync (KIP-62, 345, 394)."""

from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.classic.member import Member

__all__ = ["ClassicGroup", "Member"]
