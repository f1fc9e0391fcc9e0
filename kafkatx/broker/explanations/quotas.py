"""The quotas that a client is measured by. It reads the accounts of the quotas, and makes none."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kafkatx.broker.explanations.facts import QuotaFacts
from kafkatx.broker.quotas.byte_rates import ByteRates
from kafkatx.broker.quotas.entities import user_of
from kafkatx.broker.quotas.manager import QuotaManager
from kafkatx.broker.quotas.request_times import RequestTimes


def quotas_of(quotas: QuotaManager, client_id: str, principals: Collection[str]) -> tuple[QuotaFacts, ...]:
    """Return the quotas of a client id that it has used.

    :param principals: that it is known to come as; quotas of users alone are found by these.
    """
    users = {user_of(principal) for principal in principals}
    found: list[QuotaFacts] = []
    for kind, measured in (
        ("produce", quotas.producer),
        ("fetch", quotas.consumer),
        ("request time", quotas.request_times),
    ):
        if measured is not None:
            found += _of(kind, measured, client_id, users)
    return tuple(found)


def _of(
    kind: str, measured: ByteRates | RequestTimes, client_id: str, users: Collection[str]
) -> Iterator[QuotaFacts]:
    now_ms, window_ms = measured.now_ms(), measured.window.whole_ms
    for (user, client), limit, rate in measured.accounts.used(client_id, users):
        used = rate.total(now_ms) * 1000 / window_ms
        yield QuotaFacts(kind, client, user, limit, used, rate.throttle_time_ms(limit, now_ms))
