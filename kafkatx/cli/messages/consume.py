"""``kafkatx consume``: print the messages of a topic, or a group's share of several."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import attrs
import click

from kafkatx.cli.messages.group_consume import consume_group
from kafkatx.cli.messages.partition_copy import copy
from kafkatx.cli.messages.schema_lines import open_decoding
from kafkatx.cli.options.audit import audit_options
from kafkatx.cli.options.cluster import client_settings, cluster_options, connect, pairs
from kafkatx.cli.options.kafka_names import Option, names_argument, refused
from kafkatx.cli.options.numbers import FiniteRange
from kafkatx.cli.options.positions import (
    BEGINNING,
    END,
    ISOLATION_LEVELS,
    BadPosition,
    Position,
    parse,
    resolve,
)
from kafkatx.cli.options.registry import TYPES, registry_option
from kafkatx.cli.output.console import BadProperty, ConsoleRenderer
from kafkatx.cli.output.renderer import (
    BadFormat,
    Clean,
    FormatRenderer,
    JsonRenderer,
    Renderer,
    ValueRenderer,
    as_is,
    unescape,
)
from kafkatx.cli.output.terminal import hint, interactive, readable, stdout_bytes

if TYPE_CHECKING:
    from kafkatx.clientcore.metadata import TopicMetadata

FORMAT_HELP = """\b
Examples:
  kafkatx consume orders --exit
  kafkatx consume orders -o -10 -c 10 -f '%k: %s\\n'
  kafkatx consume --group billing orders payments
  kafkatx consume orders --exit --decode avro
