"""The errors of a schema registry, with Confluent's codes."""

from __future__ import annotations

from kafkatx.errors import KafkaTXError

SUBJECT_NOT_FOUND, VERSION_NOT_FOUND, SCHEMA_NOT_FOUND = 40401, 40402, 40403
INVALID_SCHEMA = 42201
INCOMPATIBLE = 409
"""The HTTP status; the code in the body is 409 or 40901, by the registry's version."""


class RegistryError(KafkaTXError):
    """The registry answers with an error.

    :ivar status: the HTTP status.
    :ivar code: Confluent's ``error_code``; the status if the reply has none.
    """

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(f"schema registry: {message} (error {code})")
        self.status = status
        self.code = code

    @property
    def not_found(self) -> bool:
        """True if the subject, version or schema does not exist."""
        return self.status == 404

    @property
    def retriable(self) -> bool:
        """True if another registry, or the same one later, may answer otherwise."""
        return self.status >= 500 or self.status in (408, 429)


class RegistryUnavailable(KafkaTXError):
    """The error if no address of ``schema.registry.url`` answers as a registry does."""


def tls_reason(reason: str, host: str) -> str:
    """Return why TLS to a registry failed, with what to do.

    :param reason: the reason as OpenSSL or Python tells it.
    """
    lowered = reason.lower()
    if "mismatch" in lowered or "not valid for" in lowered or "doesn't match" in lowered:
        return f"TLS: its certificate is for other hosts than {host}"
    if "certificate verify failed" in lowered:
        return (
            f"TLS: {reason}: set schema.registry.ssl.truststore.location, or ssl.truststore.location, to the"
            " authority that has signed its certificate"
        )
    if "wrong version number" in lowered or "packet length too long" in lowered or "record layer" in lowered:
        return f"TLS: {reason}: it may speak plain HTTP there, for which the address begins with http://"
    return f"TLS: {reason}"
