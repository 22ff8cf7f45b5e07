"""Programs with operations that have no kernel: frozen plans, and between them what the host runs.

A value belongs to a stage: the number of host operations, one after the other, that it waits for. All kernels
of a stage are one plan; then the host runs what was waiting for them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu.cache import default_cache
from burn.backend.cpu.frozen.fixed import FixedPlan
from burn.backend.cpu.frozen.making import obstacle
from burn.backend.cpu.frozen.stored import open_stored
from burn.backend.cpu.hosted import HOST_CALLS, operand_of, own_memory
from burn.backend.cpu.plan import Plan, prepare, prepare_keeping
from burn.dtype import dtype as as_dtype
from burn.engine.plan import HostCall
from burn.engine.runtime import with_constants
from burn.errors import BurnError
from burn.ops.dispatch import body_kernel
from burn.program.program import Constant, Node, Program, Scalar

if TYPE_CHECKING:
    from burn.backend.cpu.device import Cpu

Array = np.ndarray[Any, Any]
MOST_CONSTANTS = 4 << 20
"""Bytes of constants that the host reads, in stages that are stored."""

Slots = dict[int, Any]
"""The values of a run by their numbers in the program."""


class PlanStep:
    """A plan: from some values of the program to others."""

    def __init__(
        self, run: Callable[[Sequence[Array]], list[Array]], reads: Sequence[int], makes: Sequence[int]
    ) -> None:
        self.run, self.reads, self.makes = run, tuple(reads), tuple(makes)

    def __call__(self, slots: Slots) -> None:
        slots.update(zip(self.makes, self.run([slots[number] for number in self.reads])))


class HostStep:
    """An operation that the host runs, as a program of one node."""

    def __init__(self, program: Program, reads: Sequence[int], makes: Sequence[int], device: Cpu) -> None:
        self.program, self.reads, self.makes = program, tuple(reads), tuple(makes)
        (self.node,) = program.nodes
        self._kernel: Any = device.kernels[self.node.op] or body_kernel(self.node.op, device)
        self._is_region = self.node.op.kind == "region"

    def __call__(self, slots: Slots) -> None:
        node = self.node
        HOST_CALLS[node.op.name] += not self._is_region
        read = {place: slots[number] for place, number in enumerate(self.reads)}
        operands = [operand_of(each, read, ()) for each in node.operands]
        result = self._kernel(*operands, *node.attributes)
        made = result if node.op.outputs != 1 else (result,)
        for number, value in zip(self.makes, made, strict=True):
            slots[number] = own_memory(value, operands, self._is_region)


class StagedPlan:
    """What runs a program with constants in stages. Several threads may call it at once."""

    def __init__(
        self,
        steps: Sequence[PlanStep | HostStep],
        constants: Mapping[int, Array],
        given: Sequence[int],
        outputs: Sequence[int],
    ) -> None:
        self._steps, self._constants, self._given, self._outputs = list(steps), dict(constants), given, outputs

    def __call__(self, given: Sequence[Array]) -> list[Array]:
        slots: Slots = dict(self._constants)
        slots.update(zip(self._given, given, strict=True))
        for step in self._steps:
            step(slots)
        held = self._constants
        return [slots[number].copy() if number in held else slots[number] for number in self._outputs]

    def save(self, key: str) -> bool:
        """Store the stages in the folder of the kernel cache; False where one of them cannot be."""
        rows: list[dict[str, Any]] = []
        for number, step in enumerate(self._steps):
            row: dict[str, Any] = {"reads": step.reads, "makes": step.makes}
            if isinstance(step, HostStep):
                try:
                    row["host"] = step.program.to_json()
                except BurnError:
                    return False
            elif isinstance(step.run, FixedPlan) and step.run.save(f"{key} {number}"):
                row["plan"] = f"{key} {number}"
            else:
                return False
            rows.append(row)
        if sum(each.nbytes for each in self._constants.values()) > MOST_CONSTANTS:
            return False
        held = {
            str(number): [each.dtype.name, each.shape, base64.b64encode(np.ascontiguousarray(each).tobytes()).decode()]
            for number, each in self._constants.items()
        }
        found = {"steps": rows, "constants": held, "given": list(self._given), "outputs": self._outputs}
        default_cache().store(f"staged {key}", json.dumps(found).encode())
        return True

    def describe(self) -> str:
        """The steps, a line each."""
        lines = []
        for step in self._steps:
            if isinstance(step, HostStep):
                lines.append(f"numpy   {step.node.op.name}")
            else:
                lines.append(step.run.describe() if isinstance(step.run, FixedPlan) else "kernels and numpy")
        return "\n".join(lines)


def open_staged(key: str, device: Cpu) -> StagedPlan | None:
    """What runs the stages that were stored under a key; None where there are none that can be believed."""
    text = default_cache().load(f"staged {key}")
    if text is None:
        return None
    found = json.loads(text)
    steps: list[PlanStep | HostStep] = []
    for row in found["steps"]:
        if "host" in row:
            steps.append(HostStep(Program.from_data(row["host"]), row["reads"], row["makes"], device))
            continue
        runner = open_stored(row["plan"], device)
        if runner is None:
            return None
        steps.append(PlanStep(runner.run, row["reads"], row["makes"]))
    constants = {
        int(number): np.frombuffer(base64.b64decode(data), as_dtype(name).numpy).reshape(shape)
        for number, (name, shape, data) in found["constants"].items()
    }
    return StagedPlan(steps, constants, found["given"], found["outputs"])


def staged(plan: Plan, constants: Mapping[int, Array], numbers: Sequence[float]) -> StagedPlan | None:
    """The program of a plan in stages; None where nothing in it is run by the host, or kernels cannot be told apart."""
    program, device = plan.source, plan.device
    hosted = {_signature(work.node, plan.program) for work in plan.works if isinstance(work, HostCall)}
    if not hosted or device.settings.sanitize:
        return None
    stages = _Stages(program, lambda node: _signature(node, program) in hosted)
    if not stages.hosted:
        return None
    given = [number for number in range(program.inputs) if number not in constants]
    constants = {**constants, **stages.settled(constants, numbers, device)}
    steps: list[PlanStep | HostStep] = []
    for stage in range(stages.count):
        part = stages.part(stage, constants)
        if part is not None:
            sub, reads, held, makes = part
            steps.append(PlanStep(_runner(sub, held, numbers, device), reads, makes))
        waiting = [node for node in stages.hosted.get(stage, ()) if not constants.keys() >= set(node.results)]
        steps += [stages.alone(node, numbers, device) for node in waiting]
    read = {number for nodes in stages.hosted.values() for node in nodes for number in node.reads()}
    wanted = {number: each for number, each in constants.items() if number in read.union(program.outputs)}
    return StagedPlan(steps, wanted, given, program.outputs)


def _runner(
    program: Program, constants: Mapping[int, Array], numbers: Sequence[float], device: Cpu
) -> Callable[[Sequence[Array]], list[Array]]:
    plan = prepare_keeping(program, device)
    if obstacle(plan, constants) is None:
        return FixedPlan(plan, constants, numbers)
    return with_constants(plan, program, constants, numbers)


def _signature(node: Node, program: Program) -> Any:
    """What tells whether the host runs a node: its row, attributes, and what it makes."""
    made = [program.values[number] for number in node.results]
    return node.op.name, repr(node.attributes), str([(tuple(each.shape), each.dtype.name) for each in made])


class _Stages:
    """The nodes of a program by the stage in which they run."""

    def __init__(self, program: Program, is_hosted: Callable[[Node], bool]) -> None:
        self.program = program
        self.stage = dict.fromkeys(range(program.inputs), 0)
        self.kernels: dict[int, list[Node]] = {}
        self.hosted: dict[int, list[Node]] = {}
        self.readers: dict[int, set[int]] = {}
        """Of each value, the stages that read it after its own; -1 where the host does, or nobody but the caller."""
        for node in program.nodes:
            stage = max((self.stage[number] for number in node.reads()), default=0)
            hosted = is_hosted(node)
            (self.hosted if hosted else self.kernels).setdefault(stage, []).append(node)
            self.stage.update(dict.fromkeys(node.results, stage + hosted))
            for number in node.reads():
                if hosted or self.stage[number] != stage:
                    self.readers.setdefault(number, set()).add(-1 if hosted else stage)
        for number in program.outputs:
            self.readers.setdefault(number, set()).add(-1)
        self.count = 1 + max((*self.kernels, *self.hosted), default=0)

    def settled(self, constants: Mapping[int, Array], numbers: Sequence[float], device: Cpu) -> dict[int, Array]:
        """What follows from constants alone and is read by other stages, by the host, or by nobody: computed now."""
        program, known = self.program, set(constants)
        nodes = []
        for node in program.nodes:
            if node.op.family != "random" and known.issuperset(node.reads()):
                known.update(node.results)
                nodes.append(node)
        wanted = [number for node in nodes for number in node.results if number in self.readers]
        if not wanted:
            return {}
        places = {number: place for place, number in enumerate(constants)}
        places |= {n: len(constants) + at for at, n in enumerate(n for node in nodes for n in node.results)}
        alone = Program(
            tuple(program.values[number] for number in places),
            len(constants),
            program.scalars,
            tuple(_renumbered(node, places) for node in nodes),
            tuple(places[number] for number in wanted),
        )
        plan = prepare(alone, (False,) * len(constants), device)
        held = {place: constants[number] for number, place in places.items() if number in constants}
        made = with_constants(plan, alone, held, numbers)([])
        return dict(zip(wanted, map(np.copy, made), strict=True))

    def part(
        self, stage: int, constants: Mapping[int, Array]
    ) -> tuple[Program, list[int], dict[int, Array], list[int]] | None:
        """The kernels of a stage as a program: which values it is given, its constants, and which values it makes."""
        nodes = self.kernels.get(stage, [])
        makes = [n for node in nodes for n in node.results if n in self.readers and n not in constants]
        if not makes:
            return None
        made = {number for node in nodes for number in node.results}
        read = list(dict.fromkeys(number for node in nodes for number in node.reads() if number not in made))
        numbers = {number: place for place, number in enumerate(read)}
        values = [self.program.values[number] for number in read]
        for node in nodes:
            for number in node.results:
                numbers[number] = len(values)
                values.append(self.program.values[number])
        program = Program(
            tuple(values),
            len(read),
            self.program.scalars,
            tuple(_renumbered(node, numbers) for node in nodes),
            tuple(numbers[number] for number in makes),
        )
        held = {place: constants[number] for place, number in enumerate(read) if number in constants}
        return program, [number for number in read if number not in constants], held, makes

    def alone(self, node: Node, numbers: Sequence[float], device: Cpu) -> HostStep:
        """A node that the host runs."""
        read = list(dict.fromkeys(node.reads()))
        places = {number: place for place, number in enumerate([*read, *node.results])}
        operands = tuple(Constant(numbers[e.slot]) if isinstance(e, Scalar) else e for e in node.operands)
        local = _renumbered(Node(node.op, operands, node.attributes, node.results, node.fused), places)
        values = tuple(self.program.values[number] for number in places)
        return HostStep(Program(values, len(read), 0, (local,), local.results), read, node.results, device)


def _renumbered(node: Node, numbers: Mapping[int, int]) -> Node:
    def operand(each: Any) -> Any:
        if isinstance(each, int):
            return numbers[each]
        return tuple(numbers[number] for number in each) if isinstance(each, tuple) else each

    operands = tuple(map(operand, node.operands))
    return Node(node.op, operands, node.attributes, tuple(numbers[number] for number in node.results), node.fused)
