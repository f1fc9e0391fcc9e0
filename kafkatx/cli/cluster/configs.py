"""``kafkatx configs``: the settings of topics and brokers, and the quotas of clients; describe, alter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkatx.cli.cluster.config_rows import print_entries, print_quotas
from kafkatx.cli.options.cluster import (
    changes_text,
    check_changes,
    cluster_options,
    connect,
    group_options,
    pairs,
)
from kafkatx.cli.options.entities import chosen, entity_options, quota_numbers
from kafkatx.cli.options.kafka_names import Commands, refused
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import say

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.configs import ConfigEntry, Resource

_KINDS = "there are topics, brokers, client ids, users and addresses"
_UNSUPPORTED = {
    "--group": _KINDS,
    "--client-metrics": "`kafkatx client-metrics` changes and describes subscriptions",
    "--broker-logger": _KINDS,
    "--add-config-file": "give each setting as --set NAME=VALUE",
    "--bootstrap-controller": "name a broker: --bootstrap-server HOST:PORT",
    "--zookeeper": "name a broker: --bootstrap-server HOST:PORT",
}


@click.group(
    cls=Commands,
    actions={"--describe": "describe", "--alter": "alter"},
    epilog="""\b
Examples:
  kafkatx configs describe --topic orders
  kafkatx configs alter --topic orders --set retention.ms=3600000
  kafkatx configs alter --client-id batch --set producer_byte_rate=1048576
  kafkatx configs describe --quotas
""",
)
@group_options()
def configs() -> None:
    """Show and change settings, and quotas of clients."""


@configs.command(epilog="Example: kafkatx configs describe --topic orders --all retention.ms")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@entity_options
@click.option("--quotas", "all_quotas", is_flag=True, help="Show the quotas of all clients that have some.")
@click.option("-a", "--all", "every", is_flag=True, help="Show the settings that have their defaults, too.")
@listing_options
@refused(_UNSUPPORTED)
@cluster_options
def describe(
    names: tuple[str, ...],
    all_quotas: bool,
    every: bool,
    as_json: bool,
    header: bool,
    bootstrap: str,
    timeout: float,
    **whose: Any,
) -> None:
    """Show settings, or the quotas of clients.

    Without NAME and --all only settings that differ from their defaults are shown.

    \b
    Into a pipe, a line for each setting, with tabs between the fields:
      name value set-for
    """
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.blocking.admin.quotas import Quotas

    wanted = chosen(whose, all_quotas)
    with connect(bootstrap, timeout) as cluster:
        if wanted.resource is None:
            print_quotas(Quotas(cluster).describe(wanted.entity or None), names, as_json, header)
            return
        entries = Configs(cluster).describe(wanted.resource, synonyms=as_json)
    _check_names(wanted.resource, entries, names)
    print_entries(_matching(entries.values(), names, every), as_json, header)


def _check_names(resource: Resource, entries: Mapping[str, ConfigEntry], names: Iterable[str]) -> None:
    """Refuse unknown names. Of the defaults of all brokers only those that are set are known.

    :raises click.UsageError: a name is unknown.
    """
    for name in names:
        if name not in entries and resource.name:
            from difflib import get_close_matches

            near = get_close_matches(name, entries, 1)
            advice = f"; is {near[0]} meant?" if near else ""
            raise click.UsageError(f"{resource} has no setting {name!r}{advice}")


def _matching(entries: Iterable[ConfigEntry], names: tuple[str, ...], every: bool) -> list[ConfigEntry]:
    from kafkatx.clientcore.admin.configs import Source

    if names:
        return [entry for entry in entries if entry.name in names]
    return [entry for entry in entries if every or entry.source is not Source.DEFAULT]


def _added(ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> list[str]:
    """Split kafka-configs.sh's ``a=1,b=[2,3]`` at the commas outside of brackets, and drop the brackets."""
    parts = [part for text in texts for part in re.split(r",(?![^\[\]]*\])", text) if part]
    return [re.sub(r"=\[([^\[\]]*)\]$", r"=\1", part) for part in parts]


def _removed(ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> list[str]:
    """Split kafka-configs.sh's ``a,b``."""
    return [part for text in texts for part in text.split(",") if part]


@configs.command(
    epilog="""\b
Examples:
  kafkatx configs alter --topic orders --set retention.ms=3600000
  kafkatx configs alter --topic orders --delete retention.ms --dry-run
"""
)
@entity_options
@click.option(
    "-s", "--set", "settings", metavar="NAME=VALUE", multiple=True, help="Setting to make; repeatable."
)
@click.option(
    "-d", "--delete", "deleted", metavar="NAME", multiple=True, help="Setting to take back; repeatable."
)
@click.option("--add-config", "added", multiple=True, hidden=True, callback=_added)
@click.option("--delete-config", "removed", multiple=True, hidden=True, callback=_removed)
@click.option("--dry-run", is_flag=True, help="Ask the broker to check the change only.")
@refused(_UNSUPPORTED)
@cluster_options
def alter(
    settings: tuple[str, ...],
    deleted: tuple[str, ...],
    added: list[str],
    removed: list[str],
    dry_run: bool,
    bootstrap: str,
    timeout: float,
    **whose: Any,
) -> None:
    """Change settings or quotas.

    All changes are made or, after an error, none.
    """
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.blocking.admin.quotas import Quotas
    from kafkatx.clientcore.admin.quotas import entity_text

    values = dict(pairs("--set", [*settings, *added]))
    undone = (*deleted, *removed)
    if not values and not undone:
        raise click.UsageError("there is nothing to change: give --set NAME=VALUE or --delete NAME")
    check_changes(values, undone)
    wanted = chosen(whose)
    with connect(bootstrap, timeout) as cluster:
        if wanted.resource is None:
            Quotas(cluster).alter(wanted.entity, quota_numbers(values), undone, dry_run)
        else:
            Configs(cluster).alter(wanted.resource, values, undone, dry_run)
    owner = entity_text(wanted.entity) if wanted.resource is None else str(wanted.resource)
    done = changes_text(values, undone)
    say(f"{owner}: could have {done}; nothing was changed" if dry_run else f"{owner}: {done}")
