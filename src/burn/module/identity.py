"""Parameter ids: 64 random bits that stay with a parameter through training, saving and loading.

The text form is what records hold: the eight bytes in base 32, thirteen characters of `0-9a-v`.
"""

from __future__ import annotations

import base64
import os

from burn.errors import ArgumentError

CHARACTERS = 13
LIMIT = 1 << 64


class ParamId(str):
    """The id of a parameter: a string of thirteen characters that stays with it. `ParamId()` draws a new one.

    `value` is the text of one that is known.

    >>> from burn.module import ParamId
    >>> id = ParamId("8vojso07rkksg")
    >>> id, id.value
    (ParamId('8vojso07rkksg'), 14423302305379971399)
    """

    __slots__ = ()

    def __new__(cls, value: str | int | None = None) -> ParamId:
        if value is None:
            return cls(int.from_bytes(os.urandom(8), "little"))
        if isinstance(value, int):
            if not 0 <= value < LIMIT:
                raise ArgumentError(f"ParamId: an id has 64 bits, got {value}")
            text = base64.b32hexencode(value.to_bytes(8, "little")).decode().rstrip("=").lower()
            return super().__new__(cls, text)
        if not isinstance(value, str) or not value:
            raise ArgumentError(f"ParamId: an id is a text of {CHARACTERS} characters or an int, got {value!r}")
        return super().__new__(cls, value)

    @property
    def value(self) -> int:
        """The id as an int. Ids of older files (UUIDs, six bytes) that hold no 64 bits are hashed to one."""
        try:
            data = base64.b32hexdecode(self.upper() + "=" * (-len(self) % 8))
        except ValueError:
            data = b""
        if len(data) == 8:
            return int.from_bytes(data, "little")
        import hashlib

        return int.from_bytes(hashlib.sha256(self.encode()).digest()[:8], "little")

    def __repr__(self) -> str:
        return f"ParamId({str(self)!r})"
