"""Programs as data: verified lists of operations applied to numbered values.

Fusion records into them, `burn.compile` captures into them, backends lower them.
"""

from burn.program.builder import ProgramBuilder
from burn.program.data import ProgramDataError
from burn.program.printer import to_text
from burn.program.program import Constant, Node, Program, Scalar, Value
from burn.program.verifier import verify

__all__ = ["Constant", "Node", "Program", "ProgramBuilder", "ProgramDataError", "Scalar", "Value", "to_text", "verify"]
