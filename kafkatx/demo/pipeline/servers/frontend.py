"""A front end of the paper's deployment: a program that produces what its users do.

``python -m kafkatx.demo.pipeline.servers.frontend --help`` tells its options. It reads events from standard
input, a line each: the topic, a blank, and the message. It ends when its input does, and all messages are in
the log.

Each message carries the time (its timestamp), the server's name (the header ``server``), and its number there
(the header ``number``). The producer announces its counts for the audit.
"""

from __future__ import annotations

import sys

import click

from kafkatx.client.threads import Producer
from kafkatx.demo.lines import first_field

SERVER, NUMBER = "server", "number"
LINGER_MS = 50


@click.command()
@click.option("--bootstrap", required=True, help="Addresses of brokers: HOST:PORT,...")
@click.option("--name", required=True, help="Name of this server.")
@click.option("--window-ms", type=int, required=True, help="Interval of announcements for the audit.")
@click.option("--linger-ms", type=int, default=LINGER_MS, help="Longest time that a batch is collected.")
def main(bootstrap: str, name: str, window_ms: int, linger_ms: int) -> None:
    """Produce the events of standard input."""
    settings = {
        "bootstrap.servers": bootstrap,
        "client.id": name,
        "linger.ms": linger_ms,
        "compression.type": "gzip",
        "audit.interval.ms": window_ms,
        "audit.server": name,
        "audit.server.header": SERVER,
    }
    with Producer(settings) as producer:
        for number, line in enumerate(sys.stdin.buffer, 1):
            topic, _, value = line.removesuffix(b"\n").partition(b" ")
            producer.produce(topic.decode(), value, first_field(value), headers=[(NUMBER, b"%d" % number)])
        producer.flush()


if __name__ == "__main__":
    main(prog_name="python -m kafkatx.demo.pipeline.servers.frontend")
