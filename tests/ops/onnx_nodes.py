"""How one node of the exchange format reads in our rows: the table behind `test_onnx_nodes`.

Each entry takes the node's attributes and its inputs (None where one is left out) and gives its results.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from burn.dtype import DType
from burn.dtype import dtype as as_dtype
from burn.ops import arithmetic, logic
from burn.tensor import Tensor, activation, loss, module, recurrent
from burn_import.functions import classical, host, normalization, optimisation, quantized, transformer, trees

NODES: dict[str, Callable[..., Any]] = {}
_TYPES = {
    1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f64", 12: "u32",
    13: "u64", 16: "bf16", 17: "f8e4m3fn", 18: "f8e4m3fnuz", 19: "f8e5m2", 20: "f8e5m2fnuz", 21: "u4", 22: "i4",
    23: "f4e2m1", 24: "f8e8m0", 25: "u2", 26: "i2",
}  # fmt: skip


def dtype_of(number: int | None) -> DType | None:
    return as_dtype(_TYPES[number]) if number else None


def node(*names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for name in names:
            NODES[name] = function
        return function

    return register


def attributes_of(proto: Any) -> dict[str, Any]:
    found = {each.name: onnx.helper.get_attribute_value(each) for each in proto.attribute}
    return {
        name: value.decode() if isinstance(value, bytes)
        else [each.decode() for each in value] if isinstance(value, list) and value and isinstance(value[0], bytes)
        else value
        for name, value in found.items()
    }  # fmt: skip


# Conversions


def cast_node(x: Any, target: DType, saturate: int = 1, round_mode: str = "up") -> Any:
    if not saturate and target.name != "f8e8m0":
        return x.cast(target)
    if target.is_int and not target.is_arithmetic and x.dtype.is_float:
        return x.cast("i32").cast(target)  # ints wrap, floats would saturate
    return x.cast_saturating(target, round_mode if target.name == "f8e8m0" else "nearest")


@node("Cast")
def _cast(x: Any, to: int = 1, saturate: int = 1, round_mode: str = "up") -> Any:
    target = dtype_of(to)
    assert target is not None
    return cast_node(x, target, saturate, round_mode)


@node("CastLike")
def _cast_like(x: Any, like: Any, saturate: int = 1, round_mode: str = "up") -> Any:
    return cast_node(x, like.dtype, saturate, round_mode)


NODES["BitCast"] = lambda x, to: x.bitcast(dtype_of(to))


@node("QuantizeLinear")
def _quantize(
    x: Any, scale: Any, zero: Any = None, axis: int = 1, block_size: int = 0, output_dtype: int = 0, saturate: int = 1,
    precision: int = 0,
) -> Any:  # fmt: skip
    return quantized.quantize_linear(
        x, scale, zero, axis, block_size, dtype_of(output_dtype), bool(saturate), dtype_of(precision)
    )


@node("DequantizeLinear")
def _dequantize(x: Any, scale: Any, zero: Any = None, axis: int = 1, block_size: int = 0, output_dtype: int = 0) -> Any:
    return quantized.dequantize_linear(x, scale, zero, axis, block_size, dtype_of(output_dtype))


NODES["DynamicQuantizeLinear"] = quantized.dynamic_quantize
NODES["MatMulInteger"] = quantized.matmul_integer
NODES["QLinearMatMul"] = quantized.matmul


def conv_settings(attributes: dict[str, Any], rank: int) -> tuple[Any, ...]:
    pads = attributes.get("pads", [0] * 2 * rank)
    pairs = tuple(zip(pads[:rank], pads[rank:], strict=True))
    return (
        attributes.get("strides", [1] * rank), pairs, attributes.get("dilations", [1] * rank),
        attributes.get("group", 1),
    )  # fmt: skip


@node("ConvInteger")
def _conv_integer(x: Any, weight: Any, x_zero: Any = None, weight_zero: Any = None, **attributes: Any) -> Any:
    return quantized.conv_integer(x, weight, x_zero, weight_zero, *conv_settings(attributes, len(x.shape) - 2))


@node("QLinearConv")
def _qlinear_conv(x: Any, a: Any, b: Any, w: Any, c: Any, d: Any, e: Any, f: Any, g: Any = None, **more: Any) -> Any:
    return quantized.conv(x, a, b, w, c, d, e, f, g, *conv_settings(more, len(x.shape) - 2))


# Elementwise


def _fold(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def fold(*values: Any) -> Any:
        total = values[0]
        for each in values[1:]:
            total = function(total, each)
        return total

    return fold


NODES["Sum"] = _fold(lambda a, b: a + b)
NODES["Mean"] = lambda *values: _fold(lambda a, b: a + b)(*values) / float(len(values))
NODES["Max"] = _fold(lambda a, b: a.max_pair(b))
NODES["Min"] = _fold(lambda a, b: a.min_pair(b))
NODES["Add"] = lambda a, b: a + b
NODES["Sub"] = lambda a, b: a - b
NODES["Mul"] = lambda a, b: a * b
NODES["Div"] = lambda a, b: a.div(b)
NODES["Mod"] = lambda a, b, fmod=0: a.fmod(b) if fmod else a.rem(b)
NODES["BitShift"] = lambda a, b, direction: a.bitwise_left_shift(b) if direction == "LEFT" else a.bitwise_right_shift(b)
NODES["BitwiseAnd"] = lambda a, b: a.bitwise_and(b)
NODES["BitwiseOr"] = lambda a, b: a.bitwise_or(b)
NODES["BitwiseXor"] = lambda a, b: a.bitwise_xor(b)
NODES["BitwiseNot"] = lambda a: a.bitwise_not()
NODES["Round"] = lambda x: x.round()
NODES["Sign"] = lambda x: x.sign()
NODES["Not"] = lambda x: x.bool_not()
NODES["And"] = lambda a, b: logic.bool_and(a, b)
NODES["Or"] = lambda a, b: logic.bool_or(a, b)
NODES["Xor"] = lambda a, b: logic.bool_xor(a, b)
NODES["Equal"] = lambda a, b: a == b
NODES["Greater"] = lambda a, b: a > b
NODES["GreaterOrEqual"] = lambda a, b: a >= b
NODES["Less"] = lambda a, b: a < b
NODES["LessOrEqual"] = lambda a, b: a <= b
for _name in ("Abs", "Neg", "Exp", "Log", "Sqrt", "Erf", "Floor", "Ceil", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh",
              "Asin", "Acos", "Atan", "Asinh", "Acosh", "Atanh", "Relu", "Sigmoid"):  # fmt: skip
    NODES[_name] = operator.methodcaller(_name.lower())
NODES["Reciprocal"] = lambda x: x.recip()
NODES["IsNaN"] = lambda x: x.is_nan()


@node("Pow")
def _pow(x: Any, y: Any) -> Any:
    if y.dtype.is_float and not x.dtype.is_float:
        return arithmetic.pow(x.cast(y.dtype), y).cast(x.dtype)
    return arithmetic.pow(x, y.cast(x.dtype))


@node("IsInf")
def _is_inf(x: Any, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    if detect_negative and detect_positive:
        return x.is_inf()
    return x == (math.inf if detect_positive else -math.inf) if detect_negative or detect_positive else x != x


@node("Clip")
def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else x.clamp_min(low)
    return x if high is None else x.clamp_max(high)


NODES["Shrink"] = lambda x, bias=0.0, lambd=0.5: activation.shrink(x, lambd, bias)
NODES["Celu"] = lambda x, alpha=1.0: activation.celu(x, alpha)
NODES["Elu"] = lambda x, alpha=1.0: activation.elu(x, alpha)
NODES["Selu"] = lambda x, alpha=1.6732632, gamma=1.0507010: activation.elu(x, alpha) * gamma
NODES["Gelu"] = lambda x, approximate="none": (
    activation.gelu(x) if approximate == "none" else activation.gelu_approximate(x)
)
NODES["Swish"] = lambda x, alpha=1.0: activation.swish(x, alpha)
NODES["SwiGLU"] = lambda a, b, alpha=1.0: activation.swish(a, alpha) * b
NODES["HardSwish"] = activation.hard_swish
NODES["HardSigmoid"] = lambda x, alpha=0.2, beta=0.5: activation.hard_sigmoid(x, alpha, beta)
NODES["LeakyRelu"] = lambda x, alpha=0.01: activation.leaky_relu(x, alpha)
NODES["ThresholdedRelu"] = lambda x, alpha=1.0: activation.thresholded_relu(x, alpha)
NODES["PRelu"] = lambda x, slope: x.mask_where(x < 0, x * slope)
NODES["Mish"] = activation.mish
NODES["Softplus"] = activation.softplus
NODES["Softsign"] = activation.softsign
NODES["Softmax"] = lambda x, axis=-1: x.softmax(axis)
NODES["LogSoftmax"] = lambda x, axis=-1: x.log_softmax(axis)
NODES["Hardmax"] = lambda x, axis=-1: activation.hardmax(x, axis)


# Reductions


def reduction(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def reduce(x: Any, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        dims = [int(each) for each in np.asarray(axes).reshape(-1)] if isinstance(axes, Tensor) else list(axes or [])
        if not dims:
            dims = [] if noop_with_empty_axes else list(range(len(x.shape)))
        y = function(x, dims)
        return y if keepdims or not dims else y.squeeze_dims(dims)

    return reduce


def _sums(x: Any, dims: Any) -> Any:
    return x.sum_dims(dims) if dims else x


NODES["ReduceSum"] = reduction(_sums)
NODES["ReduceMean"] = reduction(lambda x, dims: x.mean_dims(dims) if dims else x)
NODES["ReduceProd"] = reduction(lambda x, dims: x.prod_dims(dims) if dims else x)
NODES["ReduceMax"] = reduction(lambda x, dims: x.largest_dims(dims))
NODES["ReduceMin"] = reduction(lambda x, dims: x.smallest_dims(dims))
NODES["ReduceL1"] = reduction(lambda x, dims: _sums(x.abs(), dims))
NODES["ReduceL2"] = reduction(lambda x, dims: _sums(x * x, dims).sqrt())
NODES["ReduceSumSquare"] = reduction(lambda x, dims: _sums(x * x, dims))
NODES["ReduceLogSum"] = reduction(lambda x, dims: _sums(x, dims).log())
NODES["ReduceLogSumExp"] = reduction(lambda x, dims: x.log_sum_exp_dims(dims) if dims else x)


# Recurrence


def recurrent_settings(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        "direction": attributes.get("direction", "forward"),
        "activations": attributes.get("activations"),
        "alpha": attributes.get("activation_alpha"),
        "beta": attributes.get("activation_beta"),
        "clip": attributes.get("clip"),
        "batch_first": bool(attributes.get("layout", 0)),
    }


@node("RNN")
def _rnn(*inputs: Any, **attributes: Any) -> Any:
    return recurrent.rnn(*inputs, **recurrent_settings(attributes))


@node("GRU")
def _gru(*inputs: Any, **attributes: Any) -> Any:
    after = bool(attributes.get("linear_before_reset", 0))
    return recurrent.gru(*inputs, linear_before_reset=after, **recurrent_settings(attributes))


@node("LSTM")
def _lstm(*inputs: Any, **attributes: Any) -> Any:
    tied = bool(attributes.get("input_forget", 0))
    return recurrent.lstm(*inputs, input_forget=tied, **recurrent_settings(attributes))


# Attention and normalization


@node("Attention")
def _attention(*inputs: Any, wanted: int = 1, **given: Any) -> Any:
    return transformer.attention(
        *inputs, heads=given.get("q_num_heads"), key_heads=given.get("kv_num_heads"), scale=given.get("scale"),
        softcap=given.get("softcap", 0.0), is_causal=bool(given.get("is_causal", 0)),
        left_window=given.get("left_window_size", -1), right_window=given.get("right_window_size", -1),
        softmax_dtype=dtype_of(given.get("softmax_precision")),
        scores=given.get("qk_matmul_output_mode", 0) if wanted > 3 else None,
    )  # fmt: skip


NODES["FlexAttention"] = lambda q, k, v, scale=None, softmax_precision=None: transformer.flex_attention(
    q, k, v, scale, None, None, dtype_of(softmax_precision)
)


@node("LinearAttention")
def _linear_attention(*inputs: Any, q_num_heads: int, kv_num_heads: int, scale: float = 0.0, **_: Any) -> Any:
    return transformer.linear_attention(*inputs, heads=q_num_heads, key_heads=kv_num_heads, scale=scale)


NODES["CausalConvWithState"] = transformer.causal_conv


@node("RotaryEmbedding")
def _rotary(
    x: Any, cosines: Any, sines: Any, places: Any = None, interleaved: int = 0, rotary_embedding_dim: int = 0,
    num_heads: int = 0,
) -> Any:  # fmt: skip
    return transformer.rotary_embedding(
        x, cosines, sines, places, heads=num_heads, size=rotary_embedding_dim, interleaved=bool(interleaved)
    )


@node("LayerNormalization")
def _layer_norm(
    x: Any, gamma: Any, beta: Any = None, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    return normalization.layer_norm(x, gamma, beta, axis, epsilon)


@node("RMSNormalization")
def _rms_norm(x: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    return normalization.rms_norm(x, gamma, axis, epsilon)[0]


NODES["GroupNormalization"] = lambda x, gamma, beta, num_groups, epsilon=1e-5, stash_type=1: module.group_norm(
    x, num_groups, gamma, beta, epsilon
)
NODES["InstanceNormalization"] = lambda x, gamma, beta, epsilon=1e-5: module.instance_norm(x, gamma, beta, epsilon)
NODES["MeanVarianceNormalization"] = lambda x, axes=(0, 2, 3): normalization.mean_variance_norm(x, axes)
NODES["LpNormalization"] = lambda x, axis=-1, p=2: normalization.vector_normalize(x, float(p), axis, 1e-30)


@node("BatchNormalization")
def _batch_norm(
    x: Any, gamma: Any, beta: Any, mean: Any, variance: Any, epsilon: float = 1e-5, momentum: float = 0.9,
    training_mode: int = 0,
) -> Any:  # fmt: skip
    if training_mode:
        return normalization.batch_norm_step(x, gamma, beta, mean, variance, epsilon, momentum)
    return module.batch_norm(x, gamma, beta, mean, variance, epsilon)


# Losses


NODES["NegativeLogLikelihoodLoss"] = lambda x, t, w=None, ignore_index=None, reduction="mean": (
    loss.negative_log_likelihood(x, t, w, ignore_index, reduction)
)
NODES["SoftmaxCrossEntropyLoss"] = lambda x, t, w=None, ignore_index=None, reduction="mean": loss.softmax_cross_entropy(
    x, t, w, ignore_index, reduction
)


# Training


def _many(function: Any, states: int) -> Any:
    """Inputs are the rate, the time, then all parameters, all gradients and all of each state."""

    def call(rate: Any, time: Any, *values: Any, **attributes: Any) -> Any:
        count = len(values) // (2 + states)
        groups = [values[i * count : (i + 1) * count] for i in range(2 + states)]
        results = [function(rate, time, *each, **attributes) for each in zip(*groups, strict=True)]
        return tuple(part for kind in zip(*results, strict=True) for part in kind)

    return call


@node("Adagrad")
def _adagrad(*values: Any, decay_factor: float = 0.0, epsilon: float = 1e-6, norm_coefficient: float = 0.0) -> Any:
    return _many(optimisation.adagrad, 1)(*values, decay=decay_factor, eps=epsilon, regularization=norm_coefficient)


@node("Momentum")
def _momentum(*values: Any, alpha: float, beta: float, mode: str, norm_coefficient: float) -> Any:
    return _many(optimisation.momentum, 1)(
        *values, alpha=alpha, beta=beta, nesterov=mode == "nesterov", regularization=norm_coefficient
    )


@node("Adam")
def _adam(
    *values: Any, alpha: float = 0.9, beta: float = 0.999, epsilon: float = 1e-6, norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> Any:  # fmt: skip
    return _many(optimisation.adam, 2)(
        *values, alpha=alpha, beta=beta, eps=epsilon, regularization=norm_coefficient, decay=norm_coefficient_post
    )


# Classical models and the host


def constant(value: Any, like: Any) -> Any:
    return Tensor.from_data(value, like.device)


@node("TreeEnsemble")
def _tree_ensemble(x: Any, n_targets: int, aggregate_function: int = 1, post_transform: int = 0, **given: Any) -> Any:
    arrays = {name: onnx.numpy_helper.to_array(each) if hasattr(each, "dims") else each for name, each in given.items()}
    arrays.pop("nodes_hitrates", None)
    forest = trees.forest_of_branches(targets=n_targets, **arrays)
    scores = forest.scores(x, ("average", "sum", "min", "max")[aggregate_function])
    return classical.transformed(scores, classical.TRANSFORMS[post_transform])


NODES["ArrayFeatureExtractor"] = classical.extract_features
NODES["Binarizer"] = lambda x, threshold=0.0: (x > threshold).cast(x.dtype)


@node("LabelEncoder")
def _label_encoder(x: Any, **given: Any) -> Any:
    values = {name: onnx.numpy_helper.to_array(each) if hasattr(each, "dims") else each for name, each in given.items()}
    keys = next(values[name] for name in ("keys_floats", "keys_int64s", "keys_tensor") if name in values)
    kind = next(name for name in ("values_floats", "values_int64s", "values_tensor") if name in values)
    default = {"values_floats": values.get("default_float", -0.0), "values_int64s": values.get("default_int64", -1),
               "values_tensor": values.get("default_tensor")}[kind]  # fmt: skip
    return classical.encode_labels(x, keys, values[kind], default)


@node("TfIdfVectorizer")
def _tfidf(x: Any, **given: Any) -> Any:
    weights = given.get("weights")
    indexes = given["ngram_indexes"]
    return host.count_sequences(
        x, constant(given["pool_int64s"], x), constant(given["ngram_counts"], x), constant(indexes, x),
        None if weights is None else constant(weights, x), given["min_gram_length"], given["max_gram_length"],
        given["max_skip_count"], given["mode"], max(indexes) + 1,
    )  # fmt: skip


NODES["ImageDecoder"] = lambda x, pixel_format="RGB": host.decode_image(x, pixel_format)
