"""Slices in Burn's sense, `x[...]` in NumPy's, and gradients through both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from burn.backend import Autodiff, LibTorch, NdArray
from burn.errors import ArgumentError, AutodiffError, DTypeError, IndexingError, ShapeError
from burn.tensor import IndexingUpdateOp, Slice, Tensor, s
from tests.stacks import STACKS

DEVICES = [pytest.param(device, id=name) for name, device in STACKS.items()]
PLAIN = NdArray()


def counted(*shape: int, device: Any = PLAIN) -> Tensor[Any]:
    return Tensor.arange(range(int(np.prod(shape))), device).reshape(shape)


# Slice: text and bounds


@pytest.mark.parametrize(
    "text, expected",
    [
        ("..", Slice()), ("1..5", Slice(1, 5)), ("1..=5", Slice(1, 6)), ("..5", Slice(0, 5)), ("..=5", Slice(0, 6)),
        ("3..", Slice(3)), ("-3..-1", Slice(-3, -1)), ("-3..=-1", Slice(-3)), ("4", Slice(4, 5)), ("-1", Slice(-1)),
        ("-2", Slice(-2, -1)), ("1..5;2", Slice(1, 5, 2)), ("..;-1", Slice(0, None, -1)),
        (" 1 .. 5 ; 2 ", Slice(1, 5, 2)), ("0..0", Slice(0, 0)),
    ],
)  # fmt: skip
def test_a_slice_reads_burns_notation(text: str, expected: Slice) -> None:
    assert Slice.parse(text) == expected


@given(st.integers(-9, 9), st.none() | st.integers(-9, 9), st.integers(-4, 4).filter(bool))
def test_a_slice_reads_what_it_prints(start: int, end: int | None, step: int) -> None:
    made = Slice(start, end, step)
    assert Slice.parse(str(made)) == made


def test_a_slice_prints_briefly() -> None:
    printed = [str(each) for each in s[:, 1:5, 2:, :3, 4, -1, 1:9:2, ::-1]]
    assert printed == ["..", "1..5", "2..", "..3", "4", "-1", "1..9;2", "..;-1"]
    assert repr(s) == "s"


@pytest.mark.parametrize("text", ["", "a", "1...5", "1..5;", "..=", "1:5", "1..5;2;3", "1.5"])
def test_a_slice_says_what_it_cannot_read(text: str) -> None:
    with pytest.raises(ArgumentError, match="cannot read"):
        Slice.parse(text)


def test_a_step_of_zero_is_refused() -> None:
    with pytest.raises(ArgumentError, match="step must not be 0"):
        Slice(0, 5, 0)
    with pytest.raises(ArgumentError, match="step must not be 0"):
        counted(5).slice(s[::0])


@given(st.integers(0, 7), st.integers(-9, 9), st.none() | st.integers(-9, 9), st.integers(-4, 4).filter(bool))
def test_a_slice_takes_the_elements_that_its_bounds_enclose(size: int, start: int, end: int | None, step: int) -> None:
    values = list(range(size))[slice(start, end)]
    expected = values[::step] if step > 0 else values[::-1][::-step]
    first, count, stride = Slice(start, end, step).resolve(size)
    assert [first + stride * k for k in range(count)] == expected
    assert counted(size).slice([Slice(start, end, step)]).tolist() == expected


# Tensor.slice


@pytest.mark.parametrize(
    "spec, shape",
    [
        (s[1:3], (2, 5, 6)), (s[1:3, ...], (2, 5, 6)), (s[..., 1:3], None), (s[..., ..., 1:3], (4, 5, 2)),
        (s[:, 1, -2:], (4, 1, 2)),
        (range(1, 3), (2, 5, 6)), ([range(1, 3), range(9)], (2, 5, 6)), ([(0, 2), (1, -1), (0, 6, 4)], (2, 3, 2)),
        ("1..3", (2, 5, 6)), ("1..3, .., ..;2", (2, 5, 3)), (["..=1", 2, None], (2, 1, 6)),
        (2, (1, 5, 6)), (7, (0, 5, 6)),
        ([], (4, 5, 6)), (slice(3, 1), (0, 5, 6)), (Slice(-2), (2, 5, 6)), (np.int64(1), (1, 5, 6)), (..., (4, 5, 6)),
    ],
)  # fmt: skip
def test_slice_takes_every_form_of_spec_and_keeps_the_rank(spec: Any, shape: Any) -> None:
    x = counted(4, 5, 6)
    if shape is None:
        with pytest.raises(ArgumentError, match=r"\.\.\. stands for one whole dim here"):
            x.slice(spec)
    else:
        assert x.slice(spec).dims() == shape


def test_a_negative_step_runs_backwards_from_the_end_of_the_bounds() -> None:
    x = counted(10)
    assert x.slice("0..5;-1").tolist() == [4, 3, 2, 1, 0]
    assert x.slice(s[2:8:-2]).tolist() == [7, 5, 3]
    assert x.slice((slice(None, None, -3),)).tolist() == [9, 6, 3, 0]


def test_slice_says_what_is_wrong_with_a_spec() -> None:
    x = counted(4, 5)
    with pytest.raises(ShapeError, match=r"slice: 3 specs for a tensor of shape \(4, 5\)"):
        x.slice(s[:, :, :])
    with pytest.raises(ArgumentError, match=r"1\.5 is no part of a dim"):
        x.slice(1.5)
    with pytest.raises(ArgumentError, match=r"the bounds of .* must be ints"):
        x.slice(slice(0.5, 2))
    with pytest.raises(ArgumentError, match="counts backwards; write slice"):
        x.slice(range(3, -1, -1))
    with pytest.raises(ShapeError, match="slice_fill: 3 specs"):
        x.slice_fill(s[:, :, :], 0)


@pytest.mark.parametrize("device", DEVICES)
def test_slice_dim_slice_assign_and_slice_fill_take_the_same_specs(device: Any) -> None:
    x = counted(3, 4, device=device)
    assert x.slice_dim(1, "..;-2").tolist() == [[3, 1], [7, 5], [11, 9]]
    assert x.slice_dim(-2, 1).tolist() == [[4, 5, 6, 7]]
    assert x.slice_assign(s[1, ::-1], counted(1, 4, device=device)).tolist() == [
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [8, 9, 10, 11],
    ]
    assert x.slice_fill(s[:, 1:4:2], -1).tolist() == [[0, -1, 2, -1], [4, -1, 6, -1], [8, -1, 10, -1]]
    with pytest.raises(ShapeError, match=r"values have shape \(4,\) and the slice \(1, 4\)"):
        x.slice_assign(s[1], counted(4, device=device))


def test_a_slice_that_is_written_leaves_the_old_tensor_alone() -> None:
    for device in (NdArray(), LibTorch()):
        x = Tensor.zeros((3,), device)
        whole = x.slice(s[:])
        written = whole.slice_fill(s[1:], 5.0)
        assert x.tolist() == [0, 0, 0]
        assert written.tolist() == [0, 5, 5]


# x[...]


def _positions(size: int) -> st.SearchStrategy[int]:
    return st.integers(-size, size - 1) if size else st.nothing()


def _slices() -> st.SearchStrategy[Any]:
    bounds = st.none() | st.integers(-6, 6)
    return st.builds(slice, bounds, bounds, st.none() | st.integers(-3, 3).filter(bool))


@st.composite
def keys(draw: Any, shape: tuple[int, ...], advanced: bool) -> tuple[Any, ...]:
    """An index of NumPy's: ints, slices, None, ..., int arrays that broadcast, and masks."""
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3)) if advanced else ()
    key: list[Any] = []
    dim, dots = 0, False
    used = draw(st.integers(0, len(shape)))
    while dim < used:
        kinds = ["int", "slice", "none"] + (["array", "array", "mask"] if advanced else []) + ([] if dots else ["dots"])
        kind = draw(st.sampled_from(kinds))
        size = shape[dim]
        if kind == "none":
            key.append(None)
            if len(key) > 6:
                break
            continue
        if kind == "dots":
            key.append(Ellipsis)
            dots = True
            dim += len(shape) - used
            used = len(shape)
            continue
        if kind in ("int", "array") and size == 0:
            kind = "slice"
        if kind == "int":
            key.append(draw(_positions(size)))
        elif kind == "slice":
            key.append(draw(_slices()))
        elif kind == "array":
            sizes = tuple(1 if draw(st.booleans()) else each for each in common)
            sizes = sizes[draw(st.integers(0, len(sizes))) :]
            key.append(draw(hnp.arrays(np.int64, sizes, elements=_positions(size))))
        else:
            key.append(draw(hnp.arrays(np.bool_, (size,))))
        dim += 1
    return tuple(key)


SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def _check(x: np.ndarray[Any, Any], key: tuple[Any, ...], device: Any, as_tensors: bool) -> None:
    try:
        expected = x[key]
    except IndexError:
        with pytest.raises((IndexingError, ShapeError)):
            _ours(x, key, device, as_tensors)
        return
    ours = _ours(x, key, device, as_tensors)
    assert ours.dims() == np.shape(expected)
    np.testing.assert_array_equal(np.asarray(ours), expected)


def _ours(x: np.ndarray[Any, Any], key: tuple[Any, ...], device: Any, as_tensors: bool) -> Tensor[Any]:
    def given_as(each: Any) -> Any:
        if not isinstance(each, np.ndarray):
            return each
        return Tensor.from_data(each, device) if as_tensors else each

    mine = tuple(given_as(each) for each in key)
    return Tensor.from_data(x, device)[mine if len(mine) != 1 else mine[0]]


@given(st.data())
def test_basic_indexing_is_numpys(data: Any) -> None:
    x = np.arange(np.prod(shape := data.draw(SHAPES))).reshape(shape)
    device = data.draw(st.sampled_from([NdArray(), LibTorch(), Autodiff(NdArray())]))
    _check(x, data.draw(keys(shape, advanced=False)), device, False)


@given(st.data())
def test_advanced_indexing_is_numpys(data: Any) -> None:
    x = np.arange(np.prod(shape := data.draw(SHAPES))).reshape(shape)
    device = data.draw(st.sampled_from([NdArray(), LibTorch()]))
    _check(x, data.draw(keys(shape, advanced=True)), device, data.draw(st.booleans()))


