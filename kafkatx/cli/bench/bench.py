"""``kafkatx bench``: measure the throughput and latency of producers and consumers against a broker."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, TypeVar

import click

from kafkatx.cli.messages.produce import ACKS, CODECS
from kafkatx.cli.options.cluster import client_settings, cluster_options, group_options, pairs
from kafkatx.cli.options.kafka_names import Commands
from kafkatx.cli.options.numbers import FiniteRange
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.terminal import show, show_json

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IReactorTime

    from kafkatx.cli.bench.measure import Measured

TOPIC = "kafkatx-bench"
SMALLEST_MARKED = 16

F = TypeVar("F", bound=Callable[..., object])
Run = Callable[["IReactorTime", ProgressBar], Coroutine["Deferred[object]", object, "Measured"]]
"""A measurement, given a reactor and a progress bar."""


@click.group(
    cls=Commands,
    epilog="""\b
Examples:
  kafkatx bench producer --count 100000 --size 1000 --compression lz4
  kafkatx bench consumer --json
  kafkatx bench latency --rate 100 --count 1000
""",
)
@group_options()
def bench() -> None:
    """Measure a broker through the client library.

    With --json the last line is one object: records_per_s, mb_per_s (of 1,000,000 bytes of values),
    latency_ms with p50, p99 and p999, and cpu_s of this process.
    """


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator for several options, in order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_COMMON = _options(
    click.option(
        "--topic",
        metavar="TOPIC",
        default=TOPIC,
        show_default=True,
        help="Topic to use; created if the broker creates topics.",
    ),
    click.option(
        "-X",
        "--set",
        "more",
        metavar="NAME=VALUE",
        multiple=True,
        help="Setting of the client, linger.ms=5 say; repeatable.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object."),
    cluster_options,
)


def _sending(count: int, batch: int, rate: float, smallest: int = 0) -> Callable[[F], F]:
    """Add the options of a load, with these defaults."""
    return _options(
        click.option(
            "--size",
            metavar="BYTES",
            type=click.IntRange(min=smallest),
            default=200,
            show_default=True,
            help="Size of a value.",
        ),
        click.option(
            "--batch",
            metavar="COUNT",
            type=click.IntRange(min=1),
            default=batch,
            show_default=True,
            help="Messages in one call.",
        ),
        click.option(
            "--count",
            metavar="COUNT",
            type=click.IntRange(min=1),
            default=count,
            show_default=True,
            help="Messages in all.",
        ),
        click.option(
            "--acks",
            type=click.Choice(list(ACKS)),
            default="all",
            show_default=True,
            help="Acknowledgements to wait for: 0, 1 or all.",
        ),
        click.option(
            "--compression",
            type=click.Choice(CODECS),
            default="none",
            show_default=True,
            help="Codec of the batches.",
        ),
        click.option(
            "--rate",
            metavar="COUNT",
            type=FiniteRange(min=0),
            default=rate,
            show_default=True,
            help="Messages per second; 0: without a limit.",
        ),
    )


@bench.command(epilog="Example: kafkatx bench producer --count 100000 --size 1000 --json")
@_sending(1_000_000, 50, 0.0)
@_COMMON
def producer(
    topic: str,
    size: int,
    batch: int,
    count: int,
    acks: str,
    compression: str,
    rate: float,
    more: tuple[str, ...],
    as_json: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Send messages.

    The latency is the time from a call until its messages are acknowledged.
    """
    settings = client_settings(bootstrap, timeout) | {"acks": acks, "compression.type": compression}
    settings |= dict(pairs("--set", more))

    async def run(reactor: IReactorTime, bar: ProgressBar) -> Measured:
        from kafkatx.cli.bench.loads import Load, produce
        from kafkatx.client.producer.producer import Producer

        sender = Producer(settings, reactor=reactor)
        try:
            await sender.start()
            return await produce(sender, Load(topic, size, batch, count, rate), bar)
        finally:
            await sender.close(timeout)

    _report(run, f"to {topic}", count, as_json)


@bench.command(epilog="Example: kafkatx bench consumer --topic orders --json")
@click.option(
    "--count",
    metavar="COUNT",
    type=click.IntRange(min=1),
    help="Messages in all; by default those in the topic at the start.",
)
@click.option(
    "--batch",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Largest number of messages that one call returns.",
)
@_COMMON
def consumer(
    topic: str,
    count: int | None,
    batch: int,
    more: tuple[str, ...],
    as_json: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Read a topic from its beginning.

    The latency is the duration of a call that returns messages.
    """
    settings = client_settings(bootstrap, timeout) | {"allow.auto.create.topics": "false"}
    settings |= dict(pairs("--set", more))

    async def run(reactor: IReactorTime, bar: ProgressBar) -> Measured:
        from kafkatx.cli.bench.loads import consume
        from kafkatx.client.consumer.consumer import Consumer

        reader = Consumer(settings, reactor=reactor)
        try:
            await reader.start()
            return await consume(reader, topic, count, batch, timeout, bar)
        finally:
            await reader.close(timeout)

    _report(run, f"from {topic}", count, as_json)


@bench.command(epilog="Example: kafkatx bench latency --rate 100 --count 1000")
@_sending(10_000, 1, 1000.0, SMALLEST_MARKED)
@_COMMON
def latency(
    topic: str,
    size: int,
    batch: int,
    count: int,
    acks: str,
    compression: str,
    rate: float,
    more: tuple[str, ...],
    as_json: bool,
    bootstrap: str,
    timeout: float,
) -> None:
    """Send messages and read them.

    The latency is the time from the call of the producer until the consumer returns the message.
    """
    settings = client_settings(bootstrap, timeout)
    sending = settings | {"acks": acks, "compression.type": compression, "linger.ms": 0}
    sending |= dict(pairs("--set", more))

    async def run(reactor: IReactorTime, bar: ProgressBar) -> Measured:
        from kafkatx.cli.bench import loads
        from kafkatx.client.consumer.consumer import Consumer
        from kafkatx.client.producer.producer import Producer

        sender = Producer(sending, reactor=reactor)
        reader = Consumer(settings, reactor=reactor)
        try:
            await sender.start()
            await reader.start()
            load = loads.Load(topic, size, batch, count, rate)
            return await loads.latency(sender, reader, load, timeout, bar)
        finally:
            await sender.close(timeout)
            await reader.close(timeout)

    _report(run, f"through {topic}", count, as_json)


def _report(run: Run, what: str, total: int | None, as_json: bool) -> None:
    """Run a measurement in a reactor's thread, and print the result."""
    from twisted.internet.defer import Deferred

    from kafkatx.client.facades.reactor_thread import ReactorThread

    thread = ReactorThread("kafkatx bench")
    try:
        with ProgressBar(what, total) as bar:
            measured = thread.call(lambda: Deferred.fromCoroutine(run(thread.reactor, bar)))
    finally:
        thread.stop()
    if as_json:
        show_json(measured.summary())
    else:
        for line in measured.lines():
            show(line)
