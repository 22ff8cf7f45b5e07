"""Names that other libraries have and this one spells differently: what to write in their place.

One table for each place where such a name is asked for: a package, a class of objects, the arguments of configs.
Nothing here is looked at before a name is missing. An entry is the end of the sentence `X has no 'name'; ...`.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from burn.errors import ArgumentError, DeviceError, DTypeError, shown

P = ParamSpec("P")
R = TypeVar("R")

CLIPPING = "write AdamConfig(grad_clipping=GradientClippingConfig."
OF_CLIPPING = " of burn.grad_clipping; the step clips"
CLIP = f"to clip gradients, {CLIPPING}GlobalNorm(1.0)), or .Value(0.5),{OF_CLIPPING}"
FUNCTIONAL = "functions are methods of tensors (x.relu(), x.softmax(1)) and stand in burn.tensor.activation and .module"
LOADERS = "write burn.data.dataloader.DataLoaderBuilder(batcher).batch_size(64).build(dataset)"
PADDING = "write burn.stack([x.pad([(0, longest - len(x))]) for x in sequences]) for sequences of rank 1"
REDUCED = "loss.forward_no_reduction(x, y) gives every element, and .sum() of it the sum"
SAVING = "write model.save_file('model') and model.load_file('model')"
STEP = "write model = optim.step(1e-3, model, loss.backward())"

WRITE: dict[str, dict[str, str]] = {
    "burn": {
        "save": SAVING + ", or burn.record for other values",
        "load": SAVING + ", or burn.record for other values",
        "Sequential": "write burn.nn.Sequential(...)",
        "autograd": "gradients are values: grads = loss.backward(), x.grad(grads)",
        "manual_seed": "write burn.default_device().seed(0)",
        "utils": LOADERS,
        "Reduction": "write nn.Reduction: it is in burn.nn",
        "optimizer": "write burn.optim",
        "functional": FUNCTIONAL,
        "fft": "write burn.tensor.signal.rfft(x), which gives a pair of real tensors",
    },
    "burn.nn": {
        "Module": "modules derive from burn.Module: class Net(burn.Module)",
        "Parameter": "write burn.Param(tensor)",
        "ModuleList": "a plain list holds modules: self.layers = [nn.Linear(3, 4), nn.Linear(4, 2)]",
        "ModuleDict": "a plain dict holds modules: self.layers = {'first': nn.Linear(3, 4)}",
        "ParameterList": "a plain list holds parameters: self.weights = [burn.Param(tensor)]",
        "ParameterDict": "a plain dict holds parameters: self.weights = {'first': burn.Param(tensor)}",
        "functional": FUNCTIONAL,
        "init": "a layer takes its initializer: nn.LinearConfig(3, 4, initializer=nn.Initializer.Zeros).init()",
        "utils": f"{CLIP}; to pad sequences, {PADDING}",
        "DataParallel": "several devices train under LearnerBuilder(...).devices([first, second]) of burn.train",
        "Flatten": "write x.flatten(1, -1) in forward, or give nn.Sequential the function lambda x: x.flatten(1, -1)",
        "Unflatten": "write x.reshape(...) in forward",
        "Softmax": "write x.softmax(1) in forward; CrossEntropyLoss takes logits, before any softmax",
        "LogSoftmax": "write x.log_softmax(1) in forward; CrossEntropyLoss takes logits, before any softmax",
        "Upsample": "write nn.Interpolate2d(scale_factor=(2.0, 2.0))",
        "BatchNorm1d": "one class serves all numbers of dims: nn.BatchNorm(num_features)",
        "BatchNorm2d": "one class serves all numbers of dims: nn.BatchNorm(num_features)",
        "BatchNorm3d": "one class serves all numbers of dims: nn.BatchNorm(num_features)",
        "InstanceNorm1d": "one class serves all numbers of dims: nn.InstanceNorm(num_channels)",
        "InstanceNorm2d": "one class serves all numbers of dims: nn.InstanceNorm(num_channels)",
        "InstanceNorm3d": "one class serves all numbers of dims: nn.InstanceNorm(num_channels)",
        "Dropout1d": "write nn.Dropout(prob)",
        "Dropout2d": "write nn.Dropout(prob)",
        "Dropout3d": "write nn.Dropout(prob)",
        "AlphaDropout": "write nn.Dropout(prob)",
        "Transformer": "write nn.TransformerEncoder(d_model, d_ff, n_heads, n_layers) and nn.TransformerDecoder(...)",
        "Unfold": "write nn.Unfold4d((3, 3))",
        "Fold": "write nn.Fold4d(output_size, kernel_size)",
        "LSTMCell": "write nn.Lstm(d_input, d_hidden) and give it sequences of length 1 with the state it returned",
        "GRUCell": "write nn.Gru(d_input, d_hidden) and give it sequences of length 1 with the state it returned",
        "RNNCell": "write nn.Rnn(d_input, d_hidden) and give it sequences of length 1 with the state it returned",
        "BCELoss": "write nn.BinaryCrossEntropyLoss()",
        "BCEWithLogitsLoss": "write nn.BinaryCrossEntropyLoss(logits=True)",
        "L1Loss": "write nn.LpLoss.l1()",
        "NLLLoss": "write nn.CrossEntropyLoss(), which takes logits",
    },
    "burn.optim": {
        "SGD": "write SgdConfig().init(); the learning rate is given at each step",
        "RMSprop": "write RmsPropConfig().init(); the learning rate is given at each step",
        "Adagrad": "write AdaGradConfig().init(); the learning rate is given at each step",
        "lr_scheduler": "schedulers are in burn.lr_scheduler; they give the rate: optim.step(scheduler.step(), ...)",
    },
    "Module": {
        "state_dict": "write model.into_record(), or dict(model.named_parameters())",
        "load_state_dict": "write model = model.load_record(record), or model = model.load_file('model')",
        "save": "write model.save_file('model')",
        "load": "write model = model.load_file('model')",
        "eval": "a module is a value: write model = model.valid(), and go on training with the model you had",
        "cuda": "there is no CUDA device; a module moves with model = model.to_device(device)",
        "cpu": "write model = model.to_device(burn.Cpu())",
        "zero_grad": "leave it out: loss.backward() returns new gradients at every call, nothing adds up",
        "requires_grad_": "write model = model.freeze() and model = model.unfreeze()",
        "requires_grad": "write model = model.freeze() and model = model.unfreeze()",
        "half": "write model = model.cast(burn.f16)",
        "bfloat16": "write model = model.cast(burn.bf16)",
        "float": "write model = model.cast(burn.f32)",
        "double": "write model = model.cast(burn.f64)",
        "type": "write model = model.cast(burn.f32)",
        "buffers": "write model.leaves(): parameters and states; a state is a burn.module.State",
        "named_buffers": "write model.leaves(): parameters and states with their paths",
        "register_buffer": "assign it: self.mean = tensor, or State(tensor) of burn.module for what is saved",
        "register_parameter": "assign it: self.weight = burn.Param(tensor)",
        "register_module": "assign it: self.layer = nn.Linear(3, 4)",
        "add_module": "assign it: self.layer = nn.Linear(3, 4)",
        "apply": "write model = model.map(function), where function takes a parameter and returns its new tensor",
        "modules": "write model.named_modules()",
        "named_children": "write model.children()",
        "get_submodule": "write dict(model.named_modules())[path]",
        "get_parameter": "write dict(model.named_parameters())[path]",
        "extra_repr": "write def custom_content(self, content) in the class of the module",
        "register_forward_hook": "there are no hooks; write what should happen into forward",
        "register_forward_pre_hook": "there are no hooks; write what should happen into forward",
        "register_full_backward_hook": "there are no hooks; read gradients with param.grad(grads)",
        "training": "write model.is_training(device)",
        "device": "write model.devices(), which lists them",
        "dtype": "write next(model.parameters()).dtype",
        "compile": "write burn.compile(function) around the function that calls the model",
        "grad": "gradients are values: grads = loss.backward(), then param.grad(grads)",
        "append": "write nn.Sequential(*model, layer)",
        "extend": "write nn.Sequential(*model, *layers)",
        "insert": "write nn.Sequential(*model[:index], layer, *model[index:])",
        "share_memory": "threads share a model as it is",
        "init_weights": "a layer takes its initializer: nn.LinearConfig(3, 4, initializer=nn.Initializer.Zeros).init()",
        "to_empty": "write Model.init(device): parameters are drawn when they are first read",
    },
    "Optimizer": {
        "zero_grad": "leave it out: loss.backward() returns new gradients at every call, nothing adds up",
        "state_dict": "write optim.to_record()",
        "load_state_dict": "write optim = optim.load_record(record)",
        "param_groups": "write optim.with_group(ParamGroup.under('head'), SgdConfig().init())",
        "add_param_group": "write optim.with_group(ParamGroup.under('head'), SgdConfig().init())",
        "lr": "the learning rate is given at each step: " + STEP.removeprefix("write "),
        "set_lr": "the learning rate is given at each step: " + STEP.removeprefix("write "),
        "minimize": STEP,
        "update": STEP,
        "apply_gradients": STEP,
        "save": "write optim.to_record(), which every recorder of burn.record writes",
        "init": "the optimizer is there: " + STEP,
    },
    "Tensor": {
        "values": "x.max_dim_with_indices(dim) and x.topk_with_indices(k, dim) give values and indices",
    },
    "burn.nn.utils": {
        "clip_grad_norm_": f"{CLIPPING}GlobalNorm(1.0)){OF_CLIPPING}",
        "clip_grad_value_": f"{CLIPPING}Value(0.5)){OF_CLIPPING}",
        "rnn": PADDING,
        "parameters_to_vector": "write burn.cat([each.flatten() for each in model.parameters()])",
    },
    "burn.nn.functional": {
        "cross_entropy": "write nn.CrossEntropyLoss()(logits, targets)",
        "nll_loss": "write nn.CrossEntropyLoss()(logits, targets), which takes logits",
        "mse_loss": "write nn.MseLoss()(x, y)",
        "l1_loss": "write nn.LpLoss.l1()(x, y)",
        "smooth_l1_loss": "write nn.SmoothL1Loss()(x, y)",
        "huber_loss": "write nn.HuberLoss(1.0)(x, y)",
        "kl_div": "write nn.KLDivLoss()(x, y, nn.Reduction.Mean)",
        "binary_cross_entropy": "write nn.BinaryCrossEntropyLoss()(x, targets)",
        "binary_cross_entropy_with_logits": "write nn.BinaryCrossEntropyLoss(logits=True)(x, targets)",
        "dropout": "write self.dropout = nn.Dropout(0.5) in the module, and self.dropout(x) in forward",
        "interpolate": "write nn.Interpolate2d(scale_factor=(2.0, 2.0))(x), or burn.tensor.module.interpolate(x, size)",
        "normalize": "write x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)",
        "linear": "write x @ weight.T + bias",
        "one_hot": "write x.one_hot(classes)",
        "pad": "write x.pad((left, right, top, bottom), 0.0)",
        "scaled_dot_product_attention": "write burn.tensor.module.attention(query, key, value)",
    },
    "burn.data": {
        "DataLoader": LOADERS,
        "DataLoaderBuilder": "write from burn.data.dataloader import DataLoaderBuilder",
        "Dataset": "write from burn.data.dataset import Dataset",
        "TensorDataset": "write burn.data.dataset.InMemDataset(items)",
    },
    "burn.lr_scheduler": {
        "StepLR": "write StepLrSchedulerConfig(initial_lr, step_size).init()",
        "ExponentialLR": "write ExponentialLrSchedulerConfig(initial_lr, gamma).init()",
        "CosineAnnealingLR": "write CosineAnnealingLrSchedulerConfig(initial_lr, num_iters).init()",
        "LinearLR": "write LinearLrSchedulerConfig(initial_lr, final_lr, num_iters).init()",
        "LambdaLR": "a scheduler has a method step() that gives the rate: derive a class from LrScheduler",
        "ReduceLROnPlateau": "there is none; give optim.step(lr, model, grads) a lower rate when the loss stands still",
        "OneCycleLR": "there is none; SequentialLrSchedulerConfig puts schedulers one after the other",
    },
    "LrScheduler": {
        "get_last_lr": "scheduler.step() gives the rate: model = optim.step(scheduler.step(), model, grads)",
        "get_lr": "scheduler.step() gives the rate: model = optim.step(scheduler.step(), model, grads)",
        "state_dict": "write scheduler.to_record()",
        "load_state_dict": "write scheduler.load_record(record)",
    },
    "value": {
        "MomentumConfig": "write MomentumConfig(momentum=0.9, dampening=0.0), or leave dampening out for Burn's 0.1",
        "GradientClippingConfig": "write GradientClippingConfig.GlobalNorm(1.0)",
        "PaddingConfig1d": "write PaddingConfig1d.Explicit(1)",
        "PaddingConfig2d": "write PaddingConfig2d.Explicit(1, 1)",
        "PaddingConfig3d": "write PaddingConfig3d.Explicit(1, 1, 1)",
    },
    "argument": {
        "lr": "the learning rate is given at each step: " + STEP.removeprefix("write "),
        "learning_rate": "the learning rate is given at each step: " + STEP.removeprefix("write "),
        "params": "an optimizer learns of the parameters at the step: " + STEP.removeprefix("write "),
        "betas": "write beta_1=0.9, beta_2=0.999",
        "nesterov": "write momentum=MomentumConfig(nesterov=True)",
        "max_norm": "write grad_clipping=GradientClippingConfig.GlobalNorm(1.0)",
        "maximize": "step with the gradients of the negated loss",
        "foreach": "leave it out: all parameters are updated together",
        "fused": "leave it out: all parameters are updated together",
        "capturable": "leave it out: burn.compile captures every optimizer",
        "inplace": "leave it out: nothing is changed in place",
        "dtype": "the float dtype is the device's: NdArray(float=burn.f64); or write layer.cast(burn.f64)",
        "reduction": REDUCED,
        "size_average": REDUCED,
        "reduce": REDUCED,
        "affine": "leave it out: the layer scales and shifts",
        "elementwise_affine": "leave it out: the layer scales; bias=False leaves the shift out",
        "track_running_stats": "leave it out: statistics run while training; layer.mode('infer') fixes them",
        "padding_mode": "pad before: x.pad((left, right, top, bottom), ...) in forward, and padding=0 here",
        "padding_idx": "leave it out, and mask what is padding: no row of an embedding is special",
        "num_layers": "make one for each: layers = [nn.Lstm(3, 4), nn.Lstm(4, 4)]",
        "bidirectional": "write nn.BiLstm, nn.BiGru or nn.BiRnn",
        "batch_first": "leave it out: sequences are (batch, length, features)",
        "return_indices": "leave it out: burn.tensor.module has max_pool2d_with_indices",
        "divisor_override": "leave it out, and multiply the result",
        "kdim": "write nn.CrossAttention(d_model, d_context, n_heads, n_heads_kv, d_head)",
        "vdim": "write nn.CrossAttention(d_model, d_context, n_heads, n_heads_kv, d_head)",
    },
}
"""By place, then by name: what to write."""

SPELLINGS: dict[str, tuple[str, ...]] = {
    "in_features": ("d_input",),
    "out_features": ("d_output",),
    "input_size": ("d_input",),
    "hidden_size": ("d_hidden",),
    "in_channels": ("channels_in",),
    "out_channels": ("channels_out",),
    "output_padding": ("padding_out",),
    "num_embeddings": ("n_embedding",),
    "embedding_dim": ("d_model",),
    "embed_dim": ("d_model",),
    "num_heads": ("n_heads",),
    "nhead": ("n_heads",),
    "num_layers": ("n_layers",),
    "dim_feedforward": ("d_ff",),
    "normalized_shape": ("d_model",),
    "num_features": ("num_channels",),
    "num_channels": ("num_features",),
    "layer_norm_eps": ("epsilon",),
    "eps": ("epsilon",),
    "p": ("prob",),
    "dropout": ("prob",),
    "stride": ("strides",),
    "strides": ("stride",),
    "size": ("output_size",),
    "init": ("alpha",),
    "ignore_index": ("pad_index",),
    "label_smoothing": ("smoothing",),
    "weight": ("weights",),
    "alpha": ("negative_slope",),
    "max_len": ("max_sequence_size", "max_sequence_length"),
}
"""What arguments are called elsewhere, and what configs call them: the first one that a config has is meant."""


def spelled(name: str, known: Iterable[str]) -> str | None:
    """The argument among `known` that another library's `name` means."""
    known = set(known)
    return next((each for each in SPELLINGS.get(name, ()) if each in known), None)


