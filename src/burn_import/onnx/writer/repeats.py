"""Regions by structure alone: blocks that stand several times, and parts of functions that would be too long.

A graph is cut where a single value carries everything that was computed so far: between the blocks of a residual
network, before and after each norm of a plain chain. Stretches between two cuts are compared by what they compute;
those that come again are blocks, and stretches of blocks that come again in a row are larger blocks around them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise

from burn.classes import dataclass
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.writer.region import Item, Region, Scope, is_host, signature, weighted

LOOSE = 40  # items of a function that is worth looking at
SMALLEST = 4  # nodes of a block that stands here and there
UNIT = 3  # nodes of a block that stands several times in a row
PERIOD = 48  # stretches that may make up a larger block
LONG = 60  # items that a value may cross before it counts as one that everybody uses
PART = 80  # items of a part of a function that is too long
TOO_LONG = 160
ACTIVATIONS = {
    "Relu",
    "Clip",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "HardSwish",
    "HardSigmoid",
    "Gelu",
    "Swish",
    "Mish",
    "Elu",
}


@dataclass(slots=True)
class Stretch:
    """What lies between two cuts."""

    items: list[Item]
    key: Hashable

    def nodes(self) -> list[Node]:
        return [node for item in self.items for node in (item.nodes() if isinstance(item, Region) else (item,))]


def structured(items: Sequence[Item], scope: Scope) -> list[Item]:
    """Items with repetitions in regions, and with long rests in parts; regions inside are looked at too."""
    for item in items:
        if isinstance(item, Region):
            item.items = structured(item.items, item.scope)
    if len(items) < LOOSE:
        return list(items)
    stretches = _stretches(items)
    counts = Counter(each.key for each in stretches)
    names = _Counter()
    blocks = [_block(each, counts, scope) for each in stretches]
    found: list[Item] = []
    start = 0
    for begin, period, times in sorted(_runs(stretches)):
        found += [each for block in blocks[start:begin] for each in block]
        for time in range(times):
            first = begin + time * period
            inner = [each for block in blocks[first : first + period] for each in block]
            found.append(_named(inner, scope, names))
        start = begin + period * times
    found += [each for block in blocks[start:] for each in block]
    for each in found:
        if isinstance(each, Region) and each.is_structural and not each.name:
            each.name = names.next(each.kind)
    return _parted(found, scope)


class _Counter:
    """Numbers for names: block_0, block_1."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def next(self, word: str) -> str:
        self.counts[word] += 1
        return f"{word}_{self.counts[word] - 1}"


