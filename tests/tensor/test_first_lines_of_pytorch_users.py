"""What a user of PyTorch or NumPy writes first: it works and gives their numbers, or the error names what to write."""

from __future__ import annotations

import inspect
import math
import re
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn import NdArray, Tensor
from burn.errors import BurnError
from burn.tensor import names
from burn.tensor.guesses import FUNCTIONS, TENSOR

DEVICE = NdArray()
A = np.array([[1.0, -2.0, 3.0], [4.5, 0.5, -6.0]], np.float32)
I = np.array([[3, 1, 2], [0, 5, 4]])  # noqa: E741


@pytest.fixture(autouse=True)
def _default_device():
    with burn.default_device(DEVICE):
        yield


def values(result: Any) -> Any:
    """Anything a line gives, as arrays and Python values."""
    if isinstance(result, Tensor):
        return result.numpy()
    if isinstance(result, torch.Tensor):
        return result.detach().numpy()
    if isinstance(result, list | tuple) and any(hasattr(each, "shape") for each in result):
        return [values(each) for each in result]
    return tuple(result) if isinstance(result, burn.Shape | torch.Size) else result


def same(ours: Any, theirs: Any, whole_is_one: bool = True) -> None:
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for first, second in zip(ours, theirs, strict=True):
            same(first, second)
    elif isinstance(theirs, np.ndarray | np.generic):
        if theirs.shape == () and getattr(ours, "shape", ()) == (1,):
            ours = ours.reshape(())  # a reduction over everything has shape [1] here
        assert np.shape(ours) == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        assert np.asarray(ours).dtype.kind == theirs.dtype.kind
    else:
        assert ours == theirs


