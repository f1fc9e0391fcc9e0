"""Options for the owner of settings or quotas, by our names and by Kafka's; and quotas as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from kafkatx.cli.options.kafka_names import Option

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.configs import Resource

F = TypeVar("F", bound=Callable[..., object])

_ENTITY_TYPES = {"client_id": "client-id", "user": "user", "ip": "ip"}
"""The parameters that name clients, and Kafka's names of these types."""

_KAFKA_TYPES = {
    "topics": "topic",
    "brokers": "broker",
    "clients": "client_id",
    "users": "user",
    "ips": "ip",
}
"""Values of kafka-configs.sh's ``--entity-type``, and the matching parameters."""

_OPTIONS = (
    click.option("-t", "--topic", metavar="TOPIC", help="Topic that has the settings."),
    click.option("--broker", metavar="ID", type=click.IntRange(min=0), help="Broker that has the settings."),
    click.option("--broker-defaults", is_flag=True, help="Settings of all brokers without their own."),
)

_CLIENT_OPTIONS = (
    click.option(
        "--client-id",
        cls=Option,
        aliases=["--client"],
        metavar="NAME",
        help="Client id that has the quotas.",
    ),
    click.option(
        "--client-id-defaults",
        cls=Option,
        aliases=["--client-defaults"],
        is_flag=True,
        help="Quotas of each client id without its own.",
    ),
    click.option("--user", metavar="NAME", help="User that has the quotas."),
    click.option("--user-defaults", is_flag=True, help="Quotas of each user without its own."),
    click.option("--ip", metavar="ADDRESS", help="Address that has the quotas."),
    click.option("--ip-defaults", is_flag=True, help="Quotas of each address without its own."),
)

_KAFKA_OPTIONS = (
    click.option(
        "--entity-type", "entity_types", type=click.Choice(list(_KAFKA_TYPES)), multiple=True, hidden=True
    ),
    click.option("--entity-name", "entity_names", multiple=True, hidden=True),
    click.option("--entity-default", "entity_defaults", count=True, hidden=True),
)


def entity_options(command: F) -> F:
    """Add the options; they are passed by their names, for :func:`chosen`."""
    for option in reversed((*_OPTIONS, *_CLIENT_OPTIONS, *_KAFKA_OPTIONS)):
        command = option(command)
    return command


def quota_options(command: F) -> F:
    """Add the options for the owner of quotas; they are passed by their names, for :func:`quota_entity`."""
    for option in reversed(_CLIENT_OPTIONS):
        command = option(command)
    return command


@attrs.frozen
class Chosen:
    """The owner of settings or quotas: a topic or brokers (*resource*), or clients (*entity*).

    :ivar entity: as :data:`kafkatx.clientcore.admin.quotas.Entity`; empty stands for all clients.
    """

    resource: Resource | None
    entity: Mapping[str, str | None]


def chosen(options: Mapping[str, Any], all_quotas: bool = False) -> Chosen:
    """Return the owner of settings or quotas that the options name.

    :param all_quotas: the quotas of all clients may be meant.
    :raises click.UsageError: not exactly one thing is named.
    """
    from kafkatx.clientcore.admin.configs import Resource, ResourceType

    given = dict(options)
    _translate(given)
    resources = []
    if given["topic"] is not None:
        resources.append(Resource(ResourceType.TOPIC, given["topic"]))
    if given["broker"] is not None:
        resources.append(Resource(ResourceType.BROKER, str(given["broker"])))
    if given["broker_defaults"]:
        resources.append(Resource(ResourceType.BROKER, ""))
    entity = quota_entity(given)
    if len(resources) + bool(entity) + all_quotas != 1:
        raise click.UsageError(
            "give one of --topic, --broker, --broker-defaults; or clients (--client-id, --user, --ip)"
        )
    return Chosen(resources[0] if resources else None, entity)


def _translate(given: dict[str, Any]) -> None:
    """Replace Kafka's ``--entity-type`` and ``--entity-name`` or ``--entity-default``.

    :raises click.UsageError: there is not one name or default for each type.
    """
    types, names, defaults = (given.pop(f"entity_{what}") for what in ("types", "names", "defaults"))
    if len(types) != len(names) + defaults or (names and defaults):
        raise click.UsageError("give --entity-name or --entity-default for each --entity-type")
    for at, entity_type in enumerate(types):
        parameter = _KAFKA_TYPES[entity_type]
        if defaults:
            if parameter == "topic":
                raise click.UsageError("--entity-default: topics have no defaults of their own")
            given[f"{parameter}_defaults"] = True
        elif parameter == "broker" and not (names[at].isascii() and names[at].isdigit()):
            raise click.UsageError(f"--entity-name {names[at]}: the id of a broker is a number")
        else:
            given[parameter] = names[at]


def quota_entity(given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the clients that the options name; None is the defaults of a type. Empty: none is named.

    :raises click.UsageError: a name and the defaults of the same type are given.
    """
    entity: dict[str, str | None] = {}
    for parameter, entity_type in _ENTITY_TYPES.items():
        if given[parameter] is not None and given[f"{parameter}_defaults"]:
            raise click.UsageError(f"--{entity_type} and --{entity_type}-defaults exclude each other")
        if given[parameter] is not None or given[f"{parameter}_defaults"]:
            entity[entity_type] = given[parameter]
    return entity


def quota_numbers(texts: Mapping[str, str]) -> dict[str, float]:
    """Return quotas as numbers.

    :raises click.UsageError: a value is not a number.
    """
    found = {}
    for name, text in texts.items():
        try:
            found[name] = float(text)
        except ValueError as error:
            raise click.UsageError(f"{name}={text}: a quota is a number") from error
    return found
