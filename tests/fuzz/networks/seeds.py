"""One seed: draw the network, compare it in every way of running, and shrink it if it differs."""

from __future__ import annotations

import traceback

from tests.fuzz.networks.network import Network
from tests.fuzz.networks.recipes import draw
from tests.fuzz.networks.running import differences
from tests.fuzz.networks.shrinking import shrunk


def faults(network: Network) -> list[str]:
    """What is wrong with a network, a line each."""
    try:
        return [str(each) for each in differences(network)]
    except Exception as error:
        return [f"{type(error).__name__}: {error}", traceback.format_exc(limit=-4)]


def alike(found: list[str], wanted: list[str]) -> bool:
    """Whether both are differences, or both the same exception."""
    first, second = (faults[0].partition(":")[0] if faults else "" for faults in (found, wanted))
    return bool(found) and (first == second if "Error" in first + second else True)


def check(seed: int) -> str | None:
    """A report if the network of the seed fails."""
    return report(draw(seed))


def report(network: Network) -> str | None:
    """What is wrong with a network, with the smallest one that has the same fault as code; None if nothing is."""
    found = faults(network)
    if not found:
        return None
    small = shrunk(network, lambda candidate: alike(faults(candidate), found))
    still = faults(small) or ["(passed when it was run once more)"]
    first = "\n".join(f"# {line}" for line in "\n".join([*found[:4], "after shrinking:", *still[:4]]).splitlines())
    return f"{first}\n{small}"