LINES = """
T.zeros(2, 3)
T.zeros((2, 3))
T.ones([2])
T.full((2, 2), 7.0)
T.arange(5)
T.arange(2, 10, 3)
T.arange(0, 1, 0.25)
T.arange(start=1, end=4)
T.linspace(0, 1, 7)
T.linspace(-3.0, 11.0, 1)
T.eye(3)
T.eye(2, 3)
T.tensor([[1, 2], [3, 4]])
T.tensor([1.0, 2.0], dtype=T.float64)
T.tensor(3.0)
T.zeros(3, dtype=T.int32)
T.ones(2, 2, dtype=T.bfloat16).to(T.float32)
T.zeros_like(x)
T.ones_like(x, dtype=T.int64)
T.full_like(x, 3.0)
T.from_numpy(A)
T.as_tensor(A)
x.shape
x.shape[0]
x.size()
x.size(0)
x.size(-1)
x.ndim
x.dim()
x.numel()
len(x)
1.0 in x
99.0 in x
x.dtype == T.float32
x.sum()
x.sum(0)
x.sum(dim=1)
x.sum(-1, keepdim=True)
x.sum((0, 1))
x.sum(dim=(0, 1), keepdim=True)
(x > 0).sum()
(x > 0).sum(dim=1)
x.mean()
x.mean(1)
x.mean(dim=[0, 1])
x.prod()
x.prod(dim=0)
x.max()
x.max(1)
x.max(dim=0).values
x.max(dim=0, keepdim=True).indices
x.min(dim=1)
x.amax(1)
x.amin(dim=(0, 1))
x.argmax()
x.argmax(dim=1)
x.argmax(dim=1, keepdim=True)
x.argmin(dim=0)
x.var()
x.var(dim=0)
x.var(dim=(0, 1), correction=0)
x.var(dim=1, unbiased=False)
x.std()
x.std(0)
x.std(dim=1, keepdim=True)
x.norm()
x.norm(dim=1)
x.norm(p=1)
x.norm(1, dim=0, keepdim=True)
x.norm(dim=(0, 1))
x.norm(p=math.inf, dim=(0, 1))
x.median()
x.median(dim=1)
(x > 0).any()
(x > 0).all(dim=1)
(x > -9).all()
x.logsumexp(dim=1)
x.logsumexp((0, 1))
x.count_nonzero()
x.count_nonzero(dim=0)
x.cumsum(0)
x.cumsum(dim=1)
x.reshape(3, 2)
x.reshape((3, 2))
x.reshape(-1)
x.view(6)
x.view(-1, 2)
x.view_as(T.zeros(3, 2))
x.flatten()
x.flatten(0)
x.ravel()
x.unflatten(1, (3, 1))
x.T
x.mT
x.t()
x.transpose(0, 1)
x.permute(1, 0)
x.permute((1, 0))
x.swapaxes(0, 1)
x.movedim(0, 1)
x.unsqueeze(0)
x.unsqueeze(1)
x.unsqueeze(-1)
x.unsqueeze(dim=2)
x[None].squeeze(0)
x.unsqueeze(0).squeeze()
x.expand(2, 2, 3)
x.expand(-1, -1)
x.expand_as(T.zeros(4, 2, 3))
x.repeat(2, 2)
x.repeat(2, 1, 1)
x.tile((2,))
x.flip(0)
x.flip(0, 1)
x.flip(dims=[1])
x.roll(1, 0)
x.chunk(3, dim=1)
x.split(2, dim=1)
x.unbind()
x.unbind(1)
x.narrow(1, 0, 2)
x.contiguous()
x.clone()
x.detach()
T.cat([x, x])
T.cat((x, x), dim=1)
T.concat([x, x])
T.stack([x, x])
T.stack([x, x], dim=2)
T.vstack([x, x])
T.hstack([x, x])
x[0]
x[0, 1]
x[:, 1]
x[..., 0]
x[:, None].shape
x[-1]
x[:, ::2]
x[x > 0]
x[T.tensor([1, 0])]
x[[0, 1], [1, 2]]
x[1].item() if False else x[1, 2].item()
x.gather(1, T.tensor([[0], [2]]))
x.index_select(1, T.tensor([2, 0]))
x.masked_fill(x > 0, 0.0)
x.masked_select(x > 0)
x.where(x > 0, T.zeros(2, 3))
T.where(x > 0, x, T.zeros(2, 3))
T.where(x > 0, x, 0.0)
T.where(x > 0, 1.0, 0.0)
T.where(i > 2, i, 0)
T.where(i > 2, i, 0.5)
x.clamp(0, 1)
x.clamp(min=0)
x.clamp(max=1.0)
x.clip(-1, 1)
x.abs()
x.exp()
T.exp(x)
x.abs().sqrt()
x.abs().rsqrt()
x.abs().log2()
x.abs().log10()
T.log1p(x.abs())
x.expm1()
x.exp2()
x.frac()
x.pow(2)
x ** 2
2 ** x
x.abs() ** 0.5
x.round()
x.floor()
x.sign()
x.sigmoid()
x.relu()
T.relu(x)
x.softmax(dim=1)
T.softmax(x, 1)
x.log_softmax(dim=-1)
x.isnan().any()
x.isfinite()
x.eq(x)
x.gt(0)
x.ne(1.0)
x.maximum(T.zeros(2, 3))
T.minimum(x, T.zeros(2, 3))
x.max(T.zeros(2, 3))
x.mul(2)
x.add(x)
x.sub(1)
x / 2
x // 2
x % 2
-x
x @ x.T
x.mm(x.T)
T.matmul(x, x.T)
x.unsqueeze(0).bmm(x.T.unsqueeze(0))
T.einsum("ij,kj->ik", x, x)
x[0].dot(x[1]).sum()
T.outer(x[0], x[1])
x.triu()
x.tril(-1)
x.logical_not()
(x > 0).logical_and(x < 4)
(x > 0) & (x < 4)
~(x > 0)
i.bitwise_and(1)
i.float()
i.double()
x.long()
x.int()
x.half().to(T.float32)
x.to(T.float64)
x.to(dtype=T.int64)
x.type_as(i)
x.bool()
x.cpu()
x.cpu().numpy()
x.detach().numpy()
x.tolist()
x[0, 0].item()
float(x[0, 0])
int(i[0, 0])
bool((x > -9).all())
f"{x[0, 0].item():.3f}"
T.allclose(x, x)
x.isclose(x)
T.meshgrid(x[0], x[1], indexing="ij")
T.meshgrid(x[0], x[1], indexing="xy")
x.new_zeros(2)
x.new_ones((2, 2))
x.new_full((2,), 3.0)
x.new_tensor([1.0])
x.requires_grad
x.is_contiguous()
np.asarray(x)
np.array(x, dtype=np.float64)
np.histogram(x)[0]
x.numpy().mean()
sum(row.sum() for row in x)
[row.tolist() for row in x]
x.argsort(1)
x.unique() if False else x.abs().sum()
T.manual_seed(0) is None or True
T.randint(0, 10, (2, 3)).shape
T.randint(5, (4,)).shape
T.rand(2, 3).shape
T.randn(2, 3).shape
T.rand_like(x).shape
T.randn_like(x).shape
T.randperm(5).shape
T.empty(2, 3).shape
""".strip().splitlines()


