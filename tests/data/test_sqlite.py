"""SQLite files: both layouts, whole files or none, many readers."""

from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import msgpack
import pytest

from burn.data.dataset import CorruptItem, SkippedItem, SqliteDataset, SqliteDatasetStorage
from burn.data.dataset.sqlite import SqliteDatasetWriter
from burn.errors import ArgumentError, DataError
from tests.data.samples import Everything, Person, Point, everything


def stored(path: Path, count: int = 20, flat: bool = False) -> SqliteDatasetStorage:
    storage = SqliteDatasetStorage.from_file(path)
    with storage.writer(flat=flat) as writer:
        for number in range(count):
            item = Person(f"n{number}", number, number / 2) if flat else everything(number)
            assert writer.write("train", item) == number
        writer.write("test", Person("t", 1, 2.0) if flat else everything(99))
    return storage


def test_items_come_back_as_they_were_written(tmp_path):
    storage = stored(tmp_path / "a.db")
    train = storage.reader("train", Everything)
    assert len(train) == 20
    assert list(train) == [everything(number) for number in range(20)]
    assert train.get(20) is None
    assert train.get(-1) is None
    assert train.get_many([3, 3, 25, 0]) == [everything(3), everything(3), None, everything(0)]
    assert storage.reader("test", Everything)[0] == everything(99)


def test_serialised_tables_have_the_schema_and_bytes_of_the_rust_framework(tmp_path):
    stored(tmp_path / "a.db", 3)
    with sqlite3.connect(tmp_path / "a.db") as connection:
        columns = connection.execute("PRAGMA table_info(train)").fetchall()
        rows = connection.execute("SELECT row_id, item FROM train").fetchall()
        schema = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'train'").fetchone()[0]
    connection.close()
    assert [(name, kind, required, key) for _, name, kind, required, _, key in columns] == [
        ("row_id", "INTEGER", 1, 1), ("item", "BLOB", 1, 0),
    ]  # fmt: skip
    assert "AUTOINCREMENT" in schema
    assert [row for row, _ in rows] == [1, 2, 3]
    text = "text 1 \N{SNOWMAN}"
    assert msgpack.unpackb(rows[1][1]) == [text, 1, 1 / 7, False, b"\x01", "LARGE", [[0.0, 0.0]], {"a": 1}, None]


def test_a_file_of_the_rust_framework_is_read(tmp_path):
    """Written here by hand as its writer does: compact MessagePack, bytes as lists of numbers."""

    @dataclass
    class Digit:
        image_bytes: bytes
        label: int

    with sqlite3.connect(tmp_path / "rust.db") as connection:
        connection.execute("CREATE TABLE train (row_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, item BLOB NOT NULL)")
        for label in range(4):
            blob = msgpack.packb([[label, 255, 0], label])
            connection.execute("INSERT INTO train (item) VALUES (?)", (blob,))
    connection.close()
    digits = SqliteDataset.from_db_file(tmp_path / "rust.db", "train", Digit)
    assert list(digits) == [Digit(bytes([label, 255, 0]), label) for label in range(4)]


def test_flat_tables_have_a_column_for_each_field(tmp_path):
    storage = stored(tmp_path / "flat.db", flat=True)
    people = storage.reader("train", Person)
    assert people[3] == Person("n3", 3, 1.5, False, None)
    assert people.get_many([1, 2]) == [Person("n1", 1, 0.5), Person("n2", 2, 1.0)]
    with sqlite3.connect(storage.db_file()) as connection:
        found = connection.execute("SELECT name, age, height FROM train WHERE row_id = 4").fetchone()
    connection.close()
    assert found == ("n3", 3, 1.5)
    assert storage.reader("train")[3] == {"name": "n3", "age": 3, "height": 1.5, "married": 0, "nickname": None}


def test_a_column_that_begins_with_nothing_keeps_later_values_as_they_are(tmp_path):
    with SqliteDatasetStorage.from_file(tmp_path / "a.db").writer(flat=True) as writer:
        for value in (None, 5, "5", 0.5):
            writer.write("train", {"value": value})
    rows = SqliteDataset(tmp_path / "a.db", "train")
    assert [row["value"] for row in rows] == [None, 5, "5", 0.5]


def test_a_flat_table_refuses_what_a_column_cannot_hold_and_other_columns(tmp_path):
    with SqliteDatasetStorage.from_file(tmp_path / "a.db").writer(flat=True) as writer:
        with pytest.raises(DataError, match="the field points is a list, which a flat table cannot hold"):
            writer.write("train", everything(1) and {"points": [1]})
        writer.write("train", {"a": 1})
        with pytest.raises(DataError, match="'train' has the columns a, and this item b"):
            writer.write("train", {"b": 1})


def test_nothing_is_there_before_the_file_is_complete(tmp_path):
    storage = SqliteDatasetStorage.from_file(tmp_path / "a.db")
    writer = storage.writer()
    writer.write("train", everything(1))
    assert not storage.exists()
    writer.set_completed()
    assert storage.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
    with pytest.raises(ArgumentError, match="is complete or was dropped"):
        writer.write("train", everything(2))


def test_an_error_while_writing_leaves_no_file(tmp_path):
    def write() -> None:
        with SqliteDatasetStorage.from_file(tmp_path / "a.db").writer() as writer:
            writer.write("train", everything(1))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_leaves_the_old_file_as_it_was(tmp_path):
    storage = stored(tmp_path / "a.db", 5)
    program = (
        "import os, sys\nfrom burn.data.dataset import SqliteDatasetStorage\n"
        "writer = SqliteDatasetStorage.from_file(sys.argv[1]).writer(overwrite=True)\n"
        "for number in range(1000): writer.write('train', {'n': number})\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.db")], check=False)
    assert list(storage.reader("train", Everything)) == [everything(number) for number in range(5)]


