"""Masks of attention: true hides. What lies ahead of a position, and what only fills a batch up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from burn.classes import dataclass
from burn.config import Enumeration, variant
from burn.device import Device, given_device
from burn.errors import ArgumentError
from burn.tensor import Tensor


def generate_autoregressive_mask(batch_size: int, seq_length: int, device: Device | None = None) -> Tensor:
    """A bool tensor (`batch_size`, `seq_length`, `seq_length`) that hides from each position the ones after it.

    >>> nn.generate_autoregressive_mask(1, 3).tolist()
    [[[False, True, True], [False, False, True], [False, False, False]]]
    """
    device = given_device("generate_autoregressive_mask", device)
    mask = Tensor.tril_mask((seq_length, seq_length), 0, device)
    return mask.expand((batch_size, seq_length, seq_length))


class SeqLengthOption(Enumeration):
    """How long a padded batch is: as its longest sequence, that but at most `max`, or `fixed`.

    >>> padded = nn.generate_padding_mask(0, [[1, 2, 3], [4]], nn.SeqLengthOption.Fixed(4))
    >>> padded.tensor.tolist()
    [[1, 2, 3, 0], [4, 0, 0, 0]]
    """

    NoMax = variant()
    Max: ClassVar[type[Max]]
    Fixed: ClassVar[type[Fixed]]


class Max(SeqLengthOption, positional=True):
    """As long as the longest sequence, but at most this."""

    max: int


class Fixed(SeqLengthOption, positional=True):
    """Exactly this."""

    length: int


@dataclass(frozen=True, eq=False)
class GeneratePaddingMask:
    """Tokens of equal length (`tensor`), and where they are padding (`mask`): what `generate_padding_mask` gives.

    >>> nn.generate_padding_mask(0, [[1, 2], [3]], None).mask.tolist()
    [[False, False], [False, True]]
    """

    tensor: Tensor  # (batch, length), int
    mask: Tensor  # (batch, length), true where the token is the padding token


def generate_padding_mask(
    pad_token: int,
    tokens_list: Sequence[Sequence[int]],
    seq_length: int | SeqLengthOption | None,
    device: Device | None = None,
) -> GeneratePaddingMask:
    """Bring lists of tokens (`tokens_list`) to one length: short ones get `pad_token` at the end, long ones are cut.

    `seq_length` is the greatest length, None for no limit, or a `SeqLengthOption`.

    >>> padded = nn.generate_padding_mask(0, [[1, 2, 3], [4]], 2)
    >>> padded.tensor.tolist(), padded.mask.tolist()
    ([[1, 2], [4, 0]], [[False, False], [False, True]])
    """
    longest = max((len(tokens) for tokens in tokens_list), default=1)
    if isinstance(seq_length, Fixed):
        size = seq_length.length
    elif isinstance(seq_length, Max):
        size = min(longest, seq_length.max)
    else:
        size = min(longest, seq_length) if isinstance(seq_length, int) else longest
    device = given_device("generate_padding_mask", device)
    if size < 0:
        raise ArgumentError(f"generate_padding_mask: the length must be 0 or more, got {size}")
    filled = np.full((len(tokens_list), size), pad_token, np.int64)
    for row, tokens in zip(filled, tokens_list, strict=True):
        row[: min(len(tokens), size)] = list(tokens)[:size]
    tensor: Tensor = Tensor.from_data(filled, device, device.int_dtype)
    return GeneratePaddingMask(tensor, tensor == pad_token)
