"""The error of records: a file that cannot be read, or does not fit."""

from __future__ import annotations

from burn.errors import BurnError


class RecordError(BurnError, ValueError):
    """A record that cannot be read or does not fit; the message lists everything that is wrong."""
