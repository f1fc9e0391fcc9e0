"""The reservation of producer ids: blocks of ``/latest_producer_id_block``. It touches the tree."""

from __future__ import annotations

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Create, Operation, SetData
from kafkatx.metadata.cluster.commands.transactions import Transactions
from kafkatx.metadata.cluster.state.requests import read
from kafkatx.metadata.layout import producer_ids
from kafkatx.metadata.layout.paths import PRODUCER_IDS


async def allocate(tree: ITree, transactions: Transactions, count: int, lowest: int) -> range:
    """Reserve *count* producer ids. Those of a write in doubt are given to no one.

    :param lowest: none is below it.
    :raises RequestError: COORDINATOR_LOAD_IN_PROGRESS: the tree could not be reached in time, and the
    producer
        should try again; UNKNOWN_SERVER_ERROR: all ids are in use.
    """

    async def attempt() -> range:
        found = await read(tree, PRODUCER_IDS)
        current = None if found is None else producer_ids.decode(found[0])
        try:
            block = producer_ids.following(current, transactions.broker_id, count, lowest)
        except OverflowError as error:
            raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from error
        write: Operation = Create(PRODUCER_IDS, block.encode())
        if found is not None:
            write = SetData(PRODUCER_IDS, block.encode(), found[1].version)
        await tree.multi([write])
        return block.ids

    try:
        return await transactions.persist(attempt)
    except RequestError as error:
        if error.code is ErrorCode.REQUEST_TIMED_OUT:
            # as Apache Kafka's brokers while they wait for a block: producers try again
            raise RequestError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, str(error)) from error
        raise
