"""The kernel diff finds nothing where nothing changed, and a kernel that did."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from benches.kernel_diff.__main__ import main
from benches.kernel_diff.comparing import Difference, Saved, compare, told
from benches.kernel_diff.recording import Run

ROOT = Path(__file__).resolve().parents[2]


def softmax(device: Any) -> None:
    x = burn.tensor(np.ones((4, 6), np.float32), device=device)
    np.asarray(burn.tensor(np.ones((6, 3), np.float32), device=device).transpose().matmul(x.transpose()).softmax(1))


def scaled(by: float) -> Run:
    def run(device: Any) -> None:
        x = burn.tensor(np.ones(9, np.float32), device=device)
        np.asarray((x * x.full_like(by)).exp().sum())

    return run


PROGRAMS = {"softmax": softmax, "scaled": scaled(2.0)}


def test_what_did_not_change_compares_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["save", str(tmp_path)], PROGRAMS) == 0
    plans = sorted(path.relative_to(tmp_path / "plans").as_posix() for path in tmp_path.glob("plans/*/*.txt"))
    assert plans == ["avx2/scaled.txt", "avx2/softmax.txt", "avx512/scaled.txt", "avx512/softmax.txt"]
    assert len(list(tmp_path.glob("kernels/*.txt"))) >= 3
    assert main(["compare", str(tmp_path)], PROGRAMS) == 0
    assert "nothing differs" in capsys.readouterr().out


def test_a_changed_kernel_is_found_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["save", str(tmp_path)], {**PROGRAMS, "gone": softmax})
    capsys.readouterr()
    assert main(["compare", str(tmp_path)], {"softmax": softmax, "scaled": scaled(3.0), "new": softmax}) == 1
    lines = capsys.readouterr().out.splitlines()
    assert {each for each in lines if each.startswith(("vanished", "appeared", "changed"))} == {
        "vanished  avx2/gone", "vanished  avx512/gone", "appeared  avx2/new", "appeared  avx512/new",
        "changed   avx2/scaled: 1 of 1 kernels", "changed   avx512/scaled: 1 of 1 kernels",
    }  # fmt: skip
    assert any(each.startswith("-") and each.endswith("const 2.0") for each in lines)


PLAN = """plan 0
  kernel  sub
    launch 0123456789abcdef
    1 iterations
    (input0, input1, write value2)
  arena of 64 bytes: value2 at 0
  value3 written over input0
  gives value2, value3

"""


def differences(before: str, after: str, name: str = "avx2/row/joining/cat/f32") -> Difference:
    return compare(Saved({"avx2/row/joining/cat/f32": before}, {}), Saved({name: after}, {}))


def test_plans_with_other_numbers_are_the_same_plans() -> None:
    swapped = PLAN.replace("input0", "input9").replace("input1", "input0").replace("input9", "input1")
    results = PLAN.replace("value2, value3", "value3, value2")
    for after in (swapped, results, swapped.replace("value2", "value7")):
        found = differences(PLAN, after)
        assert not found
        assert found.renumbered == ["avx2/row/joining/cat/f32"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(input0, input1, write", "(input1, input0, write"),  # and what is written over is the other one now
        ("(input0, input1, write", "(input0, input0, write"),
        ("write value2", "write value3"),
        ("over input0", "over input1"),
        ("over input0", "over value2"),
        ("gives value2, value3", "gives value3"),
        ("value2 at 0", "value2 at 64"),
        ("0123456789abcdef", "0123456789abcdee"),
    ],
)
def test_what_is_read_or_written_elsewhere_is_a_change(old: str, new: str) -> None:
    assert PLAN.count(old) == 1
    found = differences(PLAN, PLAN.replace(old, new))
    assert found.changed
    assert not found.renumbered


def test_a_row_of_another_family_is_compared_with_itself() -> None:
    assert not differences(PLAN, PLAN, "avx2/row/shapes/cat/f32")
    found = differences(PLAN, PLAN.replace("at 0", "at 64"), "avx2/row/shapes/cat/f32")
    assert [*found.changed] == found.plans == ["avx2/row/shapes/cat/f32"]
    assert not found.appeared
    lines = [*told(found, Saved({"avx2/row/joining/cat/f32": PLAN}, {}), Saved({"avx2/row/shapes/cat/f32": ""}, {}), 1)]
    assert "1 descriptions are of rows that belong to another family now" in lines
    assert differences(PLAN, PLAN, "avx2/row/shapes/stack/f32").vanished == ["avx2/row/joining/cat/f32"]


def test_another_process_with_other_hashes_lowers_the_same(tmp_path: Path) -> None:
    code = "import sys; from tests.engine import test_kernel_diff as t; sys.exit(t.main(sys.argv[1:], t.PROGRAMS))"
    for seed, command in (("1", "save"), ("2", "compare")):
        done = subprocess.run(
            [sys.executable, "-c", code, command, str(tmp_path)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path)), "OMP_NUM_THREADS": seed},
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_saved_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare", str(tmp_path / "none")], {})
    assert "holds no plans; write them with" in capsys.readouterr().err
