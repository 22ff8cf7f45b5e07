"""`burn.compile`: a function that is recorded twice and then replayed."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from burn.backend.fusion import Fusion
from burn.capture.arrays import as_arrays, as_tensors, holds_arrays
from burn.capture.call import After, Call
from burn.capture.checking import compare, expected
from burn.capture.ints import MOST_VALUES, Ints
from burn.capture.leaves import detached, fused_device, places, unfit
from burn.capture.open_sizes import Dynamic, OpenSizes, checked_dynamic
from burn.capture.quick import MISS
from burn.capture.recording import Capture, Recording
from burn.capture.replay import Replay, is_donated
from burn.capture.surroundings import Surroundings
from burn.capture.trust import Ignore
from burn.device import current_device
from burn.errors import ArgumentError
from burn.program import Program, to_text
from burn.tree import is_gone

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Q = ParamSpec("Q")

MOST_CAPTURES = 64
MOST_CURRENT = 4
MOST_PLAIN = 1024
MOST_KINDS = 8
"""Recordings of one key that differ in what the function's Python reads; a function with more runs plainly."""

FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, functools.partial, type)


class CaptureWarning(UserWarning):
    """A function under `burn.compile` that runs without capture, and why.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=burn.CaptureWarning):
    ...     step = burn.compile(lambda x: x + 1.0)
    """


Notice = Callable[[str], None]

if TYPE_CHECKING:
    from burn.module.call import Forward

    class Decorator(Protocol):
        """`compile` with options, as a decorator."""

        @overload
        def __call__(self, function: Forward[Callable[P, R]]) -> Compiled[P, R]: ...
        @overload
        def __call__(self, function: Callable[P, R]) -> Compiled[P, R]: ...


@overload
def compile(
    function: Forward[Callable[P, R]],
    *,
    donate: Sequence[int] = (),
    check: int = 0,
    notice: Notice | None = None,
    tune: bool = False,
    ignore: Sequence[object] = (),
    dynamic: Dynamic = None,
) -> Compiled[P, R]: ...
@overload
def compile(
    function: Callable[P, R],
    *,
    donate: Sequence[int] = (),
    check: int = 0,
    notice: Notice | None = None,
    tune: bool = False,
    ignore: Sequence[object] = (),
    dynamic: Dynamic = None,
) -> Compiled[P, R]: ...
@overload
def compile(
    function: None = None,
    *,
    donate: Sequence[int] = (),
    check: int = 0,
    notice: Notice | None = None,
    tune: bool = False,
    ignore: Sequence[object] = (),
    dynamic: Dynamic = None,
) -> Decorator: ...
def compile(
    function: Any = None,
    *,
    donate: Sequence[int] = (),
    check: int = 0,
    notice: Notice | None = None,
    tune: bool = False,
    ignore: Sequence[object] = (),
    dynamic: Dynamic = None,
) -> Any:
    """Capture `function`: calls are recorded twice, and then replayed as one plan. As a decorator with options, too.

    Arguments:
        donate: positions of arguments whose tensors may be overwritten: using them afterwards raises.
        check: every so many replayed calls, one is compared with a plain one; raises where they differ.
        notice: called with each reason why calls run without capture, in the place of a `CaptureWarning`.
        tune: measure which kernels are fastest when a plan is made, where that is not known (see `burn.tune`).
        ignore: what a replay may pass over: names and paths as notices give them (`"log"`, `"self.calls"`, `"print"`),
            or the objects themselves. Changes of these, and what they hold, then neither guard nor forbid a replay.
        dynamic: which sizes may be others in later calls, all of which then share one plan. None means those that were
            others in a second call; True all sizes from the second call on, False none: each gets a capture of its own.
            `{"x": 0}` or `{"x": [0, 1]}` names dims of arguments, by name or position.

    >>> @burn.compile
    ... def step(x, rate):
    ...     return x - x * rate
    >>> x = burn.tensor([1.0, 2.0], device=burn.Cpu())
    >>> [step(x, rate).tolist() for rate in (0.5, 0.25, 0.0)]
    [[0.5, 1.0], [0.75, 1.5], [1.0, 2.0]]
    """
    if function is None:
        given = {"donate": donate, "check": check, "notice": notice, "tune": tune, "ignore": ignore, "dynamic": dynamic}
        return functools.partial(compile, **given)
    return Compiled(function, tuple(donate), check, notice, tune, ignore, dynamic)


