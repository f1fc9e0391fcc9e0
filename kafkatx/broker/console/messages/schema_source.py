"""Schemas for messages, from this broker's registry, as descriptions that a process can use.

It asks the registry as the broker itself: who may read a topic may read its messages. It touches the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.console.errors import ConsoleError
from kafkatx.clientcore.registry import plans
from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable
from kafkatx.clientcore.registry.plans import Plan
from kafkatx.clientcore.registry.replies import RegisteredSchema
from kafkatx.clientcore.registry.requests import LATEST, Request, schema_version
from kafkatx.errors import KafkaTXError
from kafkatx.schemas.types import Schema
from kafkatx.views.formats.registered import Described
from kafkatx.web.calls import OF_BROKER, Application, Call, read_target

T = TypeVar("T")

MOST_KEPT: Final = 500
FAILED_S: Final = 5.0
"""Seconds for which it is kept that there is no such schema."""


class SchemaSource:
    """The registry as a source of descriptions.

    :param application: returns what answers requests to the registry.
    """

    def __init__(self, application: Callable[[], Application], clock: IReactorTime) -> None:
        self._application = application
        self._clock = clock
        self._kept: dict[str, tuple[Described, float | None]] = {}

    async def describe(self, references: Iterable[str]) -> dict[str, Described]:
        """Return the descriptions of schemas that messages name; errors are descriptions, too."""
        return {reference: await self._described(reference) for reference in references}

    async def _described(self, reference: str) -> Described:
        known = self._kept.get(reference)
        if known is not None and (known[1] is None or self._clock.seconds() < known[1]):
            return known[0]
        kind, _, name = reference.partition(":")
        plan = plans.schema_of_id(int(name)) if kind == "id" else plans.schema_of_guid(name)
        ends_s: float | None = None
        try:
            found = described(await plans.carry_out(plan, self._send))
        except KafkaTXError as error:
            found, ends_s = {"error": str(error)}, self._clock.seconds() + FAILED_S
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[reference] = found, ends_s
        return found

    async def by_id(self, number: int) -> Described:
        """Return the description of a schema that a user has chosen.

        :raises ConsoleError: there is none, or the registry does not answer.
        """
        return await self._chosen(plans.schema_of_id(number), f"schema {number}")

    async def of_subject(self, subject: str, version: int = LATEST) -> Described:
        """Return the description of a version of a subject.

        :raises ConsoleError: as :meth:`by_id`.
        """
        return await self._chosen(_of_subject(subject, version), f"subject {subject}")

    async def _chosen(self, plan: Plan[RegisteredSchema], named: str) -> Described:
        try:
            return described(await plans.carry_out(plan, self._send))
        except RegistryError as error:
            raise ConsoleError(error.status, f"SCHEMA_REGISTRY_{error.code}", f"{named}: {error}") from None
        except RegistryUnavailable as error:
            raise ConsoleError(503, "SCHEMA_REGISTRY_NOT_AVAILABLE", f"{named}: {error}") from None

    async def _send(self, request: Request[Any]) -> Any:
        path, query = read_target(request.path.encode())
        call = Call(request.method, request.path, path, query, session=OF_BROKER)
        outcome = self._application()(call)
        answer: Any = outcome if not hasattr(outcome, "__await__") else await outcome
        body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        return request.reply(answer.status, body)


def _of_subject(subject: str, version: int) -> Plan[RegisteredSchema]:
    found = yield from plans.ask(schema_version(subject, version))
    return (yield from plans.with_dependencies(found))


def described(found: RegisteredSchema) -> Described:
    """Return a schema of the registry as a description."""
    return {
        **_text(found.schema),
        "dependencies": {name: _text(schema) for name, schema in found.dependencies.items()},
        "id": found.id if found.id >= 0 else None,
        "guid": found.guid or None,
        "subject": found.subject or None,
    }


def _text(schema: Schema) -> dict[str, object]:
    return {"type": schema.type.value, "schema": schema.text}
