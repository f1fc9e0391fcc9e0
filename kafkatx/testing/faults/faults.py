"""The faults of an embedded broker, as tests use them: ``broker.faults``. Safe to use from any thread."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.testing.faults.full_disk import FillableFiles
from kafkatx.testing.faults.rules import Action, Delay, Drop, LoseReply, Refuse, Rule, Rules
from kafkatx.wire.api import APIS

NAMES = {api.name.lower(): api.name for api in APIS.values()}


class BrokerFaults:
    """Faults that are injected into a broker that runs in a thread of this process::

        broker.faults.answer("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders", times=2)
        broker.faults.lose_reply("Produce")
        broker.faults.fill_disk()

    Each method that takes the name of a request, ``Produce`` or ``Fetch`` or any other of Kafka's, adds a
    rule, and returns it: its ``hits`` tell how many requests it was for. The oldest rule that fits counts.
    Rules outlive a restart of the broker, until :meth:`clear`.

    :ivar rules: the rules, for the broker.
    :ivar files: the files of its logs, for the broker.
    """

    def __init__(self) -> None:
        self.rules = Rules()
        self.files = FillableFiles()

    def answer(
        self, request: str, error: str | int, *, topic: str | None = None, times: int | None = 1
    ) -> Rule:
        """Answer requests with an error, and do nothing of what they ask.

        :param error: Kafka's name or number of it: ``"NOT_LEADER_OR_FOLLOWER"`` or 6.
        :param topic: only requests that name this topic.
        :param times: number of requests; None: all, until :meth:`clear`.
        :raises ValueError: there is no such request or error.
        """
        try:
            code = ErrorCode[error] if isinstance(error, str) else ErrorCode(error)
        except (KeyError, ValueError):
            raise ValueError(f"Kafka has no error {error!r}") from None
        return self._add(request, Refuse(code), topic, times)

    def delay(self, request: str, seconds: float, *, topic: str | None = None, times: int | None = 1) -> Rule:
        """Serve requests so much later; those that follow on their connections wait as well.

        :raises ValueError: there is no such request.
        """
        return self._add(request, Delay(seconds), topic, times)

    def drop(self, request: str, *, topic: str | None = None, times: int | None = 1) -> Rule:
        """Close the connection when a request comes, and do nothing of what it asks.

        :raises ValueError: there is no such request.
        """
        return self._add(request, Drop(), topic, times)

    def lose_reply(self, request: str, *, topic: str | None = None, times: int | None = 1) -> Rule:
        """Serve requests, and close the connection in place of a reply: the client cannot know.

        :raises ValueError: there is no such request.
        """
        return self._add(request, LoseReply(), topic, times)

    def fill_disk(self) -> None:
        """Fail every write to the logs with ENOSPC, until :meth:`free_disk`; for a broker with files."""
        self.files.full = True

    def free_disk(self) -> None:
        """Allow writes again. A log dir that has failed meanwhile is offline until a restart."""
        self.files.full = False

    def clear(self) -> None:
        """Inject nothing any more."""
        self.rules.clear()
        self.free_disk()

    def _add(self, request: str, action: Action, topic: str | None, times: int | None) -> Rule:
        name = NAMES.get(request.lower())
        if name is None:
            raise ValueError(
                f"Kafka has no request {request!r}; {', '.join(sorted(NAMES.values()))} are known"
            )
        if times is not None and times < 1:
            raise ValueError(f"times={times}: at least 1, or None for all requests")
        return self.rules.add(Rule(name, topic, action, times))
