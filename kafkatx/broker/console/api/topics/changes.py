"""Changes of topics: creation, configs, more partitions, deletion of records and of topics."""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.broker.console.api.bodies import LOWEST, Fields, whole
from kafkatx.broker.console.api.configs import BODY, TOPIC, change_configs
from kafkatx.broker.console.api.topics.partitions import by_leader
from kafkatx.broker.console.errors import ConsoleError, check_code, invalid, of_code
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.types import Topic
from kafkatx.web.calls import Call
from kafkatx.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkatx.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

TIMEOUT_MS = 30_000
BY_DEFAULT = -1
MOST_PARTITIONS, MOST_REPLICAS = 1_000_000, 32_767
ALL = -1


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    changes = _Changes(parts)
    path = "/topics/{name}"
    return [
        Route("POST", "/topics", changes.create, "Create a topic", body=_NEW, changes=True),
        Route(
            "PATCH", f"{path}/configs", changes.alter, "Change configs of a topic", body=BODY, changes=True
        ),
        Route(
            "POST",
            f"{path}/partitions",
            changes.add_partitions,
            "Add partitions to a topic",
            body={"count": "the new number of partitions"},
            changes=True,
        ),
        Route(
            "POST",
            f"{path}/purge",
            changes.purge,
            "Delete the records of a topic below some offsets",
            body={"beforeOffsets": "offsets by partition; -1: all records"},
            changes=True,
        ),
        Route(
            "DELETE",
            path,
            changes.delete,
            "Delete a topic",
            {"confirm": "the name of the topic once more"},
            changes=True,
        ),
    ]


_NEW = {
    "name": "name of the topic",
    "partitions": "number of partitions; -1: the broker's default",
    "replicationFactor": "replicas of each partition; -1: the broker's default",
    "configs": "configs by name",
    "validateOnly": "true: check only",
}


class _Changes:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts

    async def create(self, call: Call) -> object:
        """Create a topic, or check that one could be created."""
        fields = Fields.of(call)
        configs = fields.child("configs").texts()
        topic = CreatableTopic(
            fields.text("name"),
            fields.whole("partitions", BY_DEFAULT, BY_DEFAULT, MOST_PARTITIONS),
            fields.whole("replicationFactor", BY_DEFAULT, BY_DEFAULT, MOST_REPLICAS),
            configs=[CreatableTopicConfig(name, value) for name, value in configs.items()],
        )
        if fields.flag("validateOnly"):
            return await self._create(call, topic, True)
        with self._parts.actions.change(call, "create topic", f"topic {topic.name}"):
            return await self._create(call, topic, False)

    async def _create(self, call: Call, topic: CreatableTopic, validate_only: bool) -> object:
        name, asked = topic.name, CreateTopicsRequest([topic], TIMEOUT_MS, validate_only)
        (result,) = (await self._parts.kafka.ask(call, asked)).topics
        check_code(result.error_code, result.error_message, f"topic {name[:300]!r} cannot be created")
        return {
            "name": name,
            "id": None if validate_only else str(result.topic_id),
            "partitions": result.num_partitions,
            "replicationFactor": result.replication_factor,
        }

    async def alter(self, call: Call, name: str) -> object:
        """Change configs."""
        return await change_configs(self._parts, call, TOPIC, name)

    async def add_partitions(self, call: Call, name: str) -> object:
        """Add partitions."""
        count = Fields.of(call).whole("count", None, 1, MOST_PARTITIONS)
        with self._parts.actions.change(call, "add partitions", f"topic {name}: {count}"):
            topic = CreatePartitionsTopic(name, count, None)
            asked = CreatePartitionsRequest([topic], TIMEOUT_MS)
            (result,) = (await self._parts.kafka.ask(call, asked)).results
            check_code(result.error_code, result.error_message, f"topic {name[:300]!r} gets no partitions")
        return {"name": name, "partitions": count}

    async def purge(self, call: Call, name: str) -> object:
        """Delete records."""
        fields = Fields.of(call).child("beforeOffsets")
        before = {
            whole(number, "beforeOffsets", 0, MOST_PARTITIONS): fields.whole(number, None, ALL)
            for number in fields.all_names()
        }
        if not before:
            raise invalid("beforeOffsets: name at least one partition")
        topic: Topic | None = self._parts.broker.metadata.state.topics.get(name)
        told = ", ".join(f"{number}: {offset}" for number, offset in before.items())
        with self._parts.actions.change(call, "delete records", f"topic {name}: {told}") as change:
            if topic is None or max(before) >= len(topic.partitions):
                await self._refuse_unknown(call, name, before)
            assert topic is not None
            results = await self._purge(call, topic, before)
            failed = [one for one in results if one["error"] is not None]
            if failed:
                change.result = (
                    f"{len(results) - len(failed)} of {len(results)} partitions: {failed[0]['error']}"
                )
        return {"results": sorted(results, key=lambda one: str(one["name"]).zfill(10))}

    async def _refuse_unknown(self, call: Call, name: str, before: dict[int, int]) -> None:
        """Raise the error of a topic or partition that there is not, or that the user may not know."""
        topics = [DeleteRecordsTopic(name, [DeleteRecordsPartition(each, 0) for each in before])]
        response = await self._parts.kafka.ask(call, DeleteRecordsRequest(topics, TIMEOUT_MS))
        code = response.topics[0].partitions[0].error_code
        raise of_code(code if code == 29 else 3, None, f"topic {name[:300]!r} has no such partition")

    async def _purge(self, call: Call, topic: Topic, before: dict[int, int]) -> list[dict[str, object]]:
        found: dict[int, dict[str, object]] = {
            number: _result(number, of_code(5, None, f"partition {number} has no leader"))
            for number in before
        }
        for node, numbers in by_leader(self._parts, topic, list(before)):
            partitions = [DeleteRecordsPartition(number, before[number]) for number in numbers]
            asked = DeleteRecordsRequest([DeleteRecordsTopic(topic.name, partitions)], TIMEOUT_MS)
            response = await self._parts.kafka.ask(call, asked, node)
            for one in response.topics[0].partitions:
                error = None
                if one.error_code:
                    error = of_code(one.error_code, None, f"records of {topic.name}-{one.partition_index}")
                found[one.partition_index] = _result(one.partition_index, error, one.low_watermark)
        refused = [one for one in found.values() if one["status"] == 403]
        if refused:
            raise of_code(29, None, f"records of topic {topic.name}")
        for one in found.values():
            del one["status"]
        return list(found.values())

    async def delete(self, call: Call, name: str) -> object:
        """Delete a topic whose name is given twice."""
        check_confirmed(call, name)
        with self._parts.actions.change(call, "delete topic", f"topic {name}"):
            asked = DeleteTopicsRequest([DeleteTopicState(name)], timeout_ms=TIMEOUT_MS)
            (result,) = (await self._parts.kafka.ask(call, asked)).responses
            check_code(result.error_code, result.error_message, f"topic {name[:300]!r} cannot be deleted")
        return {}


def check_confirmed(call: Call, name: str) -> None:
    """Check that a name is given once more, as ``confirm``.

    :raises ConsoleError: it is not.
    """
    if call.text("confirm") != name:
        raise ConsoleError(400, "NOT_CONFIRMED", "confirm: give the name once more, to show that it is meant")


def _result(number: int, error: ConsoleError | None, start: int = LOWEST) -> dict[str, object]:
    return {
        "name": str(number),
        "error": None if error is None else {"code": error.code, "message": str(error)},
        "startOffset": None if error is not None else str(start),
        "status": 200 if error is None else error.status,
    }
