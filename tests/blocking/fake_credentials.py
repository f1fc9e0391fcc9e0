"""A cluster in memory with SCRAM users, whose requests the handlers of a real broker answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed

from kafkatx.broker.handlers import alter_user_scram_credentials as alter
from kafkatx.broker.handlers import describe_user_scram_credentials as describe
from kafkatx.errors import ErrorCode
from kafkatx.security.sasl.credential import MECHANISMS, parse_credential
from tests.blocking.fakes import FakeCluster


@attrs.define(eq=False)
class FakeUsers(FakeCluster):
    """A cluster whose users have these credentials, by name and mechanism."""

    scram_credentials: dict[str, dict[str, str]] = attrs.Factory(dict)

    @property
    def state(self) -> FakeUsers:
        """The cluster's state: this object."""
        return self

    def alter_scram_credentials(self, changes: Mapping[str, Mapping[str, str | None]]) -> Deferred[None]:
        """Store the changes, as a metadata store does."""
        for user, mechanisms in changes.items():
            theirs = {**self.scram_credentials.get(user, {}), **mechanisms}
            self.scram_credentials[user] = {name: text for name, text in theirs.items() if text is not None}
            if not self.scram_credentials[user]:
                del self.scram_credentials[user]
        return succeed(None)

    def knows(self, user: str, mechanism: str, password: str) -> bool:
        """Return True if a password is the right one."""
        stored = parse_credential(self.scram_credentials[user][mechanism])
        return stored.matches(MECHANISMS[mechanism], password)

    def answer_describe_user_scram_credentials(
        self, node: int, request: Any, version: int, error: int
    ) -> Any:
        """Answer as a broker."""
        if error:
            return describe.refuse(request, self._nothing(), ErrorCode.of(error), "no")
        return describe.answer(self._broker(), request, self._nothing())

    def answer_alter_user_scram_credentials(self, node: int, request: Any, version: int, error: int) -> Any:
        """Answer as a broker."""
        if error:
            return alter.refuse(request, self._nothing(), ErrorCode.of(error), "no")
        answer = alter.answer(self._broker(), request, self._nothing())
        return answer.result if isinstance(answer, Deferred) else answer

    def _broker(self) -> Any:
        return SimpleNamespace(metadata=self)

    def _nothing(self) -> Any:
        return None
