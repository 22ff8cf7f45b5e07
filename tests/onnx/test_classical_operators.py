"""`ai.onnx.ml`, strings and containers through generated source, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import burn
from burn_import.onnx import OnnxError, load
from tests.onnx.running import reference, runtime, text_model
from tests.onnx.test_runtime_operators import Draws, agree, single

ML = "ai.onnx.ml"
TREES: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2], "nodes_featureids": [0, 0, 0, 1, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.0, 0.0, 0.1, 0.0, 0.0], "nodes_truenodeids": [1, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
}  # fmt: skip
VOTES: dict[str, Any] = {"class_treeids": [0, 0, 1, 1], "class_nodeids": [1, 2, 1, 2]}
VOTES |= {"class_weights": [0.1, 0.3, 0.2, 0.4]}


def named(kind: str, inputs: list[Any], **attributes: Any) -> tuple[list[Any], list[Any], str]:
    """Our results and theirs for a classifier whose labels may be strings, and the source."""
    proto, given = single(kind, inputs, 2, ML, **attributes)
    ours = load(proto, burn.NdArray())
    found = ours.run(given)
    return [found["y0"], found["y1"]], runtime(proto, given), ours.source


@pytest.mark.parametrize("labels", [["cat", "dog", "fish"], [7, 3, 5], [0, 1, 2]])
def test_classifiers_name_their_classes(labels: list[Any]) -> None:
    x = Draws().floats(6, 3)
    kind = "strings" if isinstance(labels[0], str) else "int64s"
    forest = named(
        "TreeEnsembleClassifier", [x], **TREES, **VOTES, class_ids=[0, 1, 2, 1], **{f"classlabels_{kind}": labels}
    )
    weights = Draws(1).floats(9).tolist()
    usual = "classlabels_strings" if kind == "strings" else "classlabels_ints"
    linear = named("LinearClassifier", [x], coefficients=weights, intercepts=[0.1, 0.2, 0.3], **{usual: labels})
    for ours, theirs, _ in (forest, linear):
        assert ours[0].tolist() == theirs[0].tolist()
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ids", [[0, 1, 2, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_forests_begin_with_base_values(ids: list[int], transform: str) -> None:
    x = Draws(2).floats(6, 3)
    classes = 3 if max(ids) == 2 else 2
    base = [0.2, -0.1, 0.3][: classes if classes == 3 else 1]
    settings = {"classlabels_int64s": list(range(classes)), "base_values": base, "post_transform": transform}
    agree("TreeEnsembleClassifier", [x], 2, ML, **TREES, **VOTES, class_ids=ids, **settings)


def test_forests_and_linear_models_regress() -> None:
    x = Draws(3).floats(6, 3)
    votes = {"target_treeids": [0, 0, 1, 1], "target_nodeids": [1, 2, 1, 2], "target_weights": [0.1, -0.3, 0.2, 0.4]}
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        agree(
            "TreeEnsembleRegressor", [x], 1, ML, **TREES, **votes, target_ids=[0, 0, 0, 0], n_targets=1,
            base_values=[0.5], aggregate_function=aggregate,
        )  # fmt: skip
    agree("LinearRegressor", [x], 1, ML, coefficients=Draws(4).floats(6).tolist(), intercepts=[0.1, 0.2], targets=2)
    agree("LinearRegressor", [x], 1, ML, coefficients=Draws(4).floats(3).tolist())


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vectors(kind: str) -> None:
    draw = Draws(5)
    x, vectors = draw.floats(6, 3), draw.floats(7, 3)
    shared = {"kernel_params": [0.5, 0.1, 2.0], "kernel_type": kind, "support_vectors": vectors.ravel().tolist()}
    agree("SVMRegressor", [x], 1, ML, coefficients=draw.floats(7).tolist(), n_supports=7, rho=[0.3], **shared)
    offsets, weights = draw.floats(3).tolist(), draw.floats(14).tolist()
    for more in ({}, {"prob_a": [-1.0, -1.5, -0.5], "prob_b": [0.1, 0.2, 0.3]}):
        agree(
            "SVMClassifier", [x], 2, ML, classlabels_ints=[4, 5, 6], rho=offsets, coefficients=weights,
            vectors_per_class=[2, 3, 2], **shared, **more,
        )  # fmt: skip


def test_a_classifier_followed_by_a_zip_map_gives_dicts() -> None:
    x = Draws(6).floats(4, 3)
    model = {"coefficients": Draws(7).floats(6).tolist(), "intercepts": [0.1, 0.2], "post_transform": "SOFTMAX"}
    proto, given = single("LinearClassifier", [x], 2, ML, **model, classlabels_strings=["no", "yes"])
    proto.graph.node.append(
        onnx.helper.make_node("ZipMap", ["y1"], ["z"], domain=ML, classlabels_strings=["no", "yes"])
    )
    del proto.graph.output[:]
    proto.graph.output.append(onnx.helper.make_empty_tensor_value_info("z"))
    (theirs,) = runtime(proto, given)
    ours = load(proto, burn.NdArray()).run(given)["z"]
    assert [sorted(each) for each in ours] == [sorted(each) for each in theirs]
    np.testing.assert_allclose([each["yes"] for each in ours], [each["yes"] for each in theirs], rtol=1e-5)


def test_labels_cross_between_strings_and_numbers() -> None:
    words = np.array([["a", "b"], ["z", "c"]], dtype=object)
    numbers = np.array([1, 2, 9], np.int64)
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("LabelEncoder", words, {"keys_strings": ["a", "b", "c"], "values_int64s": [5, 6, 7], "default_int64": -2}),
        ("LabelEncoder", words, {"keys_strings": ["a", "b"], "values_strings": ["x", "y"], "default_string": "?"}),
        ("LabelEncoder", numbers, {"keys_int64s": [1, 2], "values_strings": ["x", "y"]}),
        ("LabelEncoder", numbers, {"keys_int64s": [1, 2], "values_floats": [0.5, 1.5], "default_float": 9.0}),
        ("CategoryMapper", words, {"cats_strings": ["a", "b", "c"], "cats_int64s": [1, 2, 3]}),
        ("CategoryMapper", numbers, {"cats_strings": ["a", "b", "c"], "cats_int64s": [1, 2, 3]}),
        ("OneHotEncoder", words, {"cats_strings": ["a", "b", "c"], "zeros": 1}),
        ("OneHotEncoder", numbers, {"cats_int64s": [9, 1], "zeros": 1}),
    ]
    for kind, x, attributes in cases:
        proto, given = single(kind, [x], 1, ML, **attributes)
        ours = load(proto, burn.NdArray()).run(given)["y0"]
        (theirs,) = runtime(proto, given)
        assert np.asarray(ours).tolist() == theirs.tolist(), (kind, attributes)


def test_features_are_prepared() -> None:
    x = Draws(8).floats(3, 4)
    x[1] = 0
    for norm in ("MAX", "L1", "L2"):
        agree("Normalizer", [x], 1, ML, norm=norm)
    agree("Scaler", [x], 1, ML, offset=[0.5, 1.0, 0.0, 2.0], scale=[2.0, 3.0, 1.0, 0.5])
    agree("Imputer", [x], 1, ML, imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=0.0)
    agree("Binarizer", [x], 1, ML, threshold=0.1)
    proto, _ = single("OneHotEncoder", [np.array([1, 2])], 1, ML, cats_int64s=[1, 2], zeros=0)
    with pytest.raises(OnnxError, match="makes unknown categories an error"):
        load(proto, burn.NdArray())


def test_sequences_are_lists() -> None:
    proto = text_model("""
        g (float[2, 3] x, float[2, 3] y, int64 place) => (float[n, 3] joined, float[2, 2, 3] stacked, int64 count)
        {
            pair = SequenceConstruct(x, y)
            more = SequenceInsert(pair, x, place)
            less = SequenceErase(more, place)
            second = SequenceAt(more, place)
            all = SequenceInsert(less, second)
            joined = ConcatFromSequence<axis = 0>(all)
            stacked = ConcatFromSequence<axis = 0, new_axis = 1>(pair)
            count = SequenceLength(more)
        }""")
    draw = Draws(9)
    for place in (-2, 0, 1, 2):
        given = {"x": draw.floats(2, 3), "y": draw.floats(2, 3), "place": np.array(place)}
        ours = load(proto, burn.NdArray()).run(given)
        if place >= 0:
            for value, expected in zip(proto.graph.output, runtime(proto, given), strict=True):
                np.testing.assert_array_equal(ours[value.name], expected)
        assert ours["count"] == 3


def test_text_is_cut_joined_and_counted() -> None:
    words = np.array(["Monday morning", "tuesday"], dtype=object)
    for kind, inputs, outputs, attributes in (
        ("StringConcat", [words, np.array(["!", "?"], dtype=object)], 1, {}),
        ("StringSplit", [words], 2, {"delimiter": " "}),
        ("StringNormalizer", [words], 1, {"case_change_action": "UPPER", "stopwords": ["TUESDAY"]}),
        ("RegexFullMatch", [words], 1, {"pattern": "[a-z]+"}),
    ):
        proto, given = single(kind, inputs, outputs, "", **attributes)
        ours = load(proto, burn.NdArray()).run(given)
        # ONNX Runtime needs a locale that not every machine has
        theirs = reference(proto, given) if kind == "StringNormalizer" else runtime(proto, given)
        for value, expected in zip(proto.graph.output, theirs, strict=True):
            assert np.asarray(ours[value.name]).tolist() == expected.tolist()
    pool = {
        "pool_strings": ["a", "b", "c", "a", "b", "b", "c"],
        "ngram_counts": [0, 3],
        "ngram_indexes": [0, 1, 2, 3, 4],
    }
    lengths = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1, "mode": "TF"}
    x = np.array([["a", "b", "c", "x", "b"], ["b", "b", "c", "a", "a"]], dtype=object)
    proto, given = single("TfIdfVectorizer", [x], 1, "", **pool, **lengths)
    (theirs,) = runtime(proto, given)
    np.testing.assert_array_equal(load(proto, burn.NdArray()).run(given)["y0"], theirs)


@pytest.mark.parametrize("kind", ["DictVectorizer", "CastMap", "sparse CastMap"])
def test_dicts_become_rows(kind: str) -> None:
    key = onnx.TensorProto.STRING if kind == "DictVectorizer" else onnx.TensorProto.INT64
    value = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    start = onnx.helper.make_value_info("x", onnx.helper.make_map_type_proto(key, value))
    given: dict[Any, float] = {"b": 2.0, "z": 3.0} if kind == "DictVectorizer" else {3: 1.5, 1: 0.5}
    attributes: dict[str, Any] = {"string_vocabulary": ["a", "b", "c"]} if kind == "DictVectorizer" else {}
    if kind == "sparse CastMap":
        attributes = {"map_form": "SPARSE", "max_map": 5}
    node = onnx.helper.make_node(kind.split()[-1], ["x"], ["y"], domain=ML, **attributes)
    graph = onnx.helper.make_graph([node], "one", [start], [onnx.helper.make_empty_tensor_value_info("y")])
    sets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid(ML, 3)]
    proto = onnx.helper.make_model(graph, opset_imports=sets, ir_version=10)
    (theirs,) = runtime(proto, {"x": given})
    ours = load(proto, burn.NdArray()).run({"x": given})["y"]
    assert ours.dtype == theirs.dtype
    assert ours.tolist() == theirs.tolist()
