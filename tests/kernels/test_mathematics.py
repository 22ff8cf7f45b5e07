"""Mathematics in the IR: errors in units of the last place over the whole range, against NumPy's and PyTorch's f64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from burn.backend.cpu.accuracy import FUNCTIONS
from burn.cube import compile_object, load_object
from burn.cube.targets.slots import pack_slots
from burn.dtype import f32, f64
from tests.kernels.running import elementwise, processors, run_everywhere, same_bits
from tests.kernels.values import pairs


def torch_erf(x):
    return torch.erf(torch.from_numpy(x)).numpy()


REFERENCES = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log1p": np.log1p,
    "tanh": np.tanh, "erf": torch_erf, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh,
}  # fmt: skip
DOUBLE_TOLERANCE = 5.0
"""Units of the last place in f64, NumPy's own error included."""

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38]
EDGES = [88.7228, 88.7229, -87.3365, -103.97, -104.0, 128.0, 127.99999, -149.0, -150.0, 9.01, 9.02, 17.3, 0.9277, 3.92]


def runner(name, dtype, cpu, arity=1):
    kernel, _ = elementwise([dtype] * arity, lambda b, *x: [getattr(b, name)(*x)])
    compiled = load_object(compile_object(kernel, cpu.name, cpu.features))

    def run(*inputs):
        out = np.empty_like(inputs[0])
        compiled(pack_slots(kernel, [*inputs, out], [out.size]), 0, 1)
        return out

    return run


def units(got, exact, dtype):
    """Errors in units of the last place of the correctly rounded result; infinite where NaN or infinity disagree."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype.numpy)
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        error = np.abs(got.astype(np.float64) - exact) / unit
        odd = ~np.isfinite(rounded) | ~np.isfinite(got)
        agree = (np.isnan(got) & np.isnan(rounded)) | (got == rounded)
    return np.where(odd, np.where(agree, 0.0, np.inf), error)


def whole_range():
    """Every 9973rd f32, and what is special."""
    bits = np.arange(17, 1 << 32, 9973, dtype=np.uint64).astype(np.uint32)
    extra = np.array([*SPECIAL, *EDGES, *(-each for each in EDGES)], np.float32)
    near = np.linspace(-4, 4, 50001, dtype=np.float32)
    return np.concatenate([bits.view(np.float32), extra, near])


def test_every_stated_error_is_tested():
    assert {*REFERENCES, "pow", "atan2"} == FUNCTIONS.keys()


@pytest.mark.parametrize("name", REFERENCES)
def test_f32_functions_keep_their_stated_error_over_the_whole_range(name):
    reference, limit = REFERENCES[name], FUNCTIONS[name]
    x = whole_range()
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.float64))
    for cpu in (processors()[0], processors()[-1]):
        got = runner(name, f32, cpu)(x)
        error = units(got, exact, f32)
        worst = int(error.argmax())
        assert error[worst] <= limit, f"{name}({x[worst]!r}) on {cpu.name}: {got[worst]!r}, exactly {exact[worst]!r}"
        zeros = (x == 0) & ~np.isnan(exact)
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(exact[zeros]))


@pytest.mark.parametrize("name", REFERENCES)
def test_f64_functions_agree_with_numpy(name):
    reference = REFERENCES[name]
    generator = np.random.default_rng(0)
    g = generator.standard_normal(4000)
    x = np.concatenate([g * 0.3, g * 3, g * 30, g * 300, np.exp(g * 50), np.tanh(g), 1 + g * 1e-6, np.array(SPECIAL)])
    if name in ("sin", "cos", "tan"):
        x = np.concatenate(
            [x, g * 1e5, g * 1e9, np.exp(np.minimum(np.abs(g) * 200, 709.0)), np.arange(1, 500) * np.pi / 2]
        )
    with np.errstate(all="ignore"):
        exact = reference(x)
    for cpu in (processors()[0], processors()[-1]):
        got = runner(name, f64, cpu)(x)
        error = units(got, exact, f64)
        worst = int(error.argmax())
        assert error[worst] <= DOUBLE_TOLERANCE, f"{name}({x[worst]!r}) on {cpu.name}: {got[worst]!r}, {exact[worst]!r}"


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("name", ["pow", "atan2", "rem", "floor_rem", "floor_div"])
def test_functions_of_two_numbers_agree_with_numpy(name, dtype):
    reference = {
        "pow": np.power, "atan2": np.arctan2, "rem": np.fmod, "floor_rem": np.remainder, "floor_div": np.floor_divide,
    }[name]  # fmt: skip
    x, y = pairs(dtype, 3000)
    if name == "pow":
        generator = np.random.default_rng(0)
        base, power = np.exp(generator.uniform(-5, 5, 3000)), generator.standard_normal(3000) * 8
        x, y = np.concatenate([x, base]).astype(dtype.numpy), np.concatenate([y, power]).astype(dtype.numpy)
    with np.errstate(all="ignore"):
        wide = dtype is f32 and name in ("pow", "atan2")
        exact = reference(x.astype(np.float64), y.astype(np.float64)) if wide else reference(x, y)
    for cpu in (processors()[0], processors()[-1]):
        kept = np.abs(x) < (1e300 if dtype is f64 and not cpu.abilities.fma else np.inf)
        kept |= ~np.isfinite(x)
        got = runner(name, dtype, cpu, 2)(x, y)
        error = units(got, exact.astype(np.float64), dtype)[kept]
        limit = FUNCTIONS.get(name, 0.0) if dtype is f32 else 450.0 if name == "pow" else 2.0
        worst = int(error.argmax())
        case = (x[kept][worst], y[kept][worst])
        assert error[worst] <= limit, f"{name}{case} on {cpu.name}: {got[kept][worst]!r}, {exact[kept][worst]!r}"


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sin", "expm1", "log1p", "atan"])
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_mathematics_has_the_same_bits_on_every_target(name, dtype):
    x = np.concatenate([np.linspace(-30, 30, 199), SPECIAL, EDGES, [1e6, 1e10, -3e8, 1e30]]).astype(dtype.numpy)
    kernel, _ = elementwise([dtype], lambda b, x: [getattr(b, name)(x)])
    run_everywhere(kernel, [x], [(x.size, dtype)], [x.size], exact=False)


def test_sigmoid_is_right_at_both_ends():
    x = np.array([-200, -100, -88, -1, 0, 1, 88, 200, np.inf, -np.inf, np.nan], np.float32)
    kernel, _ = elementwise([f32], lambda b, x: [b.sigmoid(x)])
    (got,) = run_everywhere(kernel, [x], [(x.size, f32)], [x.size], exact=False)
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(-x.astype(np.float64)))
    np.testing.assert_allclose(got, expected, rtol=3e-7, atol=1e-38)


def test_the_comparison_of_bits_sees_the_last_one():
    x = np.array([1.0, np.nan], np.float32)
    assert same_bits(x, x.copy())
    assert not same_bits(x, np.nextafter(x, np.float32(2)))
    assert not same_bits(np.zeros(1, np.float32), -np.zeros(1, np.float32))


def test_erf_reaches_one_and_never_passes_it():
    x = np.concatenate([np.linspace(3.5, 4.2, 20001), [5.0, 100.0, 3e38, np.inf]]).astype(np.float32)
    for cpu in processors():
        got = runner("erf", f32, cpu)(np.concatenate([x, -x]))
        np.testing.assert_array_equal(got[: x.size], -got[x.size :])
        assert got.max() == 1.0
        assert (got[: x.size][x >= 3.92] == 1.0).all()
