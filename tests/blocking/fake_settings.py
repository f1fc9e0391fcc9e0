"""A cluster in memory whose settings and quotas can be changed."""

from __future__ import annotations

from typing import Any

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages import (
    alter_client_quotas,
    create_partitions,
    describe_client_quotas,
    describe_configs,
    incremental_alter_configs,
)
from tests.blocking.fakes import FakeCluster, Log

TOPIC, BROKER = 2, 4
READ_ONLY = "log.dirs"


@attrs.define(eq=False)
class FakeSettings(FakeCluster):
    """Keeps what is set, by type and name of the resource; ``log.dirs`` cannot be set."""

    settings: dict[tuple[int, str], dict[str, str]] = attrs.Factory(dict)
    quotas: dict[frozenset[tuple[str, str | None]], dict[str, float]] = attrs.Factory(dict)

    def _missing(self, resource: Any, error: int) -> int:
        gone = resource.resource_type == TOPIC and resource.resource_name not in self.topics
        return error or (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if gone else 0)

    def answer_describe_configs(self, node: int, request: Any, version: int, error: int) -> Any:
        """Answer with set values (source 1 or 2), a default (5), a secret, and one of a newer broker (77)."""
        m = describe_configs
        asked = request.resources[0]
        source = 1 if asked.resource_type == TOPIC else 2
        values = self.settings.get((asked.resource_type, asked.resource_name), {})
        entries = [
            m.DescribeConfigsResourceResult(
                "cleanup.policy",
                "delete",
                is_default=True,
                config_source=5,
                config_type=7,
                synonyms=[m.DescribeConfigsSynonym("log.cleanup.policy", "delete", 5)]
                if request.include_synonyms
                else [],
            ),
            m.DescribeConfigsResourceResult("secret", None, True, config_source=4, is_sensitive=True),
            m.DescribeConfigsResourceResult("future", "1", config_source=77, config_type=77),
        ]
        entries += [
            m.DescribeConfigsResourceResult(name, value, config_source=source, config_type=5)
            for name, value in values.items()
        ]
        if asked.resource_type == BROKER and not asked.resource_name:
            entries = [entry for entry in entries if entry.name in values]
        result = m.DescribeConfigsResult(
            self._missing(asked, error), None, asked.resource_type, asked.resource_name, entries
        )
        return m.DescribeConfigsResponse(results=[result])

    def answer_incremental_alter_configs(self, node: int, request: Any, version: int, error: int) -> Any:
        """Change all or nothing."""
        m = incremental_alter_configs
        asked = request.resources[0]
        code, message = self._missing(asked, error), None
        if not code and any(config.name == READ_ONLY for config in asked.configs):
            code, message = ErrorCode.INVALID_REQUEST, f"{READ_ONLY} cannot be changed"
        if not code and not request.validate_only:
            values = self.settings.setdefault((asked.resource_type, asked.resource_name), {})
            for config in asked.configs:
                if config.config_operation == 0:
                    values[config.name] = config.value
                else:
                    values.pop(config.name, None)
        result = m.AlterConfigsResourceResponse(code, message, asked.resource_type, asked.resource_name)
        return m.IncrementalAlterConfigsResponse(responses=[result])

    def answer_describe_client_quotas(self, node: int, request: Any, version: int, error: int) -> Any:
        """All entities, or with strict components exactly those that match."""
        m = describe_client_quotas
        assert all((c.match_type == 0) == (c.match is not None) for c in request.components)
        wanted = frozenset(
            (c.entity_type, c.match if c.match_type == 0 else None) for c in request.components
        )
        assert request.strict == bool(wanted)
        found = [
            m.EntryData(
                [m.EntityData(*pair) for pair in sorted(entity, key=str)],
                [m.ValueData(*pair) for pair in values.items()],
            )
            for entity, values in self.quotas.items()
            if not wanted or entity == wanted
        ]
        return m.DescribeClientQuotasResponse(error_code=error, entries=None if error else found)

    def answer_alter_client_quotas(self, node: int, request: Any, version: int, error: int) -> Any:
        """Change, or refuse a quota that is not above 0."""
        m = alter_client_quotas
        entry = request.entries[0]
        code = error
        if not code and any(op.value <= 0 for op in entry.ops if not op.remove):
            code = ErrorCode.INVALID_REQUEST
        if not code and not request.validate_only:
            values = self.quotas.setdefault(
                frozenset((one.entity_type, one.entity_name) for one in entry.entity), {}
            )
            for op in entry.ops:
                if op.remove:
                    values.pop(op.key, None)
                else:
                    values[op.key] = op.value
        return m.AlterClientQuotasResponse(entries=[m.EntryResult(code, None, [])])

    def answer_create_partitions(self, node: int, request: Any, version: int, error: int) -> Any:
        """More partitions, never fewer."""
        m = create_partitions
        asked = request.topics[0]
        logs = self.topics.get(asked.name)
        code, message = error, None
        if not code and logs is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif not code and logs is not None and asked.count <= len(logs):
            code, message = ErrorCode.INVALID_PARTITIONS, f"{asked.name} has {len(logs)}"
        elif not code and logs is not None:
            logs += [Log() for _ in range(asked.count - len(logs))]
        return m.CreatePartitionsResponse(results=[m.CreatePartitionsTopicResult(asked.name, code, message)])
