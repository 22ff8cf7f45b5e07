"""What to write for names of PyTorch's and NumPy's tensors and functions that are not ours.

The mechanism is `burn.guesses`; this module is imported when a name was not found, and only then. `x` stands for the
tensor. A name of PyTorch that changes a tensor (`add_`) is answered by a rule.
"""

from __future__ import annotations

from collections.abc import Iterable

from burn.guesses import WRITE, advice

_HOST = "there is no such operation here; np.asarray(x) gives the values to NumPy and SciPy"
_SPARSE = "there are no sparse tensors here"
_COMPLEX = "there are no complex tensors here; burn.tensor.signal has rfft and irfft over pairs of real tensors"
_STORAGE = "how a tensor lies in memory is the device's business; x.numpy() shares its memory for reading"
_HOOK = "there are no hooks; gradients are values: grads = loss.backward(), then x.grad(grads)"
_GRADIENT = "gradients are values: grads = loss.backward(), then x.grad(grads)"
_PROCESSOR = "write x.to(device) with burn.Cpu(), burn.NdArray() or burn.LibTorch('cpu')"
_TRACKED = "only tensors on a device such as burn.Cpu().autodiff() record a graph; leave it out, or write x.detach()"
_RANDOM = "write x.random_like(burn.Distribution.Normal(0.0, 1.0)), or .Uniform(0.0, 1.0); x is not changed"

