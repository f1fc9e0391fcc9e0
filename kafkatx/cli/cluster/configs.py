"""``kafkatx configs``: the settings of topics and brokers, and the quotas of clients; describe, alter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafkatx.cli.cluster.config_rows import print_entries, print_quotas
from kafkatx.cli.options.cluster import changes_text, check_changes, cluster_options, connect, pairs
from kafkatx.cli.output.terminal import say

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.configs import ConfigEntry, Resource

F = TypeVar("F", bound=Callable[..., Any])

_ENTITY_TYPES = {"client_id": "client-id", "user": "user", "ip": "ip"}
"""The parameters that name clients, and what Kafka calls these types."""

_WHOSE = (
    click.option("-t", "--topic", metavar="TOPIC", help="Settings of this topic."),
    click.option("--broker", metavar="ID", type=click.IntRange(min=0), help="Settings of this broker."),
    click.option("--broker-defaults", is_flag=True, help="Settings of all brokers without their own."),
    click.option("--client-id", metavar="NAME", help="Quotas of clients of this id."),
    click.option("--client-id-defaults", is_flag=True, help="Quotas of each client id without its own."),
    click.option("--user", metavar="NAME", help="Quotas of this user."),
    click.option("--user-defaults", is_flag=True, help="Quotas of each user without its own."),
    click.option("--ip", metavar="ADDRESS", help="Quotas of this address."),
    click.option("--ip-defaults", is_flag=True, help="Quotas of each address without its own."),
)


def _whose(command: F) -> F:
    """Add the options that say whose settings or quotas are meant; they are passed by their names."""
    for option in reversed(_WHOSE):
        command = option(command)
    return command


def _resource(whose: Mapping[str, Any]) -> Resource | None:
    """The topic or broker that is meant; None if it is clients.

    :raises click.UsageError: nothing is named, or two things.
    """
    from kafkatx.clientcore.admin.configs import Resource, ResourceType

    found = []
    if whose["topic"] is not None:
        found.append(Resource(ResourceType.TOPIC, whose["topic"]))
    if whose["broker"] is not None:
        found.append(Resource(ResourceType.BROKER, str(whose["broker"])))
    if whose["broker_defaults"]:
        found.append(Resource(ResourceType.BROKER, ""))
    if len(found) + bool(_entity(whose)) + bool(whose.get("all_quotas")) != 1:
        raise click.UsageError(
            "say whose: one of --topic, --broker, --broker-defaults; or clients (--client-id)"
        )
    return found[0] if found else None


def _entity(whose: Mapping[str, Any]) -> dict[str, str | None]:
    """The clients that are meant, as :data:`kafkatx.clientcore.admin.quotas.Entity`.

    :raises click.UsageError: a name and the defaults of the same type are given.
    """
    entity: dict[str, str | None] = {}
    for parameter, entity_type in _ENTITY_TYPES.items():
        if whose[parameter] is not None and whose[f"{parameter}_defaults"]:
            raise click.UsageError(f"--{entity_type} and --{entity_type}-defaults exclude each other")
        if whose[parameter] is not None or whose[f"{parameter}_defaults"]:
            entity[entity_type] = whose[parameter]
    return entity


@click.group()
def configs() -> None:
    """Show and change the settings of topics and brokers, and the quotas of clients."""


@configs.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@_whose
@click.option("--quotas", "all_quotas", is_flag=True, help="The quotas of all clients that have some.")
@click.option("-a", "--all", "every", is_flag=True, help="Also the settings that have their default.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@cluster_options
def describe(
    names: tuple[str, ...],
    every: bool,
    as_json: bool,
    bootstrap: str,
    timeout: float,
    **whose: Any,
) -> None:
    """Show the settings that were made, or those called NAME; of clients, their quotas.

    A line a setting if the output is not a terminal: name, value, and whose it is, divided by tabs.
    """
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.blocking.admin.quotas import Quotas

    resource, entity = _resource(whose), _entity(whose)
    with connect(bootstrap, timeout) as cluster:
        if resource is None:
            print_quotas(Quotas(cluster).describe(entity or None), names, as_json)
            return
        entries = Configs(cluster).describe(resource, synonyms=as_json)
    _check_names(resource, entries, names)
    print_entries(_chosen(entries.values(), names, every), as_json)


def _check_names(resource: Resource, entries: Mapping[str, ConfigEntry], names: Iterable[str]) -> None:
    """Tell of a name that is mistyped; of the defaults of all brokers only those that are set are known."""
    for name in names:
        if name not in entries and resource.name:
            from difflib import get_close_matches

            near = get_close_matches(name, entries, 1)
            advice = f"; is {near[0]} meant?" if near else ""
            raise click.UsageError(f"{resource} has no setting {name!r}{advice}")


def _chosen(entries: Iterable[ConfigEntry], names: tuple[str, ...], every: bool) -> list[ConfigEntry]:
    from kafkatx.clientcore.admin.configs import Source

    if names:
        return [entry for entry in entries if entry.name in names]
    return [entry for entry in entries if every or entry.source is not Source.DEFAULT]


@configs.command()
@_whose
@click.option("-s", "--set", "settings", metavar="NAME=VALUE", multiple=True, help="Set this; repeatable.")
@click.option("-d", "--delete", "deleted", metavar="NAME", multiple=True, help="Undo this; repeatable.")
@click.option("--dry-run", is_flag=True, help="Only have the broker judge it.")
@cluster_options
def alter(
    settings: tuple[str, ...],
    deleted: tuple[str, ...],
    dry_run: bool,
    bootstrap: str,
    timeout: float,
    **whose: Any,
) -> None:
    """Change settings or quotas: all that is named, or on an error nothing.

    \b
      kafkatx configs alter --topic clicks --set retention.ms=3600000 --delete cleanup.policy
      kafkatx configs alter --client-id batch --set producer_byte_rate=1048576
    """
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.blocking.admin.quotas import Quotas
    from kafkatx.clientcore.admin.quotas import entity_text

    values = dict(pairs("--set", settings))
    if not values and not deleted:
        raise click.UsageError("there is nothing to change: give --set NAME=VALUE or --delete NAME")
    check_changes(values, deleted)
    resource, entity = _resource(whose), _entity(whose)
    with connect(bootstrap, timeout) as cluster:
        if resource is None:
            Quotas(cluster).alter(entity, _numbers(values), deleted, dry_run)
        else:
            Configs(cluster).alter(resource, values, deleted, dry_run)
    whom = entity_text(entity) if resource is None else str(resource)
    done = changes_text(values, deleted)
    say(f"{whom}: could have {done}; nothing was changed" if dry_run else f"{whom}: {done}")


def _numbers(values: Mapping[str, str]) -> dict[str, float]:
    """Quotas are numbers.

    :raises click.UsageError: a value is none.
    """
    found = {}
    for name, text in values.items():
        try:
            found[name] = float(text)
        except ValueError as error:
            raise click.UsageError(f"--set {name}={text}: a quota is a number") from error
    return found
