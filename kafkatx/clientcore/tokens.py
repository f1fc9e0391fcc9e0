"""The settings of a client that say where its bearer tokens come from. Pure."""

from __future__ import annotations

import urllib.parse

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.config.listeners import is_loopback
from kafkatx.config.table.security import sasl as s
from kafkatx.errors import SettingError
from kafkatx.security.jaas import LoginModule
from kafkatx.security.tokens import CalledTokens, EndpointTokens, FileTokens, Tokens


def tokens_of(settings: ClientSettings, module: LoginModule | None) -> Tokens:
    """Return the tokens that a client's settings ask for.

    :raises SettingError: a setting is missing or wrong.
    """
    call = settings.objects.get(s.TOKEN.name)
    if call is not None:
        return CalledTokens(call)
    name, url = s.TOKEN_ENDPOINT_URL.name, settings[s.TOKEN_ENDPOINT_URL]
    if url is None:
        raise SettingError(f"{name} is not set, which OAUTHBEARER needs; or set {s.TOKEN.name} to a function")
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file" and parts.path:
        return FileTokens(urllib.parse.unquote(parts.path))
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise SettingError(f"{name}={url}: it must be https://, file://, or http:// at this machine")
    options = {} if module is None else module.options
    client_id = options.get("clientId", settings[s.CLIENT_ID])
    secret = options.get("clientSecret", settings[s.CLIENT_SECRET])
    if not client_id or not secret:
        raise SettingError(
            f"{name}={url}: set {s.CLIENT_ID.name} and {s.CLIENT_SECRET.name}, or clientId and clientSecret"
            f" in {s.CLIENT_JAAS_CONFIG.name}"
        )
    timeout_s = max(settings[s.LOGIN_CONNECT_TIMEOUT_MS], settings[s.LOGIN_READ_TIMEOUT_MS]) / 1000
    return EndpointTokens(url, client_id, secret, options.get("scope", settings[s.SCOPE]), timeout_s)
