"""The check of produced records by their schemas: ``confluent.value.schema.validation`` and the key's.

Each key or value must begin with the id of a schema that is registered under the topic's subject,
``topic-key`` or ``topic-value``; deleted versions count, too. A worker inflates the records and finds the
ids, the registry is asked for those that are not known yet. It touches the clock.
"""

from __future__ import annotations

import json
import uuid
from functools import partial
from urllib.parse import quote

from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.produce.record_validation import RecordsRefused
from kafkatx.broker.registry.api.application import RegistryApplication
from kafkatx.broker.registry.schema_ids import GUID_BYTES, SchemaIds, find_ids
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import Worker
from kafkatx.web.calls import OF_BROKER, Call, read_target

KNOWN_S, UNKNOWN_S = 60.0, 1.0
"""Seconds for which an answer of the registry is used: that an id belongs to a subject, or does not."""

MOST_KNOWN = 10_000


class SchemaChecks:
    """Checks records of topics that ask for it."""

    def __init__(self, application: RegistryApplication, worker: Worker, clock: IReactorTime) -> None:
        self._application = application
        self._worker = worker
        self._clock = clock
        self._known: dict[tuple[str, bytes], tuple[bool, float]] = {}

    async def check(self, partition: Partition, records: memoryview | bytes) -> None:
        """Check the records of one append.

        :raises RequestError: INVALID_RECORD, with the indexes, if a record has no id, or one that is not the
            subject's; REQUEST_TIMED_OUT if the registry does not answer; or the records cannot be read.
        """
        config, topic = partition.log.config, partition.topic_partition.topic
        find = partial(
            find_ids, records, config.key_schemas, config.value_schemas, config.inflated_limit_bytes
        )
        for field, found in zip(("key", "value"), await self._worker(find), strict=True):
            await self._check(f"{topic}-{field}", field, found)

    async def _check(self, subject: str, field: str, found: SchemaIds) -> None:
        wrong = [
            (index, f"the {field} has no id of a schema: it must begin with a byte 0 and an id of 4 bytes")
            for index in found.faults
        ]
        for name, index in found.ids.items():
            if not await self._belongs(subject, name):
                wrong.append((index, f"the {field} has {_shown(name)}, which is not of subject {subject}"))
        if wrong:
            wrong.sort()
            message = f"record {wrong[0][0]}: {wrong[0][1]} (confluent.{field}.schema.validation)"
            raise RecordsRefused(ErrorCode.INVALID_RECORD, message, wrong)

    async def _belongs(self, subject: str, name: bytes) -> bool:
        known = self._known.get((subject, name))
        if known is not None and self._clock.seconds() < known[1]:
            return known[0]
        belongs = await self._ask(subject, name)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        until_s = self._clock.seconds() + (KNOWN_S if belongs else UNKNOWN_S)
        self._known[subject, name] = (belongs, until_s)
        return belongs

    async def _ask(self, subject: str, name: bytes) -> bool:
        if len(name) != GUID_BYTES:
            return await self._has(subject, int.from_bytes(name[1:], "big"))
        ids = await self._get(f"/schemas/guids/{uuid.UUID(bytes=name[1:])}/ids")
        for one in ids:
            if isinstance(one, dict) and await self._has(subject, int(one["id"])):
                return True
        return False

    async def _has(self, subject: str, schema_id: int) -> bool:
        path = f"/schemas/ids/{schema_id}/versions?deleted=true&subject={quote(subject, '')}"
        return bool(await self._get(path))

    async def _get(self, target: str) -> list[object]:
        """Ask the registry, here or at its leader; return an empty list for what is not found.

        :raises RequestError: REQUEST_TIMED_OUT, which producers try again.
        """
        path, query = read_target(target.encode())
        answer = await self._application(Call("GET", target, path, query, session=OF_BROKER))
        body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        if answer.status == 404:
            return []
        content = json.loads(body)
        if answer.status != 200 or not isinstance(content, list):
            raise RequestError(
                ErrorCode.REQUEST_TIMED_OUT, f"the schema registry does not answer: {body[:200].decode()}"
            )
        return content


def _shown(name: bytes) -> str:
    if len(name) == GUID_BYTES:
        return f"the guid {uuid.UUID(bytes=name[1:])}"
    return f"the id {int.from_bytes(name[1:], 'big')}"
