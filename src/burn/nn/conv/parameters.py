"""The parameters of convolutions: checked and made alike for every number of dims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from burn.device import Device
from burn.module import Param
from burn.nn.checks import refuse, too_small
from burn.nn.initializer import Initializer

Made = tuple[Param, Param | None]


def convolution_parameters(config: Any, channels: Sequence[int], kernel: Sequence[int], device: Device | None) -> Made:
    """Weight (out, in / groups, *kernel) and bias (out,) of a convolution."""
    _check(config, channels, kernel, config.groups, "groups")
    inputs, outputs = channels[0] // config.groups, channels[1] // config.groups
    return _made(config, (channels[1], inputs, *kernel), channels[1], inputs, outputs, device)


def transposed_parameters(config: Any, channels: Sequence[int], kernel: Sequence[int], device: Device | None) -> Made:
    """Weight (in, out / groups, *kernel) and bias (out,) of a transposed convolution."""
    extra, steps, holes = (
        [size] if isinstance(size, int) else size for size in (config.padding_out, config.stride, config.dilation)
    )
    faults = too_small(0, padding=config.padding, padding_out=config.padding_out)
    if any(more >= max(step, hole) for more, step, hole in zip(extra, steps, holes, strict=True)):
        faults.append(
            f"padding_out {_spelled(extra)} must be smaller than the stride {_spelled(steps)} "
            f"or the dilation {_spelled(holes)}"
        )
    _check(config, channels, kernel, config.groups, "groups", faults)
    inputs, outputs = channels[0] // config.groups, channels[1] // config.groups
    return _made(config, (channels[0], outputs, *kernel), channels[1], outputs, inputs, device)


def deformable_parameters(config: Any, device: Device | None) -> Made:
    """Weight (out, in / groups, *kernel) and bias (out,) of a deformable convolution."""
    groups, channels, kernel = config.weight_groups, config.channels, config.kernel_size
    faults = too_small(1, offset_groups=config.offset_groups)
    if not faults and channels[0] % config.offset_groups:
        faults.append(f"offset_groups={config.offset_groups} must divide the {channels[0]} channels of the input")
    _check(config, channels, kernel, groups, "weight_groups", faults)
    inputs, outputs = channels[0] // groups, channels[1] // groups
    return _made(config, (channels[1], inputs, *kernel), channels[1], inputs, outputs, device)


def _check(
    config: Any, channels: Sequence[int], kernel: Sequence[int], groups: int, name: str, faults: Sequence[str] = ()
) -> None:
    settings = {"kernel_size": kernel, "stride": config.stride, "dilation": config.dilation, name: groups}
    found = [*too_small(1, channels=channels, **settings), *faults]
    if groups > 0 and any(count % groups for count in channels):
        found.append(f"{name}={groups} must divide the channels {list(channels)}")
    refuse(config, found)


def _made(config: Any, shape: Sequence[int], channels: int, inputs: int, outputs: int, device: Device | None) -> Made:
    initializer: Initializer = config.initializer
    area = math.prod(shape[2:])
    weight = initializer.init(shape, device, inputs * area, outputs * area)
    return weight, initializer.init((channels,), device, inputs * area, outputs * area) if config.bias else None


def _spelled(sizes: Sequence[int]) -> str:
    return str(sizes[0] if len(sizes) == 1 else list(sizes))
