"""Numbers from nowhere and numbers from elsewhere: random tensors, and the way to a device and back."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from burn_bench.benchmark import Array, Benchmark, Setting, Work
from burn_bench.expression import plain

SHAPE = (1024, 1024)


def benchmarks() -> list[Benchmark]:
    """random and data."""
    return [random("uniform"), random("normal"), to_device(), from_device()]


def moments(values: Any) -> list[Array]:
    """Mean and variance: what random numbers can be compared by."""
    found = np.asarray(values, np.float64)
    return [np.array([found.mean(), found.var()])]


def random(kind: str) -> Benchmark:
    """A million random floats."""

    def burn(setting: Setting) -> Work:
        from burn.tensor import Distribution, Tensor

        chosen = Distribution.Uniform(0.0, 1.0) if kind == "uniform" else Distribution.Normal(0.0, 1.0)
        device = setting.device

        def run() -> Any:
            result = Tensor.random(SHAPE, chosen, device)
            device.sync()
            return result

        return Work(run, lambda: moments(run().numpy()))

    def torch(setting: Setting) -> Work:
        library: Any = importlib.import_module("torch")
        draw = library.rand if kind == "uniform" else library.randn
        return Work(lambda: draw(SHAPE), lambda: moments(draw(SHAPE)))

    def numpy(setting: Setting) -> Work:
        generator = np.random.default_rng(1)
        draw: Any = generator.random if kind == "uniform" else generator.standard_normal
        return Work(lambda: draw(SHAPE, np.float32), lambda: moments(draw(SHAPE, np.float32)))

    def jax(setting: Setting) -> Work:
        library: Any = importlib.import_module("jax")
        function = library.random.uniform if kind == "uniform" else library.random.normal

        @library.jit  # type: ignore[untyped-decorator]
        def draw(key: Any) -> Any:
            key, now = library.random.split(key)
            return key, function(now, SHAPE)

        state = [library.random.key(0)]

        def run() -> Any:
            state[0], result = draw(state[0])
            return library.block_until_ready(result)

        return Work(run, lambda: moments(run()))

    expected = np.array([0.5, 1 / 12] if kind == "uniform" else [0.0, 1.0])
    return Benchmark(
        "random",
        f"{kind} 1024x1024",
        {"burn": burn, "torch": torch, "numpy": numpy, "jax": jax},
        lambda setting: [expected],
        "the check is on mean and variance",
        tolerance=1e-2,
    )


def values() -> Array:
    """What travels."""
    return np.random.default_rng(3).standard_normal(SHAPE, dtype=np.float32)


def to_device() -> Benchmark:
    """A NumPy array becomes a tensor of its own."""

    def burn(setting: Setting) -> Work:
        from burn.tensor.methods.creation import tensor

        array, device = values(), setting.device

        def run() -> Any:
            result = tensor(array, device=device)
            device.sync()
            return result

        return Work(run, lambda: [run().numpy()])

    def torch(setting: Setting) -> Work:
        library: Any = importlib.import_module("torch")
        array = values()
        return Work(lambda: library.tensor(array), lambda: [library.tensor(array).numpy()])

    def jax(setting: Setting) -> Work:
        library: Any = importlib.import_module("jax")
        array = values()

        def run() -> Any:
            return library.block_until_ready(library.numpy.array(array))

        return Work(run, lambda: [np.asarray(run())])

    builders = {"burn": burn, "torch": torch, "jax": jax, "numpy": lambda setting: _copies()}
    return Benchmark("data", "to device 4 MB", builders, lambda setting: [values()], tolerance=0.0)


def from_device() -> Benchmark:
    """A tensor becomes a NumPy array that its reader may change."""

    def burn(setting: Setting) -> Work:
        from burn.tensor.methods.creation import tensor

        device = setting.device
        held = tensor(values(), device=device)
        device.sync()
        return plain(lambda: held.numpy().copy())

    def torch(setting: Setting) -> Work:
        library: Any = importlib.import_module("torch")
        held = library.tensor(values())
        return plain(lambda: held.numpy().copy())

    def jax(setting: Setting) -> Work:
        library: Any = importlib.import_module("jax")
        held = library.numpy.array(values())
        return plain(lambda: np.array(held))

    builders = {"burn": burn, "torch": torch, "jax": jax, "numpy": lambda setting: _copies()}
    return Benchmark("data", "from device 4 MB", builders, lambda setting: [values()], tolerance=0.0)


def _copies() -> Work:
    array = values()
    return plain(array.copy)
