"""The cores that a process may use: its affinity mask, and the quotas of its control groups in both hierarchies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from burn.backend.cpu import cores
from burn.backend.cpu.cores import usable_cores


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of six cores whose control groups are in a folder of the test."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(6)), raising=False)
    monkeypatch.setattr(cores, "CGROUPS", tmp_path)
    monkeypatch.setattr(cores, "MEMBERSHIP", tmp_path / "membership")
    return tmp_path


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)


def test_without_groups_the_mask_decides(groups: Path) -> None:
    assert usable_cores() == 6


@pytest.mark.parametrize(
    "limit, expected", [("200000 100000", 2), ("150000 100000", 2), ("10000 100000", 1), ("900000 100000", 6),
                        ("max 100000", 6), ("", 6), ("-1 100000", 6), ("5 0", 6)],
)  # fmt: skip
def test_the_quota_of_the_second_hierarchy_rounds_up(groups: Path, limit: str, expected: int) -> None:
    write(groups, membership="0::/\n", cpu_max=limit)
    assert usable_cores() == expected


def test_the_smallest_quota_on_the_way_up_counts(groups: Path) -> None:
    write(groups, membership="0::/outer/inner\n", cpu_max="500000 100000")
    write(groups / "outer", cpu_max="300000 100000")
    write(groups / "outer" / "inner", cpu_max="max 100000")
    assert usable_cores() == 3


def test_the_quota_of_the_first_hierarchy_counts(groups: Path) -> None:
    write(groups, membership="7:cpu,cpuacct:/box\n3:cpuset:/\n0::/\n")
    folder = groups / "cpu,cpuacct" / "box"
    write(folder, cpu_cfs_quota_us="250000\n", cpu_cfs_period_us="100000\n")
    assert usable_cores() == 3
    write(folder, cpu_cfs_quota_us="-1\n")
    assert usable_cores() == 6


def test_there_is_always_one(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    write(groups, membership="0::/\n", cpu_max="1000 100000")
    assert usable_cores() == 1
