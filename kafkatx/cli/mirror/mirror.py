"""``kafkatx mirror``: the group of commands about mirrors of other clusters."""

from __future__ import annotations

import click

from kafkatx.cli.mirror.links import add, pause, remove, resume
from kafkatx.cli.mirror.promote import promote
from kafkatx.cli.mirror.run import run
from kafkatx.cli.mirror.status import status
from kafkatx.cli.mirror.verify import verify
from kafkatx.cli.options.cluster import group_options
from kafkatx.cli.options.kafka_names import Commands


@click.group(
    cls=Commands,
    epilog="""\b
Examples:
  kafkatx mirror add dc1 --source kafka1:9092 --topics 'orders|clicks'
  kafkatx mirror status
  kafkatx mirror verify dc1
  kafkatx mirror promote dc1 -t orders
  kafkatx mirror run --config mirror.properties
""",
)
@group_options()
def mirror() -> None:
    """Mirror topics of other clusters: exactly, by links of the brokers, or as copies, by `run`."""


for command in (add, status, pause, resume, promote, remove, verify, run):
    mirror.add_command(command)
