"""The election of the controller: the first broker to create ``/controller`` is it, until its session ends.

It touches the tree and the clock. One transaction creates the node and raises ``/controller_epoch``, as
Apache Kafka's does (``KafkaZkClient.registerControllerAndIncrementControllerEpoch``). So the two nodes tell
who was elected, also if the reply is lost: see
:meth:`~kafkatx.metadata.cluster.state.image.ControllerFacts.elects`.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Create, Operation, OperationError, Refused, SetData, TreeError
from kafkatx.metadata.cluster.state.requests import read
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.controller import FIRST_EPOCH, ControllerNode, decode_epoch, encode_epoch
from kafkatx.types import ClusterDelta

SEEN_S = 5.0
"""Seconds to wait for the outcome to be read before the next attempt."""


class Election:
    """Stands for election whenever there is no controller.

    :param eligible: False if this broker must never be the controller (``kafkatx.controller.eligible``).
    :param is_registered: returns True if this broker is registered.
    :param now_ms: the time of day, for the timestamp in the node.
    :param read_again: reads a watched path again.
    :ivar broker_id: the id of this broker.
    """

    _log = Logger()

    def __init__(
        self,
        tree: ITree,
        view: View,
        eligible: bool,
        is_registered: Callable[[], bool],
        now_ms: Callable[[], int],
        read_again: Callable[[str], None],
    ) -> None:
        self.broker_id = -1
        self._tree = tree
        self._view = view
        self._eligible = eligible
        self._is_registered = is_registered
        self._now_ms = now_ms
        self._read_again = read_again
        self._running = False
        view.observe(self._observe)

    def consider(self) -> None:
        """Stand for election if there is no controller and this broker may be it."""
        if (
            self._eligible
            and self._view.ready
            and self._view.image.controller is None
            and not self._running
            and self._is_registered()
        ):
            self._running = True
            Deferred.fromCoroutine(self._run())

    def _observe(self, delta: ClusterDelta | None) -> None:
        self.consider()

    async def _run(self) -> None:
        try:
            await self._stand()
            self._read_again(paths.CONTROLLER)
            await self._view.until(
                lambda: self._view.image.controller is not None or not self._view.ready, SEEN_S
            )
        except OperationError as error:
            log = self._log.error if isinstance(error, Refused) else self._log.debug
            log("broker {id} is not elected the controller: {error}", id=self.broker_id, error=error)
            self._read_again(paths.CONTROLLER)
            await self._view.until(
                lambda: self._view.image.controller is not None or not self._view.ready, SEEN_S
            )
        except TreeError:
            pass  # all is read again when the connection is back
        except Exception:
            self._log.failure("the election of a controller failed")
            await self._view.until(lambda: not self._view.ready, SEEN_S)
        finally:
            self._running = False
        self.consider()

    async def _stand(self) -> None:
        """Try to become the controller.

        :raises OperationError: another broker was elected.
        """
        found = await read(self._tree, paths.CONTROLLER_EPOCH)
        if found is None:
            epoch = FIRST_EPOCH
            raising: Operation = Create(paths.CONTROLLER_EPOCH, encode_epoch(epoch))
        else:
            epoch = decode_epoch(found[0]) + 1
            raising = SetData(paths.CONTROLLER_EPOCH, encode_epoch(epoch), found[1].version)
        node = ControllerNode(self.broker_id, self._now_ms())
        await self._tree.multi([Create(paths.CONTROLLER, node.encode(), ephemeral=True), raising])
        self._log.info("broker {id} is the controller, epoch {epoch}", id=self.broker_id, epoch=epoch)
