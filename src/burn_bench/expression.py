"""Benchmarks of one function of arrays, written once for each library.

expression("unary", "exp 1M", inputs=lambda draw: [draw(1024, 1024)],
           burn=lambda x: x.exp(), numpy=np.exp, torch=lambda torch, x: torch.exp(x))

The NumPy form in float64 is the reference, unless another one is given.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from burn_bench.benchmark import Array, Benchmark, Builder, Missing, Setting, Target, Work, finished

Inputs = Callable[[Callable[..., Array]], Sequence[Array]]
Function = Callable[..., Any]

SEED = 20_240_501


def drawn(inputs: Inputs) -> list[Array]:
    """The inputs: the same standard normal numbers in every process."""
    generator = np.random.default_rng(SEED)
    return list(inputs(lambda *shape: generator.standard_normal(shape, dtype=np.float32)))


def expression(
    name: str,
    shapes: str,
    *,
    inputs: Inputs,
    numpy: Function,
    burn: Function,
    torch: Function | None = None,
    torch_into: Function | None = None,
    jax: Function | None = None,
    tinygrad: Function | None = None,
    with_numpy: bool = True,
    constants: int = 0,
    traffic: int | None = None,
    tolerance: float = 1e-5,
    targets: tuple[Target, ...] = (),
    summary: str = "",
) -> Benchmark:
    """A benchmark of one function. Those of other libraries take the library first, then the inputs.

    `torch_into(torch, *inputs)` gives the function to call where torch writes into memory of its caller.
    The last `constants` inputs are known to a captured function, the others are its arguments.
    """
    builders: dict[str, Builder] = {
        "burn": lambda setting: _burn(setting, burn, drawn(inputs)),
        "captured": lambda setting: _captured(setting, burn, drawn(inputs), constants),
    }
    if torch_into is not None:
        builders["torch"] = lambda setting: _torch_into(torch_into, drawn(inputs))
    elif torch is not None:
        builders["torch"] = lambda setting: _torch(torch, drawn(inputs))
    if torch is not None:
        builders["torch-compile"] = lambda setting: _torch(torch, drawn(inputs), compile=True)
    if jax is not None:
        builders["jax"] = lambda setting: _jax(jax, drawn(inputs))
    if tinygrad is not None:
        builders["tinygrad"] = lambda setting: _tinygrad(tinygrad, drawn(inputs))
    if with_numpy:
        builders["numpy"] = lambda setting: _numpy(numpy, drawn(inputs))
    if traffic is not None:
        builders["copy"] = lambda setting: copy(setting, traffic)

    def reference(setting: Setting) -> list[Array]:
        return _listed(numpy(*[each.astype(np.float64) for each in drawn(inputs)]))

    return Benchmark(name, shapes, builders, reference, summary, tolerance, targets, traffic)


def plain(compute: Callable[[], Any]) -> Work:
    """Work that is done when its call returns, with NumPy arrays as its result."""
    return Work(compute, lambda: _listed(compute()))


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


# Ours


def compiler() -> Callable[[Function], Function]:
    """`burn.compile`."""
    import burn

    found: Any = getattr(burn, "compile", None)
    if found is None:
        raise Missing("this version has no burn.compile")
    return found  # type: ignore[no-any-return]


def _burn(setting: Setting, function: Function, arrays: list[Array]) -> Work:
    from burn.tensor.methods.creation import tensor

    device = setting.device
    tensors = [tensor(each, device=device) for each in arrays]
    return finished(device, lambda: function(*tensors))


def _captured(setting: Setting, function: Function, arrays: list[Array], constants: int) -> Work:
    from burn.tensor.methods.creation import tensor

    compile, device = compiler(), setting.device
    tensors = [tensor(each, device=device) for each in arrays]
    count = len(tensors) - constants
    arguments, known = tensors[:count], tensors[count:]
    if constants == 1:
        (weight,) = known
        captured = compile(lambda *given: function(*given, weight))
    elif constants:
        raise AssertionError("one constant at most")
    else:
        captured = compile(function)
    return finished(device, lambda: captured(*arguments))


# Peers


def _numpy(function: Function, arrays: list[Array]) -> Work:
    return plain(lambda: function(*arrays))


def _torch(function: Function, arrays: list[Array], compile: bool = False) -> Work:
    torch: Any = importlib.import_module("torch")
    tensors = [torch.from_numpy(each) for each in arrays]

    def compute(*given: Any) -> Any:
        return function(torch, *given)

    call = torch.compile(compute) if compile else compute
    return Work(lambda: call(*tensors), lambda: [each.numpy() for each in _listed(call(*tensors))])


def _torch_into(function: Function, arrays: list[Array]) -> Work:
    torch: Any = importlib.import_module("torch")
    call = function(torch, *[torch.from_numpy(each) for each in arrays])
    return Work(call, lambda: [each.numpy() for each in _listed(call())])


def _jax(function: Function, arrays: list[Array]) -> Work:
    jax: Any = importlib.import_module("jax")
    tensors = [jax.numpy.asarray(each) for each in arrays]
    call = jax.jit(lambda *given: function(jax, *given))
    wait = jax.block_until_ready
    return Work(lambda: wait(call(*tensors)), lambda: [np.asarray(each) for each in _listed(call(*tensors))])


def _tinygrad(function: Function, arrays: list[Array]) -> Work:
    tinygrad = usable_tinygrad()
    tensors = [tinygrad.Tensor(each).realize() for each in arrays]
    call = tinygrad.TinyJit(lambda *given: _realized(function(tinygrad, *given)))
    device = tinygrad.Device[tinygrad.Device.DEFAULT]

    def run() -> Any:
        result = call(*tensors)
        device.synchronize()
        return result

    return Work(run, lambda: [each.numpy() for each in _listed(run())])


def _realized(value: Any) -> Any:
    return tuple(each.realize() for each in value) if isinstance(value, list | tuple) else value.realize()


def usable_tinygrad() -> Any:
    """tinygrad, if its CPU device finds the compiler it needs."""
    tinygrad: Any = importlib.import_module("tinygrad")
    try:
        (tinygrad.Tensor([1.0]) + 1).numpy()
    except Exception as error:
        raise Missing(f"tinygrad has no usable CPU device here ({error})") from None
    return tinygrad


COPIED_AT_LEAST = 1 << 26
"""Bytes that one run of `copy` moves, so that starting its threads costs nothing."""


def copy(setting: Setting, traffic: int) -> Work:
    """Copy as many bytes as `traffic` says, half of them read and half written, each thread its part."""
    size, threads = traffic // 2 // setting.threads, setting.threads
    blocks = [(np.ones(size, np.uint8), np.zeros(size, np.uint8)) for _ in range(threads)]
    addresses = [(target.ctypes.data, source.ctypes.data) for target, source in blocks]
    count = max(1, COPIED_AT_LEAST // traffic)
    pool, memcpy = ThreadPoolExecutor(threads), ctypes.CDLL(None).memcpy  # ctypes lets the other threads go on
    memcpy.argtypes, memcpy.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], None

    def part(target: int, source: int) -> None:
        for _ in range(count):
            memcpy(target, source, size)

    def run() -> list[Any]:
        for each in [pool.submit(part, *pair) for pair in addresses]:
            each.result()
        return blocks  # keeps the memory alive

    return Work(run, None, count)
