"""Parts of the deployment that run nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class FakeProgram:
    """A program that has printed reports."""

    def __init__(self, name: str, *reports: dict[str, Any]) -> None:
        self.name = name
        self._reports = reports

    def reports(self) -> Iterator[dict[str, Any]]:
        """Yield them."""
        return iter(self._reports)


class FakeDeployment:
    """A deployment with these services, and two topics."""

    topics = ("x", "y")
    dc1, dc2 = "127.0.0.1:1", "127.0.0.1:2"

    def __init__(self, *services: FakeProgram) -> None:
        self.services = list(services)
