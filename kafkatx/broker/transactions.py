"""Refusal of transactions, with an error that clients treat as final, and a log line for each client.

The error is TRANSACTIONAL_ID_AUTHORIZATION_FAILED. librdkafka asks again until its time is up on any other
that fits (``rd_kafka_txn_handle_FindCoordinator`` and ``rd_kafka_handle_InitProducerId`` make it fatal, as
they do CLUSTER_AUTHORIZATION_FAILED; seen with 2.11), Java's ``TransactionManager`` takes it as fatal in both
answers, and franz-go does not retry it. The actual reason is in the message, which librdkafka quotes
and Java does not, and in the broker's log.
"""

from __future__ import annotations

from collections.abc import Container

from kafkatx.broker.requests.quotation import quoted
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import TRANSACTION_STATE
from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.requests import Peer

MOST_CLIENTS = 1000
"""Warned clients that are remembered; beyond that, all are forgotten."""


class Transactions:
    """Refuses transactions: one warning for each client."""

    def __init__(self, log: LimitedLog) -> None:
        self._log = log
        self._warned: set[tuple[str, str]] = set()

    def warn_of_open(self, topics: Container[str]) -> None:
        """Warn of open transactions, if Apache Kafka has had transactions in this cluster.

        :param topics: the names of the cluster's topics.
        """
        if TRANSACTION_STATE in topics:
            self._log.warn(
                "clients of Apache Kafka have used transactions in this cluster: one that was not ended there"
                " holds back consumers with isolation.level=read_committed for good, since kafkatx does not"
                " offer transactions yet and cannot end it"
            )

    def refusal(self, peer: Peer, client_id: str | None, transactional_id: str) -> RequestError:
        """Return the error to raise; warn of the client once."""
        name = quoted(client_id or "")
        client = (peer.host, name)
        if client not in self._warned:
            if len(self._warned) >= MOST_CLIENTS:
                self._warned.clear()
            self._warned.add(client)
            self._log.warn(
                "{peer} (client.id {client}) asked for transactions, which this broker does not offer, and"
                " was refused; unset transactional.id={name} there",
                peer=peer,
                client=name,
                name=quoted(transactional_id),
            )
        return RequestError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "this broker does not offer transactions: unset transactional.id",
        )
