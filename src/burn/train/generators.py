"""Random generators of a training: those of its devices, of `random` and of NumPy, kept in checkpoints."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from burn.device import Device
from burn.record.attributes import plain, unplain


def seed_generators(seed: int, devices: Sequence[Device]) -> None:
    """Begin all of them at a seed."""
    random.seed(seed)
    np.random.seed(seed % (1 << 32))  # noqa: NPY002 - the generator that transforms of others use
    for device in devices:
        device.seed(seed)


def generator_states(devices: Sequence[Device]) -> dict[str, Any]:
    """Where they stand, as JSON has it."""
    version, words, gauss = random.getstate()
    return {
        "generators": {repr(each.base): list(each.generator().state()) for each in devices},
        "random": plain([version, np.array(words, np.uint32), gauss]),
        "numpy": plain(np.random.get_state()),  # noqa: NPY002
    }


def restore_generators(state: dict[str, Any], devices: Sequence[Device]) -> None:
    """Go on from where `state` was taken; what it does not have stays as it is."""
    for device in devices:
        saved = state.get("generators", {}).get(repr(device.base))
        if saved is not None:
            device.generator().restore((saved[0], saved[1]))
    if "random" in state:
        version, words, gauss = unplain(state["random"])
        random.setstate((version, tuple(words.tolist()), gauss))
    if "numpy" in state:
        np.random.set_state(unplain(state["numpy"]))  # noqa: NPY002
