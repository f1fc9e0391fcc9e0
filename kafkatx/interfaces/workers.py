"""Workers: where what blocks is run, off the reactor thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

Worker: TypeAlias = Callable[[Callable[[], Any]], "Deferred[Any]"]
"""Runs a function off the reactor thread; calls to one worker run one at a time, in order.

Fires with what the function returned, fails with what it raised. A test passes
``twisted.internet.defer.execute``.
"""

Workers: TypeAlias = Callable[[str], Worker]
"""Gives the worker of a name (a log dir, say); the same name gives the same worker."""
