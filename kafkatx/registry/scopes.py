"""Configurations and modes as they apply to a subject: its own, its context's, those of all. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.registry.errors import invalid_level, not_permitted
from kafkatx.registry.state import RegistryState
from kafkatx.registry.subjects import GLOBAL, context_of, context_subject
from kafkatx.schemas.compatibility import CompatibilityLevel

READWRITE, READONLY, READONLY_OVERRIDE, IMPORT = "READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT"
MODES = frozenset({READWRITE, READONLY, READONLY_OVERRIDE, IMPORT})

LEVEL = "compatibilityLevel"
CONFIG_FIELDS = (
    "alias",
    "aliasForDeks",
    "normalize",
    "validateFields",
    "validateNewSchemas",
    "validateRules",
    LEVEL,
    "compatibilityPolicy",
    "compatibilityGroup",
    "defaultMetadata",
    "overrideMetadata",
    "defaultRuleSet",
    "overrideRuleSet",
)
"""The members of a configuration, in the order in which Confluent's registry writes them."""


def _scopes(subject: str) -> list[str]:
    """Return the names under which something may be set for a subject, the most general first."""
    scopes = [GLOBAL, context_subject(subject), subject]
    return list(dict.fromkeys(scopes))


def config_of(state: RegistryState, subject: str, default_level: str) -> Mapping[str, object]:
    """Return the configuration that applies to a subject."""
    merged: dict[str, object] = {LEVEL: default_level}
    for scope in _scopes(subject):
        merged.update(state.configs.get(scope, {}))
    return merged


def level_of(state: RegistryState, subject: str, default_level: str) -> CompatibilityLevel:
    """Return the compatibility level that applies to a subject."""
    return parse_level(config_of(state, subject, default_level).get(LEVEL) or default_level)


def parse_level(value: object) -> CompatibilityLevel:
    """Read a compatibility level, in any case of letters.

    :raises RegistryError: it is none.
    """
    try:
        return CompatibilityLevel(value.upper() if isinstance(value, str) else value)
    except ValueError:
        raise invalid_level() from None


def mode_of(state: RegistryState, subject: str) -> str:
    """Return the mode that applies to a subject; READONLY_OVERRIDE of a wider scope goes before its own."""
    mode = READWRITE
    for scope in _scopes(subject):
        mode = state.modes.get(scope, mode)
        if mode == READONLY_OVERRIDE:
            return mode
    return mode


def check_writable(state: RegistryState, subject: str) -> None:
    """Check that a subject is not read-only.

    :raises RegistryError: it is.
    """
    if mode_of(state, subject) in (READONLY, READONLY_OVERRIDE):
        raise not_permitted(f"Subject {subject} in context {context_of(subject)} is in read-only mode")
