"""An online service of the paper's deployment: it reads what the front ends produce, and tells the delays.

``python -m kafkatx.demo.pipeline.servers.service --help`` tells its options. Its ConsumerConnector shares the
partitions with the other members of its group. It prints lines of JSON: how many records it has read, now and
then, and at its end, on SIGTERM, also the delay of the records since their timestamp::

    {"records": 512}
    {"records": 600, "partitions": ["pageviews-0"], "delays_ms": {"12": 590, "13": 10}}
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time

import click

from kafkatx.client import Whitelist
from kafkatx.client.threads import ConsumerConnector
from kafkatx.demo.pipeline.delays import Delays

READY = "ready"
REPORT_S = 0.5


class Service:
    """The work of the service, and what it tells."""

    def __init__(self, connector: ConsumerConnector) -> None:
        self._connector = connector
        self._records = 0
        self._partitions: set[str] = set()
        self._delays = Delays()
        self._ended = threading.Event()

    def run(self, topics: str) -> None:
        """Read until the connector is closed, which ends the stream."""
        (stream,) = self._connector.create_message_streams_by_filter(Whitelist(topics), 1)
        reporter = threading.Thread(target=self._report, daemon=True)
        reporter.start()
        print_line(READY)
        for record in stream:
            self._records += 1
            self._partitions.add(f"{record.topic}-{record.partition}")
            self._delays.add(round(time.time() * 1000) - record.timestamp_ms)
        self._ended.set()
        reporter.join()
        partitions, delays = sorted(self._partitions), self._delays.to_object()
        print_line(json.dumps({"records": self._records, "partitions": partitions, "delays_ms": delays}))

    def _report(self) -> None:
        told = 0
        while not self._ended.wait(REPORT_S):
            if self._records != told:
                told = self._records
                print_line(json.dumps({"records": told}))


def print_line(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@click.command()
@click.option("--topics", required=True, help="Topics to read: a white list as Kafka 0.8 has it.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Setting of the connector.")
def main(topics: str, sets: tuple[str, ...]) -> None:
    """Read topics until SIGTERM."""
    settings = dict(one.split("=", 1) for one in sets)
    with ConsumerConnector({"auto.offset.reset": "earliest", **settings}) as connector:
        stopped = threading.Event()

        def close() -> None:  # blocks, so it is not for the handler of a signal
            stopped.wait()
            connector.close()

        threading.Thread(target=close, daemon=True).start()
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())
        Service(connector).run(topics)


if __name__ == "__main__":
    main(prog_name="python -m kafkatx.demo.pipeline.servers.service")
