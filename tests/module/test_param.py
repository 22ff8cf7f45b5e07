"""Parameters: ids, laziness, freezing, moving, quantised values."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

from burn import ArgumentError, NdArray, ShapeError, Tensor, f32
from burn.module import Param, ParamId
from burn.tensor.quantization import QuantizationScheme

DEVICE = NdArray()
TRACKED = DEVICE.autodiff()


def lazy(device=TRACKED, shape=(2, 3), calls=None):
    def source():
        if calls is not None:
            calls.append(threading.get_ident())
        return Tensor.random(shape, device=device.inner())

    return Param.uninitialized(None, source, shape, device)


def test_an_id_is_thirteen_characters_of_base_32():
    fixed = ParamId(0x0123456789ABCDEF)
    assert len(ParamId()) == 13
    assert set(ParamId()) <= set("0123456789abcdefghijklmnopqrstuv")
    assert fixed.value == 0x0123456789ABCDEF
    assert ParamId(str(fixed)).value == fixed.value
    assert ParamId("v8vojso07rkks").value < 1 << 64
    assert ParamId(ParamId("v8vojso07rkks").value) == "v8vojso07rkks"


def test_ids_of_older_files_are_kept_as_they_are():
    uuid = "123e4567-e89b-12d3-a456-426614174000"
    assert ParamId(uuid) == uuid
    assert 0 <= ParamId(uuid).value < 1 << 64


@pytest.mark.parametrize("bad", [-1, 1 << 64, "", 1.5, b"x"])
def test_what_is_no_id_is_refused(bad):
    with pytest.raises(ArgumentError, match="ParamId"):
        ParamId(bad)


def test_a_parameter_is_a_tensor_whose_results_are_plain():
    weight = Param(Tensor.ones([2, 2], TRACKED))
    result = weight * 2.0
    assert type(result) is Tensor
    assert isinstance(weight, Tensor)
    assert weight.is_require_grad()
    assert not result.is_require_grad()
    assert (result.sum().backward()[weight].numpy() == 2.0).all()


def test_nothing_is_computed_before_the_first_read():
    calls: list[int] = []
    weight = lazy(calls=calls)
    assert (weight.shape, weight.dtype, weight.device) == ((2, 3), f32, TRACKED)
    assert not weight.is_initialized
    assert not calls
    first = weight.numpy()
    assert weight.is_initialized
    assert len(calls) == 1
    assert (weight.numpy() == first).all()
    assert len(calls) == 1


def test_threads_that_read_first_together_see_one_initialisation():
    calls: list[int] = []
    weight = lazy(calls=calls)
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(weight.numpy())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert all((each == seen[0]).all() for each in seen)


def test_moving_or_freezing_a_lazy_parameter_reads_nothing_and_keeps_its_values():
    calls: list[int] = []
    weight = lazy(calls=calls)
    frozen, plain = weight.set_require_grad(False), weight.moved(DEVICE)
    assert not calls
    assert not frozen.trainable
    assert frozen.id == plain.id == weight.id
    assert (plain.numpy() == weight.numpy()).all()
    assert (frozen.numpy() == weight.numpy()).all()
    assert len(calls) == 1
    assert not frozen.is_require_grad()
    assert plain.device is DEVICE


def test_an_initialiser_of_another_shape_is_an_error():
    weight = Param.uninitialized(None, lambda: Tensor.ones([3], DEVICE), (2,), DEVICE)
    with pytest.raises(ShapeError, match=r"\(3,\) for a parameter of \(2,\)"):
        weight.numpy()


def test_new_values_keep_id_and_freezing():
    weight = Param(Tensor.ones([2], TRACKED)).set_require_grad(False)
    doubled = weight.map(lambda tensor: tensor * 2.0)
    assert doubled.id == weight.id
    assert not doubled.trainable
    assert doubled.tolist() == [2.0, 2.0]
    again = doubled.set_require_grad(True)
    assert again.trainable
    assert again.is_require_grad()
    assert again.id == weight.id


def test_int_parameters_are_never_trained():
    assert not Param(Tensor.from_data([1, 2, 3], TRACKED)).trainable


def test_quantised_values_stay_small_and_are_read_as_floats():
    values = Tensor.random([8, 8], device=DEVICE)
    weight = Param(values.quantize_dynamic(QuantizationScheme.PerTensor()))
    assert weight.val().num_bytes() < 8 * 8 * 4
    assert np.allclose((weight + 0.0).numpy(), values.numpy(), atol=0.01)
    assert type(weight.dequantize()) is Tensor
    assert not weight.trainable


def test_copies_and_pickles_keep_the_id():
    weight = Param(Tensor.from_data([1.0, 2.0], DEVICE))
    assert copy.deepcopy(weight) is weight
    assert pickle.loads(pickle.dumps(weight)).id == weight.id
    assert pickle.loads(pickle.dumps(weight)).tolist() == [1.0, 2.0]


def test_what_is_no_tensor_is_refused():
    with pytest.raises(ArgumentError, match=r"write Param\(burn.tensor"):
        Param([1.0, 2.0])
