"""What differs between two folders of plans and kernels.

plans/avx2/<program>.txt    the plans of a program: steps, launches, memory
kernels/<hash>.txt          a kernel, by the hash that plans launch it under
"""

from __future__ import annotations

import difflib
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benches.kernel_diff.describing import Kernels

LAUNCH = re.compile(r"(?<=launch )[0-9a-f]{16}\b")
NAME = re.compile(r"\b(input|value)\d+\b")
PLAN = re.compile(r"(?m)^(?=plan \d+$)")
GIVES = re.compile(r"(?m)^(  gives )(.*)$")

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
    kernels: dict[tuple[str, str], list[str]]  # what was launched and what is launched now → the programs
    plans: list[str]  # programs whose plans differ in more than the kernels they launch
    renumbered: list[str]  # the same plans, in which inputs, values or results have other numbers
    before: dict[str, str]  # the name after → the name before, of rows that belong to another family now

    def __bool__(self) -> bool:
        return bool(self.appeared or self.vanished or self.changed)


def compare(before: Saved, after: Saved) -> Difference:
    """What is different after."""
    names = {name: name for name in before.plans.keys() & after.plans.keys()}
    vanished, appeared = before.plans.keys() - names.keys(), after.plans.keys() - names.keys()
    rows = {row: name for name in vanished if (row := _row(name))}
    relabelled = {name: rows[row] for name in appeared if (row := _row(name)) in rows}
    found = Difference(
        appeared=sorted(appeared - relabelled.keys()),
        vanished=sorted(vanished - {*relabelled.values()}),
        changed={},
        kernels={},
        plans=[],
        renumbered=[],
        before={**names, **relabelled},
    )
    for name, earlier in sorted(found.before.items()):
        old, new = before.plans[earlier], after.plans[name]
        if old == new:
            continue
        old, new = numbered_by_use(old), numbered_by_use(new)
        if old == new:
            found.renumbered.append(name)
            continue
        launched = LAUNCH.findall(old), LAUNCH.findall(new)
        replaced = list(_replaced(*launched))
        same_plan = LAUNCH.sub("", old) == LAUNCH.sub("", new)
        if not same_plan:
            found.plans.append(name)
        count = f"{len(replaced)} of {len(launched[1])} kernels" if launched[0] != launched[1] else ""
        found.changed[name] = " and ".join(filter(None, (count, "" if same_plan else "the plan")))
        for pair in replaced:
            found.kernels.setdefault(pair, []).append(name)
    return found


def numbered_by_use(text: str) -> str:
    """Plans whose inputs and values are called by their first use, and whose results stand in the order of these names.

    Names are given one to one, so two plans with one such text are the same up to them.
    """
    return "".join(map(_numbered, PLAN.split(text)))


def _numbered(plan: str) -> str:
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()

    def name(found: re.Match[str]) -> str:
        if found[0] not in names:
            names[found[0]] = f"{found[1]}{counts[found[1]]}"
            counts[found[1]] += 1
        return names[found[0]]

    def in_order(found: re.Match[str]) -> str:
        return found[1] + ", ".join(sorted(found[2].split(", ")))

    return GIVES.sub(in_order, NAME.sub(name, plan))


def _row(name: str) -> tuple[str, ...] | None:
    """What a row's program is called without the family of the row."""
    parts = name.split("/")
    return (parts[0], *parts[3:]) if len(parts) == 5 and parts[1] == "row" else None


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
    for (old, new), names in [*found.kernels.items()][:most]:
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield ""
        yield from _unified(
            before.kernels.get(old, ""), after.kernels.get(new, ""), f"{names[0]}{others} {old}", f"{names[0]} {new}"
        )
    for name in found.plans[:most]:
        texts = [before.plans[found.before[name]], after.plans[name]]
        yield ""
        yield from _unified(*[LAUNCH.sub("...", numbered_by_use(text)) for text in texts], found.before[name], name)
    hidden = [(len(found.kernels) - most, "kernels"), (len(found.plans) - most, "plans")]
    for count, what in hidden:
        if count > 0:
            yield f"{count} more {what} differ; --most {most + count} shows all"
    if found.renumbered:
        yield f"{len(found.renumbered)} descriptions are the same up to the numbers of inputs, values and results"
    relabelled = sum(name != earlier for name, earlier in found.before.items())
    if relabelled:
        yield f"{relabelled} descriptions are of rows that belong to another family now"


def _unified(old: str, new: str, *names: str) -> Iterator[str]:
    yield from difflib.unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
