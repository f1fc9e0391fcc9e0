"""SimpleConsumer and ConsumerConnector for programs that block: a thread reads each stream."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from kafkatx.client.threads import ConsumerConnector, MessageStream, SimpleConsumer

BROKER = "127.0.0.1:9092"

with SimpleConsumer(bootstrap_servers=BROKER) as simple:
    messages = simple.fetch("visits", 0, 1)
    print([record.value for record in messages], messages.next_offset)

values: list[bytes] = []
all_read = Event()


def read(stream: MessageStream) -> None:
    """Read until the connector is shut down."""
    for record in stream:
        values.append(record.value)
        if len(values) == 6:
            all_read.set()


with (
    ThreadPoolExecutor() as pool,
    ConsumerConnector(
        bootstrap_servers=BROKER, group_id="counters", auto_offset_reset="earliest"
    ) as connector,
):
    streams = connector.create_message_streams({"visits": 2})["visits"]
    for stream in streams:
        pool.submit(read, stream)
    all_read.wait()
print(sorted(values))
