"""The fixture ``kafkatx_async_cluster`` in a test that pytest-asyncio runs."""

import pytest

from kafkatx.testing import AsyncCluster


@pytest.mark.asyncio
async def test_next_leader(kafkatx_async_cluster: AsyncCluster) -> None:
    """A message that one leader has acknowledged is read from the next one."""
    orders = await kafkatx_async_cluster.topic("orders", replication=3)
    await kafkatx_async_cluster.produce(orders, b"42")
    await kafkatx_async_cluster.move_leader(orders, 0, to=2)
    assert [message.value for message in await kafkatx_async_cluster.messages(orders, count=1)] == [b"42"]
