"""`burn.compile`: a function that is recorded twice and then replayed."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from burn.backend.fusion import Fusion
from burn.capture.arrays import as_arrays, as_tensors, holds_arrays
from burn.capture.call import After, Call
from burn.capture.checking import compare, expected
from burn.capture.ints import MOST_VALUES, Ints
from burn.capture.leaves import fused_device, places, unfit
from burn.capture.quick import MISS
from burn.capture.recording import Capture, Recording
from burn.capture.replay import Replay, is_donated
from burn.capture.surroundings import Surroundings
from burn.device import current_device
from burn.errors import ArgumentError
from burn.program import to_text

F = TypeVar("F", bound=Callable[..., Any])

MOST_CAPTURES = 64
MOST_CURRENT = 4
MOST_PLAIN = 1024


class CaptureWarning(UserWarning):
    """A function under `burn.compile` that runs without capture, and why."""


Notice = Callable[[str], None]


def compile(
    function: F | None = None,
    *,
    donate: Sequence[int] = (),
    check: int = 0,
    notice: Notice | None = None,
    tune: bool = False,
) -> Any:
    """Capture `function`; as a decorator with options too: `@burn.compile(check=10)`.

    `donate` lists positional arguments whose tensors may be overwritten: using them afterwards raises.
    `check=n` compares every n-th replayed call with a plain one and raises where they differ.
    `notice` is called with each reason why calls run without capture, in the place of a `CaptureWarning`.
    `tune` measures which kernels are fastest when a plan is made, where that is not known (see `burn.tune`).
    """
    if function is None:
        return functools.partial(compile, donate=donate, check=check, notice=notice, tune=tune)
    return Compiled(function, tuple(donate), check, notice, tune)


class Compiled(Generic[F]):
    """A function under capture. Calling it records, replays, or runs it plainly."""

    def __init__(
        self, function: F, donate: tuple[int, ...], check: int, notice: Notice | None = None, tune: bool = False
    ) -> None:
        if not callable(function):
            raise ArgumentError(f"compile: needs a function, got {function!r}")
        functools.update_wrapper(self, function)
        self.function, self.donate, self.check, self.tune = function, donate, check, tune
        self._tell = notice
        self.recorded: OrderedDict[Any, Capture] = OrderedDict()
        self.ready: OrderedDict[Any, Capture] = OrderedDict()
        self.plain: dict[Any, str] = {}
        self.warned: set[str] = set()
        self.calls = 0
        self.surroundings = Surroundings(function)
        self._ints = Ints(function)
        self._current: deque[Replay] = deque()  # those that ran last

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        current = self._current
        if current and not self.check and not Recording.active:
            try:
                latest = current.pop()
            except IndexError:  # another thread took it
                return self._called(args, kwargs)
            run = latest.quick
            if run is not None and not kwargs:
                result = run(args, False)
                if result is not MISS:
                    self.calls += 1
                    current.append(latest)
                    return result
                latest.quick = None
            leaves = latest.match(args, kwargs)
            if leaves is not None:
                result = latest.run(leaves)
                self.calls += 1
                self._current.append(latest)
                return result
            latest.capture.idle.append(latest)
        return self._called(args, kwargs)

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        """A call with NumPy arrays in the place of tensors, which gives arrays in the place of tensors.

        It means `f(burn.tensor(x, device=...)).numpy()` for lists, tuples and dicts of arrays, on the fused device
        that the other tensors live on, else on the default device. Where it can, it copies nothing.
        """
        current = self._current
        if current and not self.check and not Recording.active:
            try:
                latest = current.pop()
            except IndexError:  # another thread took it
                return self._called_on_arrays(args, kwargs)
            run = latest.quick
            if run is not None and not kwargs:
                result = run(args, True)
                if result is not MISS:
                    self.calls += 1
                    current.append(latest)
                    return result
                latest.quick = None
            leaves = latest.match(args, kwargs, True)
            if leaves is not None and latest.takes_arrays:
                result = latest.run_on_arrays(leaves)
                self.calls += 1
                self._current.append(latest)
                return result
            latest.forget()
            latest.capture.idle.append(latest)
        return self._called_on_arrays(args, kwargs)

    def _called_on_arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = fused_device(Call(self.surroundings, args, kwargs).leaves) or current_device()
        return as_arrays(self(*as_tensors(args, device), **as_tensors(kwargs, device)))

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that does not look like the one before."""
        call = Call(self.surroundings, args, kwargs)
        capture = self.ready.get(call.key)
        if capture is not None and capture.device.stream.on_flush is None:
            return self._replay(capture, call)
        if holds_arrays((args, kwargs)):
            self._notice("an argument is a NumPy array; give it to .numpy(...), or write burn.tensor(...) around it")
            return self.function(*args, **kwargs)
        device = fused_device(call.leaves)
        if device is None:
            self._notice(f"no argument lives on a fused device such as Cpu(): {places(call.leaves)}")
            return self.function(*args, **kwargs)
        if device.stream.on_flush is not None or call.key in self.plain:  # inside of another capture: part of that
            return self.function(*args, **kwargs)
        fault = unfit(call.leaves, device)
        if fault:
            self._give_up(call.key, fault)
            return self.function(*args, **kwargs)
        return self._record(device, call)

    # Recording

    def _record(self, device: Fusion[Any], call: Call) -> Any:
        recording = Recording(device, call)
        after = recording.run(self.function)
        capture = recording.capture(after)
        key = after.key()
        if capture is None:
            self._give_up(key, recording.reason)
            return after.settle()
        earlier = self.recorded.pop(key, None)
        difference = None if earlier is None else earlier.same_as(capture)
        if earlier is None:
            _remember(self.recorded, key, capture)
        elif difference is not None:
            self._give_up(key, difference)
        else:
            free = tuple(is_donated(source, self.donate, call.structure) for source in capture.sources)
            capture.prepare(free)
            if self.tune and hasattr(capture.plan, "tune"):
                capture.plan.tune()
            _remember(self.ready, key, capture)
        if earlier is None:
            self._watch_ints(call)
        result = after.settle()
        del after
        leaked = recording.leaked_number()
        if leaked:
            self.recorded.pop(key, None)
            self.ready.pop(key, None)
            self._give_up(key, leaked)
        return result

    def _watch_ints(self, call: Call) -> None:
        """Warn of an int that has another value whenever something is recorded."""
        for name in self._ints.changing(call):
            reason = (
                f"is recorded anew for each value of the int {name}, and had {MOST_VALUES} of them so far; pass a "
                "float or a tensor if it changes with every call"
            )
            self._say(reason, stacklevel=6)

    def _name(self) -> str:
        return getattr(self.function, "__qualname__", repr(self.function))

    def _give_up(self, key: Any, reason: str) -> None:
        if len(self.plain) >= MOST_PLAIN:
            self.plain.clear()
        self.plain[key] = reason
        self._notice(reason)

    def _notice(self, reason: str) -> None:
        if reason in self.warned:
            return
        self.warned.add(reason)
        self._say(f"runs without capture: {reason}", stacklevel=4)

    def _say(self, what: str, stacklevel: int) -> None:
        if self._tell is None:
            warnings.warn(f"compile: {self._name()} {what}", CaptureWarning, stacklevel=stacklevel)
        else:
            self._tell(what)

    # Replaying

    def _replay(self, capture: Capture, call: Call) -> Any:
        with contextlib.suppress(KeyError):  # another thread may have dropped it meanwhile
            self.ready.move_to_end(call.key)
        check = self.check and (self.calls + 1) % self.check == 0
        plain = expected(capture, call, self.function) if check else None
        try:
            replay: Replay = capture.idle.pop()
        except IndexError:
            replay = Replay(capture, call)
        leaves = replay.match(call.args, call.kwargs)
        if leaves is None:  # another thread changed the surroundings meanwhile
            capture.idle.append(replay)
            return self.function(*call.args, **call.kwargs)
        result = replay.run(leaves)
        self.calls += 1
        (self._current if len(self._current) < MOST_CURRENT and not self.check else capture.idle).append(replay)
        if plain is not None:
            compare(After(call, call.leaves, call.args, call.kwargs, result), plain, self.function)
        return result

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