def names_of(package: Any) -> dict[str, Any]:
    made = (lambda a: burn.tensor(a)) if package is burn else torch.tensor
    return {"T": package, "x": made(A), "i": made(I), "A": A, "np": np, "math": math}


@pytest.mark.parametrize("line", LINES)
@pytest.mark.filterwarnings("ignore")
def test_a_line_gives_what_pytorch_gives(line):
    if ".randn_like" in line or "manual_seed" in line:
        torch.manual_seed(0)
    ours, theirs = eval(line, names_of(burn)), eval(line, names_of(torch))
    ours = int(ours) if line.startswith(("T.manual", "bool")) else ours
    same(values(ours), values(theirs))


NUMPY = """
np.sin(x)
np.exp(x)
np.abs(x)
np.add(x, A)
x + A
A + x
A - x
A * x
A / np.abs(x)
A @ x.T
x @ A.T
x ** A
x > A
A >= x
A == x
x == A
np.maximum(x, 0)
np.float32(2) * x
np.mean(x)
np.mean(x, axis=0)
np.mean(i, axis=1)
np.sum(x, axis=1, keepdims=True)
np.sum(x > 0)
np.std(x)
np.std(x, axis=0, ddof=1)
np.var(x, axis=(0, 1))
np.max(x, axis=1)
np.min(x)
np.argmax(x, axis=1)
np.argmax(x)
np.any(x > 0, axis=0)
np.cumsum(x)
np.cumsum(x, axis=1)
np.concatenate([x, x])
np.concatenate([x, A], axis=1)
np.stack([x, x])
np.where(x > 0, x, 0)
np.clip(x, 0, 1)
np.reshape(x, (3, 2))
np.transpose(x)
np.squeeze(x[None])
np.expand_dims(x, 0)
np.linalg.norm(x)
np.linalg.norm(x, axis=1)
np.sort(x, axis=1)
np.flip(x)
np.tile(x, 2)
np.round(x)
np.zeros_like(x)
np.tril(x)
np.shape(x)
np.ndim(x)
np.size(x)
np.allclose(x, A)
np.percentile(x, 50)
np.histogram(x, bins=3)[0]
np.median(x, axis=0)
np.linalg.svd(x)[1]
np.add.reduce(x)
np.cbrt(x)
np.array_equal(x, A)
np.dot(x, A.T)
np.outer(x[0], x[1])
np.array([x, x])
np.isnan(x)
np.nan_to_num(x)
np.sum(x, axis=0, dtype=np.float64)
""".strip().splitlines()


@pytest.mark.parametrize("line", NUMPY)
def test_a_line_gives_what_numpy_gives(line):
    ours = eval(line, {"np": np, "x": burn.tensor(A), "i": burn.tensor(I), "A": A})
    theirs = eval(line, {"np": np, "x": A, "i": I, "A": A})
    same(values(ours), values(theirs))


ON_THE_DEVICE = "np.sin(x)|x + A|A + x|A @ x|np.mean(x, axis=0)|np.concatenate([x, A])|np.where(x > 0, x, 0)|A > x"


