"""ApiVersions (key 18), versions 0-4: the APIs and versions of a broker; a client's first request.

*   1 adds the throttle time to the response.
*   3 is flexible and has the client's software (KIP-511); features are tagged fields (KIP-584).
*   4 may have features with a minimum level of 0 (KAFKA-17011), which clients of version 3 cannot read.

The response *header* is never flexible, and an unknown version is answered with a body of version 0 and
error 35: a client must be able to read the response before any version is agreed on.
"""

from __future__ import annotations

from kafkatx.wire.schema import BOOLEAN, INT16, INT32, INT64, STRING, Message, Struct, array, field


class ApiVersionsRequest(Message, key=18, versions=(0, 4), flexible=3):
    """Ask for the APIs and their versions."""

    client_software_name: str = field(STRING, since=3)
    client_software_version: str = field(STRING, since=3)


class ApiVersion(Struct):
    """One API and its supported versions, both inclusive."""

    api_key: int = field(INT16)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


class SupportedFeatureKey(Struct):
    """A feature and the levels that the broker supports."""

    name: str = field(STRING)
    min_version: int = field(INT16)
    max_version: int = field(INT16)


class FinalizedFeatureKey(Struct):
    """A feature and the finalized levels of the cluster."""

    name: str = field(STRING)
    max_version_level: int = field(INT16)
    min_version_level: int = field(INT16)


class ApiVersionsResponse(Message, key=18, versions=(0, 4), flexible=3):
    """The APIs and their versions."""

    error_code: int = field(INT16)
    api_keys: list[ApiVersion] = field(array(ApiVersion))
    throttle_time_ms: int = field(INT32, since=1)
    supported_features: list[SupportedFeatureKey] = field(array(SupportedFeatureKey), since=3, tag=0)
    finalized_features_epoch: int = field(INT64, since=3, tag=1, default=-1)
    finalized_features: list[FinalizedFeatureKey] = field(array(FinalizedFeatureKey), since=3, tag=2)
    zk_migration_ready: bool = field(BOOLEAN, since=3, tag=3)
