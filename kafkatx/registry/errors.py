"""The errors of a registry, with the codes and messages of Confluent's. Pure.

The first three digits of a code are the status of the HTTP response.
"""

from __future__ import annotations

from kafkatx.errors import KafkaTXError

STORE_ERROR = 50001
TIMED_OUT = 50002
FORWARDING_FAILED = 50003
UNKNOWN_LEADER = 50004
INVALID_SCHEMA = 42201


class RegistryError(KafkaTXError):
    """A request that the registry refuses, or cannot answer.

    :ivar code: Confluent's ``error_code``: of three digits, or of five.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def status(self) -> int:
        """The status of the HTTP response."""
        return self.code if self.code < 1000 else self.code // 100


# --- not found


def subject_not_found(subject: str) -> RegistryError:
    """Return the error for a subject without versions."""
    return RegistryError(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int | str) -> RegistryError:
    """Return the error for a version that a subject does not have."""
    return RegistryError(40402, f"Version {version} not found.")


def schema_not_found(name: int | str | None = None) -> RegistryError:
    """Return the error for a schema that is not there, by its id or guid, or without a name."""
    return RegistryError(40403, "Schema not found" if name is None else f"Schema {name} not found")


def subject_soft_deleted(subject: str) -> RegistryError:
    """Return the error for a deletion of a subject that is deleted already."""
    return RegistryError(
        40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently"
    )


def subject_not_soft_deleted(subject: str) -> RegistryError:
    """Return the error for a permanent deletion that no soft one came before."""
    return RegistryError(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    """Return the error for a deletion of a version that is deleted already."""
    return RegistryError(
        40406,
        f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently",
    )


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    """Return the error for a permanent deletion of a version that no soft one came before."""
    return RegistryError(
        40407,
        f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted",
    )


def no_subject_config(subject: str) -> RegistryError:
    """Return the error for a subject without a configuration of its own."""
    return RegistryError(40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def no_subject_mode(subject: str) -> RegistryError:
    """Return the error for a subject without a mode of its own."""
    return RegistryError(40409, f"Subject '{subject}' does not have subject-level mode configured")


# --- refused


def incompatible(reasons: str) -> RegistryError:
    """Return the error for a schema that cannot follow the earlier ones."""
    return RegistryError(
        409, f"Schema being registered is incompatible with an earlier schema for subject {reasons}"
    )


def invalid_schema(why: str) -> RegistryError:
    """Return the error for a text that is no schema."""
    return RegistryError(INVALID_SCHEMA, why)


def invalid_version(version: str) -> RegistryError:
    """Return the error for a text that is no number of a version."""
    return RegistryError(
        42202,
        f"The specified version '{version}' is not a valid version id. Allowed values are between"
        ' [1, 2^31-1] and the string "latest"',
    )


def invalid_level() -> RegistryError:
    """Return the error for an unknown compatibility level."""
    return RegistryError(
        42203,
        "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive,"
        " forward_transitive, and full_transitive",
    )


def invalid_mode() -> RegistryError:
    """Return the error for an unknown mode."""
    return RegistryError(
        42204, "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE and IMPORT."
    )


def not_permitted(why: str) -> RegistryError:
    """Return the error for what the mode forbids."""
    return RegistryError(42205, why)


def still_referenced(subject: str, version: int) -> RegistryError:
    """Return the error for the deletion of a version that other schemas refer to."""
    key = f'{{"keytype":"SCHEMA","subject":"{subject}","version":{version},"magic":1}}'
    return RegistryError(42206, f"One or more references exist to the schema {key}.")


def invalid_subject(subject: str) -> RegistryError:
    """Return the error for an impossible name of a subject."""
    return RegistryError(42208, f"The specified subject '{subject}' is not a valid.")


def too_large(what: str) -> RegistryError:
    """Return the error for a schema above the limit."""
    return RegistryError(42209, what)


# --- the store


def store_error(why: str) -> RegistryError:
    """Return the error for a topic that cannot be used."""
    return RegistryError(STORE_ERROR, why)


def timed_out(why: str) -> RegistryError:
    """Return the error for a write that may be committed later."""
    return RegistryError(TIMED_OUT, why)


def forwarding_failed(why: str) -> RegistryError:
    """Return the error for a request that the leader has not answered."""
    return RegistryError(FORWARDING_FAILED, why)


def unknown_leader(why: str = "Leader not known.") -> RegistryError:
    """Return the error for a request that no broker can take now."""
    return RegistryError(UNKNOWN_LEADER, why)
