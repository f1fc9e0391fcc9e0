"""A member of a group over ZooKeeper in a process of its own, which can be killed.

``python -m tests.integration.zookeeper_member --help`` tells its arguments. It writes a line of JSON for each
record::

    {"record": [0, 17, "value", 1234.5]}    partition, offset, value, seconds of the monotonic clock

SIGTERM makes it leave the group.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time

from twisted.internet import task
from twisted.internet.defer import Deferred, gatherResults

from kafkatx.client import ConsumerConnector, MessageStream, Whitelist


async def read(stream: MessageStream) -> None:
    """Tell the records of a stream."""
    async for record in stream:
        said = {"record": [record.partition, record.offset, record.value.decode(), time.monotonic()]}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


async def run(reactor: object, topic: str, streams: int, filtered: bool, settings: dict[str, str]) -> None:
    """Read until told to stop."""
    connector = ConsumerConnector({"kafkatx.balancer": "zookeeper", **settings}, reactor=reactor)  # type: ignore[arg-type]
    stop: Deferred[None] = Deferred()

    def stopped(*_: object) -> None:
        reactor.callFromThread(stop.callback, None)  # type: ignore[attr-defined]

    await connector.start()
    signal.signal(signal.SIGTERM, stopped)  # the reactor, which runs now, has taken it for itself
    if filtered:
        found = connector.create_message_streams_by_filter(Whitelist(topic), streams)
    else:
        found = connector.create_message_streams({topic: streams})[topic]
    reading = gatherResults([Deferred.fromCoroutine(read(stream)) for stream in found])
    await stop
    await connector.shutdown()
    await reading


def main() -> None:
    """Run until told to stop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("topic")
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--filter", action="store_true", help="the topic is the expression of a white list")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    a = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in a.set)
    task.react(lambda reactor: Deferred.fromCoroutine(run(reactor, a.topic, a.streams, a.filter, settings)))


if __name__ == "__main__":
    main()
