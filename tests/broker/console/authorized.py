"""A console whose users have rights by ACLs, or not."""

from __future__ import annotations

from typing import Any, ClassVar

from kafkatx.net.requests import Session
from tests.broker.authorization.authorized import ADMIN, ALICE, AuthorizedTestCase
from tests.broker.console.case import ConsoleCase


class AuthorizedConsoleCase(ConsoleCase, AuthorizedTestCase):
    """Requests come from :attr:`session`: alice, who may do nothing, unless a test says otherwise."""

    settings: ClassVar[dict[str, str]] = {
        **AuthorizedTestCase.settings,
        "kafkatx.console.enable": "true",
    }
    session = Session(ALICE)

    def as_admin(self, method: str, path: str, body: object = None, status: int = 200) -> Any:
        """Make a request as the super user."""
        return self.change(method, path, body, status, session=Session(ADMIN))
