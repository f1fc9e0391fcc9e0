"""``kafkatx topics``: create, list, describe, alter, delete."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kafkatx.cli.options.cluster import changes_text, check_changes, cluster_options, connect, pairs
from kafkatx.cli.output.terminal import interactive, print_rows, print_table, say, show_json
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import printable

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.topics import TopicDescription
    from kafkatx.clientcore.metadata import TopicMetadata


@click.group()
def topics() -> None:
    """Create, list, describe, alter and delete topics."""


@topics.command()
@click.argument("name")
@click.option(
    "-p",
    "--partitions",
    type=click.IntRange(min=1),
    default=None,
    help="How many partitions; else the broker's num.partitions.",
)
@click.option(
    "-r",
    "--replication",
    type=click.IntRange(min=1),
    default=None,
    help="How many replicas; else the broker's default.replication.factor.",
)
@click.option(
    "-c",
    "--config",
    "configs",
    metavar="NAME=VALUE",
    multiple=True,
    help="A setting; repeatable.",
)
@click.option("--if-not-exists", is_flag=True, help="Be content if there is a topic of this name.")
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
    """Create the topic NAME."""
    from kafkatx.blocking import Admin

    settings = dict(pairs("--config", configs))
    with connect(bootstrap, timeout) as cluster:
        try:
            Admin(cluster).create_topic(name, partitions or -1, replication or -1, settings)
        except RequestError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS or not if_not_exists:
                raise
            say(f"topic {name} is there already")
        else:
            say(f"created topic {name}")


@topics.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--internal", is_flag=True, help="Also the topics that the cluster keeps for itself.")
@cluster_options
def list_command(as_json: bool, internal: bool, bootstrap: str, timeout: float) -> None:
    """List the topics; one name a line if the output is not a terminal."""
    from kafkatx.blocking import Admin

    with connect(bootstrap, timeout) as cluster:
        found = Admin(cluster).list_topics(internal)
    if as_json:
        for topic in found:
            show_json(_summary(topic))
    elif interactive(sys.stdout):
        rows = [(t.name, len(t.partitions), _replicas(t), "yes" if t.internal else "") for t in found]
        print_table(["topic", "partitions#", "replicas#", "internal"], rows)
    else:
        print_rows([topic.name] for topic in found)


def _replicas(topic: TopicMetadata) -> int:
    return max((len(partition.replicas) for partition in topic.partitions.values()), default=0)


def _summary(topic: TopicMetadata) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topic_id": str(topic.topic_id),
        "partitions": len(topic.partitions),
        "replicas": _replicas(topic),
        "internal": topic.internal,
    }


@topics.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, with every setting.")
@cluster_options
def describe(name: str, as_json: bool, bootstrap: str, timeout: float) -> None:
    """Show the partitions of the topic NAME, their offsets, and the settings made for it."""
    from kafkatx.blocking import Admin

    with connect(bootstrap, timeout) as cluster:
        topic = Admin(cluster).describe_topic(name)
    if as_json:
        show_json(_description(topic))
        return
    rows = [
        (
            p.metadata.partition,
            p.metadata.leader,
            p.metadata.leader_epoch,
            _ids(p.metadata.replicas),
            _ids(p.metadata.isr),
            p.earliest,
            p.latest,
        )
        for p in topic.partitions
    ]
    settings = [(entry.name, entry.value) for entry in topic.configs.values() if entry.overridden]
    if not interactive(sys.stdout):
        print_rows(rows)
        print_rows([f"{key}={value}"] for key, value in settings)
        return
    columns = ["partition#", "leader#", "epoch#", "replicas", "in sync", "earliest#", "latest#"]
    print_table(columns, rows, f"{topic.name}, id {topic.topic_id}")
    if settings:
        print_table(["setting", "value"], settings)


def _ids(ids: tuple[int, ...]) -> str:
    return ",".join(map(str, ids))


def _description(topic: TopicDescription) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topic_id": str(topic.topic_id),
        "internal": topic.internal,
        "partitions": [
            {
                "partition": p.metadata.partition,
                "leader": p.metadata.leader,
                "leader_epoch": p.metadata.leader_epoch,
                "replicas": list(p.metadata.replicas),
                "isr": list(p.metadata.isr),
                "earliest": p.earliest,
                "latest": p.latest,
            }
            for p in topic.partitions
        ],
        "configs": {entry.name: entry.value for entry in topic.configs.values()},
    }


@topics.command()
@click.argument("name")
@click.option("-p", "--partitions", type=click.IntRange(min=1), help="Have so many partitions in all.")
@click.option("-c", "--config", "configs", metavar="NAME=VALUE", multiple=True, help="Set this; repeatable.")
@click.option("-d", "--delete-config", "deleted", metavar="NAME", multiple=True, help="Undo it; repeatable.")
@cluster_options
def alter(
    name: str,
    partitions: int | None,
    configs: tuple[str, ...],
    deleted: tuple[str, ...],
    bootstrap: str,
    timeout: float,
) -> None:
    """Change settings of the topic NAME, or give it more partitions.

    More partitions cannot be taken back. Messages stay where they are, and new ones of the same key may go
    to another partition.
    """
    from kafkatx.blocking import Admin
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.clientcore.admin.configs import Resource, ResourceType

    values = dict(pairs("--config", configs))
    if partitions is None and not values and not deleted:
        raise click.UsageError("there is nothing to change: give --partitions, --config or --delete-config")
    check_changes(values, deleted)
    with connect(bootstrap, timeout) as cluster:
        if values or deleted:
            Configs(cluster).alter(Resource(ResourceType.TOPIC, name), values, deleted)
            say(f"topic {name}: {changes_text(values, deleted)}")
        if partitions is not None:
            Admin(cluster).create_partitions(name, partitions)
            say(f"topic {name}: has {partitions} partitions now")


@topics.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@cluster_options
def delete(names: tuple[str, ...], yes: bool, bootstrap: str, timeout: float) -> None:
    """Delete topics with all their messages."""
    from kafkatx.blocking import Admin

    if not yes:
        if not interactive(sys.stdin):
            raise click.UsageError("nobody can be asked here: give --yes")
        click.confirm(printable(f"Delete {', '.join(names)} with all messages?"), abort=True, err=True)
    with connect(bootstrap, timeout) as cluster:
        admin = Admin(cluster)
        for name in names:
            admin.delete_topic(name)
            say(f"deleted topic {name}")
