"""``kafkatx topics``: create, list, describe, alter, delete."""

from __future__ import annotations

import click

from kafkatx.cli.cluster.topic_rows import print_descriptions, print_topics
from kafkatx.cli.options.cluster import (
    changes_text,
    check_changes,
    cluster_options,
    connect,
    group_options,
    pairs,
)
from kafkatx.cli.options.kafka_names import Commands, Option, accepted, names_argument, refused
from kafkatx.cli.options.list_format import listing_options
from kafkatx.cli.output.terminal import confirm, say
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import counted

_ACTIONS = {f"--{name}": name for name in ("create", "list", "describe", "alter", "delete")}

_BY_STATE = "`kafkatx cluster --json` shows leader, replicas and in-sync replicas of every partition"
_UNSUPPORTED_FILTERS = {
    **dict.fromkeys(
        (
            "--under-replicated-partitions",
            "--unavailable-partitions",
            "--under-min-isr-partitions",
            "--at-min-isr-partitions",
        ),
        _BY_STATE,
    ),
    "--topics-with-overrides": "`kafkatx topics describe --json` shows the settings of every topic",
    "--topic-id": "name the topic; `kafkatx topics list --json` shows the ids",
    "--replica-assignment": "the cluster chooses the brokers of each partition",
}


@click.group(
    cls=Commands,
    actions=_ACTIONS,
    epilog="""\b
Examples:
  kafkatx topics create orders -p 6 -c retention.ms=86400000
  kafkatx topics list --json
  kafkatx topics describe orders
  kafkatx topics alter orders -p 12
  kafkatx topics delete orders --yes
""",
)
@group_options()
def topics() -> None:
    """Create, list, describe, alter and delete topics."""


