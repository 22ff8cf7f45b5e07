"""The prepared graph of a model as data: what stands under `program` in the `.json` beside generated source.

`encoding` writes it, `decoding` reads it back strictly, `opening` makes a model of it and of a record. Nothing of such
a file is ever executed: the importer's own writer turns the verified graph into source again.
"""

from burn_import.onnx.stored.decoding import decode
from burn_import.onnx.stored.encoding import Stored, store
from burn_import.onnx.stored.opening import open_program

__all__ = ["Stored", "decode", "open_program", "store"]