def test_an_existing_file_is_kept_unless_told_otherwise(tmp_path):
    storage = stored(tmp_path / "a.db", 5)
    with pytest.raises(ArgumentError, match=r"is there already; write writer\(overwrite=True\)"):
        storage.writer()
    reader = storage.reader("train", Everything)
    with storage.writer(overwrite=True) as writer:
        writer.write("train", everything(7))
    assert len(storage.reader("train", Everything)) == 1
    assert reader.get(4) == everything(4)  # the old file is still there for those who opened it


def test_of_two_writers_the_second_to_finish_is_refused(tmp_path):
    storage = SqliteDatasetStorage.from_file(tmp_path / "a.db")
    first, second = storage.writer(), storage.writer()
    first.write("train", everything(1))
    second.write("train", everything(2))
    second.set_completed()
    with pytest.raises(ArgumentError, match="was written by somebody else in the meantime"):
        first.set_completed()
    assert storage.reader("train", Everything)[0] == everything(2)
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_threads_write_into_one_file(tmp_path):
    storage = SqliteDatasetStorage.from_file(tmp_path / "a.db")
    numbers: list[int] = []
    with storage.writer() as writer:

        def work(start: int) -> None:
            numbers.extend(writer.write("train", everything(start + each)) for each in range(50))

        threads = [threading.Thread(target=work, args=(50 * number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(numbers) == list(range(200))
    assert sorted(item.number for item in storage.reader("train", Everything)) == list(range(200))


def test_threads_read_from_one_dataset(tmp_path):
    dataset = stored(tmp_path / "a.db", 60).reader("train", Everything)
    wrong: list[int] = []

    def work(step: int) -> None:
        for each in range(200):
            number = each * step % 60
            if dataset.get(number) != everything(number):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(step,)) for step in (1, 7, 11, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    dataset.close()
    assert dataset[3] == everything(3)


def test_a_dataset_can_be_sent_to_another_process(tmp_path):
    dataset = stored(tmp_path / "a.db").reader("train", Everything)
    assert list(pickle.loads(pickle.dumps(dataset))) == list(dataset)


def test_faults_name_the_file_the_split_and_what_is_there(tmp_path):
    storage = stored(tmp_path / "a.db", flat=True)
    with pytest.raises(DataError, match="has no split 'valid'; it has train, test"):
        storage.reader("valid")
    with pytest.raises(DataError, match="there is no file"):
        SqliteDataset(tmp_path / "b.db", "train")
    with pytest.raises(DataError, match="Point needs columns that 'train' of .* does not have: x, y; it has name"):
        storage.reader("train", Point)
    (tmp_path / "c.db").write_bytes(b"no database" * 100)
    with pytest.raises(DataError, match=r"c.db cannot be read: file is not a database"):
        SqliteDataset(tmp_path / "c.db", "train")
    with sqlite3.connect(tmp_path / "d.db") as connection:
        connection.execute("CREATE TABLE train (a)")
    connection.close()
    with pytest.raises(DataError, match="has no column row_id; it has a"):
        SqliteDataset(tmp_path / "d.db", "train")


def test_a_corrupt_row_is_named_or_skipped(tmp_path):
    storage = stored(tmp_path / "a.db", 6)
    with sqlite3.connect(storage.db_file()) as connection:
        connection.execute("UPDATE train SET item = x'c1' WHERE row_id = 3")
        connection.execute("UPDATE train SET item = x'9101' WHERE row_id = 4")
        connection.execute("DELETE FROM train WHERE row_id = 5")
    connection.close()
    dataset = storage.reader("train", Everything)
    with pytest.raises(CorruptItem, match="item 2 of .*a.db, split 'train': is not MessagePack"):
        dataset.get(2)
    with pytest.raises(CorruptItem, match="item 3 of .*has 1 values where Everything has 9 fields"):
        dataset.get(3)
    with pytest.raises(CorruptItem, match="item 4 of .*there is no such row"):
        dataset.get_many([4])
    with pytest.warns(SkippedItem):
        kept = list(storage.reader("train", Everything, on_error="skip"))
    assert [item.number for item in kept] == [0, 1, 5]


def test_a_split_may_be_empty_and_have_an_odd_name(tmp_path):
    with SqliteDatasetStorage.from_file(tmp_path / "a.db").writer() as writer:
        writer.add_split("none")
        writer.write('tra"in; --', everything(1))
        with pytest.raises(ArgumentError, match="cannot be the name of a split"):
            writer.write("sqlite_x", everything(1))
    assert SqliteDataset(tmp_path / "a.db", "none").is_empty()
    assert SqliteDataset(tmp_path / "a.db", 'tra"in; --', Everything)[0] == everything(1)


def test_a_name_becomes_a_file_in_the_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BURN_DATASETS", str(tmp_path / "cache"))
    storage = SqliteDatasetStorage.from_name("../some/data set")
    assert storage.db_file() == tmp_path / "cache" / "_some_data_set.db"
    assert storage.with_base_dir(tmp_path).db_file() == tmp_path / "_some_data_set.db"
    with storage.writer() as writer:
        writer.write("train", everything(1))
    assert storage.exists()
    assert isinstance(storage.writer(overwrite=True), SqliteDatasetWriter)
    with pytest.raises(ArgumentError, match="cannot be the name of a file"):
        SqliteDatasetStorage.from_name("...").db_file()
