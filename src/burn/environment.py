"""Switches in the environment: `BURN_EXPLAIN=1`, read in one way everywhere."""

from __future__ import annotations

import os

from burn.errors import ArgumentError

_OFF, _ON = ("", "0", "off", "false", "no"), ("1", "on", "true", "yes")


def is_on(variable: str) -> bool:
    """Whether a variable is switched on: `0`, `off` and nothing mean off; what is neither on nor off is refused."""
    given = os.environ.get(variable, "")
    word = given.strip().lower()
    if word not in _OFF + _ON:
        raise ArgumentError(f"{variable} is {given!r}; write {variable}=1 or leave it out")
    return word in _ON
