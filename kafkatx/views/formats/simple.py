"""The formats that need nothing but the bytes. Pure.

Nothing is guessed silently: a content tells the format that it was decoded with, and the fault if that is not
the one that was asked for.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final, TypeAlias

from kafkatx.views.filter.operators import UNDECODED
from kafkatx.views.formats.content import Content

Decode: TypeAlias = Callable[[bytes], Content]

_NUMBERS: Final = {"int": Struct(">i"), "long": Struct(">q")}
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Characters that text does not have: bytes with them are shown in hexadecimal."""

_load: Final = json.JSONDecoder().decode
STRUCTURES: Final = ("{", "[")
"""The first characters of JSON that is recognized: a number or a word may be meant as text."""


def as_text(data: bytes) -> Content:
    """Decode UTF-8; what is none is marked."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        return Content("text", text, text, len(data), f"byte {error.start} is not UTF-8; shown with \ufffd")
    return Content("text", text, text, len(data))


def as_hex(data: bytes) -> Content:
    """Show bytes in hexadecimal."""
    text = data.hex()
    return Content("hex", text, text, len(data))


def as_base64(data: bytes) -> Content:
    """Show bytes in base64."""
    text = base64.b64encode(data).decode()
    return Content("base64", text, text, len(data))


def as_json(data: bytes) -> Content:
    """Decode JSON, whose text stays as it is."""
    content = as_text(data)
    if not content.fault:
        try:
            return Content("json", _load(content.text or ""), content.text, len(data))
        except (ValueError, RecursionError) as error:
            return with_fault(content, f"it is no JSON: {_told(error)}")
    return content


def _number(name: str) -> Decode:
    layout = _NUMBERS[name]

    def decode(data: bytes) -> Content:
        if len(data) != layout.size:
            return with_fault(as_hex(data), f"{name} has {layout.size} bytes, this has {len(data)}")
        (value,) = layout.unpack(data)
        return Content(name, value, str(value), len(data))

    return decode


def recognized(data: bytes) -> Content:
    """Decode what is surely JSON (an object or a list) or text; show other bytes in hexadecimal."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return as_hex(data)
    if text.lstrip()[:1] in STRUCTURES:
        try:
            return Content("json", _load(text), text, len(data))
        except (ValueError, RecursionError):
            pass  # it is text
    if _CONTROLS.search(text):
        return as_hex(data)
    return Content("text", text, text, len(data))


def with_fault(content: Content, fault: str) -> Content:
    """Return a content with a fault: it is shown, and filters do not see it."""
    content.fault = fault
    content.value = UNDECODED
    return content


def unreadable(data: bytes, fault: str) -> Content:
    """Return bytes that a format cannot read, as they would be shown without it."""
    return with_fault(recognized(data), fault)


def _told(error: BaseException) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())[:200]


SIMPLE: Final[Mapping[str, Decode]] = {
    "json": as_json,
    "text": as_text,
    "hex": as_hex,
    "base64": as_base64,
    "int": _number("int"),
    "long": _number("long"),
}
