"""Images, signals, picking and random numbers through generated source, with sizes that only the run knows.

Each case runs twice: with all its inputs given, and with all but the first one as constants of the model.
The judge is onnxruntime.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import burn
from burn_import.onnx import OnnxError, load
from tests.onnx.running import text_model

OPSET = 20
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values: Any) -> Any:
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Case:
    operator: str
    inputs: list[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = OPSET


def model_of(case: Case, constants: bool) -> onnx.ModelProto:
    """A model of one node; its inputs have only a rank, apart from the scales and sizes of Resize (the judge asks)."""
    names = ["" if each is None else f"in_{index}" for index, each in enumerate(case.inputs)]
    given, fixed = [], []
    for index, (name, array) in enumerate(zip(names, case.inputs, strict=True)):
        if array is None:
            continue
        if constants and index:
            fixed.append(numpy_helper.from_array(array, name))
        else:
            known = index and case.operator == "Resize"
            sizes = array.shape if known else [f"{name}_{axis}" for axis in range(array.ndim)]
            given.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), sizes))
    outputs = [f"out_{index}" for index in range(case.outputs)]
    node = helper.make_node(case.operator, names, outputs, **case.attributes)
    graph = helper.make_graph(
        [node], "one", given, [onnx.ValueInfoProto(name=name) for name in outputs], initializer=fixed
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model)


def both(case: Case, constants: bool) -> tuple[list[Any], list[Any], str]:
    """Our results, those of the judge, and the source."""
    model = model_of(case, constants)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {value.name: case.inputs[int(value.name[3:])] for value in model.graph.input}
    loaded = load(model, burn.NdArray())
    results = loaded.run(given)
    return [np.asarray(results[name]) for name in loaded.output_names], session.run(None, given), loaded.source


BOXES = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6], [0, 5.1, 1, 6.2]]], np.float32)
PIXELS = np.array([[0, 0, 0, 4, 4], [1, 2, 1, 6, 5]], np.float32)

CASES = {
    "gather_nd": Case("GatherND", [floats(3, 4, 5), ints([0, -1], [2, 1])]),
    "gather_nd_batched": Case("GatherND", [floats(2, 4, 5), ints([[-1], [1]], [[0], [2]])], {"batch_dims": 1}),
    "scatter_elements": Case("ScatterElements", [floats(3, 4), ints([0, -1], [2, 1]), floats(2, 2)], {"axis": 1}),
    "scatter_elements_add": Case(
        "ScatterElements", [floats(3, 4), ints([0, -1], [-1, 0]), floats(2, 2)], {"reduction": "add"}
    ),
    "scatter_nd": Case("ScatterND", [floats(3, 4), ints([0, -1], [2, 1]), floats(2)]),
    "scatter_nd_max": Case("ScatterND", [floats(3, 4), ints([-1], [1]), floats(2, 4)], {"reduction": "max"}),
    "compress": Case("Compress", [floats(3, 4), np.array([False, True, True])], {"axis": -1}),
    "compress_flat": Case("Compress", [floats(3, 4), np.array([False, True, True, False, True])]),
    "unique": Case("Unique", [ints(3, 1, 3, 2, 1)], {}, outputs=4),
    "unique_rows": Case("Unique", [ints([2, 1], [0, 1], [2, 1])], {"axis": 0}, outputs=4),
    "reverse_sequence": Case("ReverseSequence", [floats(4, 3, 2), ints(1, 4, 2)], {"time_axis": 0, "batch_axis": 1}),
    "hardmax": Case("Hardmax", [floats(2, 3, 4)], {"axis": 1}),
    "trilu": Case("Trilu", [floats(2, 4, 5), np.array(-1, np.int64)], {"upper": 0}),
    "one_hot": Case("OneHot", [ints(1, -1, 5), ints(4), np.array([0.5, 2.0], np.float32)], {"axis": 0}),
    "top": Case("TopK", [floats(3, 6), ints(2)], {"axis": 0}, outputs=2),
    "cum_sum": Case("CumSum", [floats(3, 4), np.array(-1, np.int32)], {"exclusive": 1, "reverse": 1}),
    "grid_sample": Case("GridSample", [floats(2, 3, 5, 6), floats(2, 4, 3, 2)], {"padding_mode": "border"}),
    "affine_grid": Case("AffineGrid", [floats(2, 2, 3), ints(2, 3, 4, 5)], {"align_corners": 1}),
    "roi_align": Case(
        "RoiAlign", [floats(2, 3, 8, 8), PIXELS[:, 1:], ints(0, 1)],
        {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.5},
    ),
    "max_roi_pool": Case("MaxRoiPool", [floats(2, 3, 8, 8), PIXELS], {"pooled_shape": [2, 3], "spatial_scale": 1.0}),
    "non_max_suppression": Case(
        "NonMaxSuppression",
        [BOXES, np.array([[[0.9, 0.8, 0.7, 0.95]]], np.float32), ints(3), np.array([0.5], np.float32),
         np.array([0.1], np.float32)],
    ),
    "non_max_suppression_of_everything": Case(
        "NonMaxSuppression", [BOXES, np.array([[[0.9, 0.8, 0.7, 0.95]]], np.float32), ints(4)], {"center_point_box": 1}
    ),
    "center_crop_pad": Case("CenterCropPad", [floats(5, 3, 8), ints(7, 3)], {"axes": [0, 2]}),
    "fold": Case(
        "Col2Im", [floats(1, 8, 16), ints(4, 4), ints(2, 2)], {"pads": [0, 1, 1, 0], "strides": [1, 1]},
    ),
    "max_unpool": Case(
        "MaxUnpool", [floats(1, 1, 2, 2), ints([[[5, 7], [13, 15]]]).reshape(1, 1, 2, 2)],
        {"kernel_shape": [2, 2], "strides": [2, 2]}, opset=11,
    ),
    "max_unpool_into_a_shape": Case(
        "MaxUnpool", [floats(1, 1, 2, 2), ints([[[5, 7], [13, 15]]]).reshape(1, 1, 2, 2), ints(1, 1, 4, 4)],
        {"kernel_shape": [2, 2], "strides": [2, 2]}, opset=11,
    ),
    "deform_conv": Case(
        "DeformConv", [floats(1, 2, 6, 6), floats(4, 2, 3, 3), floats(1, 18, 6, 6), floats(4), floats(1, 9, 6, 6)],
        {"pads": [1, 1, 1, 1]},
    ),
    "deform_conv_of_unequal_pads": Case(
        "DeformConv", [floats(1, 2, 6, 6), floats(4, 1, 3, 3), floats(1, 18, 6, 5)],
        {"pads": [2, 0, 0, 1], "group": 2, "kernel_shape": [3, 3]},
    ),
    "local_response": Case("LRN", [floats(2, 6, 3, 3)], {"size": 3, "alpha": 0.1, "bias": 2.0}),
    "lp_pool": Case("LpPool", [floats(1, 2, 6, 6)], {"kernel_shape": [2, 3], "p": 3, "pads": [0, 1, 1, 1]}),
    "global_lp_pool": Case("GlobalLpPool", [floats(2, 3, 4, 5)], {"p": 2}),
    "depth_to_space": Case("DepthToSpace", [floats(2, 8, 2, 3)], {"blocksize": 2, "mode": "CRD"}),
    "space_to_depth": Case("SpaceToDepth", [floats(2, 2, 4, 6)], {"blocksize": 2}),
    "pad_wrapping": Case("Pad", [floats(3, 4), ints(1, 2, 0, 3)], {"mode": "wrap"}, opset=19),
    "pad_some_axes": Case("Pad", [floats(3, 4), ints(-1, 2), np.array(7.0, np.float32), ints(-1)]),
    "resize_to_sizes": Case(
        "Resize", [floats(1, 2, 5, 6), None, None, ints(1, 2, 7, 4)],
        {"mode": "cubic", "coordinate_transformation_mode": "align_corners"},
    ),
    "resize_by_scales": Case(
        "Resize", [floats(1, 2, 5, 6), None, np.array([1, 1, 2, 0.5], np.float32)], {"mode": "linear", "antialias": 1}
    ),
    "resize_of_a_crop": Case(
        "Resize", [floats(1, 1, 6, 6), np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.2], np.float32), None, ints(1, 1, 3, 4)],
        {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0},
    ),
    "dft": Case("DFT", [floats(2, 8, 1), None, np.array(1, np.int64)], {"onesided": 1}),
    "dft_of_a_length": Case("DFT", [floats(2, 8, 2), np.array(6, np.int64), np.array(-2, np.int64)], {"inverse": 1}),
    "stft": Case(
        "STFT", [floats(1, 32, 1), np.array(4, np.int64), floats(8), np.array(8, np.int64)], {"onesided": 1}
    ),
    "hann": Case("HannWindow", [np.array(9, np.int64)]),
    "hamming": Case("HammingWindow", [np.array(9, np.int64)], {"periodic": 0}),
    "blackman": Case("BlackmanWindow", [np.array(9, np.int64)], {"output_datatype": 11}),
    "mel": Case(
        "MelWeightMatrix",
        [np.array(8, np.int64), np.array(16, np.int64), np.array(8192, np.int64), np.array(0.0, np.float32),
         np.array(4096.0, np.float32)],
    ),
    "det": Case("Det", [floats(3, 4, 4)]),
    "einsum": Case("Einsum", [floats(2, 3, 4), floats(4, 5)], {"equation": "bij, jk -> kib"}),
}  # fmt: skip


@pytest.mark.parametrize("constants", [False, True], ids=["given", "constant"])
@pytest.mark.parametrize("name", CASES)
def test_operators_agree_with_onnxruntime(name: str, constants: bool) -> None:
    ours, theirs, source = both(CASES[name], constants)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype, source
        np.testing.assert_allclose(one, other, 1e-4, 2e-5, err_msg=source)


def loaded_text(text: str, opset: int = OPSET) -> Any:
    return load(text_model(text, opset), burn.NdArray())


def result(model: Any, **given: Any) -> Any:
    return np.asarray(model.run(given)[model.output_names[0]])


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_a_cache_is_written_at_the_place_of_each_batch(mode: str) -> None:
    case = Case(
        "TensorScatter", [floats(2, 1, 4, 3), floats(2, 1, 2, 3), ints(2, 1)], {"mode": mode, "axis": -2}, opset=24
    )
    model = model_of(case, constants=False)
    given = {f"in_{index}": array for index, array in enumerate(case.inputs)}
    (expected,) = ReferenceEvaluator(model).run(None, given)
    np.testing.assert_array_equal(result(load(model, burn.NdArray()), **given), expected)


def test_random_numbers_without_a_seed_follow_the_generator_of_the_device() -> None:
    model = loaded_text("""g(float[a, b] x) => (double[a, b] y) {
        y = RandomNormalLike<dtype=11, mean=3.0, scale=2.0>(x)
    }""")
    burn.NdArray().seed(7)
    first, second = result(model, x=floats(40, 50)), result(model, x=floats(40, 50))
    burn.NdArray().seed(7)
    np.testing.assert_array_equal(result(model, x=floats(40, 50)), first)
    assert first.dtype == np.float64
    assert first.shape == (40, 50)
    assert not np.array_equal(first, second)
    assert abs(first.mean() - 3) < 0.2
    assert abs(first.std() - 2) < 0.2


@pytest.mark.parametrize("seed", ["4.0", "-1.5"])
def test_random_numbers_with_a_seed_are_the_same_in_each_run(seed: str) -> None:
    model = loaded_text(
        f"""g(float[1] x) => (float[30, 40] y) {{
        r = RandomUniform<shape=[30, 40], low=-1.0, high=3.0, seed={seed}>() y = Add(r, x)
    }}"""
    )
    first = result(model, x=np.zeros(1, np.float32))
    np.testing.assert_array_equal(result(model, x=np.zeros(1, np.float32)), first)
    assert -1 <= first.min() < -0.9
    assert 2.9 < first.max() < 3


@pytest.mark.parametrize("seed", ["", ", seed=3.0"])
def test_bernoulli_draws_ones_as_often_as_it_is_told(seed: str) -> None:
    model = loaded_text(f"g(float[a] x) => (int32[a] y) {{ y = Bernoulli<dtype=6{seed}>(x) }}")
    found = result(model, x=np.repeat(np.array([0, 0.25, 1], np.float32), 1000))
    assert found.dtype == np.int32
    assert set(np.unique(found)) == {0, 1}
    zeros, some, ones = found.reshape(3, 1000).mean(1)
    assert zeros == 0
    assert ones == 1
    assert abs(some - 0.25) < 0.05


def test_multinomial_draws_classes_by_their_log_probabilities() -> None:
    model = loaded_text("g(float[a, 3] x) => (int64[a, 2000] y) { y = Multinomial<sample_size=2000, dtype=7>(x) }")
    with np.errstate(divide="ignore"):
        logits = np.log(np.array([[0.25, 0.75, 0], [0, 0, 1]], np.float32)) + np.float32(2)
    found = result(model, x=logits)
    assert found.dtype == np.int64
    assert found.shape == (2, 2000)
    assert abs((found[0] == 1).mean() - 0.75) < 0.05
    assert not (found[0] == 2).any()
    assert (found[1] == 2).all()


def test_settings_are_written_only_where_they_are_unusual() -> None:
    model = loaded_text("""g(float[n, 2, 8, 8] x, float[n, 4, 4, 2] at) => (y) {
        s = GridSample<align_corners=1>(x, at) y = LRN<size=3, beta=0.5>(s)
    }""")
    assert "nn.LocalResponseNormConfig(3, beta=0.5).init()" in model.source
    assert "self.local_response_norm(x.grid_sample(at, align_corners=True))" in model.source


def test_indices_that_are_known_not_to_be_negative_are_not_wrapped() -> None:
    model = loaded_text("""g(float[n, 5] x, float[2] v) => (y) {
        i = Constant<value = int64[2, 2] {0, 1, 1, 4}>() y = ScatterND(x, i, v)
    }""")
    assert "wrap_indices" not in model.source
    x, v = floats(3, 5), floats(2)
    expected = x.copy()
    expected[[0, 1], [1, 4]] = v
    np.testing.assert_array_equal(result(model, x=x, v=v), expected)


def test_gradients_flow_through_what_is_generated() -> None:
    weight = floats(4, 2, 3, 3)
    case = Case("DeformConv", [floats(1, 2, 6, 6), weight, floats(1, 18, 4, 4)])
    model = model_of(case, constants=True)
    device = burn.Autodiff(burn.NdArray())
    loaded = load(model, device)
    names = [name for name, _ in loaded.named_parameters()]
    assert "deform_conv2d.weight" in names, loaded.source
    gradients = loaded.forward(burn.tensor(case.inputs[0], device=device)).sum().backward()
    found = np.asarray(loaded.deform_conv2d.weight.grad(gradients))
    assert found.shape == weight.shape
    assert np.isfinite(found).all()
    assert np.abs(found).max() > 0


def test_what_cannot_be_written_is_refused_with_a_reason() -> None:
    case = Case("ScatterND", [floats(3, 4), ints([0]), floats(1, 4)])
    model = model_of(case, constants=False)
    model.graph.node[0].attribute.append(helper.make_attribute("reduction", "median"))
    with pytest.raises(OnnxError, match="reduction 'median'"):
        load(model, burn.NdArray())


NARROW = [
    ("LpPool", (2, 2, 2), {"kernel_shape": [3], "strides": [3], "auto_pad": "VALID", "p": 1}),
    ("LpPool", (1, 2, 7, 2), {"kernel_shape": [3, 3], "strides": [1, 2], "pads": [2, 0, 1, 0], "p": 2}),
    ("LpPool", (1, 1, 1, 8, 5), {"kernel_shape": [4, 3, 3], "strides": [4, 4, 4], "p": 3}),
    ("MaxPool", (1, 1, 2, 6, 5), {"kernel_shape": [4, 3, 3], "strides": [3, 1, 2]}),
    ("AveragePool", (1, 1, 2, 6, 5), {"kernel_shape": [4, 3, 3], "strides": [3, 1, 2]}),
]


@pytest.mark.parametrize("sized", [True, False], ids=["sized", "not sized"])
@pytest.mark.parametrize(("operator", "shape", "attributes"), NARROW)
def test_a_window_wider_than_its_input_by_less_than_a_stride_is_one_window(
    operator: str, shape: tuple[int, ...], attributes: dict[str, Any], sized: bool
) -> None:
    model = _pool(operator, shape if sized else (None,) * len(shape), attributes)
    x = floats(*shape)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, {"x": x})
    assert theirs.size
    ours = load(model, burn.NdArray()).run({"x": x})["y"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_a_window_wider_than_its_input_by_a_stride_is_none(operator: str) -> None:
    model = _pool(operator, (None,) * 3, {"kernel_shape": [4], "strides": [3]})
    with pytest.raises(burn.ShapeError, match="larger than x"):
        load(model, burn.NdArray()).run({"x": floats(2, 2, 1)})


def _pool(operator: str, shape: tuple[int | None, ...], attributes: dict[str, Any]) -> onnx.ModelProto:
    node = helper.make_node(operator, ["x"], ["y"], **attributes)
    kinds = [helper.make_tensor_value_info("x", 1, shape), helper.make_tensor_value_info("y", 1, None)]
    graph = helper.make_graph([node], "pool", kinds[:1], kinds[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
