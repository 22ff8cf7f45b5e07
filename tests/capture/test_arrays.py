"""`Compiled.numpy`: arrays in, arrays out, and the short way that calls of one kind take."""

from __future__ import annotations

import numpy as np
import pytest

import burn
from burn import Cpu, Fusion, NdArray, Tensor
from burn.capture import CaptureWarning

DEVICES = [Cpu(), Fusion(NdArray())]


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(params=DEVICES, ids=repr)
def device(request):
    return request.param


def affine(device):
    weight = Tensor.from_data(values(3, 2), device)

    @burn.compile
    def forward(x):
        return x.matmul(weight).relu()

    return forward, np.asarray(weight)


def test_arrays_go_in_and_come_out(device):
    forward, weight = affine(device)
    for seed in range(8):
        x = values(4, 3, seed=seed)
        found = forward.numpy(x)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, np.maximum(x @ weight, 0), rtol=1e-5, atol=1e-6)
    assert forward.calls >= 5


def test_an_array_that_was_changed_in_place_is_read_anew(device):
    forward, weight = affine(device)
    x = values(4, 3)
    for step in range(8):
        x += step
        np.testing.assert_allclose(forward.numpy(x), np.maximum(x @ weight, 0), rtol=1e-5, atol=1e-5)


def test_what_is_computed_of_an_array_alone_is_not_kept_from_call_to_call(device):
    @burn.compile
    def forward(x, y):
        return (x * 2.0).exp().matmul(y)

    x, y = values(2, 3), values(3, 2, seed=1)
    for _ in range(8):
        x += 0.25
        y -= 0.125
        np.testing.assert_allclose(forward.numpy(x, y), np.exp(x * 2) @ y, rtol=1e-4, atol=1e-5)


def test_results_of_one_call_are_not_written_by_the_next(device):
    forward, _ = affine(device)
    found = [forward.numpy(values(4, 3, seed=seed)) for seed in range(6)]
    again = [forward.numpy(values(4, 3, seed=seed)) for seed in range(6)]
    for one, two in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, two)


def test_other_shapes_dtypes_and_strides_are_served_too(device):
    forward, weight = affine(device)
    for _ in range(4):
        forward.numpy(values(4, 3))
    read_only = values(4, 3, seed=5)
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b" " + values(4, 3).tobytes(), np.float32, offset=1).reshape(4, 3)
    strided = [values(4, 6)[:, ::2], values(3, 4).T, unaligned]
    for x in (values(5, 3), *strided, values(4, 3).astype(np.float64), values(4, 3), read_only):
        for _ in range(4):
            np.testing.assert_allclose(forward.numpy(x), np.maximum(x @ weight, 0), rtol=1e-5, atol=1e-6)


def test_trees_of_arrays_keep_their_structure(device):
    scale = Tensor.from_data(np.float32([2.0]), device)

    @burn.compile
    def forward(pair, options):
        total = pair[0] + pair[1] * scale
        return {"sum": total, "parts": [total * options["weight"], total]}

    for seed in range(6):
        x, y, weight = values(3, seed=seed), values(3, seed=seed + 9), values(3, seed=seed + 20)
        found = forward.numpy([x, y], {"weight": weight})
        np.testing.assert_allclose(found["sum"], x + 2 * y, rtol=1e-6)
        np.testing.assert_allclose(found["parts"][0], (x + 2 * y) * weight, rtol=1e-5)
        assert found["parts"][1] is found["sum"] or np.array_equal(found["parts"][1], found["sum"])


def test_tensors_and_arrays_may_alternate(device):
    forward, weight = affine(device)
    for seed in range(10):
        x = values(4, 3, seed=seed)
        wanted = np.maximum(x @ weight, 0)
        if seed % 2:
            np.testing.assert_allclose(forward.numpy(x), wanted, rtol=1e-5, atol=1e-6)
        else:
            found = forward(Tensor.from_data(x, device))
            assert isinstance(found, Tensor)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)


def test_a_weight_that_is_bound_anew_is_seen(device):
    weight = Tensor.from_data(values(3, 2), device)

    @burn.compile
    def forward(x):
        return x.matmul(weight)

    x = values(4, 3)
    for seed in range(12):
        if seed % 4 == 3:
            weight = Tensor.from_data(values(3, 2, seed=seed), device)
        np.testing.assert_allclose(forward.numpy(x), x @ np.asarray(weight), rtol=1e-5, atol=1e-6)


def test_a_weight_in_a_list_that_is_exchanged_is_seen(device):
    weights = [Tensor.from_data(values(3, 2), device), Tensor.from_data(values(2, 2), device)]

    @burn.compile
    def forward(weights, x):
        return x.matmul(weights[0]).matmul(weights[1])

    x = values(4, 3)
    for seed in range(12):
        if seed % 4 == 3:
            weights[seed % 2] = Tensor.from_data(values(*weights[seed % 2].shape, seed=seed), device)
        wanted = x @ np.asarray(weights[0]) @ np.asarray(weights[1])
        np.testing.assert_allclose(forward.numpy(weights, x), wanted, rtol=1e-4, atol=1e-5)


def test_a_module_in_the_closure_is_served_and_its_changes_are_seen():
    from burn import nn

    device = Cpu()
    layer = nn.LinearConfig(3, 2).init(device)

    @burn.compile
    def forward(x):
        return layer(x)

    x = values(4, 3)
    for step in range(12):
        if step == 6:
            layer = nn.LinearConfig(3, 2).init(device)
        np.testing.assert_allclose(
            forward.numpy(x), x @ np.asarray(layer.weight) + np.asarray(layer.bias), rtol=1e-5, atol=1e-6
        )


def test_a_global_that_changes_is_another_capture():
    device = Cpu()
    flag = True

    @burn.compile
    def forward(x):
        return x + 1.0 if flag else x - 1.0

    x = values(3)
    for step in range(12):
        flag = step < 6
        np.testing.assert_allclose(forward(Tensor.from_data(x, device)).numpy(), x + (1 if flag else -1), rtol=1e-6)


def test_the_number_of_threads_may_change_between_calls():
    forward, weight = affine(Cpu())
    before = burn.get_num_threads()
    try:
        for threads in (1, 2, 1, 2):
            burn.set_num_threads(threads)
            for seed in range(4):
                x = values(64, 3, seed=seed)
                np.testing.assert_allclose(forward.numpy(x), np.maximum(x @ weight, 0), rtol=1e-5, atol=1e-6)
    finally:
        burn.set_num_threads(before)


def test_a_donated_tensor_is_missed_by_another_function():
    device = Cpu()
    weight = Tensor.from_data(values(3, 3), device)
    double = burn.compile(lambda w: w * 2.0, donate=(0,))
    forward = burn.compile(lambda w, x: x.matmul(w))
    x = values(4, 3)
    for _ in range(4):
        forward.numpy(weight, x)
        double(Tensor.from_data(values(3, 3), device))
    double(weight)
    with pytest.raises(burn.errors.ArgumentError, match="donated"):
        forward.numpy(weight, x)


def test_an_array_among_plain_arguments_is_refused_with_the_way_out():
    forward = burn.compile(lambda x: np.asarray(x) + 1)
    with pytest.warns(CaptureWarning, match=r"give it to \.numpy"):
        assert forward(np.float32([1.0]))[0] == 2.0