TENSOR = {
    # devices
    "cuda": "there is no CUDA device; " + _PROCESSOR,
    "mps": _PROCESSOR,
    "xpu": _PROCESSOR,
    "ipu": _PROCESSOR,
    "mtia": _PROCESSOR,
    "get_device": "write x.device",
    "pin_memory": "leave it out: memory needs no pinning here",
    "is_cuda": "write x.device",
    "is_cpu": "write x.device",
    "is_mps": "write x.device",
    "is_xpu": "write x.device",
    "is_ipu": "write x.device",
    "is_meta": "write x.device",
    "is_vulkan": "write x.device",
    "is_xla": "write x.device",
    "is_mtia": "write x.device",
    "is_maia": "write x.device",
    "is_mkldnn": "write x.device",
    "to_mkldnn": "leave it out",
    "share_memory_": "leave it out: threads share tensors as they are",
    "is_shared": _STORAGE,
    "is_pinned": _STORAGE,
    "record_stream": "write x.device.sync() to wait for what was asked of a device",
    # gradients
    "data": "write x.detach() for the tensor without its graph, x.to_data() for the values",
    "requires_grad_": "a tensor never changes: write burn.tensor(data, requires_grad=True), or x = x.require_grad() "
    "on a device such as burn.Cpu().autodiff()",
    "detach_": "a tensor never changes: write x = x.detach()",
    "grad_fn": _TRACKED,
    "is_leaf": "write x.is_require_grad()",
    "retain_grad": "write x = x.require_grad() before it is used",
    "retains_grad": "write x.is_require_grad()",
    "register_hook": _HOOK,
    "register_post_accumulate_grad_hook": _HOOK,
    "grad_dtype": _GRADIENT,
    "zero_grad": "leave it out: loss.backward() returns new gradients at every call, nothing adds up",
    "volatile": "write x.no_grad()",
    "is_inference": "write x.device.is_autodiff",
    "output_nr": _GRADIENT,
    "reinforce": _GRADIENT,
    "stop_gradient": "write x.detach()",
    "fill_diagonal_": "write x.mask_where(mask, values)",
    # kinds and memory
    "type": "write x.dtype to ask, x.cast(burn.f32) to convert",
    "is_complex": "there are no complex tensors here",
    "is_signed": "write x.dtype.is_uint",
    "is_quantized": "write isinstance(x, QuantizedTensor)",
    "element_size": "write x.dtype.size",
    "itemsize": "write x.dtype.size",
    "layout": _STORAGE,
    "storage": _STORAGE,
    "untyped_storage": _STORAGE,
    "storage_offset": _STORAGE,
    "storage_type": _STORAGE,
    "stride": _STORAGE,
    "strides": _STORAGE,
    "data_ptr": _STORAGE,
    "const_data_ptr": _STORAGE,
    "dim_order": _STORAGE,
    "set_": _STORAGE,
    "is_set_to": _STORAGE,
    "as_strided": "write x.unfold(dim, size, step), or slices",
    "flags": _STORAGE,
    "base": _STORAGE,
    "as_strided_scatter": "write x.slice_assign(spec, values)",
    "resize_": "write x.reshape(shape), x.pad(pads) or a slice",
    "resize_as_": "write x.reshape(other.shape)",
    "resize_as": "write x.reshape(other.shape)",
    "tobytes": "write x.to_data().as_bytes()",
    "get": "write x.numpy()",
    "asnumpy": "write x.numpy()",
    "to_list": "write x.tolist()",
    "len": "write len(x)",
    "get_shape": "write x.shape",
    "copy": "leave it out: nothing can change a tensor; x.numpy().copy() is an array",
    "deepcopy": "leave it out: nothing can change a tensor",
    "is_same_size": "write x.shape == y.shape",
    "ndimension": "write x.ndim",
    "name": "a tensor has no name; a parameter has an id",
    "qscheme": "see burn.quantization",
    "is_distributed": "leave it out",
    "is_conj": _COMPLEX,
    "is_neg": _COMPLEX,
    "resolve_conj": _COMPLEX,
    "resolve_neg": _COMPLEX,
    "conj": _COMPLEX,
    "conj_physical": _COMPLEX,
    "real": _COMPLEX,
    "imag": _COMPLEX,
    "angle": _COMPLEX,
    "cfloat": _COMPLEX,
    "cdouble": _COMPLEX,
    "chalf": _COMPLEX,
    "isreal": _COMPLEX,
    "H": "write x.T: there are no complex tensors here",
    "mH": "write x.mT: there are no complex tensors here",
    "adjoint": "write x.mT: there are no complex tensors here",
    "is_nested": "write isinstance(x, list)",
    "int_repr": "see burn.quantization",
    "q_scale": "see burn.quantization",
    "q_zero_point": "see burn.quantization",
    "module_load": "write param.loaded(data)",
    "as_subclass": "write burn.Param(x)",
    "to_padded_tensor": "write x.pad(pads)",
    # changing a tensor
    "zero_": "a tensor never changes: write x = x.zeros_like()",
    "zero": "write x.zeros_like()",
    "fill_": "a tensor never changes: write x = x.full_like(value)",
    "fill": "write x.full_like(value)",
    "copy_": "a tensor never changes: bind the name anew, x = other",
    "normal_": _RANDOM,
    "uniform_": _RANDOM,
    "random_": _RANDOM,
    "exponential_": _RANDOM,
    "geometric_": _RANDOM,
    "cauchy_": _RANDOM,
    "log_normal_": _RANDOM,
    "bernoulli_": "write x.random_like(burn.Distribution.Bernoulli(0.5)); x is not changed",
    "index_put": "write x.scatter_nd(indices, values, 'assign'), or x.mask_where(mask, values)",
    "index_put_": "write x = x.scatter_nd(indices, values, 'assign'), or x.mask_where(mask, values)",
    "put": "write x.flatten().scatter(0, indices, values, 'assign').reshape(x.shape)",
    "index_copy": "write x.select_assign(dim, indices, values, 'assign')",
    "index_copy_": "write x = x.select_assign(dim, indices, values, 'assign')",
    "index_fill": "write x.select_assign(dim, indices, values, 'assign')",
    "index_fill_": "write x = x.select_assign(dim, indices, values, 'assign')",
    "index_reduce": "write x.select_assign(dim, indices, values, 'max')",
    "map_": "write x = x.inplace(function)",
    "scatter_": "a tensor never changes: write x = x.scatter(dim, indices, values, 'assign')",
    "scatter_reduce": "write x.scatter(dim, indices, values, 'max')",
    "apply_": "write x = x.inplace(function)",
    "masked_scatter": "write x.mask_where(mask, values)",
    "slice_scatter": "write x.slice_assign(spec, values)",
    "select_scatter": "write x.slice_assign(spec, values)",
    "diagonal_scatter": "write x.mask_where(mask, values)",
    # reductions and order
    "aminmax": "write x.min() and x.max(), or x.amin(dim) and x.amax(dim)",
    "mode": _HOST,
    "nansum": "write x.masked_fill(x.isnan(), 0.0).sum()",
    "nanmean": "write x[~x.isnan()].mean()",
    "nanmedian": "write x[~x.isnan()].median(0)",
    "quantile": "write x.sort(0) and index it, or np.quantile(x, q)",
    "nanquantile": "write np.nanquantile(x, q)",
    "kthvalue": "write x.sort(dim).narrow(dim, k - 1, 1)",
    "msort": "write x.sort(0)",
    "std_mean": "write x.std(dim) and x.mean(dim)",
    "ptp": "write x.max() - x.min()",
    "histc": "write np.histogram(x, bins)",
    "histogram": "write np.histogram(x, bins)",
    "bincount": "write x.one_hot(classes).sum(0), or np.bincount(x)",
    "unique_consecutive": "write x.unique()",
    "logcumsumexp": "write x.exp().cumsum(dim).log()",
    "renorm": "write x / x.norm(dim=1, keepdim=True).clamp(min=1.0)",
    "dist": "write (x - y).norm(p)",
    "diff": "write x[..., 1:] - x[..., :-1] along the last dim, x[1:] - x[:-1] along the first",
    "is_nonzero": "write bool(x)",
    "nonzero_static": "write x.nonzero()",
    "equals": "write x.to_data() == y.to_data(), or x.all_close(y)",
    "average": "write x.mean(dim)",
    "corrcoef": "write np.corrcoef(x)",
    "argpartition": "write x.argsort(0)",
    # shapes
    "broadcast_to": "write x.expand(shape)",
    "fliplr": "write x.flip(1)",
    "flipud": "write x.flip(0)",
    "rot90": "write x.swap_dims(0, 1).flip(0)",
    "repeat_interleave": "write x.select(dim, indices) with repeated indices",
    "diagonal": "write burn.tensor.linalg.diag(x)",
    "diag": "write burn.tensor.linalg.diag(x)",
    "diag_embed": "write x.unsqueeze_dim(-1) * burn.eye(x.shape[-1])",
    "diagflat": "write x.unsqueeze_dim(-1) * burn.eye(n)",
    "hsplit": "write x.split(size, 1)",
    "vsplit": "write x.split(size, 0)",
    "dsplit": "write x.split(size, 2)",
    "tensor_split": "write x.split_with_sizes(sizes, dim)",
    "unsafe_chunk": "write x.chunk(n, dim)",
    "unsafe_split": "write x.split(size, dim)",
    "unsafe_split_with_sizes": "write x.split_with_sizes(sizes, dim)",
    "narrow_copy": "write x.narrow(dim, start, length)",
    "sum_to_size": "write x.sum(dim, keepdim=True)",
    "take_along_dim": "write x.gather(dim, indices)",
    "take_along_axis": "write x.gather(dim, indices)",
    "put_along_axis": "write x.scatter(dim, indices, values, 'assign')",
    "kron": "write np.kron(x, y)",
    "searchsorted": "write np.searchsorted(x, values)",
    "expand_dims": "write x.unsqueeze_dim(dim)",
    "concat": "write burn.cat([x, y])",
    "index": "write x[...]",
    "slice_inverse": "write x.slice_assign(spec, values)",
    # elementwise
    "addcmul": "write x + a * b",
    "addcdiv": "write x + a / b",
    "lerp": "write x + weight * (y - x)",
    "addmm": "write x + a @ b",
    "addmv": "write x + a @ b",
    "addbmm": "write x + (a @ b).sum(0)",
    "baddbmm": "write x + a @ b",
    "addr": "write x + a.outer(b)",
    "ger": "write x.outer(y)",
    "vdot": "write x.dot(y)",
    "copysign": "write x.abs() * y.sign()",
    "heaviside": "write (x > 0.0).float()",
    "sgn": "write x.sign()",
    "signbit": "write x < 0.0",
    "float_power": "write x.double() ** y",
    "positive": "write +x",
    "logaddexp": "write burn.stack([x, y]).logsumexp(0)",
    "logaddexp2": "write burn.stack([x, y]).logsumexp(0)",
    "logit": "write (x / (1.0 - x)).log()",
    "xlogy": "write x * y.log()",
    "sinc": "write np.sinc(x)",
    "nan_to_num": "write x.masked_fill(x.isnan(), 0.0)",
    "fmax": "write x.max_pair(y)",
    "fmin": "write x.min_pair(y)",
    "isneginf": "write x == -math.inf",
    "isposinf": "write x == math.inf",
    "erfc": "write 1.0 - x.erf()",
    "ldexp": "write x * 2.0 ** y",
    "rint": "write x.round()",
    "conjugate": _COMPLEX,
    "clip_": "write x = x.clamp(min, max)",
    "hardshrink": "write x.masked_fill(x.abs() <= 0.5, 0.0)",
    "prelu": "write burn.tensor.activation.prelu(x, alpha)",
    "swish": "write x.silu()",
    "celu": "write x.elu()",
    "selu": "write 1.0507 * x.elu(1.6733)",
    "apply": "write the operations on whole tensors, or x.numpy() and NumPy",
    "map": "write the operations on whole tensors",
    "assign": "a tensor never changes: bind the name anew, x = other",
    "sort_values": "write x.sort(dim)",
    "to_cpu": "write x.cpu()",
    "as_type": "write x.cast(dtype)",
    "multinomial": "write x.categorical(num_samples)",
    "new": "write x.new_tensor(data)",
    "new_empty_strided": "write x.new_empty(shape)",
    # linear algebra
    "det": "write burn.tensor.linalg.det(x)",
    "inverse": "write burn.tensor.linalg.inverse(x)",
    "pinverse": "write np.linalg.pinv(x)",
    "qr": "write burn.tensor.linalg.qr(x)",
    "lu": "write burn.tensor.linalg.lu(x)",
    "solve": "write burn.tensor.linalg.solve(a, b)",
    "svd": "write np.linalg.svd(x)",
    "eig": "write np.linalg.eig(x)",
    "symeig": "write np.linalg.eigh(x)",
    "cholesky": "write np.linalg.cholesky(x)",
    "lstsq": "write np.linalg.lstsq(x, y)",
    "slogdet": "write np.linalg.slogdet(x)",
    "logdet": "write burn.tensor.linalg.det(x).log()",
    "matrix_power": "write np.linalg.matrix_power(x, n)",
    "stft": "write burn.tensor.signal",
    "istft": "write burn.tensor.signal",
    "smm": _SPARSE,
    "sspaddmm": _SPARSE,
}
"""Attributes of tensors."""

