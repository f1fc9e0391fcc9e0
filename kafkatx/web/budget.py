"""A budget of bytes that several share. Pure."""

from __future__ import annotations


class Budget:
    """Bytes that may be held at the same time. One key, such as an address, gets half of them.

    :ivar held: the number of bytes that are held now.
    """

    def __init__(self, most_bytes: int) -> None:
        self.held = 0
        self._most_bytes = most_bytes
        self._of_key: dict[str, int] = {}

    def take(self, size: int, key: str = "") -> bool:
        """Hold *size* bytes more; return False if they are too many. A sole holder may exceed the budget."""
        of_key = self._of_key.get(key, 0)
        if self.held and self.held + size > self._most_bytes:
            return False
        if key and of_key and of_key + size > self._most_bytes // 2:
            return False
        self.held += size
        self._of_key[key] = of_key + size
        return True

    def give_back(self, size: int, key: str = "") -> None:
        """Hold *size* bytes less."""
        self.held -= size
        left = self._of_key.get(key, 0) - size
        if left > 0:
            self._of_key[key] = left
        else:
            self._of_key.pop(key, None)
