"""Configs and enumerations as a package of layers declares them."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from burn.config import Config, Enumeration, Length, Pair, variant


class PaddingConfig2d(Enumeration):
    """Rows and columns added around an image."""

    Same = variant()
    Valid = variant()
    Explicit = variant(h=int, w=int)


class Initializer(Enumeration):
    """How parameters get their first values."""

    Zeros = variant()
    Ones = variant()
    Constant: ClassVar[type[Constant]]
    KaimingUniform: ClassVar[type[KaimingUniform]]


class Constant(Initializer):
    value: float


class KaimingUniform(Initializer):
    gain: float = 1.0 / math.sqrt(3.0)
    fan_out_only: bool = False


class GradientClippingConfig(Enumeration):
    Value = variant(float)
    Norm = variant(float)
    Between = variant(float, float)


class Mode(enum.Enum):
    Nearest = 1
    Linear = 2


class Access(enum.Flag):
    Read = 1
    Write = 2


class LinearConfig(Config):
    """Settings of an affine map."""

    d_input: int
    d_output: int
    bias: bool = True
    initializer: Initializer = KaimingUniform()


class Conv2dConfig(Config):
    channels: Pair[int]
    kernel_size: Annotated[Sequence[int], Length(2)]
    stride: tuple[int, int] = (1, 1)
    padding: PaddingConfig2d = PaddingConfig2d.Valid


class WeightDecayConfig(Config):
    penalty: float


class AdamConfig(Config):
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-5
    weight_decay: WeightDecayConfig | None = None
    grad_clipping: GradientClippingConfig | None = None


class SgdConfig(Config):
    momentum: float | None
    grad_clipping: GradientClippingConfig | None


class Everything(Config):
    flag: bool
    count: int
    ratio: float
    name: str
    folder: Path
    mode: Mode
    access: Access
    reduction: Literal["mean", "sum", 3]
    counts: list[int]
    names: tuple[str, ...]
    mixed: tuple[int, str, float]
    table: dict[str, list[float]]
    by_number: dict[int, str]
    by_mode: dict[Mode, bool]
    tags: frozenset[str]
    number: int | float | str | None
    layer: LinearConfig
    layers: list[LinearConfig]
    optimizer: AdamConfig | SgdConfig
    initializer: Initializer
    padding: PaddingConfig2d
    clipping: GradientClippingConfig | None
