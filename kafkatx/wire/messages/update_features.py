"""UpdateFeatures (key 57), versions 0-2: change the levels of the cluster's features (KIP-584).

*   Flexible from the first version on; 1 adds types of downgrades and validation only
    (KIP-778); in 2 the response has one error for all (KIP-1022).
"""

from __future__ import annotations

from kafkatx.wire.schema import BOOLEAN, INT8, INT16, INT32, STRING, Message, Struct, array, field, nullable

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


class FeatureUpdateKey(Struct):
    """A feature and its new level; below 1 removes it."""

    feature: str = field(STRING)
    max_version_level: int = field(INT16)
    allow_downgrade: bool = field(BOOLEAN, until=0)
    upgrade_type: int = field(INT8, since=1, default=UPGRADE)


class UpdateFeaturesRequest(Message, key=57, versions=(0, 2), flexible=0):
    """Change the levels of features, or only validate the changes."""

    timeout_ms: int = field(INT32, default=60_000)
    feature_updates: list[FeatureUpdateKey] = field(array(FeatureUpdateKey))
    validate_only: bool = field(BOOLEAN, since=1)


class UpdatableFeatureResult(Struct):
    """The error of one feature, or 0."""

    feature: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))


class UpdateFeaturesResponse(Message, key=57, versions=(0, 2), flexible=0):
    """The results."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    results: list[UpdatableFeatureResult] = field(array(UpdatableFeatureResult), until=1)
