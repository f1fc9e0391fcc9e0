"""The base of the contract of metadata stores of a cluster waits for states, and for errors."""

from __future__ import annotations

from twisted.internet.defer import fail, succeed

from kafkatx.errors import ErrorCode, RequestError
from tests.metadata.cluster.memory import MemoryClusterCase


class ClusterStoreCaseTests(MemoryClusterCase):
    async def test_until(self) -> None:
        """A state is returned when the condition holds for it, at once or later."""
        store = await self.started(1)
        self.assertIs(await self.until(store, lambda state: 1 in state.brokers), store.state)
        creating = store.create_topic("t", [[1]], {})
        state = await self.until(store, lambda state: "t" in state.topics)
        self.assertIn("t", state.topics)
        await self.result(creating)

    async def test_led(self) -> None:
        """The state of a partition is returned with its leader and epoch."""
        store = await self.started(1)
        await self.result(store.create_topic("t", [[1]], {}))
        self.assertEqual((await self.led(store, "t", 1, 0)).leader, 1)

    async def test_failure_code(self) -> None:
        """The code of an error is returned; a result is none."""
        error = RequestError(ErrorCode.INVALID_CONFIG, "no")
        self.assertIs(await self.failure_code(fail(error)), ErrorCode.INVALID_CONFIG)
        with self.assertRaises(self.failureException):
            await self.failure_code(succeed(None))