def _stretches(items: Sequence[Item]) -> list[Stretch]:
    """The items between cuts, in order."""
    place = _places(items)
    crossing = [0] * (len(items) + 1)  # changes of the number of values that are alive before an item
    far = max(LONG, len(items) // 3)
    for value, index in _values(place):
        last = _last_use(value, place, len(items))
        if index < last and last - index <= far and not is_host(value):
            crossing[index + 1] += 1
            crossing[min(last, len(items) - 1) + 1] -= 1
    found: list[Stretch] = []
    current: list[Item] = []
    alive = 0
    for index, item in enumerate(items):
        alive += crossing[index]
        if current and alive <= 1 and not _is_activation(item):
            found.append(_stretch(current))
            current = []
        current.append(item)
    if current:
        found.append(_stretch(current))
    return found


def _is_activation(item: Item) -> bool:
    """Whether an item belongs to what it follows."""
    return isinstance(item, Node) and item.op_type in ACTIVATIONS and not weighted(item)


def _places(items: Sequence[Item]) -> dict[Node, int]:
    """Which item each node stands in."""
    return {
        node: index
        for index, item in enumerate(items)
        for node in (item.nodes() if isinstance(item, Region) else (item,))
    }


def _values(place: dict[Node, int]) -> list[tuple[Value, int]]:
    """Every value with the item that it comes from; what comes from outside is there before the first item."""
    found: dict[Value, int] = {}
    for node, index in place.items():
        for value in node.inputs:
            if value is not None and value.constant is None and value.node not in place:
                found.setdefault(value, -1)
        for value in node.outputs:
            found[value] = index
    return list(found.items())


def _last_use(value: Value, place: dict[Node, int], end: int) -> int:
    last = -1
    for user, _ in value.uses:
        if isinstance(user, Node):
            while user.graph is not None and user not in place:  # a body uses it: the node around counts
                around = _around(user, place)
                if around is None:
                    return end
                user = around
            last = max(last, place.get(user, -1))
    return last


def _around(node: Node, place: dict[Node, int]) -> Node | None:
    """The node whose body holds `node`; found the slow way, since bodies are few."""
    for each in place:
        if any(body is node.graph for body in each.subgraphs.values()):
            return each
    return None


def _stretch(items: list[Item]) -> Stretch:
    nodes = [node for item in items for node in (item.nodes() if isinstance(item, Region) else (item,))]
    return Stretch(items, signature(nodes))


def _runs(stretches: Sequence[Stretch]) -> list[tuple[int, int, int]]:
    """Repetitions in a row that do not overlap: (first stretch, stretches of one, times)."""
    numbers: dict[Hashable, int] = {}
    keys = [numbers.setdefault(each.key, len(numbers)) for each in stretches]
    sizes = [len(each.nodes()) for each in stretches]
    learnt = [sum(map(weighted, each.nodes())) for each in stretches]
    found: list[tuple[int, int, int, int]] = []
    for period in range(1, min(PERIOD, len(keys) // 2) + 1):
        start = 0
        while start + 2 * period <= len(keys):
            same = 0
            while start + same + period < len(keys) and keys[start + same] == keys[start + same + period]:
                same += 1
            times = same // period + 1
            if times > 1 and sum(sizes[start : start + period]) >= UNIT and sum(learnt[start : start + period]) > 1:
                covered = sum(sizes[start : start + period * times])
                found.append((-covered, period, start, times))
            start += max(same - period, 0) + 1 if times > 1 else same + 1
    chosen: list[tuple[int, int, int]] = []
    taken = [False] * len(keys)
    for _, period, start, times in sorted(found):
        if not any(taken[start : start + period * times]):
            chosen.append((start, period, times))
            taken[start : start + period * times] = [True] * (period * times)
    return chosen


def _block(stretch: Stretch, counts: Counter[Hashable], scope: Scope) -> list[Item]:
    """A stretch as a region when it comes again and is worth it; a region that it already is stays as it is."""
    nodes = stretch.nodes()
    if len(stretch.items) == 1 or counts[stretch.key] < 2:
        return stretch.items
    if len(nodes) < SMALLEST or sum(map(weighted, nodes)) < 2:
        return stretch.items
    return [Region(scope, list(stretch.items), _word(nodes), is_structural=True)]


def _named(items: list[Item], scope: Scope, names: _Counter) -> Item:
    """One repetition of a run as a region; the regions in it get names inside of it."""
    if len(items) == 1 and isinstance(items[0], Region):
        return items[0]
    inside = [item for item in items if isinstance(item, Region)]
    if len(inside) == 1 and inside[0].is_structural and len(items) - 1 <= SMALLEST:
        items = [each for item in items for each in (item.items if isinstance(item, Region) else [item])]
    nodes = [node for item in items for node in (item.nodes() if isinstance(item, Region) else (item,))]
    word = "layer" if any(isinstance(item, Region) for item in items) else _word(nodes)
    made = Region(scope, items, word, is_structural=True, name=names.next(word))
    inner = _Counter()
    words = Counter(item.kind for item in items if isinstance(item, Region) and item.is_structural)
    for item in items:
        if isinstance(item, Region) and item.is_structural:
            item.name = item.kind if words[item.kind] == 1 else inner.next(item.kind)
    return made


def _word(nodes: Sequence[Node]) -> str:
    """What a block does, in a word."""
    kinds = {node.op_type for node in nodes}
    if kinds & {"Attention", "MultiHeadAttention"} or ("Softmax" in kinds and "MatMul" in kinds):
        return "attention"
    if kinds & {"LSTM", "GRU", "RNN"}:
        return "recurrence"
    if kinds & {"Conv", "ConvTranspose", "FusedConv", "ConvInteger", "QLinearConv"}:
        return "residual" if _is_residual(nodes) else "convolution"
    if kinds & {"Gemm", "MatMul"}:
        return "feed_forward"
    return "block"


def _is_residual(nodes: Sequence[Node]) -> bool:
    """Whether two things that were computed are added."""
    for node in nodes:
        if node.op_type == "Add" and all(value is not None and value.constant is None for value in node.inputs):
            return True
    return False


def _parted(items: Sequence[Item], scope: Scope) -> list[Item]:
    """A function that is still too long in parts, cut where few values cross."""
    loose = [item for item in items if isinstance(item, Node) and not all(is_host(value) for value in item.outputs)]
    if len(loose) <= TOO_LONG:
        return list(items)
    alive = _alive(items)
    cuts = [0]
    while len(items) - cuts[-1] > 1.5 * PART:
        window = range(cuts[-1] + PART // 2, min(cuts[-1] + PART + PART // 2, len(items) - PART // 2))
        cuts.append(min(window, key=lambda index: (alive[index], abs(index - cuts[-1] - PART))))
    cuts.append(len(items))
    found: list[Item] = []
    names = _Counter()
    for first, last in pairwise(cuts):
        part = list(items[first:last])
        if sum(isinstance(item, Node) for item in part) < PART // 4:
            found += part
            continue
        found.append(Region(scope, part, "part", name=names.next("part")))
    return found


def _alive(items: Sequence[Item]) -> list[int]:
    """How many values cross the border before each item."""
    place = _places(items)
    changes = [0] * (len(items) + 2)
    for value, index in _values(place):
        last = _last_use(value, place, len(items))
        if last > index and not is_host(value):
            changes[index + 1] += 1
            changes[last + 1] -= 1
    found: list[int] = []
    total = 0
    for change in changes[:-1]:
        total += change
        found.append(total)
    return found
