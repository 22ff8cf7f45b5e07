"""Folders of images, and what is known about them, against Pillow."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from PIL import Image

from burn.data.dataloader import DataLoaderBuilder
from burn.data.dataset import CorruptItem, SkippedItem
from burn.data.dataset.text import TextFolderDataset
from burn.data.dataset.vision import Annotation, BoundingBox, ImageFolderDataset, Label, MultiLabel, SegmentationMask
from burn.errors import DataError
from tests.data.samples import Lists


def picture(path, mode="RGB", size=(6, 4), seed=0):
    bands = {"RGB": 3, "RGBA": 4, "L": 1, "P": 1}[mode]
    values = np.random.default_rng(seed).integers(0, 4 if mode == "P" else 256, (size[1], size[0], bands), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    if mode == "P":
        image = Image.fromarray(values[:, :, 0]).convert("P")
        image.putdata(values[:, :, 0].ravel().tolist())
        image.putpalette([9, 8, 7] * 256)
    else:
        image = Image.fromarray(values[:, :, 0] if bands == 1 else values)
    image.save(path)
    return values


@pytest.fixture
def root(tmp_path):
    for name, number in (("dog/dog1.png", 1), ("dog/dog2.PNG", 2), ("cat/deep/cat1.bmp", 3), ("cat/a.jpg", 4)):
        picture(tmp_path / name, seed=number)
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "README").write_text("no class")
    return tmp_path


def test_folders_are_classes_in_the_order_of_their_names(root):
    dataset = ImageFolderDataset.new_classification(root)
    assert dataset.classes == ["cat", "dog"]
    found = [(item.image_path.removeprefix(f"{root}/"), item.annotation) for item in dataset]
    assert found == [
        ("cat/a.jpg", Label(0)), ("cat/deep/cat1.bmp", Label(0)),
        ("dog/dog1.png", Label(1)), ("dog/dog2.PNG", Label(1)),
    ]  # fmt: skip
    assert dataset.get(4) is None
    item = dataset[2]
    assert isinstance(item.annotation, Annotation)
    assert isinstance(item.annotation, Annotation.Label)
    assert (item.image_width, item.image_height, item.image.shape) == (6, 4, (4, 6, 3))


def test_pixels_are_those_of_the_file(tmp_path):
    for mode in ("RGB", "RGBA", "L"):
        values = picture(tmp_path / "a" / f"{mode}.png", mode)
        dataset = ImageFolderDataset.new_classification_with_items([(tmp_path / "a" / f"{mode}.png", "a")], ["a"])
        np.testing.assert_array_equal(dataset[0].image, values)
    deep = np.arange(24, dtype=np.uint16).reshape(4, 6) * 2000
    Image.fromarray(deep).save(tmp_path / "deep.png")
    dataset = ImageFolderDataset.new_classification_with_items([(tmp_path / "deep.png", "a")], ["a"])
    assert dataset[0].image.dtype == np.uint16
    np.testing.assert_array_equal(dataset[0].image[:, :, 0], deep)
    picture(tmp_path / "palette.png", "P")
    colours = ImageFolderDataset.new_classification_with_items([(tmp_path / "palette.png", "a")], ["a"])[0].image
    assert colours[0, 0].tolist() == [9, 8, 7]


def test_endings_can_be_chosen(root):
    dataset = ImageFolderDataset.new_classification_with(root, ["bmp", ".JPG"])
    assert [item.annotation.label for item in dataset] == [0, 0]
    with pytest.raises(DataError, match=r"no files of .gif in the folders of"):
        ImageFolderDataset.new_classification_with(root, ["gif"])
    with pytest.raises(DataError, match="there is no folder"):
        ImageFolderDataset.new_classification(root / "none")


def test_the_book_gives_an_image_several_labels(root):
    items = [(f"{root}/dog/dog1.png", ["animal", "dog"]), (f"{root}/cat/a.jpg", ["animal", "cat"])]
    dataset = ImageFolderDataset.new_multilabel_classification_with_items(items, ["animal", "cat", "dog"])
    assert [item.annotation for item in dataset] == [MultiLabel((0, 2)), MultiLabel((0, 1))]


def test_every_unknown_class_is_named(root):
    items = [("a.png", ["animal", "fish"]), ("b.png", ["bird"])]
    with pytest.raises(DataError) as caught:
        ImageFolderDataset.new_multilabel_classification_with_items(items, ["animal"])
    assert "'fish' (of a.png)" in str(caught.value)
    assert "'bird' (of b.png)" in str(caught.value)
    with pytest.raises(DataError, match="a class is there twice"):
        ImageFolderDataset.new_classification_with_items([], ["a", "a"])


def test_the_book_reads_masks(tmp_path):
    for number in range(3):
        picture(tmp_path / f"image{number}.png", seed=number)
    grey = np.random.default_rng(0).integers(0, 3, (4, 6), np.uint8)
    Image.fromarray(grey).save(tmp_path / "mask0.png")
    indices = picture(tmp_path / "mask1.png", "P", seed=5) % 4
    Image.fromarray(grey > 0).save(tmp_path / "mask2.png")
    items = [(tmp_path / f"image{number}.png", tmp_path / f"mask{number}.png") for number in range(3)]
    dataset = ImageFolderDataset.new_segmentation_with_items(items, ["cat", "dog", "background", "other"])
    masks = [item.annotation for item in dataset]
    assert all(isinstance(each, SegmentationMask) for each in masks)
    np.testing.assert_array_equal(masks[0].mask, grey)
    np.testing.assert_array_equal(masks[1].mask, indices[:, :, 0])
    np.testing.assert_array_equal(masks[2].mask, grey > 0)


def test_a_mask_that_does_not_fit_is_named(tmp_path):
    picture(tmp_path / "image.png")
    cases = [
        (np.zeros((5, 6), np.uint8), "the mask is 6 x 5 and its image 6 x 4"),
        (np.full((4, 6), 9, np.uint8), "the mask has class 9, and there are 2 classes"),
        (np.zeros((4, 6, 3), np.uint8), "a mask has one number a pixel, and this image is RGB"),
    ]
    for mask, message in cases:
        Image.fromarray(mask).save(tmp_path / "mask.png")
        dataset = ImageFolderDataset.new_segmentation_with_items(
            [(tmp_path / "image.png", tmp_path / "mask.png")], ["a", "b"]
        )
        with pytest.raises(CorruptItem, match=message) as caught:
            dataset.get(0)
        assert caught.value.file == str(tmp_path / "mask.png")


def coco(tmp_path, **changes):
    data = {
        "images": [{"id": 7, "file_name": "b.png"}, {"id": 3, "file_name": "a.png"}, {"id": 9, "file_name": "c.png"}],
        "categories": [{"id": 90, "name": "dog"}, {"id": 18, "name": "cat"}],
        "annotations": [
            {"id": 1, "image_id": 3, "category_id": 90, "bbox": [1, 2, 3.5, 4]},
            {"id": 2, "image_id": 7, "category_id": 18, "bbox": [0, 0, 1, 1]},
            {"id": 3, "image_id": 3, "category_id": 18, "bbox": [5, 5, 1, 1]},
            {"id": 4, "image_id": 3, "category_id": 18, "bbox": [0, 0, 9, 9], "iscrowd": 1},
        ],
    } | changes
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(data))
    for name in "abc":
        picture(tmp_path / "images" / f"{name}.png")
    return path


def test_coco_boxes_belong_to_their_images(tmp_path):
    dataset = ImageFolderDataset.new_coco_detection(coco(tmp_path), tmp_path / "images")
    assert dataset.classes == ["cat", "dog"]
    assert [item.image_path.rpartition("/")[2] for item in dataset] == ["b.png", "a.png", "c.png"]
    boxes = [item.annotation.boxes for item in dataset]
    assert boxes == [
        (BoundingBox((0.0, 0.0, 1.0, 1.0), 0),),
        (BoundingBox((1.0, 2.0, 3.5, 4.0), 1), BoundingBox((5.0, 5.0, 1.0, 1.0), 0)),
        (),
    ]


def test_every_fault_of_a_coco_file_is_listed(tmp_path):
    wrong = [
        {"image_id": 1, "category_id": 90, "bbox": [1, 2, 3, 4]},
        {"image_id": 3, "category_id": 1, "bbox": [1, 2, 3, 4]},
        {"image_id": 3, "category_id": 90, "bbox": [1, 2, 3]},
    ]
    with pytest.raises(DataError) as caught:
        ImageFolderDataset.new_coco_detection(coco(tmp_path, annotations=wrong), tmp_path)
    text = str(caught.value)
    assert "annotation 0: there is no image 1" in text
    assert "annotation 1: there is no category 1" in text
    assert "annotation 2: bbox is [1, 2, 3], not four numbers" in text
    with pytest.raises(DataError, match="has no list categories"):
        ImageFolderDataset.new_coco_detection(coco(tmp_path, categories=None), tmp_path)
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DataError, match="is not JSON"):
        ImageFolderDataset.new_coco_detection(tmp_path / "bad.json", tmp_path)


def test_a_corrupt_image_is_named_with_its_file_and_number(root):
    path = root / "dog" / "dog1.png"
    path.write_bytes(path.read_bytes()[:60])
    (root / "dog" / "dog2.PNG").write_bytes(b"not an image")
    dataset = ImageFolderDataset.new_classification(root)
    for index, name in ((2, "dog1.png"), (3, "dog2.PNG")):
        with pytest.raises(CorruptItem, match=rf"item {index} of .*{name}: is not a whole image"):
            dataset.get(index)
    path.unlink()
    with pytest.raises(CorruptItem, match="there is no such file"):
        dataset.get(2)


def test_corrupt_images_can_be_skipped_and_loaders_leave_them_out(root):
    (root / "dog" / "dog1.png").write_bytes(b"not an image")
    dataset = ImageFolderDataset.new_classification(root, on_error="skip")
    for workers in (0, 2):
        loader = DataLoaderBuilder(Lists()).batch_size(3).num_workers(workers).build(dataset)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedItem)
            batches = list(loader)
        assert [len(batch) for batch in batches] == [2, 1]
    with pytest.warns(SkippedItem, match="item 2 of .*dog1.png.*skipped"):
        assert dataset.get(2) is None
    with pytest.warns(SkippedItem), pytest.raises(IndexError, match="item 2 was skipped"):
        dataset[2]


def test_texts_are_read_with_their_classes(tmp_path):
    for name, text in (
        ("good/1.txt", "fine"),
        ("bad/2.txt", "dreadful"),
        ("bad/3.txt", "b\N{LATIN SMALL LETTER A WITH DIAERESIS}h"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    texts = TextFolderDataset.new_classification(tmp_path)
    assert texts.classes == ["bad", "good"]
    assert [(item.text, item.label) for item in texts] == [("dreadful", 0), ("b\xe4h", 0), ("fine", 1)]
    (tmp_path / "bad" / "2.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(CorruptItem, match="item 0 of .*2.txt"):
        texts.get(0)
    plain = TextFolderDataset(tmp_path / "good")
    assert [(item.text, item.label) for item in plain] == [("fine", None)]
    with pytest.raises(DataError, match="has no folders, one for each class"):
        TextFolderDataset.new_classification(tmp_path / "good")
    with pytest.raises(DataError, match=r"no files of .md"):
        TextFolderDataset(tmp_path, ["md"])
