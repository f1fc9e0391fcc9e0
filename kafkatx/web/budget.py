"""A budget of bytes that several share. Pure."""

from __future__ import annotations


class Budget:
    """Bytes that may be held at the same time.

    :ivar held: the number of bytes that are held now.
    """

    def __init__(self, most_bytes: int) -> None:
        self.held = 0
        self._most_bytes = most_bytes

    def take(self, size: int) -> bool:
        """Hold *size* bytes more; return False if they are too many. A sole holder may exceed the budget."""
        if self.held and self.held + size > self._most_bytes:
            return False
        self.held += size
        return True

    def give_back(self, size: int) -> None:
        """Hold *size* bytes less."""
        self.held -= size
