"""Datasets of the hub: through the library into SQLite, then without it."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass

import pytest

from burn.data.dataset import HuggingfaceDatasetLoader, SqliteDataset
from burn.data.dataset.source.huggingface import flattened
from burn.errors import DataError, MissingOperation


@dataclass
class DbPediaItem:
    title: str
    content: str
    label: int


ROWS = {
    "train": [{"title": f"t{number}", "content": "c", "label": number} for number in range(5)],
    "test": [{"title": "last", "content": "d", "label": 9}],
}


class StandIn(types.ModuleType):
    """As much of the library as a loader asks for."""

    def __init__(self, result):
        super().__init__("datasets")
        self.result, self.calls = result, []

    def load_dataset(self, *arguments, **options):
        self.calls.append((arguments, options))
        return self.result


@pytest.fixture
def library(monkeypatch):
    made = StandIn(ROWS)
    monkeypatch.setitem(sys.modules, "datasets", made)
    return made


def test_the_book_reads_dbpedia(tmp_path, library):
    loader = HuggingfaceDatasetLoader("dbpedia_14").with_base_dir(tmp_path)
    dataset = loader.dataset("train", DbPediaItem)
    assert isinstance(dataset, SqliteDataset)
    assert list(dataset) == [DbPediaItem(f"t{number}", "c", number) for number in range(5)]
    assert loader.dataset("test", DbPediaItem)[0].label == 9
    assert len(library.calls) == 1  # the second split was read from the file
    assert loader.db_file() == tmp_path / "dbpedia_14.db"


def test_every_option_reaches_the_library(tmp_path, library):
    loader = (
        HuggingfaceDatasetLoader("owner/name")
        .with_subset("small")
        .with_base_dir(tmp_path)
        .with_huggingface_token("secret")
        .with_huggingface_cache_dir(tmp_path / "cache")
        .with_huggingface_data_dir("data")
        .with_trust_remote_code(True)
        .with_use_python_venv(True)
    )
    loader.dataset("train")
    assert library.calls == [
        (("owner/name", "small"), {"token": "secret", "cache_dir": str(tmp_path / "cache"), "data_dir": "data",
                                   "trust_remote_code": True}),
    ]  # fmt: skip
    assert loader.db_file().name == "owner_name-small.db"
    assert b"secret" not in loader.db_file().read_bytes()


def test_without_the_library_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingOperation, match="write pip install datasets"):
        HuggingfaceDatasetLoader("x").with_base_dir(tmp_path).dataset("train")


def test_a_failure_leaves_no_file(tmp_path, monkeypatch):
    def rows():
        yield {"a": 1}
        raise OSError("the network is gone")

    monkeypatch.setitem(sys.modules, "datasets", StandIn({"train": rows()}))
    with pytest.raises(OSError, match="the network is gone"):
        HuggingfaceDatasetLoader("x").with_base_dir(tmp_path).dataset("train")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setitem(sys.modules, "datasets", StandIn([1]))
    with pytest.raises(DataError, match="gave a list without splits"):
        HuggingfaceDatasetLoader("x").with_base_dir(tmp_path).dataset("train")


def test_nested_rows_are_flattened():
    row = {"a": {"b.c": 1, "d": {"e": "x"}}, "list": [1, {"y": None}], "raw": b"\x00", "none": None}
    assert flattened(row) == {"a_b_c": 1, "a_d_e": "x", "list": '[1, {"y": null}]', "raw": b"\x00", "none": None}


def test_a_local_dataset_goes_through_the_library_itself(tmp_path):
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "source"
    folder.mkdir()
    for split, rows in ROWS.items():
        lines = ["title,content,label", *(f"{row['title']},{row['content']},{row['label']}" for row in rows)]
        (folder / f"{split}.csv").write_text("\n".join(lines))
    assert hasattr(datasets, "load_dataset")
    loader = HuggingfaceDatasetLoader(str(folder)).with_base_dir(tmp_path / "base")
    loader = loader.with_huggingface_cache_dir(tmp_path / "cache")
    assert list(loader.dataset("train", DbPediaItem)) == [DbPediaItem(**row) for row in ROWS["train"]]
    assert list(loader.dataset("test", DbPediaItem)) == [DbPediaItem(**row) for row in ROWS["test"]]


def test_images_of_a_local_dataset_stay_the_bytes_they_are(tmp_path):
    pytest.importorskip("datasets")
    from PIL import Image

    for name in ("cat", "dog"):
        (tmp_path / "source" / name).mkdir(parents=True)
        Image.new("RGB", (3, 2), "red" if name == "cat" else "blue").save(tmp_path / "source" / name / "1.png")
    loader = HuggingfaceDatasetLoader("imagefolder").with_base_dir(tmp_path / "base")
    loader = loader.with_huggingface_data_dir(tmp_path / "source").with_huggingface_cache_dir(tmp_path / "cache")
    rows = list(loader.dataset("train"))
    assert [row["label"] for row in rows] == [0, 1]
    found = rows[0]["image_bytes"] or (tmp_path / rows[0]["image_path"]).read_bytes()
    assert found == (tmp_path / "source" / "cat" / "1.png").read_bytes()
