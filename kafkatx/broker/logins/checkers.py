"""The checkers of a mechanism of a listener, as the settings say."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from kafkatx.broker.logins.jaas_users import JaasUsers, login_module
from kafkatx.broker.logins.password_checks import PasswordChecks
from kafkatx.broker.logins.scram_users import ScramPasswords, ScramUsers, Stored
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import ListenerConfig
from kafkatx.config.table.security import sasl as s
from kafkatx.errors import SettingError
from kafkatx.interfaces import Workers
from kafkatx.interfaces.security.logins import ICredentialsChecker
from kafkatx.net.admission.limits import network_of
from kafkatx.net.fair_turns import FairTurns
from kafkatx.security.sasl import oauthbearer, plain

FindChecker = Callable[[str], Callable[..., Any]]
"""Returns the factory of an installed checker by its name; raises SettingError."""

_KAFKAS = {
    plain.NAME: "org.apache.kafka.common.security.plain.internals.PlainServerCallbackHandler",
    oauthbearer.NAME: "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
}
"""The callback handlers of Apache Kafka that mean ours; OAUTHBEARER's was in another package before 4.0."""

_WORKER, _FILES = "logins", "files of users"

MOST_CHECKS, MOST_OF_ADDRESS = 64, 16
"""Logins that an installed checker checks at the same time, and those of one address that wait for that."""


@implementer(ICredentialsChecker)
class InTurns:
    """An installed checker, asked in turns of addresses; the check of a client that has gone is cancelled."""

    def __init__(self, checker: Any) -> None:
        self.checker = checker
        self.credentialInterfaces = checker.credentialInterfaces
        self._turns = FairTurns(MOST_CHECKS, MOST_OF_ADDRESS, cancels=True)

    def requestAvatarId(self, credentials: Any) -> Deferred[Any]:
        """Fire with what the checker returns; fail with its error, or with TooManyWaiting."""
        address = network_of(getattr(credentials, "address", ""))
        call = partial(self.checker.requestAvatarId, credentials)
        return self._turns.run(address, call, credentials.username)


class Checkers:
    """Makes checkers.

    :param find: finds installed ones; None: there are none.
    :param stored: returns the users with SCRAM credentials.
    :param turns: those of all checks of passwords.
    """

    def __init__(
        self,
        config: BrokerConfig,
        workers: Workers,
        find: FindChecker | None,
        stored: Callable[[], Stored],
        clock: IReactorTime,
        now_ms: Callable[[], int],
        turns: FairTurns,
    ) -> None:
        self._turns = turns
        self._config = config
        self._workers = workers
        self._find = find
        self._stored = stored
        self._clock = clock
        self._now_ms = now_ms

    def of_mechanism(self, values: ListenerConfig, listener: str, mechanism: str) -> list[Any]:
        """Return the checkers of a mechanism.

        :param values: the settings of the listener.
        :raises SettingError: a setting is missing or wrong.
        """
        own = values.of_mechanism(mechanism)
        _check_handler(own, mechanism)
        if mechanism == plain.NAME:
            return [self._plain(own, values, listener, name) for name in own[s.KAFKATX_PLAIN_CHECKERS]]
        if mechanism == oauthbearer.NAME:
            return [self._tokens(own)]
        login_module(values, listener, mechanism)  # only brokers need it: but not a wrong one
        return [ScramUsers(self._stored)]

    def _plain(self, own: ListenerConfig, values: ListenerConfig, listener: str, name: str) -> Any:
        if name == "jaas":
            module = login_module(values, listener, plain.NAME)
            if module is None:
                raise SettingError(
                    f"{own.name_of(s.SASL_JAAS_CONFIG)} is not set: it names the users of PLAIN, "
                    'as ...PlainLoginModule required user_NAME="PASSWORD"; or set '
                    f"{s.KAFKATX_PLAIN_CHECKERS.name} to file or scram"
                )
            return JaasUsers(module.users)
        if name == "scram":
            return ScramPasswords(self._stored, PasswordChecks(self._workers(_WORKER), self._turns))
        if name == "file":
            path = own[s.KAFKATX_USERS_FILE]
            if path is None:
                raise SettingError(
                    f"{s.KAFKATX_USERS_FILE.name} is not set; {s.KAFKATX_PLAIN_CHECKERS.name}=file needs it"
                )
            from kafkatx.broker.logins.file_users import FileUsers

            checks = PasswordChecks(self._workers(_WORKER), self._turns)
            return FileUsers(path, self._workers(_FILES), checks)
        if self._find is None:
            raise SettingError(f"{s.KAFKATX_PLAIN_CHECKERS.name}={name}: there is no such checker")
        return InTurns(self._find(name)(self._config, self._workers))

    def _tokens(self, own: ListenerConfig) -> Any:
        if importlib.util.find_spec("jwt") is None or importlib.util.find_spec("cryptography") is None:
            raise SettingError("OAUTHBEARER needs further libraries: pip install 'kafkatx[oauth]'")
        from kafkatx.broker.logins.tokens.checker import token_checker

        return token_checker(own, self._workers("keys of tokens"), self._clock, self._now_ms)


def _check_handler(own: ListenerConfig, mechanism: str) -> None:
    handler = own.own(s.SASL_SERVER_CALLBACK_HANDLER_CLASS)
    if handler is None:
        return
    known = _KAFKAS.get(mechanism, "")
    if not known or handler.rpartition(".")[2] != known.rpartition(".")[2]:
        raise SettingError(
            f"{own.name_of(s.SASL_SERVER_CALLBACK_HANDLER_CLASS)}={handler}: kafkatx cannot run it; "
            + (f"{known} is the one that means its own" if known else "leave it out")
        )
