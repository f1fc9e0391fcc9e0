"""The check of Fetch: of followers here, of clients for each partition that is read. No I/O."""

from __future__ import annotations

from kafkatx.acls import CLUSTER_NAME
from kafkatx.broker.authorization.demands import DEMANDS
from kafkatx.broker.fetch.replica_fetch import is_of_replica
from kafkatx.broker.guards.calls import Call
from kafkatx.wire.messages.fetch import FetchRequest

_READ, _FOLLOW = DEMANDS[FetchRequest.API_KEY].demands


def check(call: Call, request: FetchRequest) -> None:
    """Refuse a follower that may not act for the cluster.

    The topics of clients are those of their session: ``FetchRound.restrict`` asks about each of them, with
    each request.
    """
    if is_of_replica(request):
        call.require(_FOLLOW, CLUSTER_NAME)
