"""``kafkatx produce``: write lines as messages."""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kafkatx.cli.messages.lines import LineFormat, line_blocks
from kafkatx.cli.messages.schema_lines import PROPERTIES, LineEncoder, SchemaOptions, schema_options
from kafkatx.cli.options.audit import audit_options
from kafkatx.cli.options.cluster import cluster_options, connect, pairs
from kafkatx.cli.options.kafka_names import Option, accepted, names_argument, refused
from kafkatx.cli.options.registry import registry_option
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.renderer import unescape
from kafkatx.cli.output.terminal import hint, interactive, say
from kafkatx.names import counted

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster, Writer
    from kafkatx.blocking.producer.sender import Auditor
    from kafkatx.blocking.producer.writer import Partitioner

READ_BYTES = 800_000
"""Read at once: lines of 100 bytes and more then fill a batch of the writer."""

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}


_CLIENT = "this command has no settings of the client library; `kafkatx bench producer -X` has them"
_RETRIES = "sending is repeated for four times --timeout"
_UNSUPPORTED = {
    "--producer-property": _CLIENT,
    "--command-property": _CLIENT,
    "--producer.config": _CLIENT,
    "--producer-config": _CLIENT,
    "--reader-config": "give each property as --property NAME=VALUE",
    "--line-reader": "lines are values, or keys and values with --key-separator",
    "--batch-size": "batches are as large as the input allows",
    "--max-memory-bytes": "memory is bounded already",
    "--max-partition-memory-bytes": "memory is bounded already",
    "--max-block-ms": _RETRIES,
    "--message-send-max-retries": _RETRIES,
    "--retry-backoff-ms": _RETRIES,
    "--metadata-expiry-ms": "metadata is asked for when it is needed",
    "--socket-buffer-size": "the system chooses the size of socket buffers",
    "--request-timeout-ms": "use --timeout SECONDS",
}


@click.command(
    epilog="""\b
Examples:
  echo hello | kafkatx produce orders
  kafkatx produce orders orders.txt --key-separator : --compression zstd
  kafkatx produce orders orders.json --schema order.avsc
"""
)
@names_argument("topic", "--topic")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-")
@click.option(
    "-K",
    "--key-separator",
    metavar="SEP",
    help="Text between key and value of a line; a line without it has no key.",
)
@click.option(
    "-z",
    "--compression",
    cls=Option,
    aliases=["--compression-codec"],
    type=click.Choice(CODECS),
    default="none",
    show_default=True,
    help="Codec of the batches.",
)
@click.option(
    "-p",
    "--partition",
    metavar="N",
    type=click.IntRange(min=0),
    help="Partition for all messages; by default the key decides.",
)
@click.option(
    "-a",
    "--acks",
    cls=Option,
    aliases=["--request-required-acks"],
    type=click.Choice(list(ACKS)),
    default="all",
    show_default=True,
    help="Acknowledgements to wait for: 0 (none), 1 (the leader's), all (those of the in-sync replicas).",
)
@click.option(
    "-H",
    "--header",
    "headers",
    metavar="NAME=VALUE",
    multiple=True,
    help="Header of each message; repeatable.",
)
@click.option(
    "--partitioner", metavar="NAME", default="default", show_default=True, help="Partitioner plugin to use."
)
@click.option(
    "--property", "properties", cls=Option, aliases=["--reader-property"], multiple=True, hidden=True
)
@audit_options("Interval of announcements of the number of messages, for kafkatx audit")
@click.option(
    "--audit-server", metavar="NAME", default="", help="Name of this server; by default the host's."
)
@click.option(
    "--audit-server-header",
    metavar="HEADER",
    default="",
    help="Name of a header for each message, with the name of this server.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no summary and no progress bar.")
