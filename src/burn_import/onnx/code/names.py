"""Names of a model as Python identifiers: readable, unique, never a keyword or a name that the source needs."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata

RESERVED = (
    frozenset(dir(builtins))
    | frozenset(keyword.kwlist)
    | frozenset(keyword.softkwlist)
    | frozenset(
        ["self", "cls", "burn", "nn", "device", "forward", "Model", "Module", "Param", "State", "Tensor", "Device",
         "Path", "annotations", "np", "numpy", "math", "constant", "arange", "Distribution", "activation", "module",
         "linalg", "grid", "signal", "normalization", "optimisation", "classical", "recurrent", "runtime_attention",
         "transformer", "trees", "quantized", "vision", "loss", "host", "text", "random_uniform", "random_normal"]
    )
)  # fmt: skip
LONGEST = 40
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIGITS = re.compile(r"(\d)_?D(?=_|$)", re.IGNORECASE)


def snake(text: str, longest: int | None = LONGEST) -> str:
    """`text` as a lower-case identifier: `ConvTranspose` is conv_transpose, `/conv.1/Relu` is conv_1_relu.

    What has no letters or digits at all is the empty string.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.sub(r"[^0-9A-Za-z]+", "_", plain)
    words = _CAMEL.sub("_", words).lower()
    words = re.sub(r"_+", "_", words).strip("_")
    if longest is not None and len(words) > longest:
        words = _last_words(words, longest)
    if words and words[0].isdigit():
        words = f"n{words}"
    return words


def _last_words(words: str, longest: int) -> str:
    """As many whole words from the end as there is room for, and at least one."""
    start = words.find("_", len(words) - longest - 1) + 1
    return words[start:] if start else words.rpartition("_")[2]


def camel(text: str) -> str:
    """`text` as the name of a class: encoder_layer is EncoderLayer."""
    return "".join(word[:1].upper() + word[1:] for word in snake(text).split("_"))


class Names:
    """The names taken in one scope. `fresh` gives the hint itself when it is free, else hint_1, hint_2 ..."""

    def __init__(self, taken: frozenset[str] | set[str] = RESERVED) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def fresh(self, hint: str, default: str = "value") -> str:
        base = snake(hint) or default
        name = f"{base}_" if base in RESERVED else base
        count = self._counts.get(base, 0)
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._counts[base] = count
        self._taken.add(name)
        return name

    def reserve(self, *names: str) -> None:
        self._taken.update(names)

    def __contains__(self, name: str) -> bool:
        return name in self._taken
