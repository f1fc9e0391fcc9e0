"""``kafkatx quotas``: the quotas of users, client ids and addresses; list, set, remove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkatx.cli.cluster.config_rows import print_quotas
from kafkatx.cli.options.cluster import changes_text, cluster_options, connect, group_options, pairs
from kafkatx.cli.options.entities import quota_entity, quota_numbers, quota_options
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import say


@click.group(
    epilog="""\b
Examples:
  kafkatx quotas list
  kafkatx quotas set --user CN=alice producer_byte_rate=1048576
  kafkatx quotas set --ip-defaults connection_creation_rate=20
  kafkatx quotas remove --user CN=alice
"""
)
@group_options()
def quotas() -> None:
    """Limit what users, client ids and addresses use."""


@quotas.command(name="list", epilog="Example: kafkatx quotas list --user CN=alice")
@quota_options
@listing_options
@cluster_options
def list_(as_json: bool, header: bool, bootstrap: str, timeout: float, **whose: Any) -> None:
    """Show quotas: those of one owner, or all.

    \b
    Into a pipe, a line for each quota, with tabs between the fields:
      name value set-for
    """
    from kafkatx.blocking.admin.quotas import Quotas

    entity = quota_entity(whose)
    with connect(bootstrap, timeout) as cluster:
        print_quotas(Quotas(cluster).describe(entity or None), (), as_json, header)


@quotas.command(
    name="set",
    epilog="""\b
Quotas of users and client ids: producer_byte_rate, consumer_byte_rate,
request_percentage, controller_mutation_rate. Of addresses: connection_creation_rate.

\b
Examples:
  kafkatx quotas set --user CN=alice producer_byte_rate=1048576
  kafkatx quotas set --user CN=alice --client-id nightly request_percentage=20
  kafkatx quotas set --ip-defaults connection_creation_rate=20
""",
)
@click.argument("values", metavar="NAME=VALUE...", nargs=-1, required=True)
@quota_options
@click.option("--dry-run", is_flag=True, help="Ask the broker to check the change only.")
@cluster_options
def set_(values: tuple[str, ...], dry_run: bool, bootstrap: str, timeout: float, **whose: Any) -> None:
    """Set quotas of a user, a client id or both, or of an address."""
    texts = dict(pairs("set", values))
    _alter(_owner(whose), texts, (), dry_run, bootstrap, timeout)


@quotas.command(name="remove", epilog="Example: kafkatx quotas remove --user CN=alice producer_byte_rate")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@quota_options
@click.option("--dry-run", is_flag=True, help="Ask the broker to check the change only.")
@cluster_options
def remove(names: tuple[str, ...], dry_run: bool, bootstrap: str, timeout: float, **whose: Any) -> None:
    """Remove quotas of one owner, all of them if none is named."""
    from kafkatx.blocking.admin.quotas import Quotas
    from kafkatx.clientcore.admin.quotas import entity_text

    entity = _owner(whose)
    if not names:
        with connect(bootstrap, timeout) as cluster:
            names = tuple(sorted({name for one in Quotas(cluster).describe(entity) for name in one.values}))
    if not names:
        say(f"{entity_text(entity)} has no quotas")
        return
    _alter(entity, {}, names, dry_run, bootstrap, timeout)


def _owner(whose: Mapping[str, Any]) -> Mapping[str, str | None]:
    """Return the owner of quotas that the options name.

    :raises click.UsageError: they name none.
    """
    entity = quota_entity(whose)
    if not entity:
        raise click.UsageError("name the owner: --user, --client-id or both, or --ip; or their defaults")
    return entity


def _alter(
    entity: Mapping[str, str | None],
    texts: Mapping[str, str],
    removed: tuple[str, ...],
    dry_run: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    from kafkatx.blocking.admin.quotas import Quotas
    from kafkatx.clientcore.admin.quotas import entity_text

    values = quota_numbers(texts)
    with connect(bootstrap, timeout) as cluster:
        Quotas(cluster).alter(entity, values, removed, dry_run)
    done = changes_text(texts, removed)
    owner = entity_text(entity)
    say(f"{owner}: could have {done}; nothing was changed" if dry_run else f"{owner}: {done}")
