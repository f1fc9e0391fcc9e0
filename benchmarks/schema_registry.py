"""A schema registry of some size: replay at the start, memory, look-ups, registrations.

``python -m benchmarks.schema_registry [SUBJECTS] [VERSIONS]``, 10,000 and 10 by default. The schemas are
written to ``_schemas`` as a registry would have, by a producer. One client process asks, over one connection
that it keeps.
"""

from __future__ import annotations

import http.client
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable

from benchmarks.broker_process import Measured, free_port, kafkatx_command
from kafkatx.blocking import Cluster
from kafkatx.records.keyed import build_keyed
from kafkatx.registry.contents import Content, Version, digest
from kafkatx.registry.records import KeyValue, schema_record
from kafkatx.schemas.types import Schema
from kafkatx.testing.messages import create_topic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

BATCH = 2000
ASKED = 5000


def text(subject: int, version: int) -> str:
    """Return a schema: a record of twelve fields, and one more with each version."""
    fields = [
        {"name": f"field_{number}", "type": ["null", "string"], "default": None}
        for number in range(12 + version)
    ]
    return json.dumps(
        {"type": "record", "name": f"Event{subject}", "namespace": "org.example", "fields": fields}
    )


def records(subjects: int, versions: int) -> list[KeyValue]:
    """Return the records of all schemas, in the order of their ids."""
    made: list[KeyValue] = []
    for version in range(1, versions + 1):
        for subject in range(subjects):
            schema = Schema(text(subject, version))
            content = Content(len(made) + 1, schema, None, None, digest(schema.text, (), None, None))
            made.append(schema_record(Version(f"topic-{subject}-value", version, content)))
    return made


def fill(bootstrap: str, made: list[KeyValue]) -> int:
    """Write the records; return their size in bytes."""
    create_topic(bootstrap, "_schemas", 1, {"cleanup.policy": "compact", "max.message.bytes": str(8 << 20)})
    size = 0
    with Cluster(bootstrap) as cluster:
        for first in range(0, len(made), BATCH):
            batch = build_keyed(made[first : first + BATCH], int(time.time() * 1000))
            size += len(batch)
            data = TopicProduceData("_schemas", [PartitionProduceData(0, batch)])
            channel = cluster.leader_connection("_schemas", 0)
            response = channel.request(ProduceRequest(None, -1, 30_000, [data]))
            assert not response.responses[0].partition_responses[0].error_code, response
    return size


class Client:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Ask; return the body."""
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = response.read()
        assert response.status == 200, answer
        return answer


def measure(what: str, ask: Callable[[int], object], count: int) -> None:
    """Ask again and again; print percentiles and the rate."""
    took = []
    for number in range(count):
        began_s = time.perf_counter()
        ask(number)
        took.append(time.perf_counter() - began_s)
    took.sort()
    p50, p99 = took[count // 2] * 1000, took[count * 99 // 100] * 1000
    print(f"| {what} | {p50:.2f} | {p99:.2f} | {count / sum(took):,.0f} |")


def main() -> None:
    """Measure, and print tables of Markdown."""
    subjects, versions = (int(argument) for argument in (*sys.argv[1:], "10000", "10")[:2])
    with tempfile.TemporaryDirectory() as directory:
        port, http_port = free_port(), free_port()
        command = kafkatx_command(directory, port, [f"http.listeners=HTTP://127.0.0.1:{http_port}"])
        with Measured(command, port) as broker:
            broker.wait_until_listening()
            made = records(subjects, versions)
            size = fill(f"127.0.0.1:{port}", made)
        print(f"{len(made):,} schemas in {subjects:,} subjects, {size / 1e6:.1f} MB in the topic\n")
        with Measured(command, port) as broker:
            broker.wait_until_listening()
            time.sleep(2)
            before = broker.rss_mib()
            client = Client(http_port)
            began_s = time.perf_counter()
            client.ask("GET", "/schemas/ids/1")
            print(f"first request, with the replay: {time.perf_counter() - began_s:.2f} s")
            print(f"resident memory: {before:.0f} MiB before, {broker.rss_mib():.0f} MiB after\n")
            print("| request | p50 ms | p99 ms | a second |\n|---|---|---|---|")
            draw = random.Random(1)
            ids = [draw.randrange(1, len(made) + 1) for _ in range(ASKED)]
            measure("schema by id", lambda number: client.ask("GET", f"/schemas/ids/{ids[number]}"), ASKED)
            measure(
                "latest version of a subject",
                lambda number: client.ask(
                    "GET", f"/subjects/topic-{ids[number] % subjects}-value/versions/latest"
                ),
                ASKED,
            )
            measure(
                "look-up of a text",
                lambda number: client.ask(
                    "POST",
                    f"/subjects/topic-{ids[number] % subjects}-value",
                    {"schema": text(ids[number] % subjects, 1 + number % versions)},
                ),
                ASKED,
            )
            measure(
                "registration of a new version",
                lambda number: client.ask(
                    "POST", f"/subjects/topic-{number}-value/versions", {"schema": text(number, versions + 1)}
                ),
                min(1000, subjects),
            )
            began_s = time.perf_counter()
            listed = len(client.ask("GET", "/subjects"))
            print(f"\nlist of all subjects: {listed / 1e6:.2f} MB in {time.perf_counter() - began_s:.2f} s")
            began_s = time.perf_counter()
            listed = len(client.ask("GET", "/schemas"))
            print(f"list of all schemas: {listed / 1e6:.1f} MB in {time.perf_counter() - began_s:.2f} s")


if __name__ == "__main__":
    main()
