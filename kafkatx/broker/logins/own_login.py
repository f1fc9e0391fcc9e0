"""The login of a broker at the other brokers of its cluster."""

from __future__ import annotations

from kafkatx.broker.logins.jaas_users import login_module
from kafkatx.clientcore.login import ClientLogin, password_login
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import Listener
from kafkatx.config.table.security import sasl as s
from kafkatx.errors import SettingError
from kafkatx.security.sasl import oauthbearer


def own_login(config: BrokerConfig, listener: Listener) -> ClientLogin:
    """Return the login at a listener, with user name and password of its login module.

    :raises SettingError: the module has none, or the mechanism is not enabled at the listener.
    """
    mechanism, login = _credentials(config, listener)
    return password_login(mechanism, *login)


def own_user(config: BrokerConfig, listener: Listener) -> str:
    """Return the user name of this login; raises as :func:`own_login`."""
    return _credentials(config, listener)[1][0]


def _credentials(config: BrokerConfig, listener: Listener) -> tuple[str, tuple[str, str]]:
    """Return mechanism, and user name and password."""
    values = config.of_listener(listener.name)
    enabled, name = values[s.SASL_ENABLED_MECHANISMS], s.SASL_MECHANISM_INTER_BROKER_PROTOCOL.name
    mechanism = config[s.SASL_MECHANISM_INTER_BROKER_PROTOCOL] or enabled[0]
    if mechanism not in enabled:
        raise SettingError(
            f"{name}={mechanism}: {s.SASL_ENABLED_MECHANISMS.name} of {listener.name} lacks it; add it there"
        )
    if mechanism == oauthbearer.NAME:
        raise SettingError(f"{name}={mechanism}: brokers log in with PLAIN or SCRAM")
    module = login_module(values, listener.name, mechanism)
    if module is None or module.login is None:
        wanted = values.of_mechanism(mechanism).name_of(s.SASL_JAAS_CONFIG)
        raise SettingError(
            f"{wanted}: brokers need username and password there, to log in at each other by {mechanism}"
        )
    return mechanism, module.login
