"""The modules that a node was traced in, as PyTorch's newer exporter notes them beside each node.

`['', 'layers.0', 'layers.0.query', 'linear']` with the classes of the same: the node stands in the module `query` of
`layers.0`. The number of a list belongs to the name of the list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from burn_import.onnx.reader.wire import Message

_NAMES, _KINDS = "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy"
_QUOTED = re.compile(r"'([^'\\]*)'")
LONGEST = 4096  # characters of an entry; scopes are shorter


def scopes(entries: Sequence[Message]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the modules around a node, outermost first, and their classes; empty where nothing is told."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        if entry.key in (_NAMES, _KINDS) and len(entry.value) <= LONGEST:
            found[entry.key] = _QUOTED.findall(entry.value)
    paths, classes = found.get(_NAMES, [])[:-1], found.get(_KINDS, [])[:-1]
    if not paths or paths[0] != "" or len(paths) != len(classes):
        return (), ()
    words: list[str] = []
    kinds: list[str] = []
    before = ""
    for path, kind in zip(paths[1:], classes[1:]):
        word = path[len(before) + 1 :] if before and path.startswith(f"{before}.") else path
        before = path
        if words and word[:1].isdigit():
            words[-1] = f"{words[-1]}.{word}"
            kinds[-1] = kind.rpartition(".")[2]
        elif word:
            words.append(word)
            kinds.append(kind.rpartition(".")[2])
    return tuple(words), tuple(kinds)