@topics.command(epilog="Example: kafkatx topics create orders -p 6 -c cleanup.policy=compact")
@names_argument("name", "--topic")
@click.option(
    "-p",
    "--partitions",
    metavar="COUNT",
    type=click.IntRange(min=1),
    help="Number of partitions; by default the broker's num.partitions.",
)
@click.option(
    "-r",
    "--replication",
    cls=Option,
    aliases=["--replication-factor"],
    metavar="COUNT",
    type=click.IntRange(min=1),
    help="Number of replicas; by default the broker's default.replication.factor.",
)
@click.option(
    "-c",
    "--config",
    "configs",
    metavar="NAME=VALUE",
    multiple=True,
    help="Setting of the topic, retention.ms=60000 say; repeatable.",
)
@click.option("--if-not-exists", is_flag=True, help="Succeed if the topic exists.")
@refused(_UNSUPPORTED_FILTERS)
@cluster_options
def create(
    name: str,
    partitions: int | None,
    replication: int | None,
    configs: tuple[str, ...],
    if_not_exists: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Create a topic."""
    from kafkatx.blocking import Admin

    settings = dict(pairs("--config", configs))
    with connect(bootstrap, timeout) as cluster:
        try:
            Admin(cluster).create_topic(name, partitions or -1, replication or -1, settings)
        except RequestError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS or not if_not_exists:
                raise
            say(f"topic {name} exists already")
        else:
            say(f"created topic {name}")


@topics.command("list", epilog="Example: kafkatx topics list --internal --json")
@listing_options
@click.option("--internal", is_flag=True, help="List internal topics, too, such as __consumer_offsets.")
@accepted("--exclude-internal")
@refused({"--topic": "give the names to `kafkatx topics describe`", **_UNSUPPORTED_FILTERS})
@cluster_options
def list_command(as_json: bool, header: bool, internal: bool, bootstrap: str, timeout: float) -> None:
    """List the topics.

    Into a pipe each line is the name of a topic. At a terminal it also has the number of partitions and of
    replicas.
    """
    from kafkatx.blocking import Admin

    with connect(bootstrap, timeout) as cluster:
        found = Admin(cluster).list_topics(internal)
    print_topics(found, as_json, header)


@topics.command(epilog="Example: kafkatx topics describe orders payments --json")
@names_argument("names", "--topic", metavar="[NAME]...", nargs=-1)
@listing_options
@click.option("--if-exists", is_flag=True, hidden=True)
@accepted("--exclude-internal")
@refused(_UNSUPPORTED_FILTERS)
@cluster_options
def describe(
    names: tuple[str, ...], as_json: bool, header: bool, if_exists: bool, bootstrap: str, timeout: float
) -> None:
    """Show partitions, offsets and settings of topics.

    Without NAME all topics but internal ones are shown. Settings that have their defaults are not.

    \b
    Into a pipe, a line for each partition, with tabs between the fields:
      partition leader leader-epoch replicas in-sync-replicas earliest latest
    then a line for each setting: name=value. Unless exactly one NAME is given,
    each line begins with the topic's name.
    """
    from kafkatx.blocking import Admin
    from kafkatx.clientcore.errors import UnknownTopic

    with connect(bootstrap, timeout) as cluster:
        admin = Admin(cluster)
        found = []
        for name in names or [topic.name for topic in admin.list_topics()]:
            try:
                found.append(admin.describe_topic(name))
            except UnknownTopic:
                if names and not if_exists:
                    raise  # else it was deleted after it was listed
    print_descriptions(found, as_json, header, named=len(names) != 1)


@topics.command(epilog="Example: kafkatx topics alter orders -p 12 -c retention.ms=3600000")
@names_argument("name", "--topic")
@click.option(
    "-p", "--partitions", metavar="COUNT", type=click.IntRange(min=1), help="New number of partitions in all."
)
@click.option(
    "-c", "--config", "configs", metavar="NAME=VALUE", multiple=True, help="Setting to make; repeatable."
)
@click.option(
    "-d",
    "--delete-config",
    "deleted",
    metavar="NAME",
    multiple=True,
    help="Setting to take back to its default; repeatable.",
)
@click.option("--if-exists", is_flag=True, hidden=True)
@refused(_UNSUPPORTED_FILTERS)
@cluster_options
def alter(
    name: str,
    partitions: int | None,
    configs: tuple[str, ...],
    deleted: tuple[str, ...],
    if_exists: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Change the settings of a topic, or add partitions.

    More partitions cannot be taken back. Messages stay where they are, and new ones of the same key may go
    to another partition.
    """
    from kafkatx.blocking import Admin
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.clientcore.admin.configs import Resource, ResourceType
    from kafkatx.clientcore.errors import UnknownTopic

    values = dict(pairs("--config", configs))
    if partitions is None and not values and not deleted:
        raise click.UsageError("there is nothing to change: give --partitions, --config or --delete-config")
    check_changes(values, deleted)
    with connect(bootstrap, timeout) as cluster:
        try:
            if values or deleted:
                Configs(cluster).alter(Resource(ResourceType.TOPIC, name), values, deleted)
                say(f"topic {name}: {changes_text(values, deleted)}")
            if partitions is not None:
                Admin(cluster).create_partitions(name, partitions)
                say(f"topic {name}: has {counted(partitions, 'partition')} now")
        except UnknownTopic:
            if not if_exists:
                raise


@topics.command(epilog="Example: kafkatx topics delete orders payments --yes")
@names_argument("names", "--topic", metavar="NAME...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--if-exists", is_flag=True, help="Succeed if a topic does not exist.")
@cluster_options
def delete(names: tuple[str, ...], yes: bool, if_exists: bool, bootstrap: str, timeout: float) -> None:
    """Delete topics with all their messages."""
    from kafkatx.blocking import Admin
    from kafkatx.clientcore.errors import UnknownTopic

    confirm(f"Delete {', '.join(names)} with all messages?", yes)
    with connect(bootstrap, timeout) as cluster:
        admin = Admin(cluster)
        for name in names:
            try:
                admin.delete_topic(name)
            except UnknownTopic:
                if not if_exists:
                    raise
                say(f"there is no topic {name}")
            else:
                say(f"deleted topic {name}")
