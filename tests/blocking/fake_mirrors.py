"""A cluster in memory that describes mirrors, and keeps the settings of links."""

from __future__ import annotations

from typing import Any

import attrs

from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorStatus
from kafkatx.clientcore.admin.mirrors import link_entry, partition_entry
from kafkatx.clientcore.errors import ClosedByPeer
from kafkatx.wire.messages import describe_mirrors as m
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkatx.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.blocking.fake_settings import FakeSettings

APPEND = 2


@attrs.define(eq=False)
class FakeMirrors(FakeSettings):
    """Brokers that describe mirrors; ``foreign`` ones close the connection on that."""

    links: dict[int, list[LinkStatus]] = attrs.Factory(dict)
    mirrored: dict[int, list[MirrorStatus]] = attrs.Factory(dict)
    """By broker, in order."""
    foreign: set[int] = attrs.Factory(set)
    page: int = 2000
    """Partitions of a page at most."""
    refusal: str = ""
    """Why settings are refused, if they are."""
    asked: list[m.DescribeMirrorsRequest] = attrs.Factory(list)

    def answer_describe_configs(self, node: int, request: Any, version: int, error: int) -> Any:
        """Answer for each resource that is asked for."""
        results = []
        for asked in request.resources:
            one = DescribeConfigsRequest([asked], request.include_synonyms)
            results += super().answer_describe_configs(node, one, version, error).results
        return DescribeConfigsResponse(results=results)

    def answer_incremental_alter_configs(self, node: int, request: Any, version: int, error: int) -> Any:
        """Append to lists and take from them, too; refuse all with the reason of ``refusal``."""
        (asked,) = request.resources
        values = self.settings.setdefault((asked.resource_type, asked.resource_name), {})
        if not error and self.refusal:
            refused = AlterConfigsResourceResponse(42, self.refusal, asked.resource_type, asked.resource_name)
            return IncrementalAlterConfigsResponse(responses=[refused])
        changes = [
            self._plain(config, values.get(config.name, "")) if config.config_operation > 1 else config
            for config in asked.configs
        ]
        one = AlterConfigsResource(asked.resource_type, asked.resource_name, changes)
        plain = IncrementalAlterConfigsRequest([one], request.validate_only)
        return super().answer_incremental_alter_configs(node, plain, version, error)

    def _plain(self, config: Any, current: str) -> AlterableConfig:
        """Return the change that sets what appending or taking away gives."""
        items = [item for item in current.split(",") if item]
        edited = [item for item in items if item not in config.value.split(",")]
        if config.config_operation == APPEND:
            edited += config.value.split(",")
        return AlterableConfig(config.name, 0, ",".join(edited))

    def answer_describe_mirrors(self, node: int, request: Any, version: int, error: int) -> Any:
        """One page of what a broker has, filtered by links and topics."""
        self.asked.append(request)
        if node in self.foreign:
            raise ClosedByPeer(f"broker{node} closed the connection")
        if error:
            return m.DescribeMirrorsResponse(error_code=error, error_message="for a test")
        start = ("", -1)
        if request.cursor is not None:
            start = (request.cursor.topic_name, request.cursor.partition_index)
        found = [
            one
            for one in self.mirrored.get(node, [])
            if one.topic_partition >= start
            and (request.links is None or one.link in request.links)
            and (request.topics is None or one.topic in request.topics)
        ]
        topics: dict[str, m.MirrorTopic] = {}
        for one in found[: self.page]:
            topics.setdefault(one.topic, m.MirrorTopic(one.topic, one.link)).partitions.append(
                partition_entry(one)
            )
        after = found[self.page :]
        return m.DescribeMirrorsResponse(
            links=[
                link_entry(link)
                for link in self.links.get(node, [])
                if request.links is None or link.name in request.links
            ],
            topics=list(topics.values()),
            next_cursor=m.Cursor(after[0].topic, after[0].partition) if after else None,
        )
