"""Programs as text, one line per value: what BURN_EXPLAIN prints and tests compare."""

from __future__ import annotations

from burn.program.program import Constant, Operand, Program, Scalar


def to_text(program: Program) -> str:
    """A readable listing."""
    names = (*program.names, *[""] * program.inputs)
    lines = [
        f"%{number}: {value.dtype}{value.shape} = input {name}".rstrip()
        for number, (value, name) in enumerate(zip(program.values[: program.inputs], names, strict=False))
    ]
    for node in program.nodes:
        made = ", ".join(f"%{n}: {program.values[n].dtype}{program.values[n].shape}" for n in node.results)
        given = [_operand(each) for each in node.operands]
        named = list(zip(node.op.attributes, node.attributes, strict=False))
        given += [f"{name}={value!r}" for name, value in named if not isinstance(value, Program)]
        beside = "" if node.fused is None else f" {node.fused}"
        lines.append(f"{made} = {node.op.name}({', '.join(given)}){beside}")
        for name, value in named:
            if isinstance(value, Program):
                lines += [f"  {name}:", *(f"    {line}" for line in to_text(value).splitlines())]
    lines.append(f"return {', '.join(f'%{n}' for n in program.outputs)}")
    return "\n".join(lines)


def _operand(operand: Operand) -> str:
    if isinstance(operand, int):
        return f"%{operand}"
    if isinstance(operand, tuple):
        return f"[{', '.join(f'%{n}' for n in operand)}]"
    if isinstance(operand, Scalar):
        return f"${operand.slot}"
    return repr(operand.value) if isinstance(operand, Constant) else "none"