@accepted("--sync")
@refused(_UNSUPPORTED)
@schema_options
@registry_option
@cluster_options
def produce(
    topic: str,
    file: str,
    key_separator: str | None,
    compression: str,
    partition: int | None,
    acks: str,
    headers: tuple[str, ...],
    partitioner: str,
    properties: tuple[str, ...],
    audit_interval_ms: int,
    audit_topic: str,
    audit_server: str,
    audit_server_header: str,
    quiet: bool,
    schema: str | None,
    key_schema: str | None,
    schema_type: str | None,
    subject: str | None,
    registry: str,
    bootstrap: str,
    timeout: float,
) -> None:
    """Write the lines of FILE, or of stdin, to TOPIC.

    Each line is a message, without its newline; an empty line is an empty message. Bytes are taken as they
    are. The topic is created if it does not exist and the broker allows that. With a schema each line is
    JSON, and becomes a message with that schema.
    """
    from kafkatx.blocking import Writer
    from kafkatx.clientcore.audit.server_header import make_stamp

    chosen = _partitioner(partitioner)
    header_list: list[tuple[str, bytes | None]] = [(n, os.fsencode(v)) for n, v in pairs("--header", headers)]
    given = pairs("--property", properties)
    lines_are = line_format(key_separator, [(name, v) for name, v in given if name not in PROPERTIES])
    schemas = SchemaOptions(schema, key_schema, schema_type, subject, registry).with_properties(given)
    encoder = LineEncoder(topic, schemas, timeout) if schemas.wanted else None
    stamp = make_stamp(audit_server_header, audit_server)
    started = time.monotonic()
    with (
        click.open_file(file, "rb") as source,
        connect(bootstrap, timeout) as cluster,
        _topic_hint(cluster, topic),
        Writer(
            cluster,
            topic,
            partitioner=chosen,
            acks=ACKS[acks],
            compression=compression,
            request_timeout_s=timeout,
            delivery_timeout_s=4 * timeout,
            auditor=_auditor(cluster, audit_interval_ms, audit_topic, audit_server),
            stamp=stamp,
        ) as writer,
    ):
        fd = source.fileno()
        size = _size(fd)
        if os.isatty(fd):
            hint("a message a line; Ctrl-D at the start of a line ends")
        enabled = None if not quiet and size is not None else False
        with ProgressBar(f"to {topic}", size, in_bytes=True, enabled=enabled) as bar:
            for block in line_blocks(lambda: os.read(fd, READ_BYTES), bar.advance):
                send(writer, block, lines_are, partition, header_list, encoder)
                if size is None and not select.select([fd], [], [], 0)[0]:
                    writer.flush()  # the pipe pauses: its lines are sent at once
            writer.flush()
    if not quiet:
        seconds = time.monotonic() - started
        say(
            f"{counted(writer.totals.records, 'message')}, {writer.totals.bytes} bytes in"
            f" {seconds:.3f} s to {topic}"
        )


@contextmanager
def _topic_hint(cluster: Cluster, topic: str) -> Iterator[None]:
    """Tell a person at a terminal, at the end of this context, that *topic* did not exist before it."""
    created = False
    if interactive(sys.stderr):
        found = cluster.metadata([topic]).topics.get(topic)
        created = found is None or not found.usable
    yield
    if created:
        count = len(cluster.partitions(topic))
        hint(f"created topic {topic} with {count} partition{'s' if count != 1 else ''}")


def line_format(key_separator: str | None, properties: Sequence[tuple[str, str]]) -> LineFormat:
    """Return the format of the lines, from ``--key-separator`` or Kafka's properties of its console producer.

    :raises click.UsageError: the separator is empty, or a property is not known.
    """
    given = dict(properties)
    separator = None if key_separator is None else unescape(key_separator)
    key_required = False
    if given.pop("parse.key", "false").lower() == "true":
        separator = unescape(given.get("key.separator", "\\t")) if separator is None else separator
        key_required = given.pop("ignore.error", "false").lower() != "true"
    given.pop("key.separator", None)
    marker = given.pop("null.marker", None)
    if given:
        name = next(iter(given))
        raise click.UsageError(
            f"--property {name}: there are parse.key, key.separator, ignore.error and null.marker, and for "
            f"messages with schemas {', '.join(PROPERTIES)}"
            + ("; --header gives each message the same headers" if "headers" in name else "")
        )
    if separator == b"":
        raise click.UsageError("--key-separator: it is empty")
    return LineFormat(separator, key_required, None if marker is None else unescape(marker))


def send(
    writer: Writer,
    lines: list[bytes],
    lines_are: LineFormat,
    partition: int | None,
    headers: list[tuple[str, bytes | None]],
    encoder: LineEncoder | None = None,
) -> None:
    """Give lines to the writer, all at once if they are nothing but values.

    :raises KafkaTXError: a line cannot be encoded; those before it are written.
    """
    if lines_are.plain and not headers and encoder is None:
        writer.send_values(lines, partition)
        return
    for line in lines:
        key, value = lines_are.parse(line)
        if encoder is not None:
            key, value = encoder.encode(key, value)
        writer.send(value, key, partition, headers)


def _size(fd: int) -> int | None:
    """Return the size of a regular file; None for pipes and terminals, which may pause."""
    status = os.fstat(fd)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _auditor(cluster: Cluster, interval_ms: int, topic: str, server: str) -> Auditor | None:
    """Return the auditor that announces what was written; None if the interval is 0."""
    if not interval_ms:
        return None
    from kafkatx.blocking.producer.audit import Announcer

    return Announcer(cluster, "kafkatx-produce", interval_ms, topic, server=server)


def _partitioner(name: str) -> Partitioner | None:
    """Return the plugin of this name; None for the default, which the writer has by itself.

    :raises SettingError: there is no such plugin.
    """
    if name == "default":
        return None
    from kafkatx.extension import find
    from kafkatx.interfaces import IPartitioner

    made: Partitioner = find(IPartitioner, name, "--partitioner")()
    return made
