"""The rule about late EndTxn requests: one that was sent for an earlier transaction ends no later one.

A client of version 1 has the same epoch in all of its transactions. If an EndTxn is not answered in time, the
client sends it again over another connection, and begins the next transaction. The first request may still be
on its way, and would end that one: a half of it is committed, or aborted although its end is acknowledged
(Jepsen's analysis of Bufstream 0.1.0; version 2, KIP-890, has no such gap). But it comes over a connection
that was made before all of those over which partitions were added to the transaction. Such a request is
counted, and its connection is closed: a client that still reads there sends the request again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkatx.broker.requests.quotation import quoted
from kafkatx.config import BrokerConfig
from kafkatx.config.table import groups as t
from kafkatx.errors import ProtocolViolation
from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.requests import Peer

if TYPE_CHECKING:  # the machines are imported with the first transaction
    from kafkatx.transactions.metadata import Producer
    from kafkatx.transactions.transaction import Transaction

REFUSE = "refuse"
"""The value of the setting that closes the connection; with the other one there is only a line in the log."""


class LateEnds:
    """The late EndTxn requests of a coordinator.

    :ivar count: their number since the start.
    """

    def __init__(self) -> None:
        self.count = 0

    def check(
        self, transaction: Transaction, producer: Producer, peer: Peer, config: BrokerConfig, log: LimitedLog
    ) -> None:
        """Check an EndTxn of version 1.

        :raises ProtocolViolation: it is late, and the setting has its connection closed.
        """
        if not transaction.is_late_end(producer, peer.number):
            return
        self.count += 1
        name = quoted(transaction.transactional_id)
        if config[t.TRANSACTIONS_LATE_END] == REFUSE:
            raise ProtocolViolation(
                f"EndTxn of transactional id {name} is older than its transaction, which began over a newer"
                f" connection: it was sent for an earlier one ({t.TRANSACTIONS_LATE_END.name}={REFUSE})"
            )
        log.warn(
            "EndTxn of transactional id {id} from {peer} is older than its transaction, which began over a"
            " newer connection; it is carried out, as {setting} says ({count} since the start)",
            id=name,
            peer=peer,
            setting=t.TRANSACTIONS_LATE_END.name,
            count=self.count,
        )
