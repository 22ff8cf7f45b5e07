"""One loader for each of several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from burn.data.dataloader.dataloader import BatchDataLoader
from burn.device import Device
from burn.errors import ArgumentError

O = TypeVar("O")  # noqa: E741


def split_dataloader(
    dataloader: BatchDataLoader[O], devices: Sequence[Device], by: Literal["items", "batches"] = "items"
) -> list[BatchDataLoader[O]]:
    """Loaders that share the items of one (`dataloader`), each on a device of `devices`.

    By `"items"`, each device has a part of the dataset to itself. By `"batches"`, all go through the same order and
    take turns: the batches of one turn are, together, consecutive batches of the original.

    >>> from burn import NdArray
    >>> from burn.data.dataloader import DataLoaderBuilder, split_dataloader
    >>> loader = DataLoaderBuilder(lambda items, device: items).batch_size(2).build(list("abcdefgh"))
    >>> [list(part) for part in split_dataloader(loader, [NdArray(), NdArray()])]
    [[['a', 'b'], ['c', 'd']], [['e', 'f'], ['g', 'h']]]
    >>> [list(part) for part in split_dataloader(loader, [NdArray(), NdArray()], by="batches")]
    [[['a', 'b'], ['e', 'f']], [['c', 'd'], ['g', 'h']]]
    """
    count = len(devices)
    if count == 0 or by not in ("items", "batches"):
        raise ArgumentError(
            f'split_dataloader: needs a device or more and by="items" or "batches", got {count} and {by!r}'
        )
    if by == "batches":
        return [dataloader.share(rank, count, device) for rank, device in enumerate(devices)]
    size = dataloader.num_items()
    step = size // count
    ends = [*(step * part for part in range(1, count)), size]
    return [
        dataloader.slice(start, end).to_device(device)
        for start, end, device in zip([0, *ends[:-1]], ends, devices, strict=True)
    ]