FUNCTIONS = {
    "equal": "write x.equal(y).all().item() for one bool, x.equal(y) for each element",
    "float": "a dtype is burn.f32; write x.float() to convert",
    "int": "a dtype is burn.i32 or burn.i64; write x.int()",
    "complex64": _COMPLEX,
    "complex128": _COMPLEX,
    "cfloat": _COMPLEX,
    "cdouble": _COMPLEX,
    "no_grad": "leave it out: tensors on a device without autodiff record nothing; write model.valid() or x.no_grad()",
    "inference_mode": "leave it out: write model.valid(), or x.no_grad()",
    "enable_grad": "write x.to(x.device.autodiff()), or make the tensor with requires_grad=True",
    "set_grad_enabled": "write model.train() and model.valid(); x.no_grad() for a tensor",
    "is_grad_enabled": "write x.device.is_autodiff",
    "cuda": "there is no CUDA device; burn.Cpu() computes with compiled kernels on all cores",
    "mps": "there is no device for Apple's GPUs; burn.Cpu() computes with compiled kernels on all cores",
    "backends": "devices are in burn.backend",
    "is_tensor": "write isinstance(x, burn.Tensor)",
    "Size": "write burn.Shape",
    "FloatTensor": "write burn.tensor(data, dtype=burn.f32)",
    "DoubleTensor": "write burn.tensor(data, dtype=burn.f64)",
    "LongTensor": "write burn.tensor(data, dtype=burn.i64)",
    "IntTensor": "write burn.tensor(data, dtype=burn.i32)",
    "BoolTensor": "write burn.tensor(data, dtype=burn.bool_)",
    "HalfTensor": "write burn.tensor(data, dtype=burn.f16)",
    "ByteTensor": "write burn.tensor(data, dtype=burn.u8)",
    "array": "write burn.tensor(data)",
    "Generator": "write burn.default_device().generator()",
    "seed": "write burn.manual_seed(0)",
    "random": "write burn.manual_seed(0), burn.rand(2, 3), burn.randn(2, 3)",
    "get_rng_state": "write device.generator().state()",
    "set_rng_state": "write device.generator().restore(state)",
    "initial_seed": "write device.generator().state()",
    "autocast": "cast what should be smaller: x.cast(burn.bf16), model.cast(burn.bf16)",
    "amp": "see the page on devices",
    "set_default_dtype": "a device has its dtypes: burn.set_default_device(burn.NdArray(float='f64'))",
    "get_default_dtype": "write burn.default_device().float_dtype",
    "get_default_device": "write burn.default_device()",
    "finfo": "write burn.f32.finfo()",
    "iinfo": "write burn.i32.iinfo()",
    "jit": "write burn.compile(function)",
    "vmap": "operations broadcast: add a dim instead",
    "func": "write loss.backward()",
    "fft": "see burn.tensor.signal",
    "linalg": "write burn.tensor.linalg",
    "signal": "write burn.tensor.signal",
    "activation": "write burn.tensor.activation",
    "special": "functions are methods: x.erf()",
    "distributions": "write burn.Distribution.Normal(0.0, 1.0)",
    "set_printoptions": "write burn.tensor.set_print_options(...)",
    "atleast_1d": "write x.reshape(-1)",
    "atleast_2d": "write x.unsqueeze(rank=2)",
    "atleast_3d": "write x.unsqueeze(rank=3)",
    "normal": "write burn.Tensor.random(shape, burn.Distribution.Normal(mean, std))",
    "uniform": "write burn.Tensor.random(shape, burn.Distribution.Uniform(low, high))",
    "poisson": _HOST,
    "cdist": "write (x.unsqueeze(1) - y.unsqueeze(0)).norm(dim=-1)",
    "cosine_similarity": "write burn.tensor.linalg.cosine_similarity(x, y, dim)",
    "isin": "write (x.unsqueeze(dim=-1) == values).any(dim=-1)",
    "dstack": "write burn.cat([x, y], 2)",
    "bucketize": "write np.digitize(x, boundaries)",
    "cartesian_prod": "write burn.meshgrid(x, y)",
    "block_diag": _HOST,
    "column_stack": "write burn.stack([x, y], 1)",
    "row_stack": "write burn.vstack([x, y])",
    "dropout": "write burn.nn.Dropout(0.5)",
    "embedding": "write burn.tensor.module.embedding(weights, indices)",
    "conv1d": "write burn.tensor.module.conv1d(x, weight)",
    "conv2d": "write burn.tensor.module.conv2d(x, weight)",
    "conv3d": "write burn.tensor.module.conv3d(x, weight)",
    "layer_norm": "write burn.nn.LayerNorm(size)",
    "max_pool2d": "write burn.tensor.module.max_pool2d(x, 2)",
    "avg_pool1d": "write burn.tensor.module.avg_pool1d(x, 2)",
    "max_pool1d": "write burn.tensor.module.max_pool1d(x, 2)",
    "batch_norm": "write burn.nn.BatchNorm(features)",
    "tril_indices": "write (mask == 1).argwhere() of burn.ones(n, n).tril()",
    "triu_indices": "write (mask == 1).argwhere() of burn.ones(n, n).triu()",
    "broadcast_tensors": "write x.expand(shape); operations broadcast by themselves",
    "broadcast_shapes": "write burn.Shape(a).broadcast(b)",
    "result_type": "write (x + y).dtype",
    "promote_types": "write burn.dtype.promote(a, b)",
    "can_cast": "write burn.dtype.promote(a, b)",
    "scalar_tensor": "write burn.tensor(1.0)",
    "frombuffer": "write burn.tensor(np.frombuffer(data))",
    "logspace": "write 10.0 ** burn.linspace(start, end, steps)",
    "tensordot": "write burn.einsum(equation, x, y)",
    "chain_matmul": "write x @ y @ z",
    "numel": "write x.numel()",
    "threshold": "write x.mask_fill(x <= limit, value)",
    "trapezoid": "write np.trapezoid(y, x)",
    "trapz": "write np.trapezoid(y, x)",
    "rsub": "write y - x",
    "newaxis": "write None",
    "memory_format": "leave it out",
    "channels_last": "leave it out",
    "contiguous_format": "leave it out",
    "preserve_format": "leave it out",
    "strided": "leave it out",
    "multiprocessing": "threads share tensors; loaders take workers",
    "compiled": "write burn.compile(function)",
    "get_device": "write burn.default_device()",
    "grad": "write grads = loss.backward(), then x.grad(grads)",
    "value_and_grad": "write grads = loss.backward(), then x.grad(grads)",
    "asnumpy": "write x.numpy()",
    "seed_all": "write burn.manual_seed(0)",
    "set_seed": "write burn.manual_seed(0)",
    "concatenates": "write burn.cat([x, y])",
    "use_deterministic_algorithms": "leave it out: the same program gives the same numbers",
    "synchronize": "write burn.default_device().sync()",
    "pixel_shuffle": "write x.depth_to_space(2)",
}
"""Names of functions and values in the packages `torch` and `numpy`."""