@pytest.mark.parametrize("line", ON_THE_DEVICE.split("|"))
def test_rows_run_on_the_device_of_the_tensor_and_carry_gradients(line):
    device = DEVICE.autodiff()
    square = A[:, :2]
    x = burn.tensor(square, device).require_grad()
    y = eval(line, {"np": np, "x": x, "A": square})
    assert isinstance(y, Tensor)
    assert y.device is device
    if y.dtype.is_float:
        assert x.grad(y.sum().backward()).shape == x.shape


def test_numbers_of_one_element_are_formatted_as_numbers():
    loss = burn.tensor(A).mean()
    assert f"{loss:.3f}" == f"{A.mean():.3f}"
    assert f"{burn.tensor([3]):d} {burn.tensor(0.25):.0%}" == "3 25%"
    assert f"{burn.tensor(A):.1f}".startswith("Tensor {")


def test_what_plots_reads_tensors_as_arrays():
    x = burn.tensor(A)
    assert not np.iterable(x[0, 0])
    assert np.iterable(x)
    np.testing.assert_array_equal(x.to_numpy(), A)
    np.testing.assert_array_equal(np.atleast_1d(x[0]), A[0])
    np.testing.assert_array_equal(np.histogram(x, bins=4)[0], np.histogram(A, bins=4)[0])
    np.testing.assert_array_equal(np.ma.asarray(x), A)


@pytest.mark.parametrize("options", [{}, {"stream": None}, {"max_version": (0, 8)}, {"max_version": (1, 0)}], ids=str)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "i64"])
def test_dlpack_reaches_consumers_of_every_version(options, dtype):
    x = burn.tensor([1.0, -2.0], dtype=dtype)

    class Asked:
        def __dlpack__(self, **_: Any) -> Any:
            return x.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return x.__dlpack_device__()

    there = torch.from_dlpack(Asked())
    assert there.tolist() == [1.0, -2.0]
    assert burn.Tensor.from_dlpack(there).dtype.name == dtype
    assert burn.tensor(there).dtype.name == dtype


def test_an_array_is_changed_in_place_by_a_tensor_but_a_tensor_never():
    array = A.copy()
    array += burn.tensor(A)
    np.testing.assert_array_equal(array, A + A)
    x = burn.tensor(A)
    before, x = x, x + 1.0
    np.testing.assert_array_equal(before, A)
    with pytest.raises(BurnError, match="a tensor never changes"):
        np.add(A, before, out=before)


def test_a_tensor_made_with_requires_grad_is_one_that_backward_knows():
    for w in (
        burn.tensor([1.0, 2.0], requires_grad=True), burn.zeros(2, requires_grad=True),
        burn.randn(2, requires_grad=True), burn.ones((2,), requires_grad=True),
        burn.full((2,), 3.0, requires_grad=True), burn.arange(0.0, 2.0, requires_grad=True),
    ):  # fmt: skip
        assert w.requires_grad
        loss = (w * w).sum()
        np.testing.assert_allclose(w.grad(loss.backward()), 2.0 * w.numpy())


