"""The file of the ACLs that would allow what was used, for an authorizer that learns; a worker writes it."""

from __future__ import annotations

import os
from functools import partial

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.interfaces import IAuthorizer, ILearning, Worker, Workers
from kafkatx.security.acl.lines import format_line

_HEAD = "# ACLs that allow what was used; check them, then: kafkatx acls add --from FILE\n"


class LearnedFile:
    """The file: replaced as a whole when something new was learned."""

    _log = Logger()

    def __init__(self, path: str, learning: ILearning, worker: Worker) -> None:
        self._path = path
        self._learning = learning
        self._worker = worker
        self._written = ""

    def write(self) -> Deferred[None]:
        """Write the file if anything new was learned; a failure is logged."""
        text = _HEAD + "".join(f"{format_line(binding)}\n" for binding in self._learning.learned)
        if text == self._written:
            return succeed(None)
        self._written = text
        return self._worker(partial(_replace, self._path, text)).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        failure.trap(OSError)
        self._written = ""
        self._log.warn(
            "kafkatx.authorizer.learn.file={path} cannot be written: {error}",
            path=self._path,
            error=failure.getErrorMessage(),
        )


def make_file(path: str, authorizer: IAuthorizer, workers: Workers) -> LearnedFile | None:
    """Return the file of an authorizer; None if that does not learn."""
    if not ILearning.providedBy(authorizer):
        return None
    learning: ILearning = ILearning(authorizer)
    return LearnedFile(path, learning, workers("learned ACLs"))


def _replace(path: str, text: str) -> None:
    new = f"{path}.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
