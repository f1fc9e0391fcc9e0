"""``kafkatx produce``: each line a message."""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from kafkatx.cli.options.cluster import cluster_options, connect, pairs
from kafkatx.cli.output.renderer import unescape
from kafkatx.cli.output.terminal import ProgressBar, say
from kafkatx.errors import KafkaTXError

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster, Writer
    from kafkatx.blocking.producer.sender import Auditor
    from kafkatx.blocking.producer.writer import Partitioner

READ_BYTES = 800_000
"""Lines of 100 bytes and more, so read, fill one batch of the writer."""

LONGEST_LINE_BYTES = 128 << 20
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}


@click.command()
@click.argument("topic")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-")
@click.option(
    "-K", "--key-separator", metavar="SEP", help="Each line is KEY, SEP, value; without SEP it has no key."
)
@click.option(
    "-z",
    "--compression",
    type=click.Choice(CODECS),
    default="none",
    show_default=True,
    help="Codec.",
)
@click.option(
    "-p", "--partition", type=click.IntRange(min=0), help="Put all into one partition; else by the key."
)
@click.option(
    "-a", "--acks", type=click.Choice(list(ACKS)), default="all", show_default=True, help="Whom to wait for."
)
@click.option(
    "-H",
    "--header",
    "headers",
    metavar="NAME=VALUE",
    multiple=True,
    help="A header for each; repeatable.",
)
@click.option("--partitioner", metavar="NAME", default="default", show_default=True, help="A plugin.")
@click.option(
    "--audit-interval-ms",
    metavar="MS",
    type=click.IntRange(0, 86_400_000),
    default=0,
    help="Announce so often how much was written, for kafkatx audit.",
)
@click.option("--audit-topic", default="kafkatx-audit", show_default=True, help="Where that is announced.")
@click.option("--audit-server", metavar="NAME", default="", help="Name of this server; else the host's.")
@click.option(
    "--audit-server-header",
    metavar="HEADER",
    default="",
    help="A header of this name for each, with the server's name.",
)
@click.option("-q", "--quiet", is_flag=True, help="No summary, no progress bar.")
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
    audit_interval_ms: int,
    audit_topic: str,
    audit_server: str,
    audit_server_header: str,
    quiet: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Write the lines of FILE, or of stdin, to TOPIC.

    Each line is a message, without its newline; an empty line is an empty message. Bytes are taken as they
    are. The topic is created if the broker creates topics.
    """
    from kafkatx.blocking import Writer
    from kafkatx.clientcore.audit.server_header import make_stamp

    chosen = _partitioner(partitioner)
    header_list: list[tuple[str, bytes | None]] = [(n, os.fsencode(v)) for n, v in pairs("--header", headers)]
    separator = None if key_separator is None else unescape(key_separator)
    if separator == b"":
        raise click.UsageError("--key-separator: it is empty")
    stamp = make_stamp(audit_server_header, audit_server)
    started = time.monotonic()
    with (
        click.open_file(file, "rb") as source,
        connect(bootstrap, timeout) as cluster,
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
        enabled = None if not quiet and size is not None else False
        with ProgressBar(f"to {topic}", size, in_bytes=True, enabled=enabled) as bar:
            for lines in line_blocks(lambda: os.read(fd, READ_BYTES), bar.advance):
                send(writer, lines, separator, partition, header_list)
                if size is None and not select.select([fd], [], [], 0)[0]:
                    writer.flush()  # a pipe that pauses: what came is not kept waiting
            writer.flush()
    if not quiet:
        seconds = time.monotonic() - started
        say(f"{writer.totals.records} messages, {writer.totals.bytes} bytes in {seconds:.3f} s to {topic}")


def send(
    writer: Writer,
    lines: list[bytes],
    separator: bytes | None,
    partition: int | None,
    headers: list[tuple[str, bytes | None]],
) -> None:
    """Give lines to the writer, all at once where they are nothing but values."""
    if separator is None and not headers:
        writer.send_values(lines, partition)
        return
    for line in lines:
        key: bytes | None = None
        value = line
        if separator is not None:
            head, found, tail = line.partition(separator)
            if found:
                key, value = head, tail
        writer.send(value, key, partition, headers)


def line_blocks(read: Callable[[], bytes], advance: Callable[[float], None]) -> Iterator[list[bytes]]:
    """Split what *read* gives into lines without their newlines; yield many at a time.

    The last line needs no newline. Each byte is copied a fixed number of times, however long a line is.

    :param read: gives the next bytes, none at the end.
    :param advance: told how many bytes were read.
    :raises KafkaTXError: a line is longer than any broker takes.
    """
    unfinished: list[bytes] = []
    unfinished_bytes = 0
    while data := read():
        advance(len(data))
        head, newline, rest = data.partition(b"\n")
        unfinished.append(head)
        unfinished_bytes += len(head)
        if not newline:
            if unfinished_bytes > LONGEST_LINE_BYTES:
                raise KafkaTXError(f"a line is longer than {LONGEST_LINE_BYTES} bytes: is it text at all?")
            continue
        lines = rest.split(b"\n")
        last = lines.pop()
        lines.insert(0, b"".join(unfinished))
        unfinished, unfinished_bytes = [last], len(last)
        yield lines
    if unfinished_bytes:
        yield [b"".join(unfinished)]


def _size(fd: int) -> int | None:
    """The size of a regular file; None for pipes and terminals, which may pause."""
    status = os.fstat(fd)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _auditor(cluster: Cluster, interval_ms: int, topic: str, server: str) -> Auditor | None:
    """Who announces what was written; None: nobody."""
    if not interval_ms:
        return None
    from kafkatx.blocking.producer.audit import Announcer

    return Announcer(cluster, "kafkatx-produce", interval_ms, topic, server=server)


def _partitioner(name: str) -> Partitioner | None:
    """The plugin of this name; None stands for the default one, which the writer has by itself.

    :raises SettingError: there is none.
    """
    if name == "default":
        return None
    from kafkatx.extension import find
    from kafkatx.interfaces import IPartitioner

    made: Partitioner = find(IPartitioner, name, "--partitioner")()
    return made