ANSWERS = {
    "x.cuda()": r"no CUDA device; write x\.to\(device\)",
    "x.to('cuda')": "got 'cuda'; there is no device for CUDA",
    "burn.zeros(2, 3, device='cpu')": r"write burn\.NdArray\(\)",
    "Tensor.ones((2,), 'cpu')": "ones: needs a device .* got 'cpu'; write burn.NdArray",
    "burn.no_grad()": r"write model\.valid\(\)",
    "x.grad.numpy()": r"grads = loss\.backward\(\), then x\.grad\(grads\)",
    "x.backward()": r"records no graph; create it on .*autodiff",
    "x.add_(1)": r"never changes: write x = x\.add",
    "x.zero_()": r"x = x\.zeros_like",
    "x.fill_(1.0)": "full_like",
    "x.requires_grad_()": r"x = x\.require_grad\(\)",
    "x.data": r"x\.detach\(\)",
    "x.reshap(3, 2)": "did you mean 'reshape'",
    "x.arg_max(1)": "argmax",
    "burn.zeroes(2)": "did you mean 'zeros'",
    "burn.float": r"burn\.f32",
    "burn.svd(x)": r"np\.linalg\.svd",
    "burn.FloatTensor([1])": r"burn\.tensor\(data, dtype=burn\.f32\)",
    "x.sort()": "sort_with_indices",
    "x.topk(2)": "topk_with_indices",
    "x.max(axis=1)": "did you mean 'dim'",
    "x.max((0, 1))": r"x\.amax\(\(0, 1\)\)",
    "x.sum(0, 1)": r"write several dims as one sequence: sum\(\(0, 1\)\)",
    "x.sum(5)": "dim 5 is out of range for a tensor of rank 2",
    "x.cumsum(axis=0)": "did you mean 'dim'",
    "x.int().mean(1)": r"write x\.float\(\)\.mean",
    "x.unsqueeze(2)": r"unsqueeze\(dim=2\).*unsqueeze\(rank=2\)",
    "x.add(x, alpha=2)": r"unknown argument 'alpha'.*write add\(x, y\)",
    "x.numpy(force=True)": r"write x\.numpy\(\)",
    "burn.sum([1.0, 2.0])": r"write burn\.tensor\(\.\.\.\) around it",
    "burn.randint(10)": r"write randint\(0, 10, \(2, 3\)\)",
    "burn.exp(2.0)": r"must be a Tensor, got float",
    "float(x)": "has 6 elements, not one",
    "if_(x)": r"use \.any\(\) or \.all\(\)",
    "x.view(burn.f64)": r"x\.bitcast",
    "x @ [1.0, 2.0, 3.0]": r"write burn\.tensor\(\.\.\.\) around it",
    "'a' in x": "needs a number or a tensor",
    "x @ burn.ones(2, 3)": "inner dimensions differ",
    "burn.full(2, 3, 1.0)": "needs a device",
    "x.clamp()": "missing min or max",
    "burn.manual_seed('a')": "seed must be an int",
    "x.softmax()": "missing dim",
    "burn.device('cpu')": "Cpu",
    "burn.equal(x, x)": r"x\.equal\(y\)\.all\(\)\.item\(\) for one bool",
    "burn.diff(x, dim=1)": r"x\[\.\.\., 1:\] - x\[\.\.\., :-1\] along the last dim",
    "x.topk(2, dim=1).values": "topk_with_indices",
    "burn.split(x, [1, 1])": r"write x\.split_with_sizes\(\[1, 1\]\)",
    "burn.where(x > 0)": r"nonzero\(\) or condition\.argwhere",
}


@pytest.mark.parametrize("line", ANSWERS)
def test_what_is_not_ours_is_answered_with_what_to_write(line):
    space = {"burn": burn, "Tensor": Tensor, "x": burn.tensor(A), "if_": bool}
    with pytest.raises((BurnError, AttributeError)) as found:
        eval(line, space)
    assert re.search(ANSWERS[line], str(found.value)), str(found.value)


def test_assignment_says_what_to_write():
    x = burn.tensor(A)
    with pytest.raises(BurnError, match=r"a tensor never changes; write x = x\.slice_assign"):
        x[0] = 1.0
    with pytest.raises(BurnError, match=r"from burn\.tensor import s"):
        x[0] = 1.0


def test_names_that_are_simply_there():
    assert (burn.inf, burn.pi, burn.e) == (math.inf, math.pi, math.e)
    assert math.isnan(burn.nan)
    import importlib.util

    assert importlib.util.find_spec("burn.utils") is None
    program = "import burn; burn.tensor.linalg.det; burn.tensor.signal.rfft; burn.tensor.activation.relu"
    subprocess.run([sys.executable, "-c", program], check=True)


# Every name of PyTorch


def public(names: Any) -> list[str]:
    return [name for name in names if not name.startswith("_")]


SILENT = {"grad"}


