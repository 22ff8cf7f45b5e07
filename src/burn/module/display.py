"""How a module prints: one line per attribute, nested modules indented, the number of parameters last.

    Model {
      linear: Linear {d_input: 4, d_output: 2, bias: true, params: 10}
      activation: Relu
      params: 10
    }

A module with children spreads over lines; one without (`Linear`) stays on one line. `custom_settings`
and `custom_content` of a module change this for itself and for what it holds.
"""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import Any, Self

import numpy as np

from burn.classes import dataclass
from burn.module.fields import field_names
from burn.module.ignored import Ignored
from burn.module.param import Param, QuantizedParam
from burn.module.state import State
from burn.module.walk import is_module, leaves
from burn.tensor import Tensor


@dataclass(frozen=True)
class DisplaySettings:
    """What is shown of modules. Settings of a module hold for everything in it that says nothing else.

    `show_all_attributes` adds parameters and constants, `show_param_id` their ids; `show_num_parameters` (True) ends
    with the number of parameters; `new_line_after_attribute` (True) and `indentation_size` (2) are the layout.

    >>> from burn.module import DisplaySettings
    >>> print(nn.Linear(2, 3).format(DisplaySettings().with_show_num_parameters(False)))
    Linear {d_input: 2, d_output: 3, bias: true}
    """

    show_all_attributes: bool = False
    new_line_after_attribute: bool = True
    show_num_parameters: bool = True
    indentation_size: int = 2
    show_param_id: bool = False

    def with_show_all_attributes(self, flag: bool) -> DisplaySettings:
        """Show parameters and constants of every module too, if `flag`."""
        return replace(self, show_all_attributes=flag)

    def with_new_line_after_attribute(self, flag: bool) -> DisplaySettings:
        """Give each attribute a line of its own, if `flag`."""
        return replace(self, new_line_after_attribute=flag)

    def with_show_num_parameters(self, flag: bool) -> DisplaySettings:
        """End with the number of parameters, if `flag`."""
        return replace(self, show_num_parameters=flag)

    def with_indentation_size(self, size: int) -> DisplaySettings:
        """Indent nested modules by `size` spaces."""
        return replace(self, indentation_size=size)

    def with_show_param_id(self, flag: bool) -> DisplaySettings:
        """Show the id of each parameter that is shown, if `flag`."""
        return replace(self, show_param_id=flag)

    def optional(self) -> Self:
        """These settings."""
        return self


class Content:
    """What a module shows of itself: names with values, in order. `Module.custom_content` is given one.

    `settings` are those that hold for the module; `top_level_type` is another name than the class's.

    >>> class Scale(burn.Module):
    ...     factor: float
    ...     def custom_content(self, content):
    ...         return content.set_top_level_type("Scaling").add("factor", self.factor)
    >>> Scale(2.0)
    Scaling {factor: 2}
    """

    def __init__(self, settings: DisplaySettings, top_level_type: str | None = None) -> None:
        self.display_settings = settings
        self.top_level_type = top_level_type
        self.attributes: list[tuple[str, Any]] = []
        self.single: Any = None

    def add(self, name: str, value: Any) -> Self:
        """Show `name: value`."""
        self.attributes.append((name, value))
        return self

    def add_single(self, value: Any) -> Self:
        """Show one value without a name."""
        self.single = value
        return self

    def set_top_level_type(self, name: str) -> Self:
        """Show another name than the class's."""
        self.top_level_type = name
        return self

    def optional(self) -> Self:
        """This content."""
        return self


def format_module(module: Any, settings: DisplaySettings, level: int = 0) -> str:
    """A module as text; `level` is how deep it lies."""
    settings = module.custom_settings() or settings
    content = content_of(module, settings)
    name = content.top_level_type or type(module).__name__
    if content.single is not None:
        return f"{name} {text_of(content.single, settings, level)}"
    count = module.num_params() if settings.show_num_parameters else 0
    if not content.attributes and not count:
        return name
    lines = [f"{key}: {text_of(value, settings, level + 1)}" for key, value in content.attributes]
    if count:
        lines.append(f"params: {count}")
    if schemes := _schemes(module):
        lines.append(f"quantized: {schemes}")
    nested = any(spreads(value) for _, value in content.attributes) or settings.show_all_attributes
    if nested and settings.new_line_after_attribute:
        pad = " " * (settings.indentation_size * (level + 1))
        end = " " * (settings.indentation_size * level)
        return f"{name} {{\n" + "".join(f"{pad}{line}\n" for line in lines) + end + "}"
    return f"{name} {{{', '.join(lines)}}}"


def content_of(module: Any, settings: DisplaySettings) -> Content:
    """What a module shows of itself: its own choice, or its fields."""
    content: Content | None = module.custom_content(Content(settings, type(module).__name__))
    return _default_content(module, settings) if content is None else content


def _schemes(module: Any) -> str:
    """How the parameters that are fields of a module are quantised, if they are."""
    own = (value for value in module.__dict__.values() if isinstance(value, QuantizedParam))
    return " and ".join(dict.fromkeys(param.val().scheme.describe() for param in own))


def _default_content(module: Any, settings: DisplaySettings) -> Content:
    content = Content(settings, type(module).__name__)
    for name in field_names(module):
        value = module.__dict__[name]
        if name.startswith("_") or isinstance(value, Ignored):
            continue
        if isinstance(value, Tensor | State) and not settings.show_all_attributes and _shows_own(module):
            continue
        content.add(name, value)
    return content


def _shows_own(module: Any) -> bool:
    """Whether a module has something else to show than its tensors."""
    return any(not isinstance(value, Tensor | State) and value is not None for value in module.__dict__.values())


def spreads(value: Any) -> bool:
    """Whether a value is shown on lines of its own: a module, or a container of what is in the tree."""
    return is_module(value) or (isinstance(value, list | tuple | dict) and next(leaves(value), None) is not None)


def text_of(value: Any, settings: DisplaySettings, level: int) -> str:
    """A value as text; `level` is how deep it lies."""
    if is_module(value):
        return format_module(value, settings, level)
    if isinstance(value, Param | State):
        kind = "float" if value.dtype.is_float else "bool" if value.dtype.is_bool else "int"
        ending = f", id: {value.id}" if settings.show_param_id else ""
        sizes = "[" + ", ".join(map(str, value.shape)) + "]"
        if isinstance(value, QuantizedParam):
            ending = f", quantized: {value.val().scheme.describe()}{ending}"
        return f"ParamTensor {{rank: {len(value.shape)}, shape: {sizes}, kind: {kind}{ending}}}"
    if isinstance(value, Tensor):
        sizes = "[" + ", ".join(map(str, value.shape)) + "]"
        return f"Tensor {{rank: {len(value.shape)}, shape: {sizes}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return np.format_float_positional(value, trim="-")
    if value is None:
        return "None"
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple | dict) and spreads(value):
        return _container(value, settings, level)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(text_of(each, settings, level) for each in value) + "]"
    return str(value)


def _container(value: Any, settings: DisplaySettings, level: int) -> str:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    pad = " " * (settings.indentation_size * (level + 1))
    end = " " * (settings.indentation_size * level)
    lines = "".join(f"{pad}{key}: {text_of(each, settings, level + 1)}\n" for key, each in pairs)
    return "{\n" + lines + end + "}"
