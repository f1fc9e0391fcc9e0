"""Transactions are refused, in a way that clients take as final, and the log says who asked for them.

The error is TRANSACTIONAL_ID_AUTHORIZATION_FAILED. librdkafka asks again until its time is up on any other
that fits (``rd_kafka_txn_handle_FindCoordinator`` and ``rd_kafka_handle_InitProducerId`` make it fatal, as
they do CLUSTER_AUTHORIZATION_FAILED; seen with 2.11), Java's ``TransactionManager`` takes it as fatal in both
answers, and franz-go does not retry it. What is really the matter stands in the message, which librdkafka
quotes and Java does not, and in the broker's log.
"""

from __future__ import annotations

from kafkatx.broker.requests.quotation import quoted
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.requests import Peer

MOST_CLIENTS = 1000
"""Of how many clients it is remembered that they were told of; with more, all are forgotten."""


class Transactions:
    """Refuses transactions: one warning for each client."""

    def __init__(self, log: LimitedLog) -> None:
        self._log = log
        self._told: set[tuple[str, str]] = set()

    def refusal(self, peer: Peer, client_id: str | None, transactional_id: str) -> RequestError:
        """Return the error to raise; warn of the client unless that was done before."""
        name = quoted(client_id or "")
        client = (peer.host, name)
        if client not in self._told:
            if len(self._told) >= MOST_CLIENTS:
                self._told.clear()
            self._told.add(client)
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
