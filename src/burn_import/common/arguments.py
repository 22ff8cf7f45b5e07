"""What to load, and how: `LoadArgs`.

    LoadArgs("model.pt").with_top_level_key("state_dict").with_key_remap(r"module\\.(.*)", "$1")

Each `with_` gives new arguments; those that it was called on stay as they are.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass, replace
from typing import Any

from burn.errors import ArgumentError
from burn.record.layouts import PLAIN, PYTORCH
from burn_import.common.renaming import Renaming


class AdapterType(enum.Enum):
    """Whose layout the weights have: `PyTorch` (matrices of linear layers are transposed), or `NoAdapter` for our own.

    >>> from burn_import.pytorch import AdapterType, LoadArgs
    >>> args = LoadArgs("model.safetensors").with_adapter_type(AdapterType.NoAdapter)
    """

    PyTorch = PYTORCH
    """PyTorch's: matrices of linear layers are transposed, norms have `weight` and `bias`."""

    NoAdapter = PLAIN
    """Ours: every tensor is taken as it is, under the name that the module has."""

    def __repr__(self) -> str:
        return f"AdapterType.{self.name}"


@dataclass(frozen=True)
class LoadArgs:
    r"""A `file` (a path, or an open binary file) and what is done with what it holds. Each `with_` gives new arguments.

    `key_remap` renames tensors, `top_level_key` says where in the file the weights stand, `debug` prints every name,
    and `adapter` says whose layout they have (PyTorch's, if nothing is said).

    >>> from burn_import.pytorch import LoadArgs
    >>> args = LoadArgs("model.pt").with_top_level_key("state_dict").with_key_remap(r"module\.(.*)", "$1")
    >>> args.top_level_key
    'state_dict'
    """

    file: Any
    key_remap: tuple[Renaming, ...] = ()
    top_level_key: str | None = None
    debug: bool = False
    adapter: AdapterType = AdapterType.PyTorch

    def with_key_remap(self, pattern: str, replacement: str) -> LoadArgs:
        r"""Replace every match of a regular expression (`pattern`) in the names; several apply in the order given.

        The replacement may name groups as `$1`, `${1}`, `${name}`, `\1` or `\g<name>`; `$$` is a dollar sign.
        """
        return replace(self, key_remap=(*self.key_remap, Renaming(pattern, replacement)))

    def with_top_level_key(self, key: str) -> LoadArgs:
        """Look for the weights under this key of the file."""
        return replace(self, top_level_key=key)

    def with_debug_print(self) -> LoadArgs:
        """Print the name of every tensor before and after renaming, its shape and its element type."""
        return replace(self, debug=True)

    def with_adapter_type(self, adapter: AdapterType) -> LoadArgs:
        """Say whose layout the weights have: `adapter` is an `AdapterType`."""
        if not isinstance(adapter, AdapterType):
            raise ArgumentError(
                f"with_adapter_type: needs AdapterType.PyTorch or AdapterType.NoAdapter, got {adapter!r}"
            )
        return replace(self, adapter=adapter)

    @property
    def name(self) -> str:
        """The file, for messages."""
        if hasattr(self.file, "read"):
            return str(getattr(self.file, "name", "the open file"))
        return os.fsdecode(os.fspath(self.file))


def as_load_args(operation: str, args: Any) -> LoadArgs:
    """The arguments that a user means: `LoadArgs`, or a file alone."""
    made = args if isinstance(args, LoadArgs) else LoadArgs(args)
    if not isinstance(made.file, str | bytes | os.PathLike) and not hasattr(made.file, "read"):
        raise ArgumentError(f"{operation}: a path, an open binary file or LoadArgs is needed, got {made.file!r}")
    return made
