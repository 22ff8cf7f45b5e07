"""The disk cache gives back what was stored, and nothing that anybody else could have written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from burn.backend.cpu import cache as module
from burn.backend.cpu.cache import HEADER, ObjectCache, cache_directory, clear_cache_command, kernel_key
from burn.errors import ArgumentError

DATA = bytes(range(256)) * 8


@pytest.fixture
def store(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "made" / "on" / "demand")


def test_what_was_stored_comes_back(store: ObjectCache) -> None:
    assert store.load("kernel") is None
    store.store("kernel", DATA)
    assert store.load("kernel") == DATA
    assert store.load("another") is None
    store.store("kernel", b"newer")
    assert store.load("kernel") == b"newer"
    store.store("empty", b"")
    assert store.load("empty") == b""


def test_a_second_process_finds_it(store: ObjectCache) -> None:
    store.store("kernel", DATA)
    assert store.directory is not None
    assert ObjectCache(store.directory).load("kernel") == DATA


def test_folder_and_files_belong_to_the_user_alone(store: ObjectCache) -> None:
    before = os.umask(0)
    try:
        store.store("kernel", DATA)
    finally:
        os.umask(before)
    assert store.directory is not None
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(store.path_of("kernel").stat().st_mode) == 0o600


def test_build_runs_once(store: ObjectCache) -> None:
    calls: list[int] = []

    def build() -> bytes:
        calls.append(1)
        return DATA

    assert store.load_or_build("kernel", build) == DATA
    assert store.load_or_build("kernel", build) == DATA
    assert len(calls) == 1


def flipped(contents: bytes, position: int) -> bytes:
    return contents[:position] + bytes([contents[position] ^ 1]) + contents[position + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing left": lambda contents: b"",
    "half a header": lambda contents: contents[: HEADER.size // 2],
    "only a header": lambda contents: contents[: HEADER.size],
    "cut short": lambda contents: contents[:-1],
    "too long": lambda contents: contents + b"\0",
    "one bit of the object": lambda contents: flipped(contents, len(contents) - 1),
    "one bit of the magic": lambda contents: flipped(contents, 0),
    "one bit of the version": lambda contents: flipped(contents, 8),
    "one bit of the size": lambda contents: flipped(contents, 16),
    "one bit of the key": lambda contents: flipped(contents, 24),
    "one bit of the digest": lambda contents: flipped(contents, 56),
    "something else": lambda contents: b"\x7fELF" + bytes(5000),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_file_is_absent_and_is_rebuilt(store: ObjectCache, damage: Callable[[bytes], bytes]) -> None:
    store.store("kernel", DATA)
    path = store.path_of("kernel")
    path.write_bytes(damage(path.read_bytes()))
    assert store.load("kernel") is None
    assert store.load_or_build("kernel", lambda: DATA) == DATA
    assert store.load("kernel") == DATA


def test_a_file_under_the_name_of_another_key_is_absent(store: ObjectCache) -> None:
    store.store("one", b"code of one")
    store.store("two", b"code of two")
    os.replace(store.path_of("one"), store.path_of("two"))
    assert store.load("two") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_may_write_is_absent(store: ObjectCache, mode: int) -> None:
    store.store("kernel", DATA)
    store.path_of("kernel").chmod(mode)
    assert store.load("kernel") is None
    store.store("kernel", DATA)
    assert store.load("kernel") == DATA


def test_a_link_is_absent(store: ObjectCache, tmp_path: Path) -> None:
    store.store("kernel", DATA)
    target = tmp_path / "elsewhere"
    os.replace(store.path_of("kernel"), target)
    store.path_of("kernel").symlink_to(target)
    assert store.load("kernel") is None


def test_a_pipe_or_a_folder_is_absent_and_nobody_waits(store: ObjectCache) -> None:
    store.store("other", DATA)
    os.mkfifo(store.path_of("pipe"), 0o600)
    store.path_of("folder").mkdir(0o700)
    assert store.load("pipe") is None
    assert store.load("folder") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="giving a file away needs root")
def test_a_file_of_another_user_is_absent(store: ObjectCache) -> None:
    store.store("kernel", DATA)
    os.chown(store.path_of("kernel"), 12345, -1)
    assert store.load("kernel") is None
    store.store("kernel", DATA)
    assert store.load("kernel") == DATA


def test_files_of_another_user_are_refused_by_the_rule_itself(
    store: ObjectCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.store("kernel", DATA)
    monkeypatch.setattr(module, "_user", lambda: os.geteuid() + 1)
    with pytest.warns(RuntimeWarning, match="belongs to user"):
        assert ObjectCache(store.directory).load("kernel") is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_is_not_used_and_said_once(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    store = ObjectCache(folder)
    with pytest.warns(RuntimeWarning, match=r"others may write to it .*BURN_CACHE"):
        assert store.load("kernel") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.store("kernel", DATA)
        assert store.load("kernel") is None
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = ObjectCache(tmp_path / "file" / "kernels")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert store.load_or_build("kernel", lambda: DATA) == DATA
        assert store.load_or_build("kernel", lambda: DATA) == DATA
    assert [str(each.message).count("cannot use it") for each in caught] == [1]


def test_a_full_disk_costs_one_warning(store: ObjectCache, monkeypatch: pytest.MonkeyPatch) -> None:
    store.store("before", DATA)

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "replace", full)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store.store("kernel", DATA)
        store.store("kernel", DATA)
    assert [str(each.message).count("No space left") for each in caught] == [1]
    assert store.load("kernel") is None
    assert store.load("before") == DATA
    assert store.directory is not None
    assert len(list(store.directory.iterdir())) == 1, "no unfinished file is left behind"


def test_a_folder_removed_meanwhile_is_made_again(store: ObjectCache) -> None:
    store.store("kernel", DATA)
    assert store.directory is not None
    store.clear()
    store.directory.rmdir()
    assert store.load("kernel") is None
    store.store("kernel", DATA)
    assert store.load("kernel") == DATA


def test_the_least_recently_used_go_when_the_limit_is_passed(tmp_path: Path) -> None:
    size = 1000 + HEADER.size
    store = ObjectCache(tmp_path / "kernels", limit=10 * size)
    for number in range(10):
        store.store(f"kernel {number}", bytes(1000))
        os.utime(store.path_of(f"kernel {number}"), (number, number))
    assert store.size() == 10 * size
    assert store.load("kernel 0") is not None, "reading counts as use"
    store.store("one more", bytes(1000))
    kept = [number for number in range(10) if store.path_of(f"kernel {number}").exists()]
    assert store.size() <= 10 * size
    assert kept == [0, *range(10 - len(kept) + 1, 10)]
    assert store.load("one more") is not None


def test_an_object_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    store = ObjectCache(tmp_path / "kernels", limit=100)
    store.store("kernel", bytes(101))
    assert store.size() == 0


def test_unfinished_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir(0o700)
    old, new = folder / ".unfinished-1-aa", folder / ".unfinished-2-bb"
    old.write_bytes(b"")
    new.write_bytes(b"")
    os.utime(old, (1, 1))
    ObjectCache(folder).store("kernel", DATA)
    assert not old.exists()
    assert new.exists()


def test_clear_removes_objects_and_nothing_else(store: ObjectCache) -> None:
    store.store("one", DATA)
    store.store("two", DATA)
    assert store.directory is not None
    (store.directory / "notes.object").write_text("mine")
    assert store.clear() == 2 * (len(DATA) + HEADER.size)
    assert [path.name for path in store.directory.iterdir()] == ["notes.object"]


def test_the_command_clears_the_folder_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BURN_CACHE", str(tmp_path / "kernels"))
    ObjectCache(cache_directory()).store("kernel", bytes(2 << 20))
    assert clear_cache_command([]) == 0
    assert "removed 2.0 MiB" in capsys.readouterr().out
    assert ObjectCache(cache_directory()).load("kernel") is None
    monkeypatch.setenv("BURN_CACHE", "off")
    assert clear_cache_command([]) == 0


def test_the_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("BURN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_directory() == tmp_path / ".cache/burn/kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == tmp_path / ".cache/burn/kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg/burn/kernels"
    monkeypatch.setenv("BURN_CACHE", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"
    monkeypatch.setenv("BURN_CACHE", "off")
    assert cache_directory() is None


def test_a_cache_that_is_off_holds_nothing() -> None:
    store = ObjectCache(None)
    store.store("kernel", DATA)
    assert store.load("kernel") is None
    assert store.load_or_build("kernel", lambda: DATA) == DATA
    assert (store.size(), store.clear()) == (0, 0)


def test_a_limit_that_is_not_a_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURN_CACHE_LIMIT", "1 GB")
    with pytest.raises(ArgumentError, match="BURN_CACHE_LIMIT: '1 GB' is not a number of bytes"):
        module.default_cache.__wrapped__()


def test_every_part_of_a_key_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {kernel_key("ab", "c"), kernel_key("a", "bc"), kernel_key("ab", "d")}
    monkeypatch.setattr(module, "__version__", "9.9.9")
    keys.add(kernel_key("ab", "c"))
    monkeypatch.setattr(module, "_llvm_version", lambda: "other")
    keys.add(kernel_key("ab", "c"))
    assert len(keys) == 5


def test_a_folder_that_is_cleared_while_a_file_is_written_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, replace = ObjectCache(tmp_path / "kernels"), os.replace

    def cleared(source: Path, target: Path) -> None:
        ObjectCache(tmp_path / "kernels").clear()
        replace(source, target)

    monkeypatch.setattr(os, "replace", cleared)
    store.store("kernel", DATA)  # a warning would be an error here
    monkeypatch.undo()
    assert store.load("kernel") is None
    store.store("kernel", DATA)
    assert store.load("kernel") == DATA


PROCESS = """
import sys
from pathlib import Path
from burn.backend.cpu.cache import ObjectCache

folder, number = Path(sys.argv[1]), int(sys.argv[2])
store = ObjectCache(folder, limit=40_000)
for round in range(150):
    key = f"kernel {(round * 7 + number) % 20}"
    expected = key.encode() * 200
    found = store.load(key)
    assert found in (None, expected), "a file that is not whole was believed"
    store.store(key, expected)
    if number == 0 and round % 50 == 49:
        store.clear()
"""


def test_processes_share_a_folder_without_seeing_half_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    commands = [[sys.executable, "-W", "error", "-c", PROCESS, str(folder), str(number)] for number in range(4)]
    running = [subprocess.Popen(each, stderr=subprocess.PIPE, text=True) for each in commands]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert not list(folder.glob(".unfinished-*"))
    assert ObjectCache(folder).size() <= 40_000 + 4 * 3000
