"""The dataset itself: items by number, as a sequence, and as an iterable."""

from __future__ import annotations

import pytest
import torch.utils.data

from burn.data.dataset import Dataset, FakeDataset, InMemDataset, as_dataset
from burn.data.dataset.transform import PartialDataset, SelectionDataset
from burn.errors import ArgumentError, IndexingError
from tests.data.samples import Squares


def test_get_gives_none_where_there_is_no_item():
    squares = Squares(4)
    assert [squares.get(index) for index in (-1, 0, 3, 4)] == [None, 0, 9, None]
    assert squares.len() == len(squares) == 4
    assert not squares.is_empty()
    assert Squares(0).is_empty()


def test_square_brackets_count_from_the_end_and_refuse_what_is_not_there():
    squares = Squares(4)
    assert squares[-1] == 9
    assert squares[0] == 0
    for index in (4, -5):
        with pytest.raises(IndexError, match=rf"Squares: item {index} is not there: the dataset has 4 items"):
            squares[index]
    assert issubclass(IndexingError, IndexError)


@pytest.mark.parametrize(
    "where", [slice(1, 3), slice(None), slice(5, 99), slice(3, 1), slice(-2, None), slice(None, None, 2),
              slice(None, None, -1), slice(8, 1, -3)], ids=str,
)  # fmt: skip
def test_slices_are_views_with_the_items_of_a_list(where):
    view = Squares(10)[where]
    assert isinstance(view, PartialDataset | SelectionDataset)
    assert list(view) == [index * index for index in range(10)][where]


def test_iteration_gives_every_item():
    assert list(Squares(5)) == list(Squares(5).iter()) == [0, 1, 4, 9, 16]


def test_a_class_with_brackets_and_len_is_a_dataset_too():
    class Letters(Dataset[str]):
        def __getitem__(self, index):
            return "abc"[index]

        def __len__(self):
            return 3

    letters = Letters()
    assert [letters.get(index) for index in (0, 2, 3, -1)] == ["a", "c", None, None]
    assert letters.len() == 3
    assert list(letters.windows(2)) == [["a", "b"], ["b", "c"]]


def test_a_class_that_says_nothing_is_told_what_it_needs():
    class Nothing(Dataset[int]):
        pass

    with pytest.raises(NotImplementedError, match=r"Nothing: a dataset needs get\(index\) and len\(\)"):
        Nothing().get(0)
    with pytest.raises(NotImplementedError, match="Nothing"):
        len(Nothing())


def test_lists_arrays_and_datasets_of_other_libraries_serve_as_datasets():
    assert list(as_dataset([3, 4])) == [3, 4]
    tensors = torch.utils.data.TensorDataset(torch.arange(3))
    assert [int(item[0]) for item in as_dataset(tensors)] == [0, 1, 2]
    squares = Squares(2)
    assert as_dataset(squares) is squares

    class Foreign:
        def get(self, index):
            return index if index < 2 else None

        def len(self):
            return 2

    assert list(as_dataset(Foreign())) == [0, 1]


def test_what_has_no_length_is_refused():
    with pytest.raises(ArgumentError, match=r"generator has no get\(index\) and len\(\); write InMemDataset\(values\)"):
        as_dataset(each for each in range(3))
    with pytest.raises(ArgumentError, match="int has no get"):
        as_dataset(3)
    assert list(InMemDataset(each for each in range(3))) == [0, 1, 2]


def test_a_fake_item_depends_on_its_number_alone():
    fake = FakeDataset(5, lambda random: float(random.normal()), seed=1)
    assert fake[3] == FakeDataset(9, lambda random: float(random.normal()), seed=1)[3]
    assert len({*fake}) == 5
    assert fake.get(5) is None