_WHOLE_CLASSES = ("sparse", "Sparse", "ccol_", "crow_", "coalesce")


def of_tensor(name: str, known: Iterable[str]) -> str:
    """What to write for an attribute that a tensor does not have, as the end of a sentence."""
    names = set(known)
    said = TENSOR.get(name)
    if said is not None:
        return f"; {said}"
    if name.endswith("_") and not name.startswith("_"):
        stem = name.rstrip("_")
        if stem in names:
            return f"; a tensor never changes: write x = x.{stem}(...)"
        if stem in TENSOR:
            return f"; a tensor never changes; {TENSOR[stem]}"
    if any(part in name for part in _WHOLE_CLASSES):
        return f"; {_SPARSE}"
    found = advice("Tensor", name, names)
    return found or f"; {_HOST}, dir(burn.Tensor) lists what there is"


_LINALG = {"inv": "inverse", "cholesky_ex": "cholesky", "vecdot": "dot"}
_WITH_PARTS = {"burn.linalg", "burn.nn.functional", "burn.functional", "burn.nn.utils", "burn.optim.lr_scheduler"}


def of_part(package: str, name: str) -> str | None:
    """What to write for `name` of a package that is not there, such as `burn.linalg.inv`; None if nothing is known."""
    import numpy as np

    from burn.tensor import activation, linalg, module
    from burn.tensor.tensor import Tensor

    if package == "burn" and name in FUNCTIONS:
        return f"; {FUNCTIONS[name]}"
    if package not in _WITH_PARTS:
        return None
    said = WRITE.get({"burn.functional": "burn.nn.functional"}.get(package, package.replace(".optim.", ".")), {})
    if name in said:
        return f"; {said[name]}"
    if package in ("burn.nn.utils", "burn.optim.lr_scheduler"):
        return None
    name = _LINALG.get(name, name) if package == "burn.linalg" else name
    for place in (linalg, Tensor) if package == "burn.linalg" else (Tensor, activation, module):
        if callable(getattr(place, name, None)):
            return f"; write {'x' if place is Tensor else place.__name__}.{name}(...)"
    if name in TENSOR:
        return f"; {TENSOR[name]}"
    if package == "burn.linalg" and callable(getattr(np.linalg, name, None)):
        return f"; there is none here: write np.linalg.{name}(x)"
    return None


def of_package(name: str, known: Iterable[str]) -> str:
    """What to write for a name that the package `burn` does not have, as the end of a sentence."""
    from burn.tensor.tensor import Tensor

    said = WRITE["burn"].get(name) or FUNCTIONS.get(name)
    if said is not None:
        return f"; {said}"
    if not name.startswith("_") and callable(getattr(Tensor, name, None)):
        return f"; it is a method: write x.{name}(...)"
    if name in TENSOR:
        return f"; {TENSOR[name]}"
    if name.endswith("_") and callable(getattr(Tensor, name.rstrip("_"), None)):
        return f"; a tensor never changes: write x = x.{name.rstrip('_')}(...)"
    if "sparse" in name.lower():
        return f"; {_SPARSE}"
    return advice("burn", name, [*known, *(each for each in dir(Tensor) if each not in ("handle",))])
