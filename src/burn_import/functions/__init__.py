"""What generated models call and nobody else needs: operators of exchange formats as functions of tensors.

from burn_import.functions import quantized, text

Each module is imported by its own name. Files that were generated when these modules stood in `burn.tensor` import them
from there, and find them here (`burn.ops.exchange`).
"""

from pkgutil import iter_modules

MODULES = frozenset(each.name for each in iter_modules(__path__))
"""The names of the modules."""

__all__ = ["MODULES"]
