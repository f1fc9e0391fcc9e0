"""``kafkatx sample``: print a file that a broker is run with: settings, units, rules, containers."""

from __future__ import annotations

import sys
from typing import NamedTuple

import click

from kafkatx.cli.output.terminal import print_rows


class Sample(NamedTuple):
    """One of the files in ``etc/``.

    :ivar path: relative to ``etc/``.
    """

    path: str
    about: str


SAMPLES = {
    "settings": Sample("server.properties", "every setting of a broker, with its default"),
    "cluster": Sample("cluster.properties", "a broker of a cluster on ZooKeeper"),
    "mirror": Sample("mirror.properties", "kafkatx mirror run"),
    "zookeeper": Sample("zoo.cfg", "the ZooKeeper of a cluster"),
    "systemd": Sample("kafkatx.service", "a unit: a broker as a service of Linux"),
    "logrotate": Sample("kafkatx.logrotate", "rotation of kafkatx.log for brokers that systemd does not run"),
    "alerts": Sample("prometheus/alerts.yml", "alert rules for Prometheus"),
    "grafana": Sample("grafana/kafkatx.json", "a dashboard for Grafana"),
    "dockerfile": Sample("Dockerfile", "a container image, built in a clone of the repository"),
    "compose": Sample("compose.yaml", "Docker Compose: a broker with registry and console"),
    "kubernetes": Sample("kubernetes.yaml", "a StatefulSet for Kubernetes"),
}


@click.command(
    epilog="""\b
Examples:
  kafkatx sample
  kafkatx sample settings > server.properties
""",
)
@click.argument("name", required=False, type=click.Choice(list(SAMPLES)), metavar="[NAME]")
def sample(name: str | None) -> None:
    """Print a sample file; without NAME list them.

    The pages of `kafkatx docs` say how to use each: operations, cluster, monitoring, mirror-run.
    """
    if name is None:
        print_rows((each, about) for each, (_, about) in SAMPLES.items())
        return
    from kafkatx.cli.package import files

    sys.stdout.flush()
    sys.stdout.buffer.write(files.sample(SAMPLES[name].path))
