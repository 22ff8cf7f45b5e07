"""Loaders: which batches, in which order, and what they say of themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import burn
from burn import Cpu, NdArray, Tensor
from burn.data.dataloader import (
    Batcher,
    DataLoaderBuilder,
    FixBatchStrategy,
    LoadingError,
    Progress,
    SizedBatchStrategy,
    split_dataloader,
)
from burn.data.dataset import InMemDataset
from burn.data.dataset.transform import MapperDataset, SamplerDataset
from burn.device import current_device
from burn.errors import ArgumentError
from tests.data.samples import Lists, Slow, Squares


def loader_of(dataset, **options):
    builder = DataLoaderBuilder(Lists())
    for name, value in options.items():
        builder = getattr(builder, name)(value)
    return builder.build(dataset)


def test_batches_have_their_size_and_the_last_one_what_is_left():
    loader = loader_of(InMemDataset(range(7)), batch_size=3)
    assert list(loader) == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(loader) == 3
    assert loader.num_items() == 7
    assert list(loader_of([1, 2])) == [[1], [2]]
    assert list(loader_of([], batch_size=3)) == []
    assert len(loader_of([], batch_size=3)) == 0


def test_a_short_last_batch_can_be_left_out():
    loader = loader_of(InMemDataset(range(7)), batch_size=3, drop_last=True)
    assert list(loader) == [[0, 1, 2], [3, 4, 5]]
    assert (len(loader), loader.num_items()) == (2, 6)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 50),
    st.integers(1, 9),
    st.integers(0, 4),
    st.one_of(st.none(), st.integers(0, 99)),
    st.integers(1, 5),
)
def test_the_number_of_workers_changes_nothing(size, batch, workers, seed, ahead):
    options = {"batch_size": batch} | ({} if seed is None else {"shuffle": seed})
    expected = loader_of(Squares(size), **options)
    extra = {"num_workers": workers, "prefetch": ahead} if workers else {}
    loader = loader_of(Squares(size), **options, **extra)
    for _ in range(3):
        assert list(loader) == list(expected)


def test_workers_that_finish_out_of_order_give_batches_in_order():
    assert list(loader_of(Slow(60), batch_size=2, num_workers=4)) == list(loader_of(Squares(60), batch_size=2))


def test_each_epoch_has_an_order_of_its_own_and_a_seed_repeats_them_all():
    first, second = (loader_of(Squares(50), batch_size=8, shuffle=42) for _ in range(2))
    epochs = [list(first) for _ in range(3)]
    assert epochs == [list(second) for _ in range(3)]
    flat = [[item for batch in epoch for item in batch] for epoch in epochs]
    assert flat[0] != flat[1] != flat[2] != flat[0]
    assert all(sorted(each) == [index * index for index in range(50)] for each in flat)
    assert list(loader_of(Squares(50), batch_size=8, shuffle=43)) != epochs[0]


def test_an_earlier_run_is_continued_by_setting_the_epoch():
    whole, later = (loader_of(Squares(50), batch_size=8, shuffle=42) for _ in range(2))
    epochs = [list(whole) for _ in range(4)]
    assert whole.epoch == 4
    later.set_epoch(2)
    assert [list(later), list(later)] == epochs[2:]
    with pytest.raises(ArgumentError, match="an epoch is 0 or more"):
        later.set_epoch(-1)


@pytest.mark.parametrize("workers", [0, 3])
def test_a_sampler_is_drawn_once_an_epoch_whatever_the_workers(workers):
    dataset = MapperDataset(SamplerDataset(Squares(20), 12, seed=5), lambda item: -item)
    loader = loader_of(dataset, batch_size=5, num_workers=workers)
    epochs = [[item for batch in loader for item in batch] for _ in range(2)]
    assert epochs == [list(dataset.epoch(0)), list(dataset.epoch(1))]
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_iterator_says_how_far_it_is(workers):
    batches = loader_of(Squares(7), batch_size=3, num_workers=workers).iter()
    assert batches.progress() == Progress(0, 7)
    seen = [batches.progress().items_processed for _ in batches]
    assert seen == [3, 6, 7]
    assert batches.progress().share == 1.0
    assert next(batches, "the end") == "the end"


def test_a_loader_of_a_part():
    loader = loader_of(Squares(10), batch_size=2).slice(3, 8)
    assert list(loader) == [[9, 16], [25, 36], [49]]
    assert loader.num_items() == 5


class OnDevice(Batcher[int, Tensor]):
    def batch(self, items: list[int], device: burn.Device) -> Tensor:
        return Tensor.from_data(np.array(items, np.float32), device) * 2.0


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_built_on_the_device_that_was_chosen(workers):
    for device in (NdArray(), Cpu(), Cpu().autodiff()):
        loader = DataLoaderBuilder(OnDevice()).batch_size(4).num_workers(workers).set_device(device).build(range(8))
        assert [batch.device for batch in loader] == [device, device]
        moved = loader.to_device(NdArray())
        assert [batch.device for batch in moved] == [NdArray(), NdArray()]


@pytest.mark.parametrize("workers", [0, 2])
def test_the_default_device_is_the_one_of_the_thread_that_asks(workers):
    def batch(items, device):
        assert current_device() is device
        return device

    loader = DataLoaderBuilder(batch).num_workers(workers).build(range(3))
    with burn.default_device(NdArray()):
        assert list(loader) == [NdArray()] * 3


def test_tensors_of_workers_are_there_when_they_arrive():
    loader = DataLoaderBuilder(OnDevice()).batch_size(5).num_workers(3).set_device(Cpu()).build(range(100))
    total = 0.0
    for batch in loader:
        assert batch.handle.storage is not None
        assert batch.handle.stream is None
        total += float((batch + 1.0).sum())
    assert total == 2 * 4950 + 100


def test_strategies_of_their_own_kind_see_the_items():
    texts = ["aa", "b", "cccc", "ddd", "eeeeeeee", "f", "g"]
    expected = [["aa", "b"], ["cccc"], ["ddd"], ["eeeeeeee"], ["f", "g"]]
    for workers in (0, 1, 3):
        loader = loader_of(texts, batch_strategy=SizedBatchStrategy(5), num_workers=workers)
        assert list(loader) == expected
        assert list(loader) == expected
    with pytest.raises(TypeError, match="the batches depend on the items"):
        len(loader)
    assert loader.num_items() == 7


def test_a_padded_batch_counts_its_largest_item_for_each():
    texts = ["a", "bbb", "c", "dd", "ee", "f"]
    loader = loader_of(texts, batch_strategy=SizedBatchStrategy(6, padded=True))
    assert list(loader) == [["a", "bbb"], ["c", "dd", "ee"], ["f"]]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 9), max_size=80), st.integers(1, 20), st.booleans(), st.sampled_from([0, 2]))
def test_sized_batches_keep_the_order_and_the_limit(sizes, limit, padded, workers):
    strategy = SizedBatchStrategy(limit, float, padded=padded)
    batches = list(loader_of(sizes, batch_strategy=strategy, num_workers=workers))
    assert [item for batch in batches for item in batch] == sizes
    for batch in batches:
        assert len(batch) == 1 or (max(batch) * len(batch) if padded else sum(batch)) <= limit


def test_a_fixed_strategy_can_be_driven_by_hand():
    strategy = FixBatchStrategy(2)
    strategy.add("a")
    assert strategy.batch(False) is None
    strategy.add("b")
    assert strategy.batch(False) == ["a", "b"]
    strategy.add("c")
    assert strategy.new().batch(True) is None
    assert strategy.batch(True) == ["c"]
    assert strategy.batch(True) is None
    assert strategy.batch_size() == 2


def test_a_custom_strategy_of_fixed_size_is_asked_item_by_item():
    class Even(FixBatchStrategy):
        def add(self, item):
            if item % 2 == 0:
                super().add(item)

        def new(self):
            return Even(self.size)

    assert list(loader_of(Squares(9), batch_strategy=Even(2), num_workers=2)) == [[0, 4], [16, 36], [64]]


def test_devices_share_the_items_or_take_turns_with_the_batches():
    devices = [NdArray(), Cpu(), Cpu(fusion=False)]
    loader = DataLoaderBuilder(lambda items, device: (items, device)).batch_size(2).build(range(11))
    parts = split_dataloader(loader, devices)
    assert [[items for items, _ in part] for part in parts] == [
        [[0, 1], [2]], [[3, 4], [5]], [[6, 7], [8, 9], [10]],
    ]  # fmt: skip
    assert [next(part.iter())[1] for part in parts] == devices
    turns = split_dataloader(loader, devices, by="batches")
    assert [[items for items, _ in part] for part in turns] == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10]]]
    assert [part.num_items() for part in turns] == [4, 4, 3]
    with pytest.raises(ArgumentError, match="needs a device or more"):
        split_dataloader(loader, [])


def test_devices_that_take_turns_see_the_shuffled_order_of_one():
    whole = loader_of(Squares(40), batch_size=3, shuffle=1)
    parts = split_dataloader(loader_of(Squares(40), batch_size=3, shuffle=1), [NdArray(), Cpu()], by="batches")
    for _ in range(2):
        turns = [list(part) for part in parts]
        merged = [batch for pair in zip(*turns, strict=True) for batch in pair]
        assert merged == list(whole)


def test_items_that_are_none_are_left_out_and_none_at_all_is_an_error():
    class Holes(Squares):
        def get(self, index):
            return None if index % 3 == 0 else super().get(index)

    assert list(loader_of(Holes(7), batch_size=2)) == [[1], [4], [16, 25]]
    assert list(loader_of(Holes(7), batch_strategy=SizedBatchStrategy(41, float))) == [[1, 4, 16], [25]]

    class Nothing(Squares):
        def get(self, index):
            return None

    with pytest.raises(LoadingError, match="Nothing.get gave None for each of its 4 items"):
        list(loader_of(Nothing(4)))


def test_a_builder_can_be_used_twice():
    common = DataLoaderBuilder(Lists()).batch_size(2)
    shuffled = common.shuffle(3)
    assert list(common.build(range(4))) == [[0, 1], [2, 3]]
    assert list(shuffled.build(range(40))) != list(common.build(range(40)))


def test_every_wrong_setting_is_told_at_once():
    builder = DataLoaderBuilder(Lists()).num_workers(-1).shuffle(-2).set_device("cpu")
    with pytest.raises(ArgumentError) as caught:
        builder.build([1])
    text = str(caught.value)
    assert "3 faults" in text
    assert "num_workers is 0 or more, got -1" in text
    assert "the seed of shuffle is an int of 0 or more, got -2" in text
    assert "set_device needs a device such as Cpu(), got 'cpu'" in text
    with pytest.raises(ArgumentError, match=r"prefetch needs workers; write num_workers\(2\)"):
        DataLoaderBuilder(Lists()).prefetch(2).build([1])
    with pytest.raises(ArgumentError, match="a batch has 1 item or more, got batch_size 0"):
        DataLoaderBuilder(Lists()).batch_size(0)
    with pytest.raises(ArgumentError, match=r"a batcher has batch\(items, device\), and int has not"):
        DataLoaderBuilder(3)
