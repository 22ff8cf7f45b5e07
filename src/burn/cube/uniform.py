"""Which values differ from lane to lane: the analysis behind scalar addresses, branches and broadcasts."""

from __future__ import annotations

from burn.cube.ir import Kernel, Operation, Region, Value, is_vectorised


def varying_values(kernel: Kernel) -> set[Value]:
    """The values that differ between the lanes of the vectorised loop around them."""
    varying: set[Value] = set()
    _region(kernel.body, varying, inside=False)
    return varying


def _region(region: Region, varying: set[Value], *, inside: bool) -> None:
    for operation in region.operations:
        _operation(operation, varying, inside)


def _operation(operation: Operation, varying: set[Value], inside: bool) -> None:
    name, operands, regions = operation.name, operation.operands, operation.regions
    if name == "if":
        for region in regions:
            _region(region, varying, inside=inside)
        different = operands[0] in varying
        for result, *arms in zip(operation.results, *(region.results for region in regions)):
            if different or any(each in varying for each in arms):
                varying.add(result)
    elif regions and is_vectorised(operation, inside):
        varying.add(regions[0].arguments[0])
        _region(regions[0], varying, inside=True)
    elif name == "serial" or (name == "reduce" and inside):
        _carried(operation, varying, inside)
    elif regions:
        _region(regions[0], varying, inside=inside)
    elif inside and (name.startswith("atomic") or (name != "plane_any" and any(each in varying for each in operands))):
        varying.update(operation.results)


def _carried(operation: Operation, varying: set[Value], inside: bool) -> None:
    """A carried value varies if its first value does, or if an iteration makes it so: then the body is seen again."""
    body = operation.regions[0]
    given = body.arguments[1:] if operation.name == "serial" else operation.results
    carried = list(zip(operation.operands[1:], body.results, given, operation.results, strict=False))

    def spread() -> bool:
        found = [pair for first, made, *pair in carried if first in varying or made in varying]
        new = {each for pair in found for each in pair if each not in varying}
        varying.update(new)
        return bool(new)

    spread()
    _region(body, varying, inside=inside)
    while spread():
        _region(body, varying, inside=inside)
    if operation.name == "reduce" and any(each in varying for each in operation.results):
        varying.update(operation.results)
