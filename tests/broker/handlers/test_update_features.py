"""UpdateFeatures: updates to the current level succeed, all others are refused."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.update_features import (
    SAFE_DOWNGRADE,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from tests.broker.running import BrokerTestCase

VERSIONS = range(3)


class UpdateFeaturesTests(BrokerTestCase):
    def update(self, *updates: tuple[str, int], version: int = 2, kind: int = UPGRADE) -> Any:
        """Return the response to these updates."""
        asked = [FeatureUpdateKey(name, level, upgrade_type=kind) for name, level in updates]
        return self.ask(57, version, UpdateFeaturesRequest(1000, asked))

    def test_same_level(self) -> None:
        """An update to the current level succeeds; below version 2 each feature has a result."""
        for version in VERSIONS:
            response = self.update(("group.version", 1), ("metadata.version", 25), version=version)
            self.assertEqual((response.error_code, response.error_message), (0, None))
            expected = [("group.version", 0), ("metadata.version", 0)] if version < 2 else []
            self.assertEqual([(r.feature, r.error_code) for r in response.results], expected)

    def test_nothing(self) -> None:
        """A request without updates succeeds."""
        self.assertEqual(self.update().error_code, 0)

    def test_other_levels(self) -> None:
        """Another level, higher or lower, is refused in every version; the message names both."""
        for version in VERSIONS:
            for kind in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
                for name, level in (("group.version", 0), ("group.version", 2), ("metadata.version", -1)):
                    response = self.update((name, level), version=version, kind=kind)
                    self.assertEqual(response.error_code, ErrorCode.INVALID_UPDATE_VERSION)
                    self.assertEqual(response.results, [])
                    self.assertIn(f"version {level} for feature {name}.", response.error_message)

    def test_unknown(self) -> None:
        """An unknown feature is refused, and the message names the known ones."""
        response = self.update(("nope", 1))
        self.assertEqual(response.error_code, ErrorCode.INVALID_UPDATE_VERSION)
        self.assertIn("group.version, metadata.version", response.error_message)

    def test_unknown_type(self) -> None:
        """An unknown type of update is refused."""
        response = self.update(("group.version", 1), kind=9)
        self.assertEqual(response.error_code, ErrorCode.INVALID_UPDATE_VERSION)

    def test_one_bad_fails_all(self) -> None:
        """One invalid update fails all of them."""
        response = self.update(("group.version", 1), ("nope", 1), version=1)
        self.assertEqual((response.error_code, response.results), (ErrorCode.INVALID_UPDATE_VERSION, []))

    def test_long_name(self) -> None:
        """A feature name as long as the format allows is truncated in the message."""
        response = self.update(("x" * 100_000, 1))
        self.assertLess(len(response.error_message), 1100)
