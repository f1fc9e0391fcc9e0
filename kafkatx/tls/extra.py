"""The check that the libraries for TLS are installed."""

from __future__ import annotations

import importlib.util

from kafkatx.errors import SettingError


def check_installed() -> None:
    """Check that the libraries for TLS are there.

    :raises SettingError: they are not.
    """
    for module in ("cryptography", "OpenSSL", "service_identity"):
        if importlib.util.find_spec(module) is None:
            raise SettingError("TLS needs further libraries: pip install 'kafkatx[tls]'")
