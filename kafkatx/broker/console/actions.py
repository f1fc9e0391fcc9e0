"""The audit of what was done through the console: the newest actions, and a line of the log for each.

It logs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkatx.broker.console.errors import ConsoleError, found_error
from kafkatx.broker.requests.quotation import quoted
from kafkatx.errors import KafkaTXError
from kafkatx.web.calls import Call

MOST = 1000
"""Actions that are kept."""

MOST_CHARACTERS = 300
"""The longest text of an action's resource or result."""

DONE = "done"


@attrs.frozen
class Action:
    """An action.

    :ivar address: of the client.
    :ivar result: ``done``, or the reason why not.
    """

    time_ms: int
    principal: str
    address: str
    action: str
    resource: str
    result: str


@attrs.define
class Change:
    """A change that is being made.

    :ivar result: replaced by who makes it if only a part is done.
    """

    result: str = DONE


class Actions:
    """The actions, the newest last.

    :param read_only: True if nothing may be changed.
    """

    _log = Logger()

    def __init__(self, now_ms: Callable[[], int], read_only: bool) -> None:
        self.read_only = read_only
        self._now_ms = now_ms
        self._kept: deque[Action] = deque(maxlen=MOST)

    def newest(self) -> list[Action]:
        """Return the actions that are kept, the newest first."""
        return list(reversed(self._kept))

    def check(self) -> None:
        """Check that changes are allowed.

        :raises ConsoleError: 403: this console is read-only.
        """
        if self.read_only:
            raise ConsoleError(
                403, "READ_ONLY", "this console changes nothing: kafkatx.console.read.only=true"
            )

    @contextmanager
    def change(self, call: Call, action: str, resource: str) -> Iterator[Change]:
        """Make a change; its result is noted, also if it fails.

        :param action: a verb with its object: ``create topic``.
        :raises ConsoleError: 403: this console is read-only.
        """
        self.check()
        change = Change()
        try:
            yield change
        except KafkaTXError as error:
            found = found_error(error)
            change.result = f"{found.code}: {found}"
            raise
        except CancelledError:
            change.result = "given up before its end"
            raise
        except Exception as error:
            change.result = f"failed: {type(error).__name__}"
            raise
        finally:
            self._note(call, action, resource, change.result)

    def _note(self, call: Call, action: str, resource: str, result: str) -> None:
        principal = call.session.principal
        resource, result = resource[:MOST_CHARACTERS], result[:MOST_CHARACTERS]
        self._kept.append(Action(self._now_ms(), principal, call.client, action, resource, result))
        self._log.info(
            "console: {principal} from {address}: {action} {resource}: {result}",
            principal=quoted(principal),
            address=call.client,
            action=action,
            resource=quoted(resource),
            result=quoted(result),
        )