def test_the_dims_of_index_tensors_stand_where_numpy_puts_them() -> None:
    x = counted(2, 3, 4, 5)
    array = np.asarray(x)
    for key in [
        (0, slice(None), [1, 2]), (slice(None), 0, [1, 2]), (slice(None), [0], ..., [1]), ([0, 1], None, [0, 1]),
        (slice(None), [[0], [1]], [0, 1]), (..., [1, 0], 2), (None, [1], slice(1, 3), 0), ([[]],), ([],),
        (slice(None), slice(None), [3, -1], [-5, 4]), (range(2),),
    ]:  # fmt: skip
        np.testing.assert_array_equal(np.asarray(x[key]), array[key], err_msg=str(key))


def test_masks_of_several_dims_pick_elements() -> None:
    x = counted(2, 3, 4)
    array = np.asarray(x)
    mask = array % 5 == 0
    np.testing.assert_array_equal(np.asarray(x[x % 5 == 0]), array[mask])
    np.testing.assert_array_equal(np.asarray(x[Tensor.from_data(mask[..., 0], PLAIN)]), array[mask[..., 0]])
    np.testing.assert_array_equal(np.asarray(x[:, Tensor.from_data(mask[0], PLAIN)]), array[:, mask[0]])
    np.testing.assert_array_equal(np.asarray(x[[True, False]]), array[[True, False]])
    np.testing.assert_array_equal(np.asarray(x[mask[:, 0, 0], 1:, [0]]), array[mask[:, 0, 0], 1:, [0]])


