"""Configs of topics and brokers: their values with sources, and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.errors import ConsoleError, check_code, invalid
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.config.describe import ConfigSource
from kafkatx.config.table.row import ConfigType
from kafkatx.types import BrokerNode
from kafkatx.web.calls import Call
from kafkatx.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from kafkatx.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC, BROKER = 2, 4
KINDS: Mapping[int, str] = {TOPIC: "topic", BROKER: "broker"}
SET, DELETE = 0, 1
BODY = {"set": "new values by name", "delete": "names of configs that go back to their defaults"}

_SOURCES: Mapping[int, str] = {
    ConfigSource.DYNAMIC_TOPIC: "DYNAMIC_TOPIC_CONFIG",
    ConfigSource.DYNAMIC_BROKER: "DYNAMIC_BROKER_CONFIG",
    ConfigSource.DYNAMIC_DEFAULT_BROKER: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    ConfigSource.STATIC_BROKER: "STATIC_BROKER_CONFIG",
    ConfigSource.DEFAULT: "DEFAULT_CONFIG",
    ConfigSource.DYNAMIC_GROUP: "GROUP_CONFIG",
}


KEPT_S = 5.0
MOST_KEPT = 50
"""Topics whose configs are kept."""


async def read_configs(
    parts: ConsoleParts, call: Call, kind: int, name: str, node: BrokerNode | None = None
) -> list[dict[str, object]]:
    """Return the configs of a topic or broker.

    :param node: the broker that knows them; None: this one.
    :raises ConsoleError: there is no such resource, or the user may not see its configs.
    """
    asked = DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)], True, True)
    (result,) = (await parts.kafka.ask(call, asked, node)).results
    check_code(result.error_code, result.error_message, f"configs of {KINDS[kind]} {name}")
    return [_entry(config) for config in sorted(result.configs, key=lambda one: one.name)]


class TopicConfigs:
    """The configs of topics, kept for a moment: a page that follows a topic asks for them each second.

    They are read again when the state of the cluster has changed, which has the configs and the ACLs.
    """

    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts
        self._kept: dict[tuple[str, str, str], tuple[object, float, list[dict[str, object]]]] = {}

    async def read(self, call: Call, name: str) -> list[dict[str, object]]:
        """Return the configs of a topic; fails as :func:`read_configs`."""
        broker, key = self._parts.broker, (call.session.principal, call.client, name)
        state, now_s = broker.metadata.state, broker.clock.seconds()
        kept = self._kept.pop(key, None)
        if kept is None or kept[0] is not state or now_s >= kept[1]:
            kept = state, now_s + KEPT_S, await read_configs(self._parts, call, TOPIC, name)
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = kept
        return kept[2]


def _entry(config: DescribeConfigsResourceResult) -> dict[str, object]:
    default = [one for one in config.synonyms if one.source == ConfigSource.DEFAULT]
    return {
        "name": config.name,
        "value": config.value,
        "source": _SOURCES.get(config.config_source, "UNKNOWN"),
        "default": default[0].value if default else None,
        "readOnly": config.read_only,
        "sensitive": config.is_sensitive,
        "type": ConfigType(config.config_type).name,
        "documentation": config.documentation,
        "synonyms": [
            {"name": one.name, "value": one.value, "source": _SOURCES.get(one.source, "UNKNOWN")}
            for one in config.synonyms
        ],
    }


async def change_configs(
    parts: ConsoleParts, call: Call, kind: int, name: str, node: BrokerNode | None = None
) -> object:
    """Change configs as the body of a request says.

    :raises ConsoleError: a value is wrong, or the user may not do it; nothing is changed then.
    """
    fields = Fields.of(call)
    given, deleted = fields.child("set").texts(), fields.names("delete", 1000)
    if not given and not deleted:
        raise invalid("set or delete: name at least one config")
    changes = [AlterableConfig(config, SET, value) for config, value in given.items()]
    changes += [AlterableConfig(config, DELETE, None) for config in deleted]
    what = ", ".join([*given, *deleted])
    with parts.actions.change(call, "alter configs", f"{KINDS[kind]} {name}: {what}"):
        asked = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, changes)], False)
        (result,) = (await parts.kafka.ask(call, asked, node)).responses
        check_code(result.error_code, result.error_message, f"configs of {KINDS[kind]} {name}")
    return {}


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes about the configs of brokers."""

    def find(broker: str) -> BrokerNode:
        nodes: Mapping[int, BrokerNode] = parts.broker.metadata.state.brokers
        node = nodes.get(int(broker)) if broker.isdecimal() and len(broker) < 11 else None
        if node is None:
            raise ConsoleError(404, "BROKER_NOT_AVAILABLE", f"broker {broker[:40]!r} is not live")
        return node

    async def get(call: Call, broker: str) -> object:
        return {"configs": await read_configs(parts, call, BROKER, broker, find(broker))}

    async def change(call: Call, broker: str) -> object:
        return await change_configs(parts, call, BROKER, broker, find(broker))

    path = "/configs/brokers/{id}"
    return [
        Route("GET", path, get, "Tell the settings of a broker, and where they come from"),
        Route("PATCH", path, change, "Change settings of a broker", body=BODY, changes=True),
    ]
