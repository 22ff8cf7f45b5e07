"""Items read together, their columns, and the examples that use them."""

from __future__ import annotations

import gc
import pickle
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import burn
from burn import Cpu, NdArray
from burn.data.dataloader import DataLoaderBuilder, column
from burn.data.dataset import InMemDataset
from burn.data.dataset.items import Items
from burn.data.dataset.transform import MapperDataset, PartialDataset, ShuffledDataset
from burn.data.dataset.vision import MnistDataset, MnistItem
from burn.errors import DataError
from examples.custom_csv_dataset.__main__ import write_made_up_patients
from examples.custom_csv_dataset.dataset import PatientBatcher, PatientDataset
from examples.guide.data import MnistBatcher


def test_a_column_is_what_stacking_gives():
    digits = MnistDataset.bundled("test")
    for dataset in (digits, ShuffledDataset.with_seed(digits, 1), PartialDataset(digits, 5, 50)):
        items = dataset.get_many([3, 1, 3])
        for name in ("image", "label"):
            np.testing.assert_array_equal(column(items, name), np.stack([getattr(item, name) for item in items]))
        assert column(items, "image") is column(items, "image")  # nothing is copied


def test_a_column_of_other_items_is_stacked():
    items = [SimpleNamespace(x=[1, 2], y=0.5), SimpleNamespace(x=[3, 4], y=1.5)]
    assert column(items, "x").tolist() == [[1, 2], [3, 4]]
    assert column(items, "y").tolist() == [0.5, 1.5]


def test_a_list_that_has_changed_is_not_taken_for_its_columns():
    items = MnistDataset.bundled("test").get_many([0, 1, 2])
    del items[0]
    assert column(items, "label").tolist() == [2, 1]
    plain = pickle.loads(pickle.dumps(items))
    assert type(plain) is list
    assert [item.label for item in plain] == [2, 1]
    assert isinstance(items, Items)


def test_mapped_items_have_columns_of_their_own():
    inverted = MapperDataset(MnistDataset.bundled("test"), lambda item: MnistItem(255 - item.image, item.label))
    items = inverted.get_many([0, 1])
    np.testing.assert_array_equal(column(items, "image"), 255 - column(inverted.dataset.get_many([0, 1]), "image"))


@pytest.mark.parametrize("workers", [0, 2])
def test_the_batcher_of_the_guide_normalises(workers):
    digits = MnistDataset.bundled("test")
    loader = DataLoaderBuilder(MnistBatcher()).batch_size(30).num_workers(workers).set_device(Cpu()).build(digits[:60])
    batch = next(iter(loader))
    expected = (digits.images[:30].astype(np.float64) / 255 - 0.1307) / 0.3081
    np.testing.assert_allclose(batch.images.numpy(), expected, rtol=1e-5, atol=1e-6)
    assert batch.targets.numpy().tolist() == digits.labels[:30].tolist()


def test_batches_of_workers_are_inputs_of_a_captured_function():
    loader = DataLoaderBuilder(MnistBatcher()).batch_size(50).num_workers(2).set_device(Cpu())
    step = burn.compile(lambda total, images: total + images.sum())
    total = burn.tensor(np.zeros(1, np.float32), device=Cpu())
    for batch in loader.build(MnistDataset.bundled("test")):
        total = step(total, batch.images)
    digits = MnistDataset.bundled("test").images.astype(np.float64)
    np.testing.assert_allclose(total.numpy(), [((digits / 255 - 0.1307) / 0.3081).sum()], rtol=1e-3)


def test_batches_are_freed_when_the_loop_goes_on():
    class Batch(list):
        pass

    seen: list[weakref.ref[Batch]] = []

    def make(items, device):
        made = Batch(items)
        seen.append(weakref.ref(made))
        return made

    loader = DataLoaderBuilder(make).batch_size(2).num_workers(2).prefetch(3).build(InMemDataset(range(40)))
    most = 0
    for _ in range(5):
        for batch in loader:
            assert len(batch) == 2
            most = max(most, sum(each() is not None for each in seen))
    del batch
    gc.collect()
    assert len(seen) == 100
    assert most <= 5  # the one in use, three ahead, and one that is just being handed over
    assert sum(each() is not None for each in seen) == 0


def test_the_example_reads_its_csv_file(tmp_path):
    path = tmp_path / "patients.tsv"
    write_made_up_patients(path, 50)
    train, test = PatientDataset.load(path, "train"), PatientDataset.load(path, "test")
    assert (len(train), len(test)) == (40, 10)
    batch = next(iter(DataLoaderBuilder(PatientBatcher()).batch_size(8).set_device(NdArray()).build(train)))
    assert batch.inputs.dims() == (8, 4)
    assert batch.targets.numpy().tolist() == [train[index].response for index in range(8)]
    path.write_text("age\tsex\n1\t2\n")
    with pytest.raises(DataError, match="bmi: is missing; bp: is missing; response: is missing"):
        PatientDataset.load(path, "train")
