"""MNIST: idx files, where they are looked for, and the part that comes with the package."""

from __future__ import annotations

import gzip
import hashlib
import struct
import warnings
from importlib.resources import files

import numpy as np
import pytest

from burn.data.dataset.vision import BundledNotice, FashionMnistDataset, MnistDataset, MnistItem
from burn.data.dataset.vision.idx import read_idx
from burn.errors import ArgumentError, DataError
from tests.data.server import serving


def idx(array: np.ndarray, code: int = 8) -> bytes:
    """An IDX file, written by the description of the format."""
    return struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape) + array.tobytes()


def small_split(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (count, 28, 28), np.uint8), random.integers(0, 10, count, np.uint8)


def put(folder, stem: str, count: int, compress: bool = True) -> None:
    images, labels = small_split(count)
    folder.mkdir(exist_ok=True)
    for name, array in ((f"{stem}-images-idx3-ubyte", images), (f"{stem}-labels-idx1-ubyte", labels)):
        data = idx(array)
        (folder / (name + ".gz" * compress)).write_bytes(gzip.compress(data) if compress else data)


@pytest.mark.parametrize("code, kind", [(8, "u1"), (9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")])
def test_idx_files_of_every_element_type_are_read(tmp_path, code, kind):
    array = np.arange(24).reshape(2, 3, 4).astype(kind)
    (tmp_path / "a").write_bytes(idx(array, code))
    found = read_idx(tmp_path / "a")
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, array)


def test_idx_files_that_are_damaged_are_named(tmp_path):
    path = tmp_path / "digits"
    good = idx(np.zeros((2, 3), np.uint8))
    for data, message in [
        (b"", "does not begin as an IDX file does"),
        (b"\x00\x00\x07\x01", "it begins with 00 00 07 01"),
        (good[:7], "ends within its header"),
        (good[:-1], r"has 5 bytes of elements, and shape \(2, 3\) needs 6"),
        (gzip.compress(good)[:-9], "is not a whole gzip file"),
    ]:
        path.write_bytes(data)
        with pytest.raises(DataError, match=message) as caught:
            read_idx(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("compress", [True, False])
def test_a_folder_that_is_given_is_read(tmp_path, compress):
    put(tmp_path, "train", 5, compress)
    images, labels = small_split(5)
    dataset = MnistDataset.train(tmp_path)
    assert len(dataset) == 5
    item = dataset[2]
    assert isinstance(item, MnistItem)
    assert item.image.dtype == np.float32
    np.testing.assert_array_equal(item.image, images[2])
    assert item.label == labels[2]
    assert dataset.get(5) is None
    many = dataset.get_many([4, 0])
    np.testing.assert_array_equal(many[0].image, images[4])
    assert [each.label for each in many] == [labels[4], labels[0]]
    assert dataset.get_many([0, 9])[1] is None


def test_a_folder_without_the_files_is_refused_with_their_names(tmp_path):
    put(tmp_path, "train", 5)
    with pytest.raises(DataError, match=r"lacks t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz"):
        MnistDataset.test(tmp_path)
    with pytest.raises(ArgumentError, match='the splits are "train" and "test"'):
        MnistDataset.load("valid", tmp_path)


def test_images_without_their_labels_are_refused(tmp_path):
    put(tmp_path, "train", 5)
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.zeros(4, np.uint8))))
    with pytest.raises(DataError, match="do not belong together"):
        MnistDataset.train(tmp_path)


def served(kind, monkeypatch, tmp_path, address, content):
    monkeypatch.setenv("BURN_DATASETS", str(tmp_path / "cache"))
    monkeypatch.setattr(kind, "addresses", (address,))
    sums = {
        name.strip("/").removesuffix(".gz"): "md5:" + hashlib.md5(data).hexdigest() for name, data in content.items()
    }
    monkeypatch.setattr(kind, "checksums", sums)


@pytest.mark.parametrize("kind", [MnistDataset, FashionMnistDataset])
def test_files_are_downloaded_into_the_cache_folder_once(tmp_path, monkeypatch, capsys, kind):
    put(tmp_path / "source", "t10k", 7)
    content = {f"/{path.name}": path.read_bytes() for path in (tmp_path / "source").iterdir()}
    with serving(content) as server:
        served(kind, monkeypatch, tmp_path, server.address, content)
        assert len(kind.test()) == 7
        assert len(kind.test()) == 7
        assert len(server.asked) == 2
    assert len(kind.test(fetch=False)) == 7
    assert "t10k-images-idx3-ubyte.gz: 100 %" in capsys.readouterr().err


def test_without_a_network_the_bundled_digits_are_used_with_a_notice(tmp_path, monkeypatch):
    served(MnistDataset, monkeypatch, tmp_path, "http://127.0.0.1:9/", {})
    with pytest.warns(BundledNotice, match=r"using the bundled 650 images.*Put the four files into .*mnist") as told:
        dataset = MnistDataset.test()
    assert len(dataset) == 650
    assert told[0].filename == __file__


def test_nothing_is_fetched_when_that_is_not_wanted(tmp_path, monkeypatch):
    monkeypatch.setenv("BURN_DATASETS", str(tmp_path))
    with pytest.warns(BundledNotice, match="using the bundled 3,000 images"):
        assert len(MnistDataset.train(fetch=False)) == 3000
    with pytest.raises(DataError, match="there are no files in"):
        FashionMnistDataset.train(fetch=False)


def test_a_download_that_is_not_the_dataset_is_not_used(tmp_path, monkeypatch):
    put(tmp_path / "source", "train", 7)
    content = {f"/{path.name}": path.read_bytes() for path in (tmp_path / "source").iterdir()}
    with serving(content) as server:
        monkeypatch.setenv("BURN_DATASETS", str(tmp_path / "cache"))
        monkeypatch.setattr(MnistDataset, "addresses", (server.address,))
        with pytest.warns(BundledNotice, match="another checksum"):
            assert len(MnistDataset.train()) == 3000


def test_the_bundled_digits_are_small_and_have_each_digit_in_its_share():
    size = len(files("burn.data.dataset.vision").joinpath("mnist_subset.bin").read_bytes())
    assert size <= 110_000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train, test = MnistDataset.bundled("train"), MnistDataset.bundled("test")
    # The frequencies of the digits in MNIST's own description.
    for dataset, whole in ((train, [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]),
                           (test, [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009])):  # fmt: skip
        counts = np.bincount(dataset.labels, minlength=10)
        np.testing.assert_allclose(counts, np.array(whole) * len(dataset) / sum(whole), atol=1)


def test_the_bundled_digits_begin_as_mnist_does():
    assert MnistDataset.bundled("train").labels[:6].tolist() == [5, 0, 4, 1, 9, 2]
    assert MnistDataset.bundled("test").labels[:5].tolist() == [7, 2, 1, 0, 4]
    train = MnistDataset.bundled("train")
    # The usual mean and deviation of MNIST.
    assert abs(train.images.mean() / 255 - 0.1307) < 0.004
    assert abs(train.images.std() / 255 - 0.3081) < 0.015


def test_the_bundled_digits_can_be_told_apart_by_their_means():
    train, test = MnistDataset.bundled("train"), MnistDataset.bundled("test")
    means = np.stack([train.images[train.labels == digit].reshape(-1, 784).mean(0) for digit in range(10)])
    distances = ((test.images.reshape(-1, 1, 784) - means) ** 2).sum(2)
    assert (distances.argmin(1) == test.labels).mean() > 0.8
