"""Control flow that is recorded: `scan`, `while_loop` and `cond`.

A Python loop over tensors is unrolled where it is recorded: a hundred steps are a hundred times the operations. These
functions record the body once, as a program inside of a node. On devices that record nothing they are plain Python.
"""

from burn.control.branches import cond
from burn.control.loops import scan, while_loop

__all__ = ["cond", "scan", "while_loop"]