@pytest.mark.parametrize(
    "key, error, message",
    [
        (4, IndexingError, r"\[\]: index 4 is out of range for dim 0 of size 4"),
        ((slice(None), -6), IndexingError, r"\[\]: index -6 is out of range for dim 1 of size 5"),
        ((0, [0, 5]), IndexingError, r"\[\]: index 5 is out of range for dim 1 of size 5"),
        ((0, 0, 0), IndexingError, r"\[\]: 3 indices for a tensor of rank 2: too many"),
        ((..., ...), IndexingError, r"\.\.\. may stand only once"),
        (1.5, IndexingError, r"\[\]: 1.5 is no index"),
        ("a", IndexingError, r"\[\]: 'a' is no index"),
        ([[0], [1, 2]], IndexingError, "is no index"),
        (True, IndexingError, "True alone is no index"),
        (slice(0, 4, 0), IndexingError, "step cannot be zero"),
        (slice("a"), IndexingError, "is no slice"),
        (Tensor.zeros((2,), PLAIN), DTypeError, "an index tensor must hold ints or bools, got f32"),
        (np.zeros(5, bool), IndexingError, r"a mask of shape \(5,\) does not fit \(4, 5\) at dim 0"),
        (Tensor.from_data([4], PLAIN), IndexingError, "select: index 4 is out of range for dim 0 of size 4"),
        (Tensor.from_data([-5], PLAIN), IndexingError, "select: index -5 is out of range for dim 0 of size 4"),
        (([0, 1], [0, 1, 2]), ShapeError, "do not broadcast"),
    ],
)  # fmt: skip
def test_a_wrong_index_is_refused_with_a_reason(key: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        counted(4, 5)[key]


def test_index_tensors_of_every_int_dtype_are_taken_and_negative_values_wrap() -> None:
    for device in (NdArray(), LibTorch()):
        x = counted(300, device=device)
        for dtype in ("i64", "i32", "i16", "i8"):
            assert x[Tensor.from_data([-1, 3], device).cast(dtype)].tolist() == [299, 3]
        for dtype in ("u8", "u16", "u32", "u64"):
            assert x[Tensor.from_data([7, 200], device).cast(dtype)].tolist() == [7, 200]


def test_a_tensor_is_iterated_by_its_first_dim() -> None:
    assert [each.tolist() for each in counted(3, 2)] == [[0, 1], [2, 3], [4, 5]]
    assert counted(2)[...].tolist() == [0, 1]


def test_assignment_says_what_to_write_instead() -> None:
    x = counted(3)
    with pytest.raises(ArgumentError, match=r"never changes; write x = x.slice_assign\(s\[...\], values\)"):
        x[0] = 5


# Gradients


@pytest.mark.parametrize("base", [NdArray(), LibTorch()], ids=["ndarray", "libtorch"])
def test_gradients_flow_through_indexing_and_accumulate(base: Any) -> None:
    x = Tensor.from_data([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], Autodiff(base)).require_grad()
    grads = (x[:, [0, 0, 2]].sum() + x[1, 1:].sum() + x[[0, 1], [1, -1]].sum() + x[x > 4.5].sum()).backward()
    expected = [[2.0, 1.0, 1.0], [2.0, 2.0, 4.0]]
    gradient = x.grad(grads)
    assert gradient is not None
    assert gradient.tolist() == expected


POINT = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize("base", [NdArray(), LibTorch()], ids=["ndarray", "libtorch"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: x.slice(s[::-2, 1:]),
        lambda x, i: x.slice_assign(s[0:1], x.slice(s[1:2])),
        lambda x, i: x.select(1, i),
        lambda x, i: x.gather(1, i.unsqueeze_dim(0).expand((2, 4))),
        lambda x, i: x.scatter(1, i.unsqueeze_dim(0).expand((2, 4)), x.select(1, i)),
        lambda x, i: x.select_assign(1, i.slice(s[1:3]), x.slice(s[:, 1:]), "assign"),
        lambda x, i: x.gather_nd(i.slice(s[1:3])),
        lambda x, i: x.scatter_nd(i.slice(s[1:3]), x.sum_dims([0, 1]).reshape(()), "add"),
        lambda x, i: x.unfold(1, 2, 1),
        lambda x, i: x.pad((1, 1, 0, 1), mode="reflect"),
        lambda x, i: x.tril().roll([1], [0]),
        lambda x, i: Tensor.cat([x, x.flip([1])], 0).permute((1, 0)),
    ],
)  # fmt: skip
def test_second_derivatives_flow_through_movement_and_indexing(base: Any, function: Any) -> None:
    twice = Autodiff(Autodiff(base))
    leaf = Tensor.from_data(POINT, Autodiff(base), dtype="f64").require_grad()
    x = Tensor.from_inner(leaf).require_grad()
    indices = Tensor.from_data([1, 0, 1, 2], twice)
    first = x.grad((function(x, indices) ** 3).sum().backward())
    assert first is not None
    second = leaf.grad((first * first).sum().backward())
    assert second is not None
    step = 1e-5

    def squared(shift: Any) -> float:
        point = Tensor.from_data(POINT + shift, Autodiff(base), dtype="f64").require_grad()
        gradient = point.grad((function(point, indices.inner()) ** 3).sum().backward())
        assert gradient is not None
        return float((gradient * gradient).sum().into_scalar())

    for place in [(0, 0), (0, 2), (1, 1)]:
        shift = np.zeros((2, 3))
        shift[place] = step
        estimate = (squared(shift) - squared(-shift)) / (2 * step)
        np.testing.assert_allclose(np.asarray(second)[place], estimate, rtol=1e-5)


@pytest.mark.parametrize("update", ["mul", IndexingUpdateOp.Max])
def test_updates_that_pass_no_gradient_say_so(update: Any) -> None:
    x = Tensor.ones((3,), Autodiff(NdArray())).require_grad()
    y = x.scatter(0, Tensor.from_data([1], x.device), Tensor.ones((1,), x.device), update)
    with pytest.raises(AutodiffError, match=r"scatter: update='.*' passes no gradient, only 'add' and 'assign' do"):
        y.sum().backward()


def test_update_modes_have_burns_names() -> None:
    x = Tensor.from_data([1, 5, 3], PLAIN)
    indices, values = Tensor.from_data([0, 0, 2], PLAIN), Tensor.from_data([4, 2, 2], PLAIN)
    results = {each.name: x.select_assign(0, indices, values, each).tolist() for each in IndexingUpdateOp}
    assert results == {
        "Assign": [2, 5, 2], "Add": [7, 5, 5], "Mul": [8, 5, 6], "Min": [1, 5, 2], "Max": [4, 5, 3],
    }  # fmt: skip


@given(st.integers(1, 6), st.lists(st.integers(0, 5), max_size=40), st.sampled_from(["add", "mul", "min", "max"]))
def test_repeated_indices_combine_like_a_loop(width: int, chosen: list[int], update: str) -> None:
    functions = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    values = np.random.default_rng(len(chosen)).integers(-3, 4, (len(chosen), width))
    x = np.random.default_rng(1).integers(-3, 4, (6, width))
    expected = x.copy()
    for position, value in zip(chosen, values, strict=True):
        expected[position] = functions[update](expected[position], value)
    for device in (NdArray(), LibTorch()):
        ours = Tensor.from_data(x, device).select_assign(
            0, Tensor.from_data(np.array(chosen, np.int64), device), Tensor.from_data(values, device), update
        )
        np.testing.assert_array_equal(np.asarray(ours), expected)


def test_halves_accumulate_in_f32() -> None:
    for device in (NdArray(), LibTorch()):
        for dtype in ("f16", "bf16"):
            x = Tensor.zeros((1,), device, dtype)
            indices = Tensor.zeros((4096,), device, "i64")
            assert x.select_assign(0, indices, Tensor.ones((4096,), device, dtype)).into_scalar() == 4096
            assert x.scatter(0, indices, Tensor.ones((4096,), device, dtype)).into_scalar() == 4096


def test_index_producing_operations_give_the_device_int_dtype() -> None:
    for device in (NdArray(int="i32"), LibTorch(int="i32")):
        mask = Tensor.from_bool([[True, False], [True, True]], device)
        assert mask.argwhere().dtype.name == "i32"
        assert np.asarray(mask.argwhere()).dtype == np.int32
        assert [each.tolist() for each in mask.nonzero()] == [[0, 1, 1], [0, 0, 1]]


def test_8_bit_floats_are_moved_and_picked_but_not_added() -> None:
    for device in (NdArray(), LibTorch()):
        x = Tensor.from_data([[1.0, 2.0], [3.0, 4.0]], device).cast("f8e4m3fn")
        indices = Tensor.from_data([1, 0], device)
        for moved in (
            x.select(0, indices),
            x.flip([0]),
            x.gather(0, indices.unsqueeze_dim(1).expand((2, 2))),
            x[[1, 0]],
        ):
            assert moved.cast("f32").tolist() == [[3.0, 4.0], [1.0, 2.0]]
        assert x.select_assign(0, indices, x, "assign").cast("f32").tolist() == [[3.0, 4.0], [1.0, 2.0]]
        with pytest.raises(DTypeError, match="f8e4m3fn only stores values; use update='assign'"):
            x.select_assign(0, indices, x)
