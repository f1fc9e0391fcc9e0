"""Random Avro schemas, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from kafkatx.schemas.json_text import JSON
from tests.schemas.avro.documents import array, enum, field, fixed, mapping, record

_WORDS = st.sampled_from(
    [
        *("type", "name", "fields", "items", "values", "symbols", "size", "default", "aliases", "namespace"),
        *("record", "enum", "fixed", "array", "map", "int", "string", "null", "a", "b.c", "", "order", "doc"),
    ]
)
ODD_JSON: st.SearchStrategy[JSON] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_WORDS, inner, max_size=5),
    max_leaves=20,
)


def types() -> st.SearchStrategy[JSON]:
    """Return schemas that are often valid."""
    leaf: st.SearchStrategy[JSON] = st.sampled_from(["null", "int", "long", "string", "bytes", "double"])
    names = st.sampled_from(["a", "b", "c", "n.d"])
    symbols = st.lists(st.sampled_from("xyz"), unique=True)

    def wider(inner: st.SearchStrategy[JSON]) -> st.SearchStrategy[JSON]:
        fields = st.lists(st.builds(field, st.sampled_from("fgh"), inner), max_size=3)
        return (
            st.builds(array, inner)
            | st.builds(mapping, inner)
            | st.lists(inner, max_size=3)
            | st.builds(lambda name, many: record(*many, name=name), names, fields)
            | st.builds(lambda name, many: enum(*many, name=name), names, symbols)
            | st.builds(lambda name, size: fixed(size, name=name), names, st.integers(0, 2))
        )

    return st.recursive(leaf | names, wider, max_leaves=12)
