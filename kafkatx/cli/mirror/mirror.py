"""``kafkatx mirror``: the group of commands about mirrors of other clusters."""

from __future__ import annotations

import click

from kafkatx.cli.mirror.run import run
from kafkatx.cli.mirror.verify import verify
from kafkatx.cli.options.cluster import group_options
from kafkatx.cli.options.kafka_names import Commands


@click.group(
    cls=Commands,
    epilog="""\b
Examples:
  kafkatx mirror run --config mirror.properties
  kafkatx mirror verify --source dc1:9092 -t orders
""",
)
@group_options()
def mirror() -> None:
    """Copy topics from other clusters, and check the copies."""


mirror.add_command(run)
mirror.add_command(verify)