def test_every_method_of_pytorch_is_there_or_answered():
    x = burn.tensor(A)
    silent = []
    for name in public(dir(torch.Tensor)):
        try:
            getattr(x, name)
        except AttributeError as error:
            if "; " not in str(error):
                silent.append(f"{name}: {error}")
    assert silent == []


def test_every_function_of_pytorch_is_there_or_answered():
    internal = re.compile(
        r"(cudnn|miopen|mkldnn|fbgemm|sym_|is_|get_|set_|native_|quantized|q?u?int\d|bits|fake_|import_ir|parse_)"
        r"|.*(_(copy|cell|stats|elemt|nesting)$|batch_norm_|autocast|enabled|float4|float8|vulkan)"
    )
    kinds = types.BuiltinFunctionType | types.FunctionType | torch.dtype
    functions = [
        name for name in public(dir(torch)) if isinstance(getattr(torch, name), kinds) and not internal.match(name)
    ]
    assert len(functions) > 250
    silent = []
    for name in functions:
        try:
            getattr(burn, name)
        except AttributeError as error:
            if "; " not in str(error):
                silent.append(name)
    few = len(silent) / len(functions)
    assert few < 0.4, silent


@pytest.mark.parametrize("table", [TENSOR, FUNCTIONS], ids=["tensor", "functions"])
def test_what_is_advised_exists(table):
    wrong = []
    for name, text in table.items():
        for method in re.findall(r"\b[xy]\.(\w+)", text):
            if not hasattr(Tensor, method) and method not in ("dtype", "device", "shape"):
                wrong.append(f"{name}: x.{method}")
        for path in re.findall(r"\bburn\.([\w.]+\w)", text):
            value: Any = burn
            for part in path.split("."):
                value = getattr(value, part, None) if not isinstance(value, types.ModuleType) else _part(value, part)
            if value is None:
                wrong.append(f"{name}: burn.{path}")
        for path in re.findall(r"\bnp\.([\w.]+\w)", text):
            value = np
            for part in path.split("."):
                value = getattr(value, part, None)
            if value is None:
                wrong.append(f"{name}: np.{path}")
    assert wrong == []


def _part(module: types.ModuleType, name: str) -> Any:
    import importlib

    try:
        return getattr(module, name)
    except AttributeError:
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except ModuleNotFoundError:
            return None


def test_a_name_that_is_answered_is_not_there():
    assert [name for name in TENSOR if hasattr(Tensor, name)] == []
    assert [name for name in FUNCTIONS if name in names.__all__ or name in burn.__all__] == []


# Wrong arguments


WRONG = [(), (None,), ("no",), (object(),), ([],), (1, 2, 3, 4, 5, 6, 7), (2.5, "no"), ({},), (-99,), (np.ones(3),)]


def wrong_calls() -> list[tuple[str, Any]]:
    return [
        (name, value)
        for name in public(dir(Tensor))
        if callable(value := inspect.getattr_static(Tensor, name)) or isinstance(value, staticmethod)
    ]


def test_calls_with_wrong_arguments_give_our_errors():
    x = burn.tensor(A)
    foreign = []
    for name, _ in wrong_calls():
        for args in WRONG:
            for named in ({}, {"no_such_argument": 1}):
                try:
                    result = getattr(x, name)(*args, **named)
                    if inspect.iscoroutine(result):
                        result.close()
                except (BurnError, AttributeError):
                    pass
                except Exception as error:
                    foreign.append(f"{name}{args}{named or ''}: {type(error).__name__}: {error}")
    assert foreign == [], f"{len(foreign)}:\n" + "\n".join(foreign)


def test_functions_with_wrong_arguments_give_our_errors():
    foreign = []
    for name in names.__all__:
        function = getattr(burn, name)
        if not callable(function):
            continue
        for args in WRONG:
            for named in ({}, {"no_such_argument": 1}):
                try:
                    function(*args, **named)
                except (BurnError, AttributeError):
                    pass
                except Exception as error:
                    foreign.append(f"{name}{args}{named or ''}: {type(error).__name__}: {error}")
    assert foreign == [], f"{len(foreign)}:\n" + "\n".join(foreign)
