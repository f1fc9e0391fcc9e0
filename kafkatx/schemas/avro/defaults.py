"""The check of default values of fields. Pure.

The default of a union may be a value of any of its branches, as Apache Avro since 1.12 and so Confluent's
registry have it; older readers take it for a value of the first branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafkatx.schemas.avro.avro_types import NO_DEFAULT, Array, AvroType, Map, Record, Union
from kafkatx.schemas.json_text import JSON, Object, quote
from kafkatx.schemas.recursion import TooManySteps, Walk, run
from kafkatx.schemas.types import InvalidSchema

_TEXTS: Final = frozenset({"string", "bytes", "enum", "fixed"})
_RANGES: Final = {"int": 2**31, "long": 2**63}


def check_defaults(records: Iterable[Record]) -> None:
    """Check the default of each field of these records against the field's type.

    :raises InvalidSchema: a default is no value of its type, or there is too much to check.
    """
    try:
        run(_check_all(records))
    except TooManySteps:
        raise InvalidSchema("the default values are too large to check") from None


def fits(type_: AvroType, value: JSON) -> bool:
    """Return True if a value is a default of a type; fields that a record leaves out need a default.

    :raises TooManySteps: there is too much to check.
    """
    return run(_Check().fits(type_, value))


def _check_all(records: Iterable[Record]) -> Walk[bool]:
    check = _Check()
    for record in records:
        for field in record.fields:
            if field.default is not NO_DEFAULT and not (yield check.fits(field.type, field.default)):
                place = f"the default {quote(field.default)} of the field {field.name} of {record.name}"
                raise InvalidSchema(f"{place} is no value of its type, {field.type.kind}")
    return True


class _Check:
    """The check of a schema's defaults: remembers results, since branches of unions may share types."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}

    def fits(self, type_: AvroType, value: JSON) -> Walk[bool]:
        """Return True if *value* is a default of *type_*."""
        key = (id(type_), id(value))
        if key not in self._known:
            self._known[key] = yield self._compute(type_, value)
        return self._known[key]

    def _compute(self, type_: AvroType, value: JSON) -> Walk[bool]:
        if isinstance(type_, Union):
            return (yield self._any_fits(type_, value))
        if isinstance(type_, Array):
            return isinstance(value, list) and (yield self._all_fit(type_.items, value))
        if isinstance(type_, Map):
            return isinstance(value, dict) and (yield self._all_fit(type_.values, value.values()))
        if isinstance(type_, Record):
            return isinstance(value, dict) and (yield self._record_fits(type_, value))
        return _primitive_fits(type_.kind, value)

    def _any_fits(self, union: Union, value: JSON) -> Walk[bool]:
        for branch in union.branches:
            if (yield self.fits(branch, value)):
                return True
        return False

    def _all_fit(self, type_: AvroType, values: Iterable[JSON]) -> Walk[bool]:
        for one in values:
            if not (yield self.fits(type_, one)):
                return False
        return True

    def _record_fits(self, record: Record, value: Object) -> Walk[bool]:
        """Return True if each field has a value, or a default of its own (which is checked at its place)."""
        for field in record.fields:
            if field.name not in value:
                if field.default is NO_DEFAULT:
                    return False
            elif not (yield self.fits(field.type, value[field.name])):
                return False
        return True


def _primitive_fits(kind: str, value: JSON) -> bool:
    if kind in _TEXTS:
        return isinstance(value, str)
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in _RANGES:
        most = _RANGES[kind]
        return isinstance(value, int) and not isinstance(value, bool) and -most <= value < most
    return isinstance(value, (int, float)) and not isinstance(value, bool)
