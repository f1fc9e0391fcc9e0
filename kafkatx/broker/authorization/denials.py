"""Log lines about denied accesses: one a minute for each kind, a few for all. It touches the clock."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.acls import AclOperation, ResourceType, enum_text
from kafkatx.broker.requests.quotation import quoted
from kafkatx.net.limited_log import LimitedLog

INTERVAL_S = 60.0
"""Seconds for which the same principal, operation and resource are not logged again."""
MOST_KINDS = 1000
"""Kinds that are remembered; with more, all are forgotten."""

Listener = Callable[[str, str, AclOperation, ResourceType, str], None]


class Denials:
    """Logs denials.

    :ivar listeners: called with principal, host, operation, type and name for each denial that is logged.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, most_lines: int) -> None:
        self.listeners: list[Listener] = []
        self._clock = clock
        self._limited_log = LimitedLog(self._log, clock, most_lines)
        self._until_s: dict[tuple[str, AclOperation, ResourceType, str], float] = {}

    def note(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> None:
        """Log a denial, unless the same was logged a moment ago."""
        now_s = self._clock.seconds()
        kind = (principal, operation, resource_type, name)
        if self._until_s.get(kind, 0.0) > now_s:
            return
        if len(self._until_s) >= MOST_KINDS:
            self._until_s.clear()
        self._until_s[kind] = now_s + INTERVAL_S
        self._limited_log.info(
            "denied: {principal} from {host} may not {operation} {type} {name}{hint}",
            principal=quoted(principal),
            host=host,
            operation=enum_text(operation),
            type=enum_text(resource_type),
            name=quoted(name),
            hint=(
                "; if this is a broker of the cluster, add its principal to super.users"
                if operation is AclOperation.CLUSTER_ACTION
                else ""
            ),
        )
        for listener in self.listeners:
            listener(principal, host, operation, resource_type, name)
