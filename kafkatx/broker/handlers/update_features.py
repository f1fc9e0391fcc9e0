"""UpdateFeatures (key 57), versions 0-2: checked, and never changed.

Each version of kafkatx has one level of each feature (``kafkatx.broker.features``): an update to that
level succeeds and does nothing, any other is INVALID_UPDATE_VERSION. As in Apache Kafka one bad update fails
all of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.features import Feature, features
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.update_features import (
    SAFE_DOWNGRADE,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPGRADE_TYPES = (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE)


def answer(broker: Broker, request: UpdateFeaturesRequest, context: RequestContext) -> UpdateFeaturesResponse:
    """Check every update."""
    known = {feature.name: feature for feature in features(broker.config)}
    updates = {update.feature: update for update in request.feature_updates}
    for update in updates.values():
        _check(known, update)
    return UpdateFeaturesResponse(results=[UpdatableFeatureResult(name) for name in updates])


def _check(known: Mapping[str, Feature], update: FeatureUpdateKey) -> None:
    """Check one update.

    :raises RequestError: INVALID_UPDATE_VERSION: the feature cannot have that level.
    """
    feature = known.get(update.feature)
    asked = f"Invalid update version {update.max_version_level} for feature {update.feature}."
    if feature is None:
        why = f"This broker supports {', '.join(known)} only."
    elif update.upgrade_type not in UPGRADE_TYPES:
        why = f"Upgrade type {update.upgrade_type} is unknown."
    elif update.max_version_level != feature.level:
        why = f"This version of kafkatx runs level {feature.level} and no other."
    else:
        return
    raise RequestError(ErrorCode.INVALID_UPDATE_VERSION, f"{asked} {why}")


def refuse(
    request: UpdateFeaturesRequest, context: RequestContext, code: ErrorCode, message: str
) -> UpdateFeaturesResponse:
    """Refuse the request with an error and a message, without results of single features."""
    return UpdateFeaturesResponse(0, code, message)


API = Api(UpdateFeaturesRequest, UpdateFeaturesResponse, answer, refuse)