KEYWORDS = {
    "axis": "dim", "axes": "dims", "keepdims": "keepdim", "input": "x", "other": "y", "index": "indices",
    "src": "values", "source": "values", "start_dim": "start", "end_dim": "end", "pad": "pads", "a_min": "min",
    "a_max": "max", "shape": "sizes", "size": "shape", "dim": "dims", "dims": "dim", "value": "fill_value",
    "mask": "condition", "dim0": "dim1", "newshape": "shape", "repeats": "sizes",
}  # fmt: skip
"""Names of arguments in PyTorch and NumPy, and ours."""


CALLS = {
    "sort": "x.sort_with_indices(dim) gives values and indices, x.sort_descending(dim) begins with the largest",
    "argsort": "x.argsort_descending(dim) begins with the largest",
    "topk": "x.topk_with_indices(k, dim) gives values and indices",
    "where": "for the places of true elements, write condition.nonzero() or condition.argwhere()",
    "cummax": "it gives the values alone", "cummin": "it gives the values alone",
}  # fmt: skip
"""What PyTorch's functions of the same name do, and ours do under another."""


def advice(place: str, name: str, known: Iterable[str] = ()) -> str:
    """`; write ...` for a name of another library, else `; did you mean ...?` for a near one, else nothing."""
    found = WRITE.get(place, {}).get(name)
    if found is not None:
        return f"; {found}"
    import difflib

    names = [each for each in known if not each.startswith("_")]
    lower = name.lower().replace("_", "")
    same = [each for each in names if each.lower().replace("_", "") == lower]
    if same:
        return f"; write {same[0]}"
    near = difflib.get_close_matches(name, names, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def called_with(write: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For a function whose arguments are often guessed wrong: a call that does not fit says what to write."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                    raise  # it came from inside
                text = str(error).split(" ", 1)[1]
                raise ArgumentError(f"{function.__qualname__}: {text}; {write}") from None

        return call

    return decorate


def missing_attribute(place: str, title: str, name: str, known: Iterable[str] = ()) -> AttributeError:
    """The error for an attribute that an object does not have; `title` is how the message calls the object."""
    return AttributeError(f"{title} has no attribute {name!r}{advice(place, name, known)}")


def missing_name(
    package: str, name: str, known: Iterable[str] = (), hint: str | None = None
) -> AttributeError | ImportError:
    """The error for a name that a package does not have, to be raised by its `__getattr__`.

    `from package import name` would hide the message of an AttributeError behind one of its own, so it gets an
    ImportError; `package.name`, `hasattr` and `getattr` get the AttributeError they know.
    """
    asking = sys._getframe(2)
    part = _part(asking, name)
    if part is not None:
        hint = _of_part(f"{package}.{name}", part) or hint
    text = f"{package} has no {name!r}{advice(package, name, known) if hint is None else hint}"
    return ImportError(text, name=package) if _imports(asking) else AttributeError(text)


def _imports(frame: FrameType) -> bool:
    """Whether a frame stands at the instruction of `from ... import ...`."""
    code, position = frame.f_code.co_code, frame.f_lasti
    return 0 <= position < len(code) and dis.opname[code[position]] == "IMPORT_FROM"


PARTS: list[Callable[[str, str], str | None]] = []
"""What knows more about names in packages that are not there: package and name to the end of a sentence."""


def _of_part(package: str, name: str) -> str | None:
    return next((hint for each in PARTS if (hint := each(package, name)) is not None), None)


def _part(frame: FrameType, name: str) -> str | None:
    """The `part` of `package.name.part`, when a frame stands at `package.name`."""
    before = ""
    for each in dis.get_instructions(frame.f_code) if frame.f_lasti >= 0 else ():
        if each.offset > frame.f_lasti and each.opname not in ("CACHE", "PUSH_NULL"):
            found = before == name and each.opname in ("LOAD_ATTR", "LOAD_METHOD")
            return str(each.argval) if found else None
        if each.offset == frame.f_lasti:
            before = str(each.argval)
    return None


class Guide:
    """The last finder of modules: `import burn.nn.functional` says what to write; others are told nothing."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> None:
        """Raise for a module of another library's layout that is imported as one of this library."""
        package, _, name = fullname.rpartition(".")
        if package.partition(".")[0] != "burn" or sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return
        found = WRITE.get(package, {}).get(name)
        hint = _of_part(package, name) if found is None else f"; {found}"
        if hint is not None:
            raise ModuleNotFoundError(f"{package} has no {name!r}{hint}", name=fullname)


def keyword(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'dim'?` for an argument that is not taken, or nothing."""
    names = list(known)
    near = KEYWORDS.get(name)
    return f"; did you mean {near!r}?" if near in names else advice("", name, names)


_PROCESSOR = "write burn.NdArray() or burn.Cpu(), or leave it out for the default device"
_PLACES = {
    "cpu": _PROCESSOR,
    "cuda": "there is no device for CUDA here; burn.backend has Cpu(), NdArray() and LibTorch()",
    "gpu": "there is no device for GPUs here; burn.backend has Cpu(), NdArray() and LibTorch()",
    "mps": "there is no device for Apple's GPUs here; burn.backend has Cpu(), NdArray() and LibTorch()",
}


def not_a_device(operation: str, value: Any, example: str = "burn.Cpu()") -> DeviceError:
    """The error for something that is no device where one is needed."""
    named = str(value).partition(":")[0].lower()
    if isinstance(value, type) and hasattr(value, "normal_form"):  # the class, where a device was meant
        hint = f"write {value.__name__}()"
    elif hasattr(value, "handle"):
        hint = "write x.device for the device of a tensor x"
    elif named in _PLACES:
        hint = _PLACES[named]
    elif _is_dtype(value):
        hint = f"a dtype goes by name: dtype={value!r}"
    else:
        hint = "write burn.NdArray() or burn.Cpu()"
    return DeviceError(f"{operation}: needs a device such as {example}, got {shown(value)}; {hint}")


def _is_dtype(value: Any) -> bool:
    from burn.dtype import DType, dtype

    try:
        dtype(value)
    except DTypeError:
        return False
    return isinstance(value, str | DType) or hasattr(value, "itemsize")
