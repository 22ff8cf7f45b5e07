"""Which of Burn's public names this package has: `python -m burn.tools.parity`.

`seed_names.csv` lists the names, by area, with the place where each must be found here: a module and
attributes, such as `burn.tensor.Tensor.cat`. A name counts as present when that place resolves. Rows
of source `seed` are owed; rows of source `beyond` are newer and are listed on request.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from burn.packages import missing
from burn.tools.entry import command


class Row(NamedTuple):
    """One public name: its area, its name there, where it is here, and whether it is owed."""

    area: str
    name: str
    where: str
    source: str

    @property
    def is_owed(self) -> bool:
        """Whether the row belongs to the names that must be present."""
        return self.source == "seed"


class Tally(NamedTuple):
    """The rows of one area, present and missing."""

    area: str
    present: list[Row]
    missing: list[Row]


def rows() -> list[Row]:
    """The checked-in list."""
    text = files("burn.tools").joinpath("seed_names.csv").read_text(encoding="utf-8")
    return [
        Row(each["area"], each["name"], each["where"], each["source"]) for each in csv.DictReader(text.splitlines())
    ]


def resolve(where: str) -> Any:
    """The object at a dotted path: the longest prefix that imports, then attributes."""
    parts = where.split(".")
    for count in range(len(parts), 0, -1):
        module = ".".join(parts[:count])
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not (module == error.name or module.startswith(error.name + ".")):
                raise
            continue
        for name in parts[count:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(f"no part of {where} can be imported", name=parts[0])


def is_present(row: Row) -> bool:
    """Whether the place of `row` resolves. A name that waits for a package to be installed is present."""
    try:
        resolve(row.where)
    except AttributeError:
        return False
    except ModuleNotFoundError:
        return needed_package(row) is not None
    return True


def needed_package(row: Row) -> str | None:
    """The package that is not installed and without which the place of `row` cannot be looked at."""
    try:
        resolve(row.where)
    except AttributeError:
        return None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        return None if package == row.where.partition(".")[0] else package
    return None


def tally(chosen: Iterable[Row]) -> list[Tally]:
    """Count the rows by area, in the order of the list."""
    areas: dict[str, Tally] = {}
    for row in chosen:
        area = areas.setdefault(row.area, Tally(row.area, [], []))
        (area.present if is_present(row) else area.missing).append(row)
    return list(areas.values())


def report(areas: Sequence[Tally]) -> str:
    """A table of the areas, then every missing name with the place where it was looked for."""
    width = max((len(each.area) for each in areas), default=4)
    lines = [f"{'area':<{width}}  present  missing"]
    lines += [f"{each.area:<{width}}  {len(each.present):>7}  {len(each.missing):>7}" for each in areas]
    present, absent = sum(len(each.present) for each in areas), [row for each in areas for row in each.missing]
    lines.append(f"{'total':<{width}}  {present:>7}  {len(absent):>7}")
    if absent:
        lines += ["", "missing:"]
        lines += [f"  {row.area}  {row.name}  (no {row.where})" for row in absent]
    return "\n".join([*lines, *unseen(row for each in areas for row in each.present)])


def unseen(present: Iterable[Row]) -> list[str]:
    """A line for each package that is not installed, with the names that were counted without it."""
    waiting: dict[str, list[str]] = {}
    for row in present:
        package = needed_package(row)
        if package is not None:
            waiting.setdefault(package, []).append(row.where)
    return [missing(f"not looked at: {', '.join(names)}", package) for package, names in sorted(waiting.items())]


@command("burn parity")
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; the exit code is 1 when a name that is owed is missing."""
    parser = argparse.ArgumentParser(prog="burn parity", description="Compare the public names with Burn's.")
    parser.add_argument("--beyond", action="store_true", help="also list names newer than the version this one follows")
    options = parser.parse_args(arguments)
    listed = rows()
    owed = tally(row for row in listed if row.is_owed)
    print(report(owed))
    if options.beyond:
        print("\nbeyond, which is not owed:\n")
        print(report(tally(row for row in listed if not row.is_owed)))
    return 1 if any(area.missing for area in owed) else 0


if __name__ == "__main__":
    sys.exit(main())
