"""Modules: objects whose fields are parameters, other modules, and constants.

    class Mlp(Module):
        inner: Linear
        outer: Linear
        dropout: Dropout

        def forward(self, x):
            return self.outer(self.dropout(self.inner(x).relu()))

Annotated fields give a constructor; a class may also write its own `__init__` and assign attributes
(no `super().__init__()` is needed). A module is a value: `map`, `to_device`, `load_record` and an
optimizer's step return a new one and leave the old one as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from typing_extensions import dataclass_transform

from burn.device import Device
from burn.errors import ArgumentError, DeviceError
from burn.guesses import called_with, missing_attribute
from burn.module import display, making, recording
from burn.module.call import typed_by_forward
from burn.module.fields import bind, field_names
from burn.module.flat import Flat
from burn.module.param import Param
from burn.module.state import State
from burn.module.visitor import ModuleMapper, ModuleVisitor, mapped, visit
from burn.module.walk import Static, is_part, leaves, modules, rebuild
from burn.tensor import Tensor

if TYPE_CHECKING:
    from burn.record import FileRecorder, Record

Mode = Literal["auto", "train", "infer"]
MODES = ("auto", "train", "infer")


@dataclass_transform()
class Module:
    """The base of everything with parameters; `torch.nn.Module`. Calling a module calls its `forward`.

    Annotated fields make the constructor, which takes them by position or by name. Fields are parameters (`Param`),
    running statistics (`State`), other modules, lists, tuples and dicts of these, and constants. A module is a value:
    methods give new modules, none changes it.

    >>> class Mlp(burn.Module):
    ...     inner: nn.Linear
    ...     outer: nn.Linear
    ...     def forward(self, x):
    ...         return self.outer(self.inner(x).relu())
    >>> model = Mlp(nn.Linear(2, 3), nn.Linear(3, 1))
    >>> model(Tensor.ones([4, 2])).shape
    Shape([4, 1])
    >>> model
    Mlp {
      inner: Linear {d_input: 2, d_output: 3, bias: true, params: 9}
      outer: Linear {d_input: 3, d_output: 1, bias: true, params: 4}
      params: 13
    }
    """

    __slots__ = ("__dict__", "__weakref__", "_flat")

    __is_module__: ClassVar[bool] = True

    _mode: ClassVar[Mode] = "auto"

    _flat: Flat

    _config: ClassVar[Any] = None
    """The config whose arguments the constructor takes."""

    def __init_subclass__(cls, *, config: Any = None, **options: Any) -> None:
        """`class Linear(Module, config=LinearConfig)`: the constructor takes the arguments of the config."""
        super().__init_subclass__(**options)
        if config is not None:
            making.described_by(cls, config)

    if not TYPE_CHECKING:
        __signature__ = making.Signature()

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            cls = type(self)
            if not args and not kwargs and cls._config is None and making.has_own_constructor(cls):
                # `super().__init__()`, which is not needed but a habit
                found = bind(cls, args, kwargs, lambda name, value: making.made_default(cls, name, value, None), False)
            else:
                found = making.fields_of(cls, args, kwargs)
            self.__dict__.update(found)

        __init__.__makes_modules__ = True

    @classmethod
    def init(cls, *args: Any, **kwargs: Any) -> Self:
        """A module on a device: `Net.init(device)`, or on the default device with `Net.init()`.

        `args` and `kwargs` without the device go to the constructor, which gets the device too if it has a parameter
        for it. Layers that it makes are on the device.

        >>> from burn.nn import Linear
        >>> Linear.init(burn.NdArray(), 3, 4).devices()
        [NdArray()]
        """
        device = kwargs.pop("device", None)
        if device is None:
            given = [index for index, each in enumerate(args) if isinstance(each, Device)]
            if given:
                device, args = args[given[0]], args[: given[0]] + args[given[0] + 1 :]
        return making.made_on(cls, device, args, kwargs)  # type: ignore[no-any-return]

    @classmethod
    def _from_fields(cls, *args: Any, **kwargs: Any) -> Self:
        """A module from the values of its fields, whatever its constructor takes."""
        made = object.__new__(cls)
        made.__dict__.update(bind(cls, args, kwargs))
        return made

    @classmethod
    def _configured(cls, *args: Any) -> Self:
        """A module whose fields its method `_configure` assigns."""
        made: Any = object.__new__(cls)
        made._configure(*args)
        return made  # type: ignore[no-any-return]

    # Calling

    @typed_by_forward
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`forward`, with plain tensors of the same hardware lifted to the module's device."""
        for value in args:
            if isinstance(value, Tensor) and not value.device.is_autodiff:
                args, kwargs = self._lifted(args, kwargs)
                break
        return self.forward(*args, **kwargs)  # type: ignore[attr-defined]

    if not TYPE_CHECKING:  # checkers know the attributes, and find those that are not there

        def __getattr__(self, name: str) -> Any:
            if name == "forward":
                raise AttributeError(
                    f"{type(self).__name__} has no forward; write `def forward(self, x): ...` in its class"
                )
            if name.startswith("__"):
                raise AttributeError(name)
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)  # a property that failed: its own error, not ours
            raise missing_attribute("Module", type(self).__name__, name, (*self.__dict__, *dir(type(self))))

    def _lifted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        device = next((leaf.device for _, leaf in leaves(self) if isinstance(leaf, Param)), None)
        if device is None or not device.is_autodiff:
            return args, kwargs

        def lift(value: Any) -> Any:
            if isinstance(value, Tensor) and value.device is not device and value.device.hardware == device.hardware:
                return device.receive(value) if value.device.depth < device.depth else value
            return value

        return tuple(map(lift, args)), {name: lift(value) for name, value in kwargs.items()}

    # What it holds

    def leaves(self) -> Iterator[tuple[str, Param | State]]:
        """Every parameter and every state with its dotted path; an object found twice comes twice.

        >>> [path for path, _ in nn.BatchNorm(2).leaves()]
        ['gamma', 'beta', 'running_mean', 'running_var']
        """
        return ((path, leaf) for path, leaf in leaves(self) if isinstance(leaf, Param | State))

    def named_parameters(self) -> Iterator[tuple[str, Param]]:
        """Every parameter with its dotted path, each once.

        >>> [(path, tuple(param.shape)) for path, param in nn.Linear(2, 3).named_parameters()]
        [('weight', (2, 3)), ('bias', (3,))]
        """
        seen: set[int] = set()
        for path, leaf in leaves(self):
            if isinstance(leaf, Param) and id(leaf) not in seen:
                seen.add(id(leaf))
                yield path, leaf

    def parameters(self) -> Iterator[Param]:
        """Every parameter, each once.

        >>> [param.shape for param in nn.Linear(2, 3).parameters()]
        [Shape([2, 3]), Shape([3])]
        """
        return (param for _, param in self.named_parameters())

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """This module and every module in it, with dotted paths.

        >>> class Net(burn.Module):
        ...     layers: list[nn.Linear]
        >>> [path for path, _ in Net([nn.Linear(2, 3), nn.Linear(3, 1)]).named_modules()]
        ['', 'layers.0', 'layers.1']
        """
        return modules(self)

    def children(self) -> Iterator[tuple[str, Module]]:
        """The modules that are fields of this one, with their names.

        >>> class Net(burn.Module):
        ...     first: nn.Linear
        ...     dropout: nn.Dropout
        >>> [name for name, _ in Net(nn.Linear(2, 3), nn.Dropout(0.5)).children()]
        ['first', 'dropout']
        """
        return ((name, self.__dict__[name]) for name in field_names(self) if isinstance(self.__dict__[name], Module))

    def num_params(self) -> int:
        """The number of elements in float parameters and states, each counted once.

        >>> nn.Linear(2, 3).num_params()
        9
        """
        found = {id(leaf): leaf for _, leaf in self.leaves() if leaf.dtype.is_float}
        return sum(leaf.shape.num_elements() for leaf in found.values())

    def devices(self) -> list[Device]:
        """The devices its tensors live on, in order of appearance.

        >>> nn.Linear(2, 3).to_device(burn.NdArray()).devices()
        [NdArray()]
        """
        return list(dict.fromkeys(leaf.device for _, leaf in leaves(self) if isinstance(leaf, Tensor)))

    # Visiting and mapping

    def visit(self, visitor: ModuleVisitor) -> None:
        """Show every parameter to a `visitor` (a `ModuleVisitor`), in order of declaration.

        >>> from burn.module import ModuleVisitor
        >>> class Sizes(ModuleVisitor):
        ...     def visit_float(self, id, tensor):
        ...         print(tensor.shape)
        >>> nn.Linear(2, 3).visit(Sizes())
        [2, 3]
        [3]
        """
        visit(self, visitor)

    def map(self, mapper: ModuleMapper | Callable[[Param], Any]) -> Self:
        """A module with new values: `mapper` is a `ModuleMapper`, or a function from `Param` to tensor.

        >>> model = nn.Linear(2, 3).map(lambda param: param.zeros_like())
        >>> print(model.bias.to_data())
        [0.0, 0.0, 0.0]
        """
        if isinstance(mapper, ModuleMapper) or hasattr(mapper, "map_float"):
            return rebuild(self, mapped(mapper), _same)  # type: ignore[arg-type,no-any-return]
        return self._with(lambda param: _value(param, mapper(param)))

    def _with(
        self,
        param: Callable[[Param], Any],
        state: Callable[[State], State] = State.fork,
        constant: Callable[[Tensor], Tensor] = lambda tensor: tensor,
        finish: Callable[[Any], None] | None = None,
    ) -> Self:
        """A module with other leaves. States get cells of their own in every new tree."""

        def change(leaf: Any) -> Any:
            if isinstance(leaf, Param):
                return param(leaf)
            return state(leaf) if isinstance(leaf, State) else constant(leaf)

        return rebuild(self, change, finish)  # type: ignore[no-any-return]

    # Devices and gradients

    def to_device(self, device: Device) -> Self:
        """This module on another device; also as `to`. Its parameters begin a graph of their own there.

        >>> nn.Linear(2, 3).to_device(burn.NdArray().autodiff()).weight.device
        Autodiff(NdArray())
        """
        _check_device("to_device", device)
        return self._with(
            lambda param: param.moved(device),
            lambda state: state.moved(device),
            lambda tensor: tensor.to_device(device),
        )

    to = to_device

    def fork(self, device: Device) -> Self:
        """A copy of this module for work on `device`, with a graph and state cells of its own.

        >>> model = nn.Linear(2, 3)
        >>> model.fork(burn.NdArray()).weight.id == model.weight.id
        True
        """
        _check_device("fork", device)
        return self._with(
            lambda param: param.moved(device) if param.device is not device else _restarted(param),
            lambda state: state.moved(device),
            lambda tensor: tensor.detach().to_device(device),
        )

    def autodiff(self) -> Self:
        """This module on its device with gradients: the way back from `valid()`.

        >>> nn.Linear(2, 3).to_device(burn.NdArray()).autodiff().devices()
        [Autodiff(NdArray())]
        """
        return self._with(
            lambda param: param.moved(param.device.autodiff()),
            constant=lambda tensor: tensor.to_device(tensor.device.autodiff()),
        )

    def no_grad(self) -> Self:
        """This module with every parameter frozen: recorded, but not changed by optimizers.

        >>> [param.trainable for param in nn.Linear(2, 3).no_grad().parameters()]
        [False, False]
        """
        return self._with(lambda param: param.set_require_grad(False))

    def freeze(self, *paths: str) -> Self:
        """This module with the parameters under these dotted `paths` frozen; without paths, all of them.

        >>> model = nn.Linear(2, 3).freeze("weight")
        >>> [(path, param.trainable) for path, param in model.named_parameters()]
        [('weight', False), ('bias', True)]
        """
        return self._set_trainable(paths, False, "freeze")

    def unfreeze(self, *paths: str) -> Self:
        """This module with the parameters under these dotted `paths` trained again; without paths, all of them.

        >>> model = nn.Linear(2, 3).freeze().unfreeze("bias")
        >>> [(path, param.trainable) for path, param in model.named_parameters()]
        [('weight', False), ('bias', True)]
        """
        return self._set_trainable(paths, True, "unfreeze")

    def _set_trainable(self, paths: tuple[str, ...], trainable: bool, operation: str) -> Self:
        chosen: set[int] = set()
        matched: set[str] = set()
        for path, param in self.named_parameters():
            for wanted in paths:
                if path == wanted or path.startswith(wanted + "."):
                    chosen.add(id(param))
                    matched.add(wanted)
        unknown = [wanted for wanted in paths if wanted not in matched]
        if unknown:
            known = ", ".join(path for path, _ in self.named_parameters())
            raise ArgumentError(f"{operation}: no parameter is at {', '.join(unknown)}; there are {known}")
        return self._with(lambda p: p.set_require_grad(trainable) if not paths or id(p) in chosen else p)

    def cast(self, dtype: Any) -> Self:
        """This module with its float parameters and states in another float dtype.

        >>> nn.Linear(2, 3).cast(burn.f16).weight.dtype
        f16
        """
        return self._with(
            lambda p: p.with_value(p.val().detach().cast(dtype)) if p.dtype.is_float else p,
            lambda s: s.with_value(s.value.cast(dtype)) if s.dtype.is_float else s.fork(),
        )

    # Training and inference

    def valid(self) -> Self:
        """This module for inference: below every `Autodiff`, with dropout off and statistics fixed. PyTorch: `eval()`.

        >>> model = nn.Linear(2, 3).to_device(burn.NdArray().autodiff())
        >>> model.valid().devices()
        [NdArray()]
        """

        def param(leaf: Param) -> Param:
            device: Device = leaf.device
            while device.is_autodiff:
                device = device.inner()
            return leaf.moved(device)

        return self._with(param, constant=lambda tensor: tensor.no_grad(), finish=lambda made: _set_mode(made, "infer"))

    @called_with("write model = model.valid() for inference")
    def train(self) -> Self:
        """This module in mode `auto`: it trains on devices with autodiff.

        >>> dropout = nn.Dropout(0.5).valid()
        >>> dropout.is_training(burn.NdArray().autodiff()), dropout.train().is_training(burn.NdArray().autodiff())
        (False, True)
        """
        return self.mode("auto")

    def mode(self, mode: Mode) -> Self:
        """This module with its dropouts, batch norms and the like in one mode.

        `auto` trains where a graph is recorded; `infer` never does, so the statistics stay; `train`
        always does, which on a plain device is Monte-Carlo dropout.

        >>> dropout = nn.Dropout(0.5).mode("train")
        >>> dropout.is_training(burn.NdArray())
        True
        """
        if mode not in MODES:
            raise ArgumentError(f"mode: must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
        return self._with(lambda param: param, finish=lambda made: _set_mode(made, mode))

    def is_training(self, device: Device) -> bool:
        """Whether this module's own mode means training for values on `device`.

        >>> nn.Dropout(0.5).is_training(burn.NdArray()), nn.Dropout(0.5).is_training(burn.NdArray().autodiff())
        (False, True)
        """
        mode = self._mode
        return device.is_autodiff if mode == "auto" else mode == "train"

    # Records

    def into_record(self) -> Record:
        """The parameters and states of this module as a record; PyTorch: `state_dict()`.

        >>> record = nn.Linear(2, 3).into_record()
        >>> sorted(record.item)
        ['bias', 'weight']
        """
        return recording.into_record(self)

    def load_record(self, record: Record, *, strict: bool = True) -> Self:
        """This module with the values of a record; PyTorch: `load_state_dict()`.

        Missing, extra and mis-shaped entries are one error that lists them all. `strict=False` keeps
        what the record does not have and passes over what the module does not have.

        >>> trained, fresh = nn.Linear(2, 3), nn.Linear(2, 3)
        >>> fresh = fresh.load_record(trained.into_record())
        >>> fresh.weight.tolist() == trained.weight.tolist()
        True
        """
        return recording.load_record(self, record, strict)  # type: ignore[no-any-return]

    def save_file(self, path: Any, recorder: FileRecorder[Any] | None = None) -> None:
        """Write this module to a file; the `recorder` gives the format and the extension, `.mpk` without one.

        >>> from burn.record import SafetensorsRecorder
        >>> nn.Linear(2, 3).save_file("model")
        >>> nn.Linear(2, 3).save_file("model", SafetensorsRecorder())
        >>> import os
        >>> sorted(os.listdir())
        ['model.mpk', 'model.safetensors']
        """
        recording.save_file(self, path, recorder)

    def load_file(
        self, path: Any, recorder: FileRecorder[Any] | None = None, device: Device | None = None, *, strict: bool = True
    ) -> Self:
        """This module with the values of a file, on `device` if one is given.

        `recorder` is the one that wrote it; `strict` is as in `load_record`.

        >>> trained = nn.Linear(2, 3)
        >>> trained.save_file("model")
        >>> nn.Linear(2, 3).load_file("model").weight.tolist() == trained.weight.tolist()
        True
        """
        return recording.load_file(self, path, recorder, device, strict)  # type: ignore[no-any-return]

    def quantize_weights(self, quantizer: Any) -> Self:
        """This module with its float parameters as small integers and scales.

        A `burn.quantization.Quantizer` says how, and which; any object with `quantize_tensor` serves.

        >>> from burn.quantization import Quantizer
        >>> nn.Linear(2, 3).quantize_weights(Quantizer())
        Linear {d_input: 2, d_output: 3, bias: true, params: 9, quantized: PerTensor(Symmetric, QInt8)}
        """
        whole = getattr(quantizer, "quantize_module", None)
        if whole is not None:
            return whole(self)  # type: ignore[no-any-return]
        return self._with(lambda p: p.with_value(quantizer.quantize_tensor(p.val())) if p.dtype.is_float else p)

    def clone(self) -> Self:
        """A copy: the same parameters, state cells of its own.

        >>> model = nn.Linear(2, 3)
        >>> model.clone().weight is model.weight
        True
        """
        return self._with(lambda param: param, finish=_same)

    # Display

    def custom_settings(self) -> display.DisplaySettings | None:
        """Display settings for this module and what it holds; None keeps the parent's. A subclass may write it.

        >>> from burn.module import DisplaySettings
        >>> class Quiet(burn.Module):
        ...     layer: nn.Linear
        ...     def custom_settings(self):
        ...         return DisplaySettings().with_show_num_parameters(False)
        >>> Quiet(nn.Linear(2, 3))
        Quiet {
          layer: Linear {d_input: 2, d_output: 3, bias: true}
        }
        """
        return None

    def custom_content(self, content: display.Content) -> display.Content | None:
        """What to show of this module: `content` with names and values added; None shows every attribute.

        >>> class Scale(burn.Module):
        ...     factor: float
        ...     def custom_content(self, content):
        ...         return content.add("factor", f"x{self.factor}")
        >>> Scale(2.0)
        Scale {factor: x2.0}
        """
        return None

    def format(self, settings: display.DisplaySettings | None = None) -> str:
        """The module as text, under display `settings` if some are given.

        >>> from burn.module import DisplaySettings
        >>> print(nn.Linear(2, 3).format(DisplaySettings(show_num_parameters=False)))
        Linear {d_input: 2, d_output: 3, bias: true}
        """
        return display.format_module(self, settings or display.DisplaySettings())

    def __str__(self) -> str:
        return self.format()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows: the tree, which opens and closes."""
        from burn.module.page import module_html

        return module_html(self)

    # Trees

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None:
            Flat.changes += 1
            object.__setattr__(self, name, value)

        def __delattr__(self, name: str) -> None:
            Flat.changes += 1
            object.__delattr__(self, name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __flat__(self) -> tuple[list[Any], Any] | None:
        """Leaves and structure, kept for as long as no module was changed."""
        try:
            flat: Flat = self._flat
        except AttributeError:
            flat = self._kept()
        return flat.of(self)

    def _kept(self) -> Flat:
        try:
            flat: Flat = self._flat
        except AttributeError:
            flat = Flat()
            object.__setattr__(self, "_flat", flat)
        return flat

    def __keep_flat__(self, leaves: list[Any], structure: Any) -> None:
        flat = Flat()
        flat.keep(self, leaves, structure)
        object.__setattr__(self, "_flat", flat)

    def __tree__(self) -> tuple[Sequence[Any], Any]:
        """Tensors and what holds them are children; every other field, a float too, belongs to the structure."""
        flat = self._kept()
        found = flat.tree()
        if found is not None:
            return found
        children: list[Any] = []
        token: list[Any] = []
        for name, value in self.__dict__.items():
            if is_part(value):
                children.append(value)
                token.append(name)
            else:
                token.append(Static(name, value))
        found = children, tuple(token)
        flat.keep_tree(self.__dict__, found)
        return found

    @classmethod
    def __untree__(cls, token: Any, children: Sequence[Any]) -> Self:
        made = object.__new__(cls)
        values = iter(children)
        for each in token:
            if isinstance(each, Static):
                made.__dict__[each.name] = each.value
            else:
                made.__dict__[each] = next(values)
        return made


def _same(made: Any) -> None:
    """Ask `rebuild` for new modules everywhere."""


def _set_mode(module: Any, mode: Mode) -> None:
    if mode == "auto":
        module.__dict__.pop("_mode", None)
    else:
        module.__dict__["_mode"] = mode


def _restarted(param: Param) -> Param:
    return param if not param.is_initialized else param.with_value(param.val().detach())


def _value(param: Param, new: Any) -> Any:
    return new if isinstance(new, Param) else param.with_value(new.detach())


def _check_device(operation: str, device: Any) -> None:
    if not isinstance(device, Device):
        raise DeviceError(f"{operation}: needs a device such as burn.Cpu(), got {device!r}")
