"""Views of datasets: what they contain, in which order, and what they refuse."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.data.dataset import InMemDataset
from burn.data.dataset.transform import (
    ComposedDataset,
    MapperDataset,
    PartialDataset,
    SamplerDataset,
    SelectionDataset,
    ShuffledDataset,
    SizeConfig,
    WindowsDataset,
    random_split,
)
from burn.errors import ArgumentError, IndexingError
from tests.data.samples import Squares

LETTERS = InMemDataset("abcdefghij")


def test_a_part_is_a_range_of_the_items():
    part = PartialDataset(LETTERS, 2, 5)
    assert list(part) == ["c", "d", "e"]
    assert [part.get(index) for index in (-1, 3)] == [None, None]
    assert part.get_many([2, 0, 7]) == ["e", "c", None]


@pytest.mark.parametrize("start, end", [(-1, 3), (4, 3), (0, 11)])
def test_a_part_outside_of_the_dataset_is_refused(start, end):
    with pytest.raises(ArgumentError, match=rf"0 <= start <= end <= 10, got start {start} and end {end}"):
        PartialDataset(LETTERS, start, end)


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 7))
def test_parts_cover_the_dataset_and_only_the_last_ends_within_a_batch(size, parts, batch):
    numbers = InMemDataset(range(size))
    found = PartialDataset.split_chunks(numbers, parts, batch)
    assert [item for part in found for item in part] == list(range(size))
    assert all(len(part) % batch == 0 for part in found[:-1])
    equal = PartialDataset.split(numbers, parts)
    assert [len(part) for part in equal] == [size // parts] * (parts - 1) + [size - size // parts * (parts - 1)]


def test_the_split_of_the_book_takes_four_fifths_and_the_rest():
    dataset = ShuffledDataset.with_seed(LETTERS, 42)
    length = dataset.len()
    train = PartialDataset(dataset, 0, length * 8 // 10)
    test = PartialDataset(dataset, length * 8 // 10, length)
    assert len(train) == 8
    assert sorted([*train, *test]) == list("abcdefghij")


def test_a_seed_gives_one_order_and_another_seed_another():
    numbers = InMemDataset(range(100))
    first = list(ShuffledDataset.with_seed(numbers, 42))
    assert first == list(ShuffledDataset.with_seed(numbers, 42))
    assert first != list(ShuffledDataset.with_seed(numbers, 43))
    assert sorted(first) == list(range(100))
    shuffled = ShuffledDataset(numbers, np.random.default_rng(1))
    assert list(shuffled) == list(shuffled)


def test_a_selection_takes_items_by_number_as_often_as_wished():
    chosen = SelectionDataset(LETTERS, [3, 3, 0])
    assert list(chosen) == ["d", "d", "a"]
    assert chosen.indices == [3, 3, 0]
    assert chosen.get(3) is None
    assert chosen.get_many([2, -1, 0]) == ["a", None, "d"]
    assert [list(part) for part in chosen.split(2)] == [["d"], ["d", "a"]]
    assert list(chosen.slice(1, 3)) == ["d", "a"]
    assert sorted(chosen.shuffle(1)) == ["a", "d", "d"]


def test_a_selection_lists_the_numbers_that_are_not_there():
    with pytest.raises(IndexingError, match="2 indices are outside of 10 items: -1, 10"):
        SelectionDataset(LETTERS, [0, -1, 10])
    with pytest.raises(ArgumentError, match="a list of ints"):
        SelectionDataset(LETTERS, [0.5])
    assert list(SelectionDataset(LETTERS, [])) == []


def test_random_parts_share_no_item_and_cover_the_dataset():
    numbers = InMemDataset(range(103))
    parts = random_split(numbers, [0.7, 0.2, 0.1], seed=3)
    assert [len(part) for part in parts] == [73, 20, 10]
    assert sorted(item for part in parts for item in part) == list(range(103))
    assert list(parts[0]) == list(random_split(numbers, [0.7, 0.2, 0.1], seed=3)[0])
    assert [len(part) for part in random_split(numbers, [100, 3])] == [100, 3]


@pytest.mark.parametrize("lengths", [[50, 50], [0.5, 0.4], [], [104, -1]])
def test_parts_that_do_not_add_up_are_refused(lengths):
    with pytest.raises(ArgumentError, match="random_split"):
        random_split(InMemDataset(range(103)), lengths)


def test_a_mapper_is_a_function_or_an_object_with_map():
    class Negative:
        def map(self, item):
            return -item

    assert list(MapperDataset(Squares(3), Negative())) == [0, -1, -4]
    doubled = MapperDataset(Squares(3), lambda item: 2 * item)
    assert list(doubled) == [0, 2, 8]
    assert doubled.get(3) is None
    assert doubled.get_many([2, 5]) == [8, None]
    with pytest.raises(ArgumentError, match="the mapper is a int"):
        MapperDataset(Squares(3), 3)


def test_a_mapper_runs_when_an_item_is_read_and_not_before():
    calls = []
    mapped = MapperDataset(Squares(100), calls.append)
    assert len(mapped) == 100
    assert calls == []
    mapped.get(7)
    assert calls == [49]


def test_composed_datasets_follow_each_other():
    both = ComposedDataset([Squares(3), InMemDataset([]), [10, 11]])
    assert list(both) == [0, 1, 4, 10, 11]
    assert both.get(5) is None
    assert both.get(-1) is None
    assert both.get_many([4, 0, 3, 9]) == [11, 0, 10, None]
    assert both.get_many([4, 0, 3]) == [11, 0, 10]
    assert ComposedDataset([]).is_empty()


def test_windows_overlap():
    windows = WindowsDataset(LETTERS, 3)
    assert len(windows) == 8
    assert windows[0] == ["a", "b", "c"]
    assert windows[-1] == ["h", "i", "j"]
    assert windows.get(8) is None
    assert LETTERS.window(4, 2) == ["e", "f"]
    assert LETTERS.window(9, 2) is None
    assert list(Squares(2).windows(3)) == []
    with pytest.raises(ArgumentError, match="a window has 1 item or more, got size 0"):
        Squares(2).windows(0)


@pytest.mark.parametrize("size", [3, 10, 25])
def test_a_sampler_has_the_length_that_was_asked_for(size):
    for replacement in (True, False):
        drawn = SamplerDataset(LETTERS, size, replacement=replacement, seed=1)
        assert len(drawn) == size
        assert len(list(drawn)) == size
        assert set(drawn) <= set("abcdefghij")
        assert drawn.get(size) is None


@pytest.mark.parametrize("size", [4, 10, 23, 40])
def test_without_replacement_items_differ_in_frequency_by_one_at_most(size):
    counts = Counter(SamplerDataset.without_replacement(LETTERS, size, seed=7))
    frequencies = [counts[letter] for letter in "abcdefghij"]
    assert max(frequencies) - min(frequencies) <= 1


def test_with_replacement_draws_are_uniform():
    counts = Counter(SamplerDataset.with_replacement(LETTERS, 20_000, seed=5))
    expected = 2000
    statistic = sum((counts[letter] - expected) ** 2 / expected for letter in "abcdefghij")
    assert statistic < 27.9  # the 99.9 % point of chi-squared with 9 degrees of freedom


def test_draws_can_be_repeated_with_a_seed_and_differ_from_epoch_to_epoch():
    sampler = SamplerDataset(LETTERS, 50, seed=3)
    assert list(sampler) == list(SamplerDataset(LETTERS, 50, seed=3))
    assert list(sampler.epoch(0)) == list(sampler.epoch(0))
    assert list(sampler.epoch(0)) != list(sampler.epoch(1))
    again = pickle.loads(pickle.dumps(sampler))
    assert list(again.epoch(4)) == list(sampler.epoch(4))


def test_the_size_of_a_sampler_may_be_a_ratio():
    assert len(SamplerDataset(LETTERS, SizeConfig.Ratio(2.5))) == 25
    assert len(SamplerDataset(LETTERS, SizeConfig.Fixed(4))) == 4
    assert len(SamplerDataset(LETTERS, SizeConfig.Source)) == len(SamplerDataset(LETTERS)) == 10
    with pytest.raises(ArgumentError, match="cannot draw 3 items from a dataset of 0"):
        SamplerDataset(InMemDataset([]), 3)


def test_views_of_a_sampler_follow_its_epochs():
    sampler = SamplerDataset(Squares(100), 6, seed=1)
    view = MapperDataset(PartialDataset(sampler, 0, 4), lambda item: -item)
    assert list(view.epoch(2)) == [-item for item in list(sampler.epoch(2))[:4]]
    both = ComposedDataset([Squares(2), sampler]).epoch(3)
    assert list(both) == [0, 1, *sampler.epoch(3)]
    plain = MapperDataset(Squares(3), abs)
    assert plain.epoch(5) is plain
