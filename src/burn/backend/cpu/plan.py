"""Plans: a program made ready to run again and again.

The program is simplified and lowered for the processor (see `burn.engine.plan`); kernels between two NumPy calls run in
one native call. Each run takes an instance, its memory, so threads may share a plan.
"""

from __future__ import annotations

import collections
import copy
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from burn.backend.cpu import tuning
from burn.backend.cpu.compiler import object_of
from burn.backend.cpu.instance import Instance
from burn.backend.cpu.lower.calls import CpuCalls
from burn.backend.cpu.lower.passes import PASSES
from burn.backend.cpu.pool import pool
from burn.backend.cpu.target import target_of
from burn.backend.regions import RegionKernel
from burn.collecting import collector_waits
from burn.engine.lower.loop import Loop
from burn.engine.plan import HostCall, Lowered, program_at
from burn.engine.runtime import BoundPlan, Stored
from burn.engine.schedule.units import Schedule
from burn.engine.target import lowering_for
from burn.program.passes import run_passes
from burn.program.program import Program
from burn.symbolic import Sizes

if TYPE_CHECKING:
    from burn.backend.cpu.device import Cpu

MOST_INSTANCES = 4

Made = TypeVar("Made", bound="Plan")


def _checked(built: Plan) -> Instance:
    from burn.backend.cpu.sanitizer import CheckedInstance  # the emitter of checked kernels comes with it

    return CheckedInstance(built)


def prepare(program: Program, free: tuple[bool, ...], device: Cpu) -> Plan:
    """The plan of a program; `free` tells which inputs may be overwritten."""
    return tuned(Plan(program, free, device))


def prepare_keeping(program: Program, device: Cpu) -> Plan:
    """The plan of a program some of whose inputs never change: what follows from those is computed once."""
    return tuned(KeepingPlan(program, (False,) * program.inputs, device))


def tuned(plan: Made) -> Made:
    """The plan, its kernels chosen by measurement where that is wanted for every plan."""
    if tuning.mode() == tuning.ON:
        tuning.tell(plan.tune())
    return plan


class Plan(Lowered, BoundPlan):
    """What `prepare` makes. Calling it runs it; several threads may do so at once.

    `fixed` are answers to questions of its lowering that hold whatever was measured.
    """

    def __init__(
        self, source: Program, free: tuple[bool, ...], device: Cpu, fixed: Mapping[tuning.Question, str] | None = None
    ) -> None:
        self.source, self.device, self.free = source, device, free
        self.features = device.settings.target
        self._fixed = fixed or {}
        self._build_lock = threading.Lock()
        self._build()

    def _build(self) -> None:
        """Lower the program for the number of threads and the answers of this moment."""
        self.threads, self.generation = pool().threads, tuning.answers().generation
        settings = self.device.settings
        asking = tuning.asking_here(settings.accuracy, settings.features, self._fixed)
        with lowering_for(target_of(self.features, self.threads)), asking as self.asked, collector_waits():
            self.lower(run_passes(self.source, PASSES), self.free)
        self.instances: collections.deque[Instance] = collections.deque()
        self.__dict__.pop("_built", None)
        self._built = copy.copy(self)
        """What instances go by: the plan may be built anew, for another number of threads, while they run."""

    def at(self, sizes: Sizes) -> Self:
        """The same plan for numbers in the place of sizes that may be any."""
        made = super().at(sizes)
        made.source, made._build_lock = program_at(self.source, sizes), threading.Lock()
        made.instances = collections.deque()
        made._built = copy.copy(made)
        return made

    def calls_of(self, program: Program, schedule: Schedule) -> CpuCalls:
        """The kernels of the CPU."""
        return CpuCalls(program, schedule, self.device.settings)

    def objects(self) -> dict[str, Any]:
        """The machine code of its kernels as object files, by function: also for processors that are not here."""
        loops = [loop for work in self.works if isinstance(work, Loop) for loop in work.loops() if loop.extent]
        return dict(object_of(loop.kernel, self.features) for loop in loops)

    def host_call(self, work: HostCall) -> str:
        kernel: Any = self.device.kernels[work.node.op]
        return kernel.describe(work.node) if isinstance(kernel, RegionKernel) else super().host_call(work)

    # Running

    def __call__(self, inputs: Sequence[Stored], scalars: list[Any]) -> list[Any]:
        instance = self.take()
        try:
            instance.bind_all(inputs, scalars)
            return instance.run(inputs, scalars)
        except BaseException:
            instance.forget()
            raise
        finally:
            self.give_back(instance)

    def take(self) -> Instance:
        """Memory for a run, for the calling thread alone until it gives it back."""
        if not self.is_current():
            return self._another()
        try:
            return self.instances.pop()
        except IndexError:
            return self._another()

    def _another(self) -> Instance:
        """An instance that nobody has had; the plan is built for the present before, if need be."""
        with self._build_lock:
            if not self.is_current():
                self._build()
            built = self._built
        made = _checked(built) if self.device.settings.sanitize else Instance(built)
        self.device.kept.add(made)
        return made

    def is_current(self) -> bool:
        """Whether it would be made the same way now: for so many threads, with these answers."""
        generation = tuning.answers().generation
        if self.threads != pool().threads or (self.generation != generation and not self.asked.holds()):
            return False
        self.generation = generation
        return True

    def tune(self, again: bool = False, progress: tuning.Progress | None = None) -> tuning.Report:
        """Measure which kernels are best for this plan, where that is not known (see `burn.backend.cpu.tuning`)."""
        return tuning.measure(
            self, lambda fixed: type(self)(self.source, self.free, self.device, fixed), again, progress
        )

    def give_back(self, instance: Instance) -> None:
        """Let other runs use the memory."""
        if len(self.instances) < MOST_INSTANCES and instance.works is self.works:
            instance.used = self.device.kept.clock()
            self.instances.append(instance)

    def forget(self, instance: Instance) -> bool:
        """Do not keep an instance for the next run; False where it does not wait for one."""
        try:
            self.instances.remove(instance)
        except ValueError:
            return False
        return True

    def release(self) -> None:
        """Give back the memory that waits for the next run."""
        self.instances.clear()


class KeepingPlan(Plan):
    """A plan whose constants are known: what follows from them may be large."""

    most_kept = 16 << 20
