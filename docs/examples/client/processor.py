"""A processor: a slow function is called with each record, and reading waits for it."""

from typing import Any

from twisted.internet.task import deferLater, react

from kafkatx.client import Consumer, Record


async def main(reactor: Any) -> None:
    """Process six records of two partitions, then stop."""
    consumer = Consumer(
        bootstrap_servers="127.0.0.1:9092", group_id="mailer", auto_offset_reset="earliest", reactor=reactor
    )
    consumer.subscribe(["mails"])
    done: list[bytes] = []

    async def send_mail(record: Record) -> None:
        await deferLater(reactor, 0.01)  # a slow server; any Deferred will do
        done.append(record.value)
        if len(done) == 6:
            consumer.close()  # waits for this call, and commits

    try:
        await consumer.start()
        await consumer.process(send_mail)  # fires when the consumer is closed
    finally:
        await consumer.close()
    print(sorted(done))


react(main)
