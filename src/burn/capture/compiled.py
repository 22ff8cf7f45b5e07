"""`burn.compile`: a function that is recorded twice and then replayed."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from burn.backend.fusion import Fusion
from burn.backend.fusion.handle import Lazy
from burn.backend.fusion.stream import as_storages
from burn.capture.leaves import described, fused_device, lazy_handle, places, plain_numbers
from burn.capture.recording import Capture, Recording
from burn.capture.replay import compare_results, is_donated, made_result, run_time_numbers
from burn.capture.surroundings import Surroundings
from burn.errors import ArgumentError
from burn.program import to_text
from burn.scalar import Scalar
from burn.tensor import Tensor
from burn.tree import Structure, flatten, unflatten

F = TypeVar("F", bound=Callable[..., Any])

MOST_CAPTURES = 64


class CaptureWarning(UserWarning):
    """A function under `burn.compile` that runs without capture, and why."""


def compile(function: F | None = None, *, donate: Sequence[int] = (), check: int = 0) -> Any:
    """Capture `function`; as a decorator with options too: `@burn.compile(check=10)`.

    `donate` lists positional arguments whose tensors may be overwritten: using them afterwards raises.
    `check=n` compares every n-th replayed call with a plain one and raises where they differ.
    """
    if function is None:
        return functools.partial(compile, donate=donate, check=check)
    return Compiled(function, tuple(donate), check)


class Compiled(Generic[F]):
    """A function under capture. Calling it records, replays, or runs it plainly."""

    def __init__(self, function: F, donate: tuple[int, ...], check: int) -> None:
        if not callable(function):
            raise ArgumentError(f"compile: needs a function, got {function!r}")
        functools.update_wrapper(self, function)
        self.function, self.donate, self.check = function, donate, check
        self.recorded: OrderedDict[Any, Capture] = OrderedDict()
        self.ready: OrderedDict[Any, Capture] = OrderedDict()
        self.plain: dict[Any, str] = {}
        self.warned: set[str] = set()
        self.calls = 0
        self._surroundings = Surroundings(function)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = self._surroundings.read()
        leaves, structure = flatten((args, kwargs))
        given = len(leaves)
        leaves += around.leaves
        device = fused_device(leaves)
        if device is None:
            self._notice(f"no argument lives on a fused device such as Cpu(): {places(leaves)}")
            return self.function(*args, **kwargs)
        key = (structure, around.structures, around.guards, described(leaves))
        capture = self.ready.get(key)
        if capture is not None:
            return self._replay(capture, leaves, args, kwargs)
        if key in self.plain:
            return self.function(*args, **kwargs)
        return self._record(key, device, leaves, structure, given)

    # Recording

    def _record(self, key: Any, device: Fusion[Any], leaves: list[Any], structure: Structure, count: int) -> Any:
        recording = Recording(device)
        numbers = 0
        given = []
        for leaf in leaves[:count]:
            if isinstance(leaf, float):
                given.append(Scalar(leaf, numbers, note_read=recording.note_read))
                numbers += 1
            else:
                given.append(leaf)
        args, kwargs = unflatten(structure, given)
        with recording:
            result = self.function(*args, **kwargs)
            capture = recording.finish(result, leaves)
        if capture is None:
            self._give_up(key, recording.reason)
            return plain_numbers(result)
        earlier = self.recorded.pop(key, None)
        difference = None if earlier is None else earlier.same_as(capture)
        if earlier is None:
            _remember(self.recorded, key, capture)
        elif difference is not None:
            self._give_up(key, difference)
        else:
            free = tuple(is_donated(source, self.donate, structure) for source in capture.sources)
            capture.donated = [source for source, given in zip(capture.sources, free, strict=True) if given]
            capture.plan = capture.device.prepare(capture.program, free)
            _remember(self.ready, key, capture)
        return plain_numbers(result)

    def _give_up(self, key: Any, reason: str) -> None:
        self.plain[key] = reason
        self._notice(reason)

    def _notice(self, reason: str) -> None:
        if reason in self.warned:
            return
        self.warned.add(reason)
        name = getattr(self.function, "__qualname__", repr(self.function))
        warnings.warn(f"compile: {name} runs without capture: {reason}", CaptureWarning, stacklevel=3)

    # Replaying

    def _replay(self, capture: Capture, leaves: list[Any], args: Any, kwargs: Any) -> Any:
        self.calls += 1
        expected = None
        if self.check and self.calls % self.check == 0:
            expected = self._expected(capture, args, kwargs)
        storages = [lazy_handle(leaves[source]).force() for source in capture.sources]
        numbers = [leaf for leaf in leaves if leaf.__class__ is float]
        outputs = capture.plan(storages, run_time_numbers(capture, numbers))
        made = [
            Lazy(value.shape, value.dtype, capture.device, storage, None, -1)
            for value, storage in zip(
                (capture.program.values[n] for n in capture.program.outputs),
                as_storages(outputs, storages),
                strict=True,
            )
        ]
        result = unflatten(capture.results, [made_result(leaf, made, leaves, numbers) for leaf in capture.leaves])
        self._take(capture, leaves)
        if expected is not None:
            compare_results(result, expected, self.function)
        return result

    def _expected(self, capture: Capture, args: Any, kwargs: Any) -> Any:
        """What a plain call gives, with the random streams put back afterwards."""
        generator = capture.device.generator()
        state = generator.state()
        expected = self.function(*args, **kwargs)
        for leaf in flatten(expected)[0]:
            if isinstance(leaf, Tensor):
                lazy_handle(leaf).force()
        generator.restore(state)
        return expected

    def _take(self, capture: Capture, leaves: list[Any]) -> None:
        """Donated tensors are gone: their memory may hold the results now."""
        for source in capture.donated:
            handle = lazy_handle(leaves[source])
            handle.storage, handle.stream = None, None
            handle.error = ArgumentError("this tensor was donated to a captured call and is gone")

    def explain(self) -> str:
        """What was captured, and why other calls were not."""
        parts = []
        for capture in self.ready.values():
            parts.append(f"captured:\n{to_text(capture.program)}")
            if hasattr(capture.plan, "describe"):
                parts.append(f"plan:\n{capture.plan.describe()}")
        parts += [
            f"recorded once; the next equal call will be captured:\n{to_text(c.program)}"
            for c in self.recorded.values()
        ]
        parts += [f"runs without capture: {reason}" for reason in self.plain.values()]
        return "\n\n".join(parts) or "not called yet"

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.function, '__qualname__', self.function)!s}: {len(self.ready)} captures>"


def _remember(store: OrderedDict[Any, Capture], key: Any, capture: Capture) -> None:
    store[key] = capture
    while len(store) > MOST_CAPTURES:
        store.popitem(last=False)
