"""The value of each record: which record it is a copy of, and in which transaction it was sent. Pure."""

from __future__ import annotations

import uuid

import attrs

COMMIT, ABORT = "commit", "abort"

_PADDING = b"." * 40


@attrs.frozen
class Value:
    """The value of a record: ``number transaction count fate`` and a padding, with blanks between.

    :ivar number: of the record in its topic, which a copy keeps.
    :ivar transaction: an id that no other transaction has.
    :ivar count: records of the transaction, in all partitions.
    :ivar fate: ``commit``, or ``abort`` if the program means to abort it.
    """

    number: int
    transaction: str
    count: int
    fate: str

    def encode(self) -> bytes:
        """Return the bytes."""
        return b"%d %s %d %s %s" % (
            self.number,
            self.transaction.encode(),
            self.count,
            self.fate.encode(),
            _PADDING,
        )

    @classmethod
    def decode(cls, data: bytes) -> Value:
        """Return the value of a record.

        :raises ValueError: it is none.
        """
        number, transaction, count, fate, _ = data.split(b" ")
        return cls(int(number), transaction.decode(), int(count), fate.decode())


class Plan:
    """The values of a program's transactions.

    :param nth: each transaction with a number that this divides is aborted.
    """

    def __init__(self, nth: int) -> None:
        self._nth = nth
        self._begun = 0

    def next(self, numbers: list[int]) -> list[Value]:
        """Return the values of the next transaction, which has records with these numbers."""
        self._begun += 1
        transaction, fate = uuid.uuid4().hex, COMMIT if self._begun % self._nth else ABORT
        return [Value(number, transaction, len(numbers), fate) for number in numbers]