\b
The letters of FORMAT (kcat's):
  %t topic      %p partition       %o offset
  %k key        %K key's length    %s value      %S value's length
  %T timestamp in ms               %h headers    %R value's length, binary
  %% \\n \\r \\t \\xNN
\b
The values of POSITION:
  beginning  end  OFFSET  -COUNT (the last COUNT messages)
  s@MS (start at a time in ms)     e@MS (stop before it)
"""

_CLIENT = "this command has no settings of the client library; `kafkatx bench consumer -X` has them"
_BYTES = "keys and values are printed as bytes; --decode and --decode-key decode them by a schema registry"
_UNSUPPORTED = {
    "--include": "use `kafkatx tail --regex REGEX`",
    "--whitelist": "use `kafkatx tail --regex REGEX`",
    "--consumer-property": _CLIENT,
    "--command-property": _CLIENT,
    "--consumer.config": _CLIENT,
    "--consumer-config": _CLIENT,
    "--formatter": "use --format, --json or --property",
    "--formatter-config": "use --format, --json or --property",
    "--key-deserializer": _BYTES,
    "--value-deserializer": _BYTES,
    "--skip-message-on-error": "a message cannot be wrong: it is printed as bytes",
    "--enable-systest-events": "it is for the tests of Apache Kafka",
}


@attrs.frozen
class Output:
    """The options that say how messages are printed.

    :ivar properties: those of kafka-console-consumer.sh, if there are any.
    """

    format_text: str | None
    key_delimiter: str | None
    delimiter: str
    properties: Sequence[tuple[str, str]] = ()

    def renderer(self, topic: str, clean: Clean | None = None) -> Renderer:
        """Return the renderer of one topic; *clean* as for :func:`renderer`.

        :raises click.UsageError: the format or a property is wrong.
        """
        try:
            if self.properties:
                return ConsoleRenderer(dict(self.properties), clean_at_terminal(clean))
            return renderer(topic, self.format_text, self.key_delimiter, self.delimiter, clean)
        except BadFormat as error:
            raise click.UsageError(f"--format {error}") from error
        except BadProperty as error:
            raise click.UsageError(f"--property {error}") from error


@click.command(epilog=FORMAT_HELP)
@names_argument("topics", "--topic", nargs=-1, required=True, metavar="TOPIC...")
@click.option(
    "-G",
    "--group",
    metavar="GROUP",
    help="Consumer group to join: its members share the topics, and what is printed is committed.",
)
@click.option(
    "-o",
    "--offset",
    "positions",
    metavar="POSITION",
    multiple=True,
    help="Position to start at, see below; by default the beginning.",
)
@click.option("--from-beginning", is_flag=True, hidden=True)
@click.option(
    "-c",
    "--count",
    cls=Option,
    aliases=["--max-messages"],
    metavar="COUNT",
    type=click.IntRange(min=0),
    help="Number of messages to stop after.",
)
@click.option("-e", "--exit", "stop_at_end", is_flag=True, help="Stop at the present end of the topic.")
@click.option(
    "--idle",
    "idle_s",
    metavar="SECONDS",
    type=FiniteRange(min=0, min_open=True),
    help="Time without a message to stop after.",
)
@click.option("--timeout-ms", type=click.IntRange(min=1), hidden=True)
@click.option(
    "-p",
    "--partition",
    "wanted",
    metavar="N",
    type=click.IntRange(min=0),
    multiple=True,
    help="Partition to read; repeatable. By default all.",
)
@click.option("-f", "--format", "format_text", metavar="FORMAT", help="Format of a message, see below.")
@click.option(
    "--isolation",
    cls=Option,
    aliases=["--isolation-level"],
    type=click.Choice(ISOLATION_LEVELS),
    default=ISOLATION_LEVELS[0],
    show_default=True,
    help="Isolation level: read_committed leaves out messages of open and aborted transactions.",
)
@click.option("-J", "--json", "as_json", is_flag=True, help="Print one JSON object a message.")
@click.option("-K", "--key-delimiter", metavar="SEP", help="Print the key and SEP before each value.")
@click.option(
    "-D",
    "--delimiter",
    metavar="SEP",
    default="\\n",
    help="Text to print after each message.  [default: \\n]",
)
@click.option(
    "--property", "properties", cls=Option, aliases=["--formatter-property"], multiple=True, hidden=True
)
@audit_options("Interval of announcements of the number of messages, for kafkatx audit --group")
@click.option(
    "--decode",
    type=click.Choice(TYPES),
    help="Language of the values' schemas, which a registry has; values are then printed as JSON.",
)
@click.option("--decode-key", type=click.Choice(TYPES), help="Likewise for keys.")
@registry_option
@refused(_UNSUPPORTED)
@cluster_options
def consume(
    topics: tuple[str, ...],
    group: str | None,
    positions: tuple[str, ...],
    from_beginning: bool,
    count: int | None,
    stop_at_end: bool,
    idle_s: float | None,
    timeout_ms: int | None,
    wanted: tuple[int, ...],
    format_text: str | None,
    as_json: bool,
    key_delimiter: str | None,
    delimiter: str,
    properties: tuple[str, ...],
    audit_interval_ms: int,
    audit_topic: str,
    decode: str | None,
    decode_key: str | None,
    registry: str,
    isolation: str,
    bootstrap: str,
    timeout: float,
) -> None:
    """Print the messages of a topic.

    They are printed from the beginning, and then new ones until Ctrl-C; -o and -e change that. With a group
    there may be several topics. Reading starts at the committed offsets; -o (beginning or end) is for
    partitions without one.
    """
    topic = topics[0]
    try:
        start, stop_ms = parse([*positions, *(["beginning"] if from_beginning else [])])
    except BadPosition as error:
        raise click.UsageError(f"--offset {error}") from error
    if as_json and (format_text is not None or properties):
        raise click.UsageError(
            f"--json and --{'format' if format_text is not None else 'property'} exclude each other"
        )
    output = Output(format_text, key_delimiter, delimiter, pairs("--property", properties))
    rows = output.renderer(topic)
    if timeout_ms is not None:
        idle_s = timeout_ms / 1000
    if group is not None:
        _check_group(start, stop_ms, wanted)
        make: Callable[[str], Renderer] | None = None if as_json else output.renderer
        audit = {"audit.interval.ms": audit_interval_ms, "audit.topic": audit_topic}
        settings = {
            **client_settings(bootstrap, timeout),
            "group.id": group,
            "isolation.level": isolation,
            **audit,
        }
        with open_decoding(registry, timeout, decode, decode_key) as decoding:
            wrap = None if decoding is None else decoding.wrap
            out = stdout_bytes()
            consume_group(settings, topics, start == END, make, count, stop_at_end, out, idle_s, wrap)
        return
    if audit_interval_ms:
        raise click.UsageError("--audit-interval-ms: only a group's members announce what they read (-G)")
    if len(topics) > 1:
        raise click.UsageError("several topics: only a group reads them (-G), or `kafkatx tail`")
    with (
        connect(bootstrap, timeout) as cluster,
        open_decoding(registry, timeout, decode, decode_key) as decoding,
    ):
        state = cluster.topic(topic)
        partitions = _partitions(state, wanted)
        if as_json:
            rows = JsonRenderer(topic, {p: partition.leader for p, partition in state.partitions.items()})
        if decoding is not None:
            rows = decoding.wrap(rows, topic)
        level = ISOLATION_LEVELS.index(isolation)
        ranges = resolve(cluster, topic, partitions, start, stop_ms, stop_at_end, level)
        endless = any(end is None for _, end in ranges.values()) and count is None and idle_s is None
        if endless and not positions and not from_beginning:
            hint(
                f"{topic} from its beginning, then new messages until Ctrl-C"
                " (-e: stop at the end; -o end: only new messages)"
            )
        done = 0
        if count != 0:
            done = copy(cluster, topic, ranges, rows, count, stdout_bytes(), idle_s, level)
    if not done and count != 0:
        hint(f"no messages in {topic}" if start == BEGINNING else f"no messages in {topic} from there on")


def _partitions(topic: TopicMetadata, wanted: Sequence[int]) -> list[int]:
    """Return the partitions to read.

    :raises click.UsageError: the topic has no such partition.
    """
    missing = set(wanted) - set(topic.partitions)
    if missing:
        known = len(topic.partitions)
        raise click.UsageError(f"topic {topic.name} has no partition {min(missing)}: it has 0 to {known - 1}")
    return sorted(set(wanted)) or list(topic.partitions)


def _check_group(start: Position, stop_ms: int | None, wanted: tuple[int, ...]) -> None:
    """Refuse options for what a group decides.

    :raises click.UsageError: there is one.
    """
    if start not in (BEGINNING, END) or stop_ms is not None:
        raise click.UsageError(
            "--offset: with a group there are beginning and end; or `kafkatx groups reset`"
        )
    if wanted:
        raise click.UsageError("--partition and --group exclude each other: a group divides the partitions")


def clean_at_terminal(clean: Clean | None) -> Clean:
    """Return *clean*, or :func:`readable` for None, if stdout is a terminal; else bytes stay as they are."""
    return (clean or readable) if interactive(sys.stdout) else as_is


def renderer(
    topic: str, format_text: str | None, key: str | None, end: str, clean: Clean | None = None
) -> Renderer:
    """Return the renderer of a topic: by the format, else (the key and its delimiter), value and end.

    :param clean: filter for records on their way to a terminal; None escapes all but newlines and tabs.
    :raises BadFormat: a letter of the format is unknown.
    """
    chosen = clean_at_terminal(clean)
    if format_text is not None:
        return FormatRenderer(format_text, topic, chosen)
    if key is None:
        return ValueRenderer(unescape(end), chosen)
    literal = [text.replace("%", "%%") for text in (key, end)]
    return FormatRenderer(f"%k{literal[0]}%s{literal[1]}", topic, chosen)
