"""Throughput, processor time and handshakes over TLS 1.3, beside Apache Kafka 4.

    python -m benchmarks.tls [--rounds N] [--seconds S] [--cells TEXT]

The brokers run with their defaults and a listener with TLS, pinned to one core, the clients to the other;
while one is measured the other is stopped. Both have the same certificate (of an elliptic curve, as ``kafkatx
tls init`` makes it), are started once, and are warmed up by every cell, for what a JVM compiles late. Cells:

*   librdkafka produces to a partition, or reads one that was written without TLS, as fast as it goes, with
    batches as they come: messages of 100 B and of 1 kB. Each has its processor time, in seconds for a GB of
    messages.
*   ``openssl s_time`` makes handshakes one after the other, each on a new connection, without a session.

The table has the median over the rounds with the range; ratios are those within a round. Each system is first
in every other round.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from functools import partial

import attrs

from benchmarks.broker_process import free_port
from benchmarks.compare.loads import librdkafka, load
from benchmarks.compare.process import Server
from benchmarks.compare.systems.apache import Apache
from benchmarks.compare.systems.kafkatx import Kafkatx
from benchmarks.compare.systems.system import System
from benchmarks.turns import OURS, THEIRS, Figures, run
from kafkatx.tls.authority import issue, make_authority

BROKER_CORE, CLIENT_CORE = 1, 0
PROBE_BYTES, READ_BYTES = 20_000_000, 400_000_000
CPU = ": s of processor for a GB"
HANDSHAKES = re.compile(r"(\d+) connections in (\d+) real seconds")


@attrs.frozen
class Place:
    """A running system.

    :ivar tls_port: the port of its listener with TLS.
    """

    system: System
    server: Server
    port: int
    tls_port: int
    ca: str

    def properties(self) -> dict[str, object]:
        """Return librdkafka's properties for TLS."""
        return {
            "security.protocol": "SSL",
            "ssl.ca.location": self.ca,
            "ssl.endpoint.identification.algorithm": "https",
            "compression.type": "none",
        }


Named = Callable[[str, Place, str, float], Figures]
"""Measures for some seconds with a topic; returns figures whose names begin with this one."""


def produced(size: int, name: str, place: Place, topic: str, seconds: float) -> Figures:
    """Produce messages of *size* bytes."""
    place.system.create_topic(place.port, topic, 1)

    def produce(count: int) -> Figures:
        arguments = ("produce", topic, count, size)
        return _watched(place, name, librdkafka.command(place.tls_port, arguments, place.properties()))

    probed = produce(PROBE_BYTES // size)
    found = produce(int(probed[name] * 1e6 * seconds) // size)
    place.system.delete_topic(place.port, topic)
    return found


def consumed(size: int, name: str, place: Place, topic: str, seconds: float) -> Figures:
    """Read messages of *size* bytes, which are written once."""
    written = f"read-{size}"
    count = READ_BYTES // size
    if (place.port, size) not in _WRITTEN:
        place.system.create_topic(place.port, written, 1)
        arguments = ("produce", written, count, size)
        load.end(load.begin(CLIENT_CORE, librdkafka.command(place.port, arguments, {})))
        _WRITTEN.add((place.port, size))
    reading = {key: value for key, value in place.properties().items() if key != "compression.type"}
    command = librdkafka.command(place.tls_port, ("consume", written, count), reading)
    return _watched(place, name, command)


_WRITTEN: set[tuple[int, int]] = set()


def _watched(place: Place, name: str, command: Sequence[str]) -> Figures:
    before_s = place.server.cpu().total_s
    found = load.end(load.begin(CLIENT_CORE, command))
    took_s = place.server.cpu().total_s - before_s
    return {name: found["bytes"] / found["seconds"] / 1e6, name + CPU: took_s / found["bytes"] * 1e9}


def handshakes(name: str, place: Place, topic: str, seconds: float) -> Figures:
    """Return connections a second."""
    command = ["taskset", "--cpu-list", str(CLIENT_CORE), "openssl", "s_time", "-new", "-tls1_3"]
    command += ["-connect", f"127.0.0.1:{place.tls_port}", "-CAfile", place.ca, "-time", f"{seconds:.0f}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + 10 * seconds)
    found = HANDSHAKES.search(done.stdout)
    if found is None:
        raise RuntimeError(done.stdout + done.stderr)
    return {name: int(found[1]) / max(seconds, 1)}


CELLS: Mapping[str, Named] = {
    "produce, 100 B, MB/s": partial(produced, 100),
    "produce, 1 kB, MB/s": partial(produced, 1000),
    "consume, 100 B, MB/s": partial(consumed, 100),
    "consume, 1 kB, MB/s": partial(consumed, 1000),
    "handshakes a second": handshakes,
}


def _files(folder: str) -> tuple[str, str]:
    """Write a certificate for brokers and its authority's; return both paths."""
    authority = make_authority("benchmark")
    now = datetime.now(timezone.utc)
    broker = issue(authority, "broker", ("localhost", "127.0.0.1"), now=now)
    paths = os.path.join(folder, "broker.pem"), os.path.join(folder, "ca.pem")
    for path, data in zip(paths, (broker.keystore_pem(), authority.certificate_pem), strict=True):
        with open(path, "wb") as file:
            file.write(data)
    return paths


def _settings(tls_port: int, keystore: str) -> dict[str, str]:
    return {
        "listeners": f"SSL://127.0.0.1:{tls_port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": keystore,
    }


@contextmanager
def running() -> Iterator[list[Place]]:
    """Start both systems, and stop each one's processes until it is measured."""
    with ExitStack() as stack:
        kept = os.environ.get("KAFKATX_BENCH_DIR")
        keystore, ca = _files(stack.enter_context(tempfile.TemporaryDirectory(dir=kept)))
        places = []
        for make in (lambda more: Kafkatx(OURS, more=more), lambda more: Apache(THEIRS, "4", more)):
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=kept))
            port, tls_port = free_port(), free_port()
            system: System = make(_settings(tls_port, keystore))
            server = stack.enter_context(system.start(folder, port, BROKER_CORE))
            places.append(Place(system, server, port, tls_port, ca))
            server.pause()
        yield places


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tls")
    if (missing := Apache(THEIRS, "4").missing()) is not None:
        parser.error(f"{THEIRS} cannot be measured: {missing}")
    cells = {name: partial(cell, name) for name, cell in CELLS.items()}
    run(parser, cells, running, lambda name: ",.2f" if name.endswith(CPU) else ",.0f")


if __name__ == "__main__":
    main()
