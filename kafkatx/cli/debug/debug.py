"""``kafkatx debug bundle``: gather what explains a fault into one archive."""

from __future__ import annotations

import time
from contextlib import ExitStack

import click

from kafkatx.cli.options.cluster import cluster_options, command_config, connect, group_options
from kafkatx.cli.output.terminal import say, show
from kafkatx.errors import KafkaTXError

README = """\
Debug bundle of kafkatx, made {when}.

cluster/   what the brokers tell of topics, groups, transactions, quotas, mirrors and clients
brokers/   settings without secrets, metrics, facts of process and machine
doctor.json  findings of `kafkatx doctor`
files/, process/  of a broker of this machine, if --data or --config was given
problems.txt  what could not be gathered

It has no records. Secrets are replaced by [hidden]; names of topics, groups, users and hosts are in it.
"""


@click.group(epilog="Example: kafkatx debug bundle -b broker1:9092 --data ./data")
@group_options()
def debug() -> None:
    """Gather what explains a fault."""


@debug.command(
    epilog="""\b
Examples:
  kafkatx debug bundle
  kafkatx debug bundle -b broker1:9092 --config etc/server.properties -o fault.tar.gz
"""
)
@click.option("-o", "--output", metavar="FILE", help="New file; kafkatx-debug-TIME.tar.gz without it.")
@click.option("--data", metavar="DIR", help="Data directory of a broker of this machine, for its log.")
@click.option("--config", metavar="FILE", help="Settings file of a broker of this machine.")
@cluster_options
def bundle(output: str | None, data: str | None, config: str | None, bootstrap: str, timeout: float) -> int:
    """Write an archive with states, settings, metrics and logs.

    It has what the brokers tell of themselves, the findings of kafkatx doctor and, with --data or --config,
    log, limits and settings of a broker of this machine. Records and secrets are not in it, but names of
    topics, groups, users and hosts are. Exit code 1: no broker answers. problems.txt says what is missing.
    """
    from kafkatx.cli.debug.archive import Archive
    from kafkatx.cli.debug.contents import add_cluster, add_files, add_versions
    from kafkatx.cli.debug.redaction import Redaction

    settings, directory = _own_broker(data, config)
    client = command_config()
    path = output or time.strftime("kafkatx-debug-%Y%m%d-%H%M%S.tar.gz")
    with ExitStack() as opened:
        archive = opened.enter_context(Archive(path, Redaction([settings, client])))
        archive.add("README.txt", README.format(when=time.strftime("%Y-%m-%d %H:%M:%S%z")))
        add_versions(archive)
        add_files(archive, settings, directory)
        try:
            cluster = opened.enter_context(connect(bootstrap, timeout))
            add_cluster(archive, cluster, client.get("security.protocol", "").upper().endswith("SSL"))
            code = 0
        except KafkaTXError as error:
            archive.note(f"brokers: {error}")
            code = 1
    show(path)
    for problem in archive.problems:
        say(f"not in it: {problem}")
    return code


def _own_broker(data: str | None, config: str | None) -> tuple[dict[str, str], str | None]:
    """Return the settings of a broker of this machine, as its file has them, and its first log dir.

    :raises SettingError: the file cannot be read.
    """
    if config is None:
        return {}, data
    from kafkatx.config.properties import read_properties

    settings = read_properties(config)
    first = settings.get("log.dirs", settings.get("log.dir", "")).split(",")[0].strip()
    return settings, data or first or None
