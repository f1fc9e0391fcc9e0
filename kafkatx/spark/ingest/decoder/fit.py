"""Values into the columns of a table: fit, and what of them no column is there for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from kafkatx.spark.ingest.decoder.inference import ELEMENT, MAX_FIELDS, bad_name, is_void
from kafkatx.spark.ingest.decoder.scalars import FITTERS, NATURAL, Misfit, excerpt
from kafkatx.spark.ingest.table.columns import Column, arrow_type, ddl_type

Path = tuple[object, ...]


class Fit:
    """A conversion of values for a column of one type."""

    nested = False
    leaves = 1
    """Number of simple columns that it is made of."""

    def __init__(self, found: pa.DataType) -> None:
        word = ddl_type(found)
        self.type = found
        self.natural = NATURAL.get(word, frozenset())
        self._fit: Callable[[object], object] = FITTERS.get(word, self._fit_nested)

    def fit(self, value: object) -> object:
        """Return the value in the form that Arrow takes.

        :raises Misfit: the value does not fit.
        """
        return None if value is None else self._fit(value)

    def _fit_nested(self, value: object) -> object:
        raise NotImplementedError

    def unknown(self, value: Any, path: Path, room: int) -> Iterator[tuple[Path, object]]:
        """Values, not void, that are in *value* and that nothing is there for, with the way to each.

        :param room: how many more columns the table may get.
        :raises Misfit: one of them cannot become a column.
        """
        return iter(())


class ListFit(Fit):
    """A list: each element by itself. One of keys and values takes an object as well: Avro's map is one."""

    nested = True

    def __init__(self, found: pa.DataType) -> None:
        super().__init__(found)
        self._element = fit_of(found.value_type)
        self.leaves = self._element.leaves
        fields = self._element.fields if isinstance(self._element, StructFit) else {}
        self._entries = fields.keys() == {"key", "value"}

    def _fit_nested(self, value: object) -> object:
        items = self._items(value)
        if not isinstance(items, (list, tuple)):
            raise Misfit(f"{excerpt(value)} is no list")
        fit = self._element.fit
        try:
            return [fit(item) for item in items]
        except Misfit as misfit:
            raise misfit.within("[]") from None

    def _items(self, value: object) -> Any:
        if self._entries and isinstance(value, Mapping):
            return [{"key": key, "value": item} for key, item in value.items()]
        return value

    def unknown(self, value: Any, path: Path, room: int) -> Iterator[tuple[Path, object]]:
        """Yield the unknown fields of all elements."""
        if self._element.nested:
            for item in self._items(value) or ():
                yield from self._element.unknown(item, (*path, ELEMENT), room)


class StructFit(Fit):
    """An object: each field by its name; one that is not there is null."""

    nested = True

    def __init__(self, found: pa.DataType) -> None:
        super().__init__(found)
        self.fields = {field.name: fit_of(field.type) for field in found}
        self.leaves = sum(field.leaves for field in self.fields.values())
        self._nested = [name for name, field in self.fields.items() if field.nested]
        self._lower = {name.lower() for name in self.fields}

    def _fit_nested(self, value: object) -> object:
        if not isinstance(value, Mapping):
            raise Misfit(f"{excerpt(value)} is no object")
        made = {}
        for name, field in self.fields.items():
            try:
                made[name] = field.fit(value.get(name))
            except Misfit as misfit:
                raise misfit.within(name) from None
        return made

    def unknown(self, value: Any, path: Path, room: int) -> Iterator[tuple[Path, object]]:
        """Fields that are new, and those that are new in known ones."""
        if value is None:
            return
        if not self.fields.keys() >= value.keys():
            for name, item in value.items():
                if name not in self.fields and not is_void(item):
                    self._check(name, room)
                    yield (*path, name), item
        for name in self._nested:
            yield from self.fields[name].unknown(value.get(name), (*path, name), room)

    def _check(self, name: Any, room: int) -> None:
        why = bad_name(name)
        if why is None and name.lower() in self._lower:
            why = "another column is called so, and Spark does not tell upper and lower case apart"
        if why is None and not room:
            why = f"the table has {MAX_FIELDS} columns or more already and gets no others"
        if why is not None:
            raise Misfit(f"new field {excerpt(name)}: {why}")


def room_beside(leaves: int) -> int:
    """Return the number of columns that a table of *leaves* simple ones may still get."""
    return max(0, MAX_FIELDS - leaves)


@lru_cache(maxsize=1024)
def fit_of(found: pa.DataType) -> Fit:
    """Return the conversion for columns of a ``pyarrow.DataType``."""
    if pa.types.is_struct(found):
        return StructFit(found)
    return ListFit(found) if pa.types.is_list(found) else Fit(found)


@lru_cache(maxsize=16)
def table_fit(columns: tuple[Column, ...], reserved: tuple[str, ...]) -> TableFit:
    """Return the conversion of rows for a table with these columns."""
    return TableFit(columns, reserved)


class TableFit(StructFit):
    """A row: as an object, but that names of other columns are taken.

    :param reserved: columns that are not the decoder's.
    """

    def __init__(self, columns: Iterable[Column], reserved: Iterable[str]) -> None:
        super().__init__(pa.struct([(column.name, arrow_type(column.type)) for column in columns]))
        self._lower |= {name.lower() for name in reserved}
        self.room = room_beside(self.leaves)
        self.has_nested = bool(self._nested)
