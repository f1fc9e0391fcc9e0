"""The one table of the APIs that kafkatx speaks: key, name, versions, request and response.

ApiVersions, the broker's dispatch and the clients' choice of versions all read it. A new API is a module in
:mod:`kafkatx.wire.messages` and a line here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import attrs

from kafkatx.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkatx.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkatx.wire.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkatx.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from kafkatx.wire.messages.fetch import FetchRequest, FetchResponse
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataResponse
from kafkatx.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafkatx.wire.messages.produce import ProduceRequest, ProduceResponse
from kafkatx.wire.schema import Message


@attrs.frozen
class Api:
    """One API: its number on the wire, its name, and its pair of messages."""

    key: int
    name: str
    request: type[Message]
    response: type[Message]
    versions: range
    flexible_since: int

    def is_flexible(self, version: int) -> bool:
        """Whether this version has compact strings and tagged fields (KIP-482)."""
        return version >= self.flexible_since


def _api(request: type[Message], response: type[Message]) -> Api:
    """An entry of the table; the two messages must agree on what they say twice."""
    same = ("API_KEY", "VERSIONS", "FLEXIBLE_SINCE")
    if any(getattr(request, name) != getattr(response, name) for name in same):
        raise ValueError(f"{request.__name__} and {response.__name__} differ in key or versions")
    name = request.__name__.removesuffix("Request")
    return Api(request.API_KEY, name, request, response, request.VERSIONS, request.FLEXIBLE_SINCE)


def table(apis: Iterable[Api]) -> Mapping[int, Api]:
    """The APIs by key.

    :raises ValueError: two of them have the same key.
    """
    by_key: dict[int, Api] = {}
    for api in apis:
        if by_key.setdefault(api.key, api) is not api:
            raise ValueError(f"API key {api.key} is both {by_key[api.key].name} and {api.name}")
    return MappingProxyType(by_key)


PRODUCE: Final = _api(ProduceRequest, ProduceResponse)
FETCH: Final = _api(FetchRequest, FetchResponse)
LIST_OFFSETS: Final = _api(ListOffsetsRequest, ListOffsetsResponse)
METADATA: Final = _api(MetadataRequest, MetadataResponse)
API_VERSIONS: Final = _api(ApiVersionsRequest, ApiVersionsResponse)
CREATE_TOPICS: Final = _api(CreateTopicsRequest, CreateTopicsResponse)
DELETE_TOPICS: Final = _api(DeleteTopicsRequest, DeleteTopicsResponse)
DELETE_RECORDS: Final = _api(DeleteRecordsRequest, DeleteRecordsResponse)
INIT_PRODUCER_ID: Final = _api(InitProducerIdRequest, InitProducerIdResponse)
OFFSET_FOR_LEADER_EPOCH: Final = _api(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse)
DESCRIBE_CONFIGS: Final = _api(DescribeConfigsRequest, DescribeConfigsResponse)
DESCRIBE_LOG_DIRS: Final = _api(DescribeLogDirsRequest, DescribeLogDirsResponse)
DESCRIBE_CLUSTER: Final = _api(DescribeClusterRequest, DescribeClusterResponse)

APIS: Final = table(
    [
        PRODUCE,
        FETCH,
        LIST_OFFSETS,
        METADATA,
        API_VERSIONS,
        CREATE_TOPICS,
        DELETE_TOPICS,
        DELETE_RECORDS,
        INIT_PRODUCER_ID,
        OFFSET_FOR_LEADER_EPOCH,
        DESCRIBE_CONFIGS,
        DESCRIBE_LOG_DIRS,
        DESCRIBE_CLUSTER,
    ]
)


def api_for(key: int) -> Api:
    """The API with this key.

    :raises KeyError: kafkatx does not speak it.
    """
    return APIS[key]
