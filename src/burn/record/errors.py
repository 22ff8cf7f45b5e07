"""The error of records: a file that cannot be read, or does not fit."""

from __future__ import annotations

from burn.errors import BurnError


class RecordError(BurnError, ValueError):
    """A record that cannot be read or does not fit; the message lists everything that is wrong.

    >>> from burn.record import RecordError
    >>> nn.Linear(2, 3).save_file("model")
    >>> try:
    ...     nn.Linear(3, 1).load_file("model")
    ... except RecordError as error:
    ...     print(str(error).splitlines()[0])
    load_record: the record does not fit Linear:
    """
