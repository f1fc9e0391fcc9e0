"""The joined parts of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tests.broker.registry.case import A, RegistryCase


class FactoryTests(RegistryCase):
    settings: ClassVar[Mapping[str, str]] = {
        "kafkatx.schemas.topic": "mine",
        "kafkatx.schemas.max.bytes": "200",
        "kafkatx.schemas.compatibility.level": "FULL",
    }

    def test_settings(self) -> None:
        """The registry follows its settings."""
        self.register("s")
        self.assertIn("mine", self.broker.topics.partitions)
        self.refused(42209, "POST", "/subjects/s/versions", {"schema": A + " " * 200})
        self.assertEqual(self.ok("GET", "/config"), {"compatibilityLevel": "FULL"})

    def test_stop(self) -> None:
        """Stopping ends the inspector, and leaves no timer."""
        self.register("s")
        self.successResultOf(self.parts.stop())
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_role(self) -> None:
        """The registry follows the roles of this broker."""
        self.register("s")
        self.assertIn(self.registry.role_changed, self.broker.topics.role_listeners)
