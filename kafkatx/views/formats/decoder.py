"""The decoder of one side of messages, keys or values: a format by name, then masks. Pure.

Formats of installed decoders are named by them; their factories are imported here, in the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final

from kafkatx.records.batch import Headers
from kafkatx.schemas.messages.formats import NAMES
from kafkatx.views.filter.operators import UNDECODED
from kafkatx.views.formats.content import Content, nothing
from kafkatx.views.formats.masks import SETTING, Path, masked, masked_row
from kafkatx.views.formats.plain_values import plain_value
from kafkatx.views.formats.registered import RegisteredFormat, Schemas
from kafkatx.views.formats.simple import SIMPLE, unreadable

AUTO: Final = "auto"
BUILT_IN: Final = (AUTO, *SIMPLE, *NAMES)
"""The names of formats without plugins."""

_Decode = Callable[[bytes, Headers], Content]


class Decoder:
    """Decodes keys, or values.

    :param paths: what is masked.
    :param plugins: the paths of the factories of installed decoders, ``module:factory``, by name.
    :raises ValueError: there is no such format.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        schemas: Schemas,
        header: str,
        paths: Sequence[Path] = (),
        plugins: Mapping[str, str] | None = None,
    ) -> None:
        self._paths = paths
        self._masked = masked if name in BUILT_IN else masked_row
        self._decode = _find(name, topic, schemas, header, plugins or {})

    def decode(self, data: bytes | None, headers: Headers) -> Content:
        """Return the content of a message.

        :raises SchemaMissed: its schema is asked for first.
        """
        if data is None:
            return nothing()
        content = self._decode(data, headers)
        if not self._paths:
            return content
        try:
            return self._masked(content, self._paths)
        except RecursionError:
            return Content(
                "masked", UNDECODED, "***", len(data), f"hidden by {SETTING}: it is nested too deeply"
            )


def _find(name: str, topic: str, schemas: Schemas, header: str, plugins: Mapping[str, str]) -> _Decode:
    if name in SIMPLE:
        simple = SIMPLE[name]
        return lambda data, headers: simple(data)
    if name == AUTO or name in NAMES:
        return RegisteredFormat(name, schemas, header).decode
    if name in plugins:
        return _plugin(name, plugins[name], topic)
    raise ValueError(f"there is no format {name!r}; there are {', '.join((*BUILT_IN, *plugins))}")


def _plugin(name: str, path: str, topic: str) -> _Decode:
    module, _, attribute = path.partition(":")
    try:
        decoder = getattr(import_module(module), attribute)()
        decode: Callable[[str, bytes], object] = decoder.decode
        columns = [str(column) for column, _ in getattr(decoder, "columns", ())]
    except Exception as error:  # a third party's module may raise anything
        raise ValueError(f"the decoder {name} cannot be used: {error}") from error

    def read(data: bytes, headers: Headers) -> Content:
        try:
            found = decode(topic, data)
            if isinstance(found, tuple) and len(found) == len(columns):  # a row
                found = dict(zip(columns, found, strict=True))
            value = plain_value(found)
        except Exception as error:  # so may a third party's decoder
            return unreadable(data, f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
        return Content(name, value, None, len(data))

    return read
