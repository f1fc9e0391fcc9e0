"""Values that the driver makes when Spark ships a writer to the tasks.

Spark makes a writer for each batch and pickles it for the tasks. For the commit of a micro-batch it makes
another one, which it does not pickle. So what belongs to the tasks of one batch is made when the writer is
pickled: no other call tells of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kafkatx.errors import KafkaTXError

T = TypeVar("T")


class Shipped(Generic[T]):
    """A value that is made at the first pickling, and is there in the copies.

    :param make: called on the driver. A :class:`KafkaTXError` of it is raised by the tasks, as Spark hides
        the messages of errors in pickling.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._made: T | None = None
        self._refusal = ""

    def __getstate__(self) -> tuple[T | None, str]:
        if self._make is not None:
            try:
                self._made = self._make()
            except KafkaTXError as error:
                self._refusal = str(error)
            self._make = None
        return self._made, self._refusal

    def __setstate__(self, state: tuple[T | None, str]) -> None:
        self._make = None
        self._made, self._refusal = state

    def get(self) -> T:
        """Return the value, in a task.

        :raises KafkaTXError: it could not be made.
        """
        if self._made is None:
            raise KafkaTXError(self._refusal or "the writer was not shipped to a task")
        return self._made
