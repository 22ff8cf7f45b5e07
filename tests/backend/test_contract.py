"""The backend contract: every primitive has a kernel, and no kernel belongs to nothing."""

from __future__ import annotations

import pytest

from burn.backend import NdArray
from burn.device import Device
from burn.errors import MissingOperation
from burn.ops.op import TABLE
from tests.stacks import STACKS, TORCH


def missing(device: Device) -> list[str]:
    """The primitives that a backend lacks."""
    lacking = []
    for op in TABLE.values():
        try:
            device.kernels[op]
        except MissingOperation:
            lacking.append(op.name)
    return lacking


@pytest.mark.parametrize("device", STACKS.values(), ids=STACKS)
def test_no_backend_lacks_a_primitive(device):
    assert missing(device) == []


@pytest.mark.parametrize("device", [NdArray(), TORCH], ids=repr)
def test_every_kernel_belongs_to_a_row(device):
    own = {
        name
        for cls in type(device).__mro__
        if cls.__module__.startswith("burn.backend") and not issubclass(cls, Device)
        for name in vars(cls)
        if not name.startswith("_") and callable(getattr(cls, name, None))
    }
    assert sorted(own - set(TABLE)) == []


def test_no_row_has_the_name_of_a_device_attribute():
    assert [name for name in TABLE if hasattr(Device, name)] == []


def test_a_backend_without_a_kernel_says_so():
    class Bare(Device):
        def __repr__(self) -> str:
            return "Bare()"

    lacking = missing(Bare())
    assert "exp" in lacking
    assert "matmul" in lacking
    assert "is_finite" not in lacking
    with pytest.raises(MissingOperation, match=r"exp: Bare\(\) has no kernel for this operation"):
        Bare().kernels[TABLE["exp"]]