def _entry(arrays: bool) -> Callable[..., Any]:
    """The way into a captured function: `__call__`, and `numpy`, which takes and gives arrays.

    A call like the one before is replayed here, with nothing in between; every other one goes on from here.
    """

    def called(self: Compiled[..., Any], *args: Any, **kwargs: Any) -> Any:
        current, latest = self._current, None
        if current and not Recording.active:
            try:
                latest = current.pop()
            except IndexError:  # another thread took it
                latest = None
        if latest is not None:
            if latest.guards is None or not latest.guards(args, kwargs):
                run = latest.quick
                if run is not None and not kwargs:
                    result = run(args, arrays)
                    if result is not MISS:
                        self.calls += 1
                        current.append(latest)
                        return result
                    latest.quick = None
                leaves = latest.match(args, kwargs, arrays)
                if leaves is not None and (not arrays or latest.takes_arrays):
                    result = latest.run_on_arrays(leaves) if arrays else latest.run(leaves)
                    self.calls += 1
                    self._current.append(latest)
                    return result
                if arrays:
                    latest.forget()
            latest.capture.idle.append(latest)
        return self._called_on_arrays(args, kwargs) if arrays else self._called(args, kwargs)

    return called


class Compiled(Generic[P, R]):
    """A function under capture. Calling it records, replays, or runs it plainly. `burn.compile` makes it.

    Arguments:
        function, donate, check, notice, tune, ignore, dynamic: those of `burn.compile`.

    >>> double = burn.compile(lambda x: x * 2.0 + 1.0)
    >>> x = burn.tensor([1.0, 2.0], device=burn.Cpu())
    >>> [double(x).tolist() for _ in range(3)][-1], len(double.programs())
    ([3.0, 5.0], 1)
    >>> print(double.explain())
    captured:
    %0: f32[2] = input
    %1: f32[2] = mul(%0, $0)
    %2: f32[2] = add(%1, $1)
    return %2
    <BLANKLINE>
    plan:
    kernel  mul+add
    """

    def __init__(
        self,
        function: Callable[P, R],
        donate: tuple[int, ...],
        check: int,
        notice: Notice | None = None,
        tune: bool = False,
        ignore: Sequence[object] = (),
        dynamic: Dynamic = None,
    ) -> None:
        if not callable(function):
            raise ArgumentError(f"compile: needs a function, got {function!r}")
        self.function: Any = function
        if isinstance(function, FUNCTIONS):
            functools.update_wrapper(self, function)
        else:  # an object that can be called, such as a module
            self.__name__ = self.__qualname__ = type(function).__name__
            self.function = type(function).__call__.__get__(function)
        self.donate, self.check, self.tune = donate, check, tune
        self.ignore = Ignore(ignore)
        self._open_sizes = OpenSizes(self.function, checked_dynamic(dynamic), self.ignore, donate)
        self._tell = notice
        self.recorded: OrderedDict[Any, list[Capture]] = OrderedDict()
        self.ready: OrderedDict[Any, list[Capture]] = OrderedDict()
        self.plain: dict[Any, str] = {}
        self.warned: set[str] = set()
        self.calls = 0
        self._not_quick = 0  # calls unlike the one before: all, until the first replay
        self.on_first_replay: Callable[[int], None] | None = None
        """Told the number of the first call that is replayed."""
        self._read: dict[Any, dict[int, str]] = {}  # the numbers that are read, and where: captures hold for one value
        self._effects: dict[str, int] = {}  # how often calls did what cannot be replayed
        self.always_plain = ""
        """Why no call is recorded any more, if that is so."""
        self.surroundings = Surroundings(self.function, self.ignore)
        self._ints = Ints(function)
        self._current: deque[Replay] = deque()  # those that ran last

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Compiled[P, R]: ...
    @overload
    def __get__(self: Compiled[Concatenate[T, Q], R], instance: T, owner: Any = None) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    else:
        __call__ = _entry(arrays=False)
    numpy = _entry(arrays=True)
    numpy.__doc__ = """Call with NumPy arrays in the place of tensors, among `args` and `kwargs` and in the result.

    It means `f(burn.tensor(x, device=...)).numpy()` for lists, tuples and dicts of arrays, on the fused device
    that the other tensors live on, else on the default device. Where it can, it copies nothing.

    >>> double = burn.compile(lambda x: x * 2.0)
    >>> double.numpy(np.array([1.0, 2.0], np.float32))
    array([2., 4.], dtype=float32)
    """

    def _called_on_arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = fused_device(Call(self.surroundings, args, kwargs).leaves) or current_device()
        return as_arrays(self(*as_tensors(args, device), **as_tensors(kwargs, device)))

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that does not look like the one before."""
        self._not_quick += 1
        if self.always_plain:
            return self._run_plainly(args, kwargs)
        try:
            call = Call(self.surroundings, args, kwargs)
        except Exception as error:  # an object of the user's that does not like to be looked at
            deep = isinstance(error, RecursionError)
            why = "is nested too deeply to" if deep else f"raises {type(error).__name__} ({error}), and cannot"
            self._notice(f"what it is given {why} be taken apart")
            return self._run_plainly(args, kwargs)
        capture = self.captured(call)
        if capture is not None and capture.device.stream.on_flush is None:
            return self._replay(capture, call)
        if holds_arrays((args, kwargs)):
            self._notice("an argument is a NumPy array; give it to .numpy(...), or write burn.tensor(...) around it")
            return self._run_plainly(args, kwargs)
        device = fused_device(call.leaves)
        if device is None:
            self._notice(f"no argument lives on a fused device such as Cpu(): {places(call.leaves)}")
            return self._run_plainly(args, kwargs)
        if device.stream.on_flush is not None or call.key in self.plain:  # inside of another capture: part of that
            return self._run_plainly(args, kwargs)
        fault = unfit(call.leaves, device)
        if fault:
            self._give_up(call.key, fault)
            return self._run_plainly(args, kwargs)
        opened = self._open_sizes.capture(device, call)
        if opened is not None:
            self._add(self.ready, call.key, opened)
            return self._replay(opened, call)
        return self._record(device, call)

    def _run_plainly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function; its results are without graphs, as those of a replay are, but inside another capture."""
        result = self.function(*args, **kwargs)
        return result if Recording.here() else detached(result)

    def captured(self, call: Call) -> Capture | None:
        """The capture that a `call` would replay.

        >>> from burn.capture.call import Call
        >>> double = burn.compile(lambda x: x * 2.0)
        >>> x = burn.tensor([1.0, 2.0], device=burn.Cpu())
        >>> double.captured(Call(double.surroundings, (x,), {})) is None
        True
        """
        return self._fitting(self.ready, call)

    def _fitting(self, store: OrderedDict[Any, list[Capture]], call: Call, loosely: bool = False) -> Capture | None:
        """The capture that was made for such calls, with everything that it read being what it was.

        With `loosely` numbers may be others, unless they are known to be read.
        """
        kinds = store.get(call.key)
        if not kinds:
            return None
        numbers = call.numbers()
        read = self._read.get(call.key, {})
        for capture in kinds:
            takes = capture.takes(numbers, read if loosely else capture.fixed)
            if takes and not capture.guards.moved(call.surroundings, call.args, call.kwargs):
                return capture
        return None

    def _moved(self, call: Call) -> str:
        """What a call reads that is another than in the recordings of its kind."""
        for capture in (*self.ready.get(call.key, ()), *self.recorded.get(call.key, ())):
            if found := capture.guards.moved(call.surroundings, call.args, call.kwargs):
                return f"{found} is another at every call"
        return ""

    # Recording

    def _record(self, device: Fusion[Any], call: Call) -> Any:
        """Run the function and note what it does.

        The first recording of a kind takes plain floats, and is a plain call in every way. In later ones those that
        may change are scalars, and what is computed from them must give the numbers of the earlier one. A number is
        free when it had two values; until then, and if it is read, a capture holds for one value of it.
        """
        key = call.key
        earlier = self._fitting(self.ready, call, True) or self._fitting(self.recorded, call, True)
        read = self._read.setdefault(key, {})
        moved = self._moved(call) if earlier is None else ""
        recording = Recording(device, call, set(read) if earlier is not None else None, self.ignore)
        after = recording.run(self.function)
        capture = recording.capture(after)
        for number, why in recording.read.items():
            read.setdefault(number, why)
        self._open_sizes.tell(call, capture is not None)
        if capture is None:
            self._not_captured(key, recording)
        elif earlier is None:
            self._add(self.recorded, key, capture, moved or "; ".join(dict.fromkeys(read.values())))
            self._watch_ints(call)
        else:
            self._compare(call, earlier, capture)
        result = after.settle()
        del after
        leaked = recording.leaked_number()
        if leaked:
            self._give_up(key, leaked)
        return result

    def _compare(self, call: Call, earlier: Capture, capture: Capture) -> None:
        """Two recordings: of one kind of call, which can be replayed now, or of two, or with a fault."""
        key, read = call.key, self._read[call.key]
        changed = earlier.changed_numbers(capture.values)
        if changed.isdisjoint(read):
            difference = earlier.same_as(capture)
            if difference is None and earlier.is_ready:
                earlier.fixed -= changed
                self._forget(earlier)
                return
            if difference is None:
                capture.fixed -= changed
                self._drop(self.recorded, key, earlier)
                self._prepare(call, capture)
                return
            if not changed:
                self._give_up(key, difference)
                return
            for number in changed:  # it went by a way that is not seen
                read[number] = difference
        self._add(self.recorded, key, capture, "; ".join(dict.fromkeys(read[each] for each in changed & read.keys())))

    def _prepare(self, call: Call, capture: Capture) -> None:
        capture.prepare(tuple(is_donated(source, self.donate, call.structure) for source in capture.sources))
        if self.tune:
            capture.plan.tune()
        self._add(self.ready, call.key, capture)

    def _not_captured(self, key: Any, recording: Recording) -> None:
        """A call that cannot be replayed: for good, unless it did something that it may have done for the last time."""
        reason = recording.reason
        if recording.is_final:
            self._give_up(key, reason)
            return
        times = self._effects[reason] = self._effects.get(reason, 0) + 1
        if times > 1:
            self._give_up(key, reason)
        if times > MOST_KINDS:  # what it changes is part of the key: every call is of a new kind
            self.always_plain = reason

    def _add(self, store: OrderedDict[Any, list[Capture]], key: Any, capture: Capture, why: str = "") -> None:
        kinds = store.setdefault(key, [])
        kinds.append(capture)
        store.move_to_end(key)
        if len(kinds) > MOST_KINDS:
            self._give_up(key, why or "what it reads is another at every call")
        while sum(map(len, store.values())) > MOST_CAPTURES:
            store.popitem(last=False)
        for each in [each for each in store if is_gone(each[0])]:
            del store[each]

    def _drop(self, store: OrderedDict[Any, list[Capture]], key: Any, capture: Capture) -> None:
        kinds = [each for each in store.pop(key, ()) if each is not capture]
        if kinds:
            store[key] = kinds

    def _forget(self, capture: Capture) -> None:
        """Replays of a capture are to be made anew."""
        capture.idle.clear()
        self._current = deque([each for each in self._current if each.capture is not capture])

    def _watch_ints(self, call: Call) -> None:
        """Warn of an int that has another value whenever something is recorded."""
        for name in self._ints.changing(call):
            why = f"is recorded anew for each value of the int {name}, and had {MOST_VALUES} of them so far"
            self._say(f"{why}; pass a float or a tensor if it changes with every call", stacklevel=6)

    def _name(self) -> str:
        return getattr(self, "__qualname__", repr(self.function))

    def _give_up(self, key: Any, reason: str) -> None:
        for store in (self.plain, self._read):
            if len(store) >= MOST_PLAIN:
                store.clear()
        self.recorded.pop(key, None)
        self.ready.pop(key, None)
        self.plain[key] = reason
        self._notice(reason)

    def _notice(self, reason: str) -> None:
        if reason not in self.warned:
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
            return self._run_plainly(call.args, call.kwargs)
        result = replay.run(leaves)
        self.calls += 1
        if self.on_first_replay is not None:
            tell, self.on_first_replay = self.on_first_replay, None
            tell(self._not_quick)
        (self._current if len(self._current) < MOST_CURRENT and not self.check else capture.idle).append(replay)
        if plain is not None:
            compare(After(call, call.leaves, call.args, call.kwargs, result), plain, self.function)
        return result

    def programs(self) -> list[Program]:
        """The programs of the captures: what a call runs. They can be stored, with `Program.to_data` and its like."""
        return [capture.program for kinds in self.ready.values() for capture in kinds]

    def open_captures(self) -> int:
        """How many captures there are that serve many sizes each.

        >>> double = burn.compile(lambda x: x * 2.0, dynamic=True)
        >>> [double(Tensor.ones([size], burn.Cpu())).sum().item() for size in (3, 5, 8)]
        [6.0, 10.0, 16.0]
        >>> double.open_captures()
        1
        """
        return len(self._open_sizes.opened())

    def explain(self) -> str:
        """What was captured, and why other calls were not."""
        parts = [each.explain() for each in self._open_sizes.opened()]
        for capture in [each for kinds in self.ready.values() for each in kinds]:
            parts.append(f"captured:\n{to_text(capture.program)}")
            if described := capture.plan.describe():
                parts.append(f"plan:\n{described}")
        parts += [
            f"recorded once; the next equal call will be captured:\n{to_text(c.program)}"
            for kinds in self.recorded.values()
            for c in kinds
        ]
        parts += [f"runs without capture: {reason}" for reason in self.plain.values()]
        return "\n\n".join(parts) or "not called yet"

    def __repr__(self) -> str:
        return f"<compiled {self._name()}: {sum(map(len, self.ready.values()))} captures>"
