"""UpdateFeatures: what is true already succeeds, all else is refused."""

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
        """The response to these updates."""
        asked = [FeatureUpdateKey(name, level, upgrade_type=kind) for name, level in updates]
        return self.ask(57, version, UpdateFeaturesRequest(1000, asked))

    def test_same_level(self) -> None:
        """An update to the level that a feature has succeeds; below version 2 each has a result."""
        for version in VERSIONS:
            response = self.update(("group.version", 1), ("metadata.version", 25), version=version)
            self.assertEqual((response.error_code, response.error_message), (0, None))
            expected = [("group.version", 0), ("metadata.version", 0)] if version < 2 else []
            self.assertEqual([(r.feature, r.error_code) for r in response.results], expected)

    def test_nothing(self) -> None:
        """No updates at all succeed."""
        self.assertEqual(self.update().error_code, 0)

    def test_other_levels(self) -> None:
        """Another level is refused in every version, upwards and downwards; the message names both."""
        for version in VERSIONS:
            for kind in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
                for name, level in (("group.version", 0), ("group.version", 2), ("metadata.version", -1)):
                    response = self.update((name, level), version=version, kind=kind)
                    self.assertEqual(response.error_code, ErrorCode.INVALID_UPDATE_VERSION)
                    self.assertEqual(response.results, [])
                    self.assertIn(f"version {level} for feature {name}.", response.error_message)

    def test_unknown(self) -> None:
        """A feature that is not there is refused, and the message names those that are."""
        response = self.update(("nope", 1))
        self.assertEqual(response.error_code, ErrorCode.INVALID_UPDATE_VERSION)
        self.assertIn("group.version, metadata.version", response.error_message)

    def test_unknown_type(self) -> None:
        """So is an unknown type of update."""
        response = self.update(("group.version", 1), kind=9)
        self.assertEqual(response.error_code, ErrorCode.INVALID_UPDATE_VERSION)

    def test_one_bad_fails_all(self) -> None:
        """One bad update fails all of them."""
        response = self.update(("group.version", 1), ("nope", 1), version=1)
        self.assertEqual((response.error_code, response.results), (ErrorCode.INVALID_UPDATE_VERSION, []))

    def test_long_name(self) -> None:
        """A name as long as the format allows comes back cut off."""
        response = self.update(("x" * 100_000, 1))
        self.assertLess(len(response.error_message), 1100)
