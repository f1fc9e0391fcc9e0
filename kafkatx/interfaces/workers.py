"""Workers: they run blocking functions off the reactor thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

T = TypeVar("T")


class Worker(Protocol):
    """Runs functions off the reactor thread. Calls to one worker run one at a time, in order.

    A test passes ``twisted.internet.defer.execute``.
    """

    def __call__(self, function: Callable[[], T], /) -> Deferred[T]:
        """Run a function.

        :return: fires with the function's result, fails with its exception. Cancelling it does not stop the
            function.
        """


Workers: TypeAlias = Callable[[str], Worker]
"""Returns the worker of a name (a log dir, for example); the same name returns the same worker."""
