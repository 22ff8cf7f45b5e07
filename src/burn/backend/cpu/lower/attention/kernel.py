"""The kernel of an attention.

An iteration takes a tile of queries of one head, their numbers turned so that queries lie side by side on lanes. For
each tile of keys it makes the scores (keys in rows, queries on lanes) and their exponentials, and adds the values
weighted by them. The largest score so far is subtracted; where a later tile has a larger one, what was added before is
scaled down. So maxima, sums and scales are plain vectors, and keys and values are read where they are, one by one.

Tiles at the end overlap the ones before. What both make is stored by the first: a causal tile sums in other blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd, inf, prod
from typing import TYPE_CHECKING, Any

from burn.backend.cpu.lower.attention.choice import chosen
from burn.backend.cpu.lower.attention.terms import TermWriter
from burn.cube.ir import Kernel, Value
from burn.dtype import f32, i64
from burn.engine.lower.loop import Loop
from burn.engine.lower.recipe import Recipe
from burn.engine.lower.writer import KernelWriter, Steps, merged, plus, times
from burn.engine.patterns.attention.causal import causal_of
from burn.engine.patterns.attention.form import Form
from burn.engine.patterns.kernels import Sizes
from burn.engine.schedule.access import whole
from burn.engine.schedule.images import permuted
from burn.program.fused import Term
from burn.program.program import Node
from burn.shape import Shape, broadcast_all
from burn.symbolic import value_of

if TYPE_CHECKING:
    from burn.engine.lower.calls import Calls

TOGETHER = 8
"""Rows that are turned into columns at a time, as far as a tile is a multiple of them."""

UNROLLED = 2
"""Keys whose exponentials are made side by side."""


def lower_attention(calls: Calls, node: Node) -> list[Loop]:
    """The steps of a node that `find` made."""
    return AttentionWriter(calls, node).write()


def sizes_of(shapes: Sequence[Sequence[int]], heads: int) -> Sizes:
    """The sizes of an attention from the shapes of query, key and value."""
    query, key, value = shapes
    return Sizes(heads, query[-2], key[-1], query[-1], value[-1])


class AttentionWriter:
    """Writes one attention."""

    def __init__(self, calls: Calls, node: Node) -> None:
        self.calls, self.node = calls, node
        program, accesses = calls.program, calls.schedule.accesses
        assert isinstance(node.fused, Form)
        self.form = node.fused
        query, key, value, *extra = node.operands
        assert isinstance(query, int) and isinstance(key, int) and isinstance(value, int)  # noqa: PT018
        self.extra = extra
        x, y, z = (accesses[number] for number in (query, key, value))
        self.batch = tuple(broadcast_all("attention", [Shape(each.shape[:-2]) for each in (x, y)]))
        self.sizes = sizes_of((x.shape, y.shape, z.shape), prod(self.batch))
        tiling = chosen(self.sizes, self.form.needs_all)
        assert tiling is not None
        self.tiling = tiling
        s, order = self.sizes, self.form.order
        natural = (*self.batch, s.queries, s.width)
        result = whole(node.results[0], tuple(natural[axis] for axis in order))
        self.accesses = {
            "query": x.broadcast((*self.batch, s.queries, s.size)),
            "key": y.broadcast((*self.batch, s.size, s.keys)),
            "value": z.broadcast((*self.batch, s.keys, s.width)),
            "out": permuted(result, tuple(order.index(axis) for axis in range(len(order)))),
        }
        self.w = KernelWriter(program, calls.schedule)

    def write(self) -> list[Loop]:
        """Tiles of queries of all heads on the grid."""
        w, s, tiling = self.w, self.sizes, self.tiling
        values = self.calls.program.values
        self.query, self.key, self.value = (
            w.source_at(self.accesses[name], values[number].dtype)
            for name, number in zip(("query", "key", "value"), self.node.reads(), strict=False)
        )
        self.out = w.target(self.node.results[0])
        scores = (*self.batch, s.queries, s.keys)
        self.terms = TermWriter(w, self.calls, self.form, self.extra, scores)
        self.accesses |= self.terms.accesses
        strides = {name: access.strides[:-2] for name, access in self.accesses.items()}
        dims = merged(self.batch, strides)
        tiles = -(-s.queries // tiling.queries)
        total, self.tiles = w.size(s.heads * tiles), w.size(tiles)
        self.queries, self.keys = w.size(s.queries), w.size(s.keys)
        declared = w.declared(dims)
        inner = {name: access.strides[-2:] for name, access in self.accesses.items()}
        known = [{name: step if step in (0, 1) else None for name, step in steps.items()} for _, steps in dims]
        dtypes = [values[number].dtype.name for number in (*self.node.reads()[:3], self.node.results[0])]
        form = (self.form.before, self.form.after, self.form.floor)
        key = (tiling, s.size, s.width, *form, inner, known, self.terms.key_parts(), dtypes)
        recipe = Recipe("attention", key, lambda: self._kernel(total, declared))
        shape = "x".join(str(value_of(each)) for each in (*self.batch, s.queries, s.keys, s.size))
        return [*self.terms.steps, Loop(recipe, w.arguments, s.heads * tiles, 1, f"attention {shape}")]

    # The kernel

    def _kernel(self, total: Value, declared: list[tuple[Value, Steps]]) -> Kernel:
        w, s, tiling = self.w, self.sizes, self.tiling
        b, wide = w.b, tiling.queries
        self.turned = b.shared(f32, s.size * wide)
        self.scores = b.shared(f32, tiling.keys * wide)
        self.sums = b.shared(f32, s.width * wide)
        self.room = b.shared(f32, TOGETHER * max(s.size, wide))
        if not tiling.single:
            self.tops, self.totals = b.shared(f32, wide), b.shared(f32, wide)
        with b.grid(total) as i:
            tile = i % self.tiles
            self.bases = w.bases(i // self.tiles, declared)
            self.first = b.min(tile * wide, self.queries - wide)
            self.known = tile * wide - self.first
            self._turn()
            seen = self._seen()
            if tiling.single:
                with b.lane(tiling.lanes) as lane:
                    self._tile(lane, b.const(i64, 0), seen)
            else:
                self._clear()
                count = (seen + (tiling.keys - 1)) // tiling.keys
                with b.serial(count) as k:
                    start = seen * k // count
                    with b.lane(tiling.lanes) as lane:
                        self._tile(lane, start, seen * (k + 1) // count - start)
                self._divide()
            self._store()
        return b.finish()

    def _stride(self, name: str, dim: int) -> int:
        return self.accesses[name].strides[dim]

    def _base(self, name: str) -> Any:
        return self.bases.get(name, 0)

    def _turn(self) -> None:
        """The queries of the tile as (number, query)."""
        b, s, wide = self.w.b, self.sizes, self.tiling.queries
        of_query, of_number = self.accesses["query"].strides[-2:]
        begin = plus(self._base("query"), self.first * of_query)
        together = gcd(TOGETHER, wide)
        with b.serial(wide // together) as group:
            source = begin + group * (together * of_query)
            with b.lane(s.size) as number:
                place = source + number * of_number
                held = [self.w.load(self.query, place + each * of_query) for each in range(together)]
                self._side_by_side(number * together, held)
            with b.serial(s.size) as number, b.lane(together) as query:
                value = b.load(self.room, number * together + query)
                b.store(self.turned, number * wide + group * together + query, value)

    def _side_by_side(self, place: Value, values: Sequence[Value]) -> None:
        """Write values next to each other: where lanes go on by as many places, they become whole vectors."""
        for at, value in enumerate(values):
            self.w.b.store(self.room, place + at if at else place, value)

    def _seen(self) -> Value:
        """How many keys the queries of the tile see."""
        b, causal = self.w.b, causal_of(self.form)
        if causal is None:
            return self.keys
        last = b.max(self.first + (self.tiling.queries + causal.offset), self.tiling.rows)
        holds = self.terms.number(causal.fill) <= causal.limit
        if causal.zero is not None:
            holds = holds & b.eq(self.terms.number(causal.zero), 0.0)
        return b.select(holds, b.min(self.keys, last), self.keys)

    def _clear(self) -> None:
        b, wide = self.w.b, self.tiling.queries
        top, total = b.const(f32, -inf), b.const(f32, 0.0)
        if self.form.floor is not None:
            top = self.terms.number(self.form.floor)
            total = b.exp(-top)
        with b.lane(wide) as query:
            b.store(self.tops, query, top)
            b.store(self.totals, query, total)
        with b.lane(self.sizes.width * wide) as place:
            b.store(self.sums, place, 0.0)

    def _changed(self, terms: Sequence[Term], made: Value, query: Value, key: Value) -> Value:
        """What operations make of a score or a share."""
        return self.terms.applied(terms, made, query, key, self.bases)

    # One tile of keys

    def _tile(self, lane: Value, start: Value, count: Value) -> None:
        """Scores, exponentials and weighted values of the keys from `start` on."""
        b, tiling = self.w.b, self.tiling
        tops = self._scores(lane, start, count)
        scales: list[Value] | None = None
        if not tiling.single:
            olds = self._vectors(self.tops, lane)
            tops = [self._larger(old, top) for old, top in zip(olds, tops, strict=True)]
            self._put(self.tops, lane, tops)
            # Rows that saw nothing but minus infinity must not give NaN yet.
            tops = [b.select(b.eq(top, -inf), b.const(f32, 0.0), top) for top in tops]
            scales = [b.exp(old - top) for old, top in zip(olds, tops, strict=True)]
        totals = self._exponentials(lane, count, tops)
        if scales is not None:
            olds = self._vectors(self.totals, lane)
            totals = [b.fma(old, scale, total) for old, scale, total in zip(olds, scales, totals, strict=True)]
            self._put(self.totals, lane, totals)
            if self.form.after:
                self._after(lane, start, count, None)
            self._weigh(lane, start, count, scales, None)
            return
        if self.form.floor is not None:
            totals = [total + b.exp(-top) for total, top in zip(totals, tops, strict=True)]
        shares = [b.const(f32, 1.0) / total for total in totals]
        if self.form.after:
            self._after(lane, start, count, shares)
            self._weigh(lane, start, count, None, None)
        else:
            self._weigh(lane, start, count, None, shares)

    def _vectors(self, buffer: Any, place: Value) -> list[Value]:
        """What lies at a place for each vector of queries."""
        b, tiling = self.w.b, self.tiling
        return [b.load(buffer, place + tiling.lanes * at) for at in range(tiling.vectors)]

    def _put(self, buffer: Any, place: Value, values: Sequence[Value]) -> None:
        for at, value in enumerate(values):
            self.w.b.store(buffer, place + self.tiling.lanes * at, value)

    def _larger(self, x: Value, y: Value) -> Value:
        """The larger of two. NaN may be lost here: it comes back with the exponentials."""
        return self.w.b.select(y > x, y, x)

    def _loop(self, extent: Any, first: Sequence[Value], body: Callable[..., Any]) -> list[Value]:
        found = self.w.b.loop(extent, first, body)
        return [found] if isinstance(found, Value) else list(found)

    def _scores(self, lane: Value, start: Value, count: Value) -> list[Value]:
        """Write the scores of a tile; gives the largest ones."""
        b, tiling, s = self.w.b, self.tiling, self.sizes
        rows, wide, vectors = tiling.rows, tiling.queries, tiling.vectors
        of_number, of_key = self.accesses["key"].strides[-2:]

        def block(n: Value, *tops: Value) -> list[Value]:
            first = b.min(n * rows, count - rows)
            begin = plus(self._base("key"), times(start + first, of_key))

            def over(number: Value, *products: Value) -> list[Value]:
                numbers = self._vectors(self.turned, number * wide + lane)
                place = plus(begin, times(number, of_number))
                made = list(products)
                for row in range(rows):
                    key = self.w.load(self.key, place + row * of_key)
                    for at in range(vectors):
                        here = row * vectors + at
                        made[here] = b.fma(key, numbers[at], made[here])
                return made

            products = self._loop(s.size, [b.const(f32, 0.0)] * (rows * vectors), over)
            largest = list(tops)
            for row in range(rows):
                for at in range(vectors):
                    score = products[row * vectors + at]
                    query = self.first + lane + tiling.lanes * at
                    score = self._changed(self.form.before, score, query, start + first + row)
                    b.store(self.scores, (first + row) * wide + lane + tiling.lanes * at, score)
                    largest[at] = self._larger(largest[at], score)
            return largest

        floor = self.form.floor if tiling.single else None
        least = b.const(f32, -inf) if floor is None else self.terms.number(floor)
        return self._loop((count + (rows - 1)) // rows, [least] * vectors, block)

    def _exponentials(self, lane: Value, count: Value, tops: Sequence[Value]) -> list[Value]:
        """Write the exponentials over the scores; gives their sums."""
        b, tiling = self.w.b, self.tiling
        wide = tiling.queries

        def keys(first: Value, many: int, totals: Sequence[Value]) -> list[Value]:
            made = list(totals)
            for row in range(many):
                place = (first + row) * wide + lane
                powers = [
                    b.exp(score - top) for score, top in zip(self._vectors(self.scores, place), tops, strict=True)
                ]
                self._put(self.scores, place, powers)
                here = row * tiling.vectors
                for at, power in enumerate(powers):
                    made[here + at] = made[here + at] + power
            return made

        whole_blocks = count // UNROLLED
        zeros = [b.const(f32, 0.0)] * (UNROLLED * tiling.vectors)

        def block(n: Value, *held: Value) -> list[Value]:
            return keys(n * UNROLLED, UNROLLED, held)

        def single(n: Value, *held: Value) -> list[Value]:
            return keys(done + n, 1, held)

        parts = self._loop(whole_blocks, zeros, block)
        while len(parts) > tiling.vectors:
            half = len(parts) // 2
            parts = [x + y for x, y in zip(parts[:half], parts[half:], strict=True)]
        done = whole_blocks * UNROLLED
        return self._loop(count - done, parts, single)

    def _after(self, lane: Value, start: Value, count: Value, shares: Sequence[Value] | None) -> None:
        """The operations on shares; without them on exponentials, where they only make zeros."""
        b, tiling = self.w.b, self.tiling
        with b.serial(count) as key:
            place = key * tiling.queries + lane
            for at, power in enumerate(self._vectors(self.scores, place)):
                query = self.first + lane + tiling.lanes * at
                share = power if shares is None else power * shares[at]
                made = self._changed(self.form.after, share, query, start + key)
                b.store(self.scores, place + tiling.lanes * at, made)

    def _weigh(
        self, lane: Value, start: Value, count: Value, scales: Sequence[Value] | None, shares: Sequence[Value] | None
    ) -> None:
        """Write the values weighted by the exponentials, added to what was there times `scales`, or times `shares`."""
        b, tiling, s = self.w.b, self.tiling, self.sizes
        wide, vectors, most = tiling.queries, tiling.vectors, tiling.rows
        of_key, of_number = self.accesses["value"].strides[-2:]
        begin = plus(self._base("value"), times(start, of_key))

        def block(first: Any, rows: int) -> None:
            here = plus(begin, times(first, of_number))

            def over(key: Value, *held: Value) -> list[Value]:
                powers = self._vectors(self.scores, key * wide + lane)
                place = plus(here, times(key, of_key))
                made = list(held)
                for row in range(rows):
                    number = self.w.load(self.value, place + row * of_number)
                    for at in range(vectors):
                        made[row * vectors + at] = b.fma(number, powers[at], made[row * vectors + at])
                return made

            found = self._loop(count, [b.const(f32, 0.0)] * (rows * vectors), over)
            for row in range(rows):
                for at in range(vectors):
                    place = (first + row) * wide + lane + tiling.lanes * at
                    new = found[row * vectors + at]
                    if scales is not None:
                        new = b.fma(b.load(self.sums, place), scales[at], new)
                    elif shares is not None:
                        new = new * shares[at]
                    b.store(self.sums, place, new)

        most = min(most, s.width)
        with b.serial(s.width // most) as n:
            block(n * most, most)
        if s.width % most:
            block(b.const(i64, s.width - s.width % most), s.width % most)

    def _divide(self) -> None:
        b, tiling = self.w.b, self.tiling
        with b.lane(tiling.lanes) as lane:
            shares = [b.const(f32, 1.0) / total for total in self._vectors(self.totals, lane)]
            with b.serial(self.sizes.width) as number:
                place = number * tiling.queries + lane
                held = self._vectors(self.sums, place)
                self._put(self.sums, place, [x * y for x, y in zip(held, shares, strict=True)])

    def _store(self) -> None:
        """The sums as (query, number), where they belong."""
        b, wide, width = self.w.b, self.tiling.queries, self.sizes.width
        of_query, of_number = self.accesses["out"].strides[-2:]
        begin = plus(self._base("out"), self.first * of_query)

        def group(first: Value, together: int) -> None:
            with b.lane(wide) as query:
                held = [b.load(self.sums, (first + each) * wide + query) for each in range(together)]
                self._side_by_side(query * together, held)
            with b.serial(wide - self.known) as row, b.lane(together) as number:
                query = self.known + row
                place = begin + query * of_query + (first + number) * of_number
                self.w.store(self.out, place, b.load(self.room, query * together + number))

        if width >= TOGETHER:
            with b.serial(width // TOGETHER) as n:
                group(n * TOGETHER, TOGETHER)
        if width % TOGETHER:
            group(b.const(i64, width - width % TOGETHER), width % TOGETHER)
