"""The fixture ``kafkatx_async_broker`` in a test that pytest-asyncio runs."""

import pytest

from kafkatx.client.aio import Consumer
from kafkatx.testing import AsyncBroker


@pytest.mark.asyncio
async def test_a_message_is_read(kafkatx_async_broker: AsyncBroker) -> None:
    """A consumer reads what the test has written."""
    orders = await kafkatx_async_broker.topic("orders")
    await kafkatx_async_broker.produce(orders, b"42", key=b"ann")
    consumer = Consumer(
        bootstrap_servers=kafkatx_async_broker.bootstrap, group_id="g", auto_offset_reset="earliest"
    )
    consumer.subscribe([orders])
    async with consumer:
        async for record in consumer:
            assert (record.key, record.value) == (b"ann", b"42")
            break
