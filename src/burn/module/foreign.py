"""Weights of other frameworks, fitted to a module.

A foreign file knows tensors by dotted names. The module says which of them it needs, and its type says how
PyTorch keeps them: the matrix of a linear layer is transposed, a norm calls its scale `weight` and its shift
`bias`. Indices of a list with gaps are taken in order, names that the module does not have are passed over, and
nothing is read before everything was found to fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from burn.module.fields import optional_type
from burn.module.foreign_gates import split
from burn.module.foreign_names import Node, tree_of
from burn.module.param import Param
from burn.module.state import State
from burn.module.walk import is_module, leaves
from burn.record.errors import RecordError
from burn.record.items import Item, ParamItem, Variant
from burn.record.layouts import PYTORCH, Deferred, Tensors, read
from burn.tensor import TensorData

SENTENCE = (
    "Missing source values for the '{}' field of type '{}'. Please verify the source data and ensure the field "
    "name is correct"
)


ROWS = 16
"""Rows of a matrix that are transposed at a time: measured, more than twice as fast as all at once."""


class Rule(NamedTuple):
    """Where PyTorch keeps a field: under which name, and whether with its two dims exchanged."""

    name: str
    transposed: bool = False


NORM = {"gamma": Rule("weight"), "beta": Rule("bias")}
RULES: dict[str, dict[str, Rule]] = {
    "Linear": {"weight": Rule("weight", transposed=True)},
    "BatchNorm": NORM,
    "LayerNorm": NORM,
    "GroupNorm": NORM,
    "InstanceNorm": NORM,
    "RmsNorm": NORM,
    "PRelu": {"alpha": Rule("weight")},
}
"""By the name of one of our layers. Everything else is as PyTorch has it."""


def rules_of(kind: type) -> dict[str, Rule]:
    """The rules of a module class: those of the layer of ours that it is or extends."""
    for base in kind.__mro__:
        if base.__name__ in RULES and base.__module__.split(".")[:2] == ["burn", "nn"]:
            return RULES[base.__name__]
    return {}


class Fitted(NamedTuple):
    """A record item whose tensors are read when they are loaded, and what did not meet."""

    item: Item
    missing: list[str]
    extra: list[str]


class Transposed(Deferred):
    """A matrix whose dims are exchanged when it is read."""

    def __init__(self, tensor: TensorData | Deferred) -> None:
        self.tensor = tensor
        self.shape = tuple(tensor.shape)[::-1]
        self.dtype = str(tensor.dtype)
        self.fault = getattr(tensor, "fault", "")

    def read(self) -> TensorData:
        """The values, row by row. A few rows at a time keep what is written in the cache."""
        data = read(self.tensor)
        array = data.numpy()
        turned = np.empty(self.shape, array.dtype)
        for start in range(0, len(array), ROWS):
            turned[:, start : start + ROWS] = array[start : start + ROWS].T
        return TensorData.adopt(turned, data.dtype)


def fit(module: Any, tensors: Tensors, layout: str, strict: bool, source: str = "the record") -> Fitted:
    """The record item of a module from foreign tensors; one error lists everything that does not fit."""
    root = tree_of(tensors)
    fitting = _Fitting(layout == PYTORCH)
    fitting.any(module, root, "")
    fitting.repeat()
    item = fitting.any(module, root, "")
    extra = [name for name in tensors if name not in fitting.used and not name.endswith("num_batches_tracked")]
    faults = list(fitting.wrong)
    if strict:
        faults = [SENTENCE.format(*each) for each in fitting.missing] + fitting.dropped + faults
    if faults:
        listed = "\n".join(f"  {fault}" for fault in faults)
        hint = _hint(module, root, extra, fitting) if strict else ""
        raise RecordError(f"load_record: {source} does not fit {type(module).__name__}:\n{listed}{hint}")
    return Fitted(item, [path for path, _ in fitting.missing], extra)


class _Fitting:
    """One walk over a module beside the tree of names."""

    def __init__(self, adapts: bool) -> None:
        self.adapts = adapts
        self.known: dict[str, TensorData | Deferred] = {}
        self.repeat()

    def repeat(self) -> None:
        """Begin again, knowing the tensors that were found: a parameter at two places needs one of them."""
        self.used: set[str] = set()
        self.missing: list[tuple[str, str]] = []
        self.dropped: list[str] = []
        self.wrong: list[str] = []

    def any(self, value: Any, node: Node | None, path: str) -> Item:
        if isinstance(value, Param | State):
            return self.leaf(value, node, path, Rule(""))
        if node is None:
            return self.absent(value, path)
        if is_module(value):
            return (
                self.variant(value, node, path)
                if hasattr(type(value), "record_variant")
                else self.module(value, node, path)
            )
        if type(value) in (list, tuple):
            return self.sequence(value, node, path)
        if isinstance(value, dict):
            return {str(key): self.any(each, node.below.get(str(key)), join(path, key)) for key, each in value.items()}
        return None

    def absent(self, value: Any, path: str) -> Item:
        """A part of which the file has nothing at all: one sentence, unless its parameters are known from elsewhere."""
        found = [leaf for _, leaf in leaves(value) if isinstance(leaf, Param | State)]
        if any(str(leaf.id) not in self.known for leaf in found):
            self.missing.append((path, type_name(value)))
            return _nothing(value)
        return self.any(value, Node(), path) if found else _nothing(value)

    def leaf(self, leaf: Any, node: Node | None, path: str, rule: Rule) -> Item:
        tensor = None if node is None else node.tensor
        if tensor is None:
            if str(leaf.id) in self.known:
                return ParamItem(str(leaf.id), self.known[str(leaf.id)])
            self.missing.append((path, type_name(leaf)))
            return None
        assert node is not None
        self.used.update(node.names)
        shape = tuple(tensor.shape)
        turned = rule.transposed and len(shape) == 2
        fault = getattr(tensor, "fault", "")
        if fault:
            self.wrong.append(f"{path}: {fault}")
        elif (shape[::-1] if turned else shape) != tuple(leaf.shape):
            stored = f", where PyTorch has the transpose {list(leaf.shape)[::-1]}" if turned else ""
            self.wrong.append(f"{path}: shape {list(leaf.shape)} in the module{stored}, {list(shape)} in the file")
        else:
            found = Transposed(tensor) if turned else tensor
            self.known.setdefault(str(leaf.id), found)
            return ParamItem(str(leaf.id), found)
        return None

    def module(self, module: Any, node: Node, path: str) -> Item:
        if next(leaves(module), None) is None:
            return None
        from burn.module.recording import recorded_fields

        rules = rules_of(type(module)) if self.adapts else {}
        if self.adapts:
            node = split(module, node)
        made: dict[str, Item] = {}
        for name in recorded_fields(module):
            value, rule, here = module.__dict__[name], rules.get(name, Rule(name)), join(path, name)
            below = node.below.get(rule.name) or node.below.get(name)
            if isinstance(value, Param | State):
                made[name] = self.leaf(value, below, here, rule)
            elif value is not None:
                made[name] = self.any(value, below, here)
            elif below is not None and (optional_type(type(module), name) is not None or name in rules):
                self.dropped.append(
                    f"{here}: the file has values for it ({below.first()}), and the module has none here"
                )
                self.used.update(each for every in below.walk() for each in every.names)
                made[name] = None
        return made

    def variant(self, module: Any, node: Node, path: str) -> Item:
        name, index, value = module.record_variant()
        fields = value.__dict__ if is_module(value) else {}
        inner = node.below[name] if name in node.below and name not in fields else node
        return Variant(name, index, self.any(value, inner, path))

    def sequence(self, values: Any, node: Node, path: str) -> Item:
        """The entries of a list. Where the file numbers them with gaps, they meet in order."""
        needed = [index for index, each in enumerate(values) if _has_leaves(each)]
        there = sorted(int(name) for name in node.below if re.fullmatch(r"0|[1-9][0-9]{0,8}", name))
        same = set(needed) <= set(there)
        source = {index: index for index in needed} if same else dict(zip(needed, there, strict=False))
        parts = [
            self.any(each, node.below.get(str(source[index])) if index in source else None, join(path, index))
            if index in needed
            else None
            for index, each in enumerate(values)
        ]
        return parts if isinstance(values, list) else tuple(parts)


def _nothing(value: Any) -> Item:
    """What stands for a part of which nothing is loaded."""
    if hasattr(type(value), "record_variant"):
        name, index, _ = value.record_variant()
        return Variant(name, index, None)
    return {} if isinstance(value, dict) else None


def _has_leaves(value: Any) -> bool:
    return any(isinstance(leaf, Param | State) for _, leaf in leaves(value))


def join(path: str, name: object) -> str:
    """The path of a part."""
    return f"{path}.{name}" if path else str(name)


def type_name(value: Any) -> str:
    """What the Rust framework calls the record of a part."""
    if isinstance(value, State):
        return "RunningState"
    return "Param" if isinstance(value, Param) else f"{type(value).__name__}RecordItem"


# Hints


def _hint(module: Any, root: Node, extra: list[str], fitting: _Fitting) -> str:
    if not fitting.missing:
        return ""
    hint = ""
    if extra:
        more = f" and {len(extra) - 8} more" if len(extra) > 8 else ""
        hint += f"\nin the file, but not in the module: {', '.join(extra[:8])}{more}"
    prefix = next(_prefixes(module, root), None)
    if prefix:
        pattern = re.escape(prefix + ".")
        hint += f'\nthe names stand under {prefix!r} there: LoadArgs(path).with_key_remap(r"^{pattern}(.*)", "$1")'
    return hint + "\nload_record(record, strict=False) takes what fits and keeps the rest"


def _prefixes(module: Any, root: Node) -> Iterator[str]:
    """Names under which the tree has all the fields that the module needs."""
    needed = {name for name, value in module.__dict__.items() if _has_leaves(value)}
    level = [("", root)]
    for _ in range(3):
        level = [(join(path, name), each) for path, node in level for name, each in node.below.items()]
        yield from (path for path, node in level[:1000] if needed and needed <= node.below.keys())
