"""Data that is no program is refused: with every fault at once, soon, and without memory that it does not justify."""

from __future__ import annotations

import copy
import tracemalloc
from typing import Any

import pytest

from burn.program import Program, ProgramDataError
from tests.program.test_data import sample


def damaged(change: Any) -> dict[str, Any]:
    data = copy.deepcopy(sample().to_data())
    change(data)
    return data


def put(*path: Any) -> Any:
    *places, last, value = path

    def change(data: Any) -> None:
        for place in places:
            data = data[place]
        data[last] = value

    return change


F32 = {"dtype": "f32"}
MADE = {"dtype": "f32", "shape": [2, 3]}


def of_row(name: str) -> dict[str, Any]:
    return {"op": name, "version": 1, "operands": [0], "attributes": {}, "results": [MADE]}


REFUSED = {
    "another format": (put("format", "burn"), "'burn' of version 1, and 'burn-program' of version 1 is read"),
    "another version": (put("version", 2), "'burn-program' of version 2"),
    "a version that is true": (put("version", True), "version True"),
    "an unknown field": (put("code", "import os"), "unknown field 'code'"),
    "an unknown row": (put("nodes", 0, "op", "system"), "there is no row 'system'"),
    "another version of a row": (put("nodes", 0, "version", 9), "mul has version 1 here, and 9 in the data"),
    "a value that comes later": (put("nodes", 0, "operands", [3, 0]), "3 is not the number of a value"),
    "a value of itself": (put("nodes", 0, "operands", [2, 0]), "2 is not the number of a value"),
    "a negative number of a value": (put("nodes", 0, "operands", [-1, 0]), "-1 is not the number of a value"),
    "true for a number of a value": (put("nodes", 0, "operands", [True, 0]), "True is not the number of a value"),
    "a scalar that is not there": (put("nodes", 0, "operands", [0, {"scalar": 1}]), "1 is none of the 1 scalars"),
    "too few operands": (put("nodes", 0, "operands", [0]), "1 operands, and the row has 2"),
    "one value for several": (put("nodes", 1, "operands", [0]), "operand tensors must be several values"),
    "several values for one": (put("nodes", 0, "operands", [[0], 0]), "operand x must be one value"),
    "no tensor at all": (put("nodes", 0, "operands", [{"scalar": 0}] * 2), "one operand must be a tensor"),
    "operands of two dtypes": (put("inputs", 1, "dtype", "f64"), "operands of f32 and f64 must have one dtype"),
    "a dtype that the row does not take": (
        lambda data: (put("inputs", 0, "dtype", "i64")(data), put("nodes", 0, of_row("exp"))(data)),
        "(exp): it does not compute in i64",
    ),
    "shapes that do not broadcast": (put("inputs", 1, "shape", [4]), r"shapes (3,) and (4,) do not broadcast"),
    "another shape than the row makes": (put("nodes", 0, "results", 0, "shape", [2, 2]), "the row makes f32[2, 3]"),
    "another dtype than the row makes": (put("nodes", 4, "results", 0, "dtype", "u8"), "the row makes bool[4, 3]"),
    "too many results": (put("nodes", 0, "results", [MADE] * 2), "2 results, and the row has 1"),
    "an attribute of another kind": (put("nodes", 1, "attributes", "dim", "0"), "attribute dim must be int, got '0'"),
    "true for an int": (put("nodes", 1, "attributes", "dim", False), "attribute dim must be int, got False"),
    "an attribute that is not in normal form": (put("nodes", 1, "attributes", "dim", -2), "dim is -2, and 0 in"),
    "an attribute that the rule refuses": (put("nodes", 1, "attributes", "dim", 7), "dim 7 is out of range"),
    "an attribute too many": (put("nodes", 0, "attributes", {"axis": 1}), "unknown field 'axis'"),
    "an attribute too few": (put("nodes", 1, "attributes", {}), "dim missing"),
    "a dtype that is none": (put("nodes", 5, "attributes", "dtype", {"dtype": "f128"}), "object of 1 is no attribute"),
    "a dtype as text": (put("nodes", 5, "attributes", "dtype", "bf16"), "dtype is 'bf16', and bf16 in normal form"),
    "bytes that are too few": (put("nodes", 3, "attributes", "data", {"bytes": b"1"}), "of f32 is 12 bytes, got 1"),
    "a size that is no number": (put("inputs", 0, "shape", [2, "3"]), "'3' is no size"),
    "a negative size": (put("inputs", 0, "shape", [-2, 3]), "-2 is no size"),
    "a size beyond any memory": (put("inputs", 0, "shape", [1 << 47, 3]), "needs more memory than can exist"),
    "a size of many digits": (put("inputs", 0, "shape", [10**5000, 3]), "a number of 16,610 bits is no size"),
    "more dims than there are": (put("inputs", 0, "shape", [1] * 65), "a list of 65 is no shape"),
    "a constant that is no number": (put("nodes", 2, "operands", [{"constant": "x"}]), "'x' is no number"),
    "a name twice": (put("inputs", 1, "name", "image"), "the name 'image' is taken"),
    "an output that nobody makes": (put("outputs", [99]), "99 is not the number of a value"),
    "a scalar of no kind": (put("scalars", ["complex"]), "'complex' is neither float nor int"),
    "a row whose result depends on its operands": (put("nodes", 0, of_row("argwhere")), "would have to go through"),
    "a row without a rule": (put("nodes", 0, of_row("mean")), "a row without a rule cannot be a node"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_data_that_is_no_program_is_refused(case: str) -> None:
    change, message = REFUSED[case]
    data = damaged(change)
    with pytest.raises(ProgramDataError) as caught:
        Program.from_data(data)
    assert message in str(caught.value)


def test_all_faults_are_told_at_once() -> None:
    data = damaged(
        lambda data: [REFUSED[case][0](data) for case in ("an unknown row", "an attribute too few", "a name twice")]
    )
    data["outputs"].append(99)
    del data["nodes"][2]["results"]
    with pytest.raises(ProgramDataError) as caught:
        Program.from_data(data)
    told = caught.value.faults
    for part in ("no row 'system'", "dim missing", "'image' is taken", "99 is not", "nodes[2]: results missing"):
        assert any(part in fault for fault in told), part


@pytest.mark.parametrize(
    "text", ["", "nul", "[1, 2", '{"format": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "1" * 10_000]
)
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ProgramDataError):
        Program.from_data(text)


def test_bytes_that_are_cut_or_go_on_are_refused() -> None:
    whole = sample().to_bytes()
    for end in range(len(whole)):
        with pytest.raises(ProgramDataError):
            Program.from_data(whole[:end])
    with pytest.raises(ProgramDataError, match="1 bytes too many"):
        Program.from_data(whole + b"\0")


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\x91" * 100_000,
        sample().to_json().replace("[2, 3]", f"[{1 << 44}, 3]"),
        damaged(put("outputs", [99] * 900)),
        damaged(put("nodes", 2, "attributes", "shape", [1 << 40, 1])),
        damaged(put("nodes", 3, "attributes", {"data": {"bytes": b""}, "shape": [1 << 40], "dtype": F32})),
    ],
    ids=["a long list", "many bytes", "deep lists", "a large input", "many faults", "a large fill", "a large literal"],
)  # fmt: skip
def test_refusing_takes_no_more_memory_than_the_data(data: Any) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ProgramDataError):
            Program.from_data(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_small_data_that_repeats_itself_has_an_end() -> None:
    numbers: Any = [0] * 1000
    for _ in range(6):
        numbers = [numbers] * 1000
    with pytest.raises(ProgramDataError, match="more than 1,048,576 entries"):
        Program.from_data(damaged(put("nodes", 1, "attributes", "dim", numbers)))
    program: Any = damaged(lambda data: None)
    for _ in range(7):
        node = {**program["nodes"][1], "attributes": {"dim": {"program": program}}}
        program = {**damaged(lambda data: None), "nodes": [node] * 300}
    with pytest.raises(ProgramDataError):
        Program.from_data(program)


def test_lists_and_programs_inside_of_each_other_have_an_end() -> None:
    nested: Any = 1
    for _ in range(500):
        nested = [nested]
    with pytest.raises(ProgramDataError, match="more than 8 levels"):
        Program.from_data(damaged(put("nodes", 1, "attributes", "dim", nested)))
    data: dict[str, Any] = damaged(lambda data: None)
    data["nodes"][1]["attributes"]["dim"] = {"program": data}
    with pytest.raises(ProgramDataError):
        Program.from_data(data)
