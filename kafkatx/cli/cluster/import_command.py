"""``kafkatx cluster import``: the state of a broker that was alone becomes a cluster on ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kafkatx.cli.broker.settings import log_dirs, overrides
from kafkatx.cli.options.cluster import pairs
from kafkatx.cli.output.terminal import say, show

if TYPE_CHECKING:
    from kafkatx.metadata.transfer.content import Content

NOT_DONE = 1
DEFAULT_DATA = "data"


@click.command(
    "import",
    epilog="Example: kafkatx cluster import --data /var/lib/kafkatx --zookeeper zk1:2181/kafka --yes",
)
@click.option("--data", metavar="DIR", help="Data directory of the broker (log.dirs).  [default: ./data]")
@click.option("--config", metavar="FILE", help="Settings file of the broker.")
@click.option(
    "--zookeeper",
    "connect",
    metavar="HOST:PORT/PATH",
    help="Address of the new cluster's state (zookeeper.connect).",
)
@click.option("--set", "sets", metavar="NAME=VALUE", multiple=True, help="A setting; goes before the file.")
@click.option("-y", "--yes", is_flag=True, help="Do it; without this the plan is only shown.")
def import_(
    data: str | None, config: str | None, connect: str | None, sets: tuple[str, ...], yes: bool
) -> int:
    """Write the state of a broker that was alone into ZooKeeper.

    Topics with their ids, configs, quotas, the cluster's id and the producer ids go there; the records stay
    where they are. The broker must not run. There must be no cluster yet at that path. Afterwards the broker
    starts with zookeeper.connect only, and others can join it. An import that was interrupted is repeated
    from its beginning. Exit code 1: nothing was done.
    """
    from kafkatx.cli.cluster.importation import import_into, look_at
    from kafkatx.config import BrokerConfig
    from kafkatx.daemon.embedded_data import EmbeddedData
    from kafkatx.daemon.identity import check_kazoo
    from kafkatx.metadata.transfer.importer import Found

    check_kazoo()
    from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings

    given = overrides(pairs("--set", sets), config=config, port=None, data=data, memory=False)
    if connect is not None:
        given.append(("zookeeper.connect", connect))
    loaded = BrokerConfig.load(config, given)
    if loaded.get("zookeeper.connect") is None:
        raise click.UsageError("give --zookeeper HOST:PORT/PATH, or a file with zookeeper.connect")
    settings = ZooKeeperSettings.of(loaded)
    with EmbeddedData(log_dirs(loaded)) as source:
        found = look_at(settings, source.content.state.cluster_id)
        show(f"{settings.connect}: {found.value}")
        if found is not Found.IMPORTED:
            for line in _plan(source.content):
                show(line)
        if not yes:
            say("nothing was changed; give --yes to do this")
            return NOT_DONE
        import_into(settings, source.content)
        aside = source.finish()
    show(f"the former state was renamed to {aside}")
    say(f"done; the broker can be started with zookeeper.connect={settings.connect}")
    return 0


def _plan(content: Content) -> Iterator[str]:
    state = content.state
    partitions = sum(len(topic.partitions) for topic in state.topics.values())
    counts = (
        ("topics", len(state.topics)),
        ("partitions", partitions),
        ("brokers with settings", len(state.broker_configs)),
        ("groups with settings", len(state.group_configs)),
        ("subscriptions to metrics of clients", len(state.client_metrics_configs)),
        ("clients with quotas", len(state.client_quotas)),
        ("users with credentials", len(state.scram_credentials)),
    )
    yield f"cluster {state.cluster_id} of broker {content.broker_id}:"
    for what, count in counts:
        yield f"  {what}: {count:,}"
