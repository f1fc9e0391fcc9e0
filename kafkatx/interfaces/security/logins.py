"""The interfaces of logins: credentials, their checkers, and the identity of a client that has logged in.

They fit ``twisted.cred``: a checker provides ``ICredentialsChecker``, and gets credentials from its portal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zope.interface import Attribute, Interface

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted


class IIdentity(Interface):
    """A client that has logged in: the avatar of a portal. The realm makes it from a checker's avatar id.

    :class:`kafkatx.security.identity.Identity` provides it. A checker returns one, or a name.
    """

    name: str = Attribute("Name of the user.")
    principal: str = Attribute("Kafka's text of it: ``User:`` and the name.")
    expires_at_ms: int | None = Attribute("Time at which it ends, in ms since 1970; None: it does not end.")


class ICredentialsChecker(Interface):
    """A checker of credentials, for the setting ``kafkatx.plain.checkers``.

    It is ``twisted.cred.checkers.ICredentialsChecker``, whose implementations need not know this interface.
    Factory: ``factory(config, workers)``: a ``config.BrokerConfig`` and ``Workers``. Settings: IConfigurable.
    """

    credentialInterfaces = Attribute(
        "Interfaces of the credentials that it checks: ``twisted.cred.credentials.IUsernamePassword``, of "
        "which it uses username and password, both bytes in UTF-8."
    )

    def requestAvatarId(credentials: object) -> object:
        """Check credentials; a checker that has to wait works in a worker, or without blocking.

        :return: a Deferred, or the value itself: the name of the user (str, or bytes in UTF-8), or an
            :class:`IIdentity`. It fails with ``twisted.cred.error.UnauthorizedLogin``.
        """


class IScramLogin(Interface):
    """Credentials of a SCRAM login, which a checker helps to prove."""

    username: bytes = Attribute("Name of the user, in UTF-8.")
    mechanism: str = Attribute("``SCRAM-SHA-256`` or ``SCRAM-SHA-512``.")

    def prove(credential: object) -> Deferred[bool]:
        """Go on with the exchange, with the stored keys of the user; an unknown user gets invented ones.

        :param credential: a :class:`kafkatx.security.sasl.credential.ScramCredential`.
        :return: fires with True if the client knows the password.
        """


class IBearerToken(Interface):
    """Credentials of an OAUTHBEARER login."""

    token: str = Attribute("The token, which may be anything that a client can send.")
