"""What differs between two folders of plans and kernels.

plans/avx2/<program>.txt    the plans of a program: steps, launches, memory
kernels/<hash>.txt          a kernel, by the hash that plans launch it under
"""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches.kernel_diff.describing import Kernels

LAUNCH = re.compile(r"(?<=launch )[0-9a-f]{16}\b")

Plans = dict[str, str]
"""Descriptions by `set/program`."""


@dataclass
class Saved:
    """Every plan and every kernel."""

    plans: Plans
    kernels: Kernels

    def write(self, folder: Path) -> None:
        """Into a folder, in place of what was written there before."""
        for kind, texts in (("plans", self.plans), ("kernels", self.kernels)):
            shutil.rmtree(folder / kind, ignore_errors=True)
            for name, text in texts.items():
                path = folder / kind / f"{name}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")

    @staticmethod
    def read(folder: Path) -> Saved:
        """What `write` wrote."""

        def texts(kind: str) -> dict[str, str]:
            root = folder / kind
            paths = sorted(root.rglob("*.txt"))
            return {path.relative_to(root).as_posix()[: -len(".txt")]: path.read_text("utf-8") for path in paths}

        return Saved(texts("plans"), texts("kernels"))


@dataclass
class Difference:
    """The names of programs, and the kernels that stand in the place of others."""

    appeared: list[str]
    vanished: list[str]
    changed: dict[str, str]  # the program → in words what changed
    kernels: list[tuple[str, str, str]]  # a program, what it launched, what it launches now
    plans: list[str]  # programs whose plans differ in more than the kernels they launch

    def __bool__(self) -> bool:
        return bool(self.appeared or self.vanished or self.changed)


def compare(before: Saved, after: Saved) -> Difference:
    """What is different after."""
    found = Difference(
        appeared=sorted(after.plans.keys() - before.plans.keys()),
        vanished=sorted(before.plans.keys() - after.plans.keys()),
        changed={},
        kernels=[],
        plans=[],
    )
    seen: set[tuple[str, str]] = set()
    for name in sorted(before.plans.keys() & after.plans.keys()):
        old, new = before.plans[name], after.plans[name]
        if old == new:
            continue
        launched = LAUNCH.findall(old), LAUNCH.findall(new)
        replaced = list(_replaced(*launched))
        same_plan = LAUNCH.sub("", old) == LAUNCH.sub("", new)
        if not same_plan:
            found.plans.append(name)
        count = f"{len(replaced)} of {len(launched[1])} kernels" if launched[0] != launched[1] else ""
        found.changed[name] = " and ".join(filter(None, (count, "" if same_plan else "the plan")))
        for pair in replaced:
            if pair not in seen:
                seen.add(pair)
                found.kernels.append((name, *pair))
    return found


def _replaced(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    """Launches that differ, in pairs as far as there are partners; "" stands for none."""
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            for index in range(max(b - a, d - c)):
                yield (old[a + index] if a + index < b else "", new[c + index] if c + index < d else "")


def told(found: Difference, before: Saved, after: Saved, most: int) -> Iterator[str]:
    """The difference in lines: every program, then unified diffs of the first `most` kernels and plans."""
    for name in found.vanished:
        yield f"vanished  {name}"
    for name in found.appeared:
        yield f"appeared  {name}"
    for name, what in found.changed.items():
        yield f"changed   {name}: {what}"
    for name, old, new in found.kernels[:most]:
        yield ""
        yield from _unified(before.kernels.get(old, ""), after.kernels.get(new, ""), f"{name} {old}", f"{name} {new}")
    for name in found.plans[:most]:
        yield ""
        texts = [LAUNCH.sub("...", saved.plans[name]) for saved in (before, after)]
        yield from _unified(*texts, name, name)
    hidden = [(len(found.kernels) - most, "kernels"), (len(found.plans) - most, "plans")]
    for count, what in hidden:
        if count > 0:
            yield f"{count} more {what} differ; --most {most + count} shows all"


def _unified(old: str, new: str, *names: str) -> Iterator[str]:
    yield from difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
