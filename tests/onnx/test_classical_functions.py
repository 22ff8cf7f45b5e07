"""Models of classical machine learning against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn.errors import ArgumentError, DataError
from burn_import.functions import classical, trees
from tests.tensor.one_node import DEVICE, assert_same, on_device, run

ML: dict[str, Any] = {"domain": "ai.onnx.ml", "version": 15}
NODES: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2], "nodes_featureids": [0, 0, 0, 1, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_values": [0.5, 0.0, 0.0, 0.1, 0.0, 0.0], "nodes_truenodeids": [1, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0, 2, 0, 0], "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0],
}  # fmt: skip


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


def items() -> Any:
    x = numbers(6, 3)
    x[2, 0] = np.nan
    return x


def forest(targets: int, ids: list[int], weights: list[float]) -> trees.Forest:
    return trees.forest_of_nodes(
        targets, **NODES, leaf_treeids=[0, 0, 1, 1], leaf_nodeids=[1, 2, 1, 2], leaf_targetids=ids,
        leaf_weights=np.array(weights, np.float32),
    )  # fmt: skip


VOTES = {
    "shares of the first": ([0] * 4, [0.1, 0.3, 0.2, 0.4], [0, 1]),
    "shares of the second": ([1] * 4, [0.1, 0.3, 0.2, 0.4], [0, 1]),
    "both signs": ([0] * 4, [-0.1, 0.3, -0.2, 0.4], [0, 1]),
    "both signs of the second": ([1] * 4, [-0.1, 0.3, -0.2, 0.4], [0, 1]),
    "three classes": ([0, 1, 2, 1], [0.1, 0.3, 0.2, 0.4], [0, 1, 2]),
}


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("votes", VOTES)
def test_forests_classify(votes: str, transform: str) -> None:
    ids, weights, labels = VOTES[votes]
    theirs = run(
        "TreeEnsembleClassifier", [items()], 2, **ML, **NODES, class_treeids=[0, 0, 1, 1], class_nodeids=[1, 2, 1, 2],
        class_ids=ids, class_weights=weights, classlabels_int64s=labels, post_transform=transform,
    )  # fmt: skip
    scores = forest(len(labels), ids, weights).scores(on_device(items()))
    assert_same(classical.classify(scores, ids, min(weights) >= 0, transform), theirs)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("ids", [[0, 0, 0, 0], [0, 1, 0, 1]])
def test_forests_regress(ids: list[int], aggregate: str) -> None:
    weights, targets = [-0.1, 0.3, -0.2, 0.4], max(ids) + 1
    theirs = run(
        "TreeEnsembleRegressor", [items()], **ML, **NODES, target_treeids=[0, 0, 1, 1], target_nodeids=[1, 2, 1, 2],
        target_ids=ids, target_weights=weights, n_targets=targets, aggregate_function=aggregate,
    )  # fmt: skip
    assert_same(forest(targets, ids, weights).scores(on_device(items()), aggregate.lower()), theirs)


def test_forests_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(DataError, match=r"no node has the tree and number \(0, 7\)"):
        trees.forest_of_nodes(1, **{**NODES, "nodes_truenodeids": [7, 0, 0, 1, 0, 0]}, leaf_treeids=[0],
                              leaf_nodeids=[1], leaf_targetids=[0], leaf_weights=[1.0])  # fmt: skip
    with pytest.raises(ArgumentError, match="unknown modes"):
        trees.forest_of_nodes(1, **{**NODES, "nodes_modes": ["BRANCH"] * 6}, leaf_treeids=[0], leaf_nodeids=[1],
                              leaf_targetids=[0], leaf_weights=[1.0])  # fmt: skip


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_linear_models_classify(rows: int, transform: str) -> None:
    if rows == 1 and transform == "PROBIT":
        pytest.skip("ONNX Runtime leaves part of this result unwritten")
    x, weight, bias = numbers(6, 3), numbers(rows, 3, seed=1) * 0.3, numbers(rows) * 0.1 + 0.3
    labels = list(range(max(rows, 2)))
    theirs = run(
        "LinearClassifier", [x], 2, **ML, coefficients=weight.ravel().tolist(), intercepts=bias.tolist(),
        classlabels_ints=labels, post_transform=transform,
    )  # fmt: skip
    mine = classical.linear_classes(on_device(x), on_device(weight.T.copy()), on_device(bias), len(labels), transform)
    if transform == "PROBIT":
        np.testing.assert_allclose(np.asarray(mine[1]), theirs[1], rtol=1e-3, equal_nan=True)
    else:
        assert_same(mine, theirs)


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vectors_regress_and_classify(kind: str) -> None:
    x, vectors = numbers(6, 3), numbers(7, 3, seed=1)
    likeness = classical.kernel(on_device(x), on_device(vectors), kind, 0.5, 0.1, 2.0)
    shared = {"kernel_params": [0.5, 0.1, 2.0], "kernel_type": kind, "support_vectors": vectors.ravel().tolist()}
    weight = numbers(7, seed=2)
    theirs = run("SVMRegressor", [x], **ML, coefficients=weight.tolist(), n_supports=7, rho=[0.3], **shared)
    assert_same(likeness.matmul(on_device(weight.reshape(7, 1))) + 0.3, theirs)
    for counts in ([3, 4], [2, 3, 2]):
        classes = len(counts)
        weights, offsets = numbers(classes - 1, 7, seed=3), numbers(classes * (classes - 1) // 2, seed=4)
        slopes, shifts = numbers(len(offsets), seed=5) - 1.5, numbers(len(offsets), seed=6)
        scores, votes = classical.support_scores(likeness, on_device(weights), on_device(offsets), counts)
        for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
            for sure in (False, True):
                more = {"prob_a": slopes.tolist(), "prob_b": shifts.tolist()} if sure else {}
                theirs = run(
                    "SVMClassifier", [x], 2, **ML, classlabels_ints=list(range(classes)), rho=offsets.tolist(),
                    coefficients=weights.ravel().tolist(), vectors_per_class=counts, post_transform=transform,
                    **shared, **more,
                )  # fmt: skip
                given = (on_device(slopes), on_device(shifts)) if sure else (None, None)
                assert_same(classical.support_classes(scores, votes, *given, transform), theirs)
    with pytest.raises(ArgumentError, match="kind must be LINEAR"):
        classical.kernel(on_device(x), on_device(vectors), "CUBIC")


def test_features_are_prepared_as_elsewhere() -> None:
    whole, x = np.array([[1, 2], [3, 1], [9, 2]], np.int64), numbers(3, 4)
    found = classical.one_hot_categories(on_device(whole), on_device(np.array([1, 2, 3])))
    assert_same(found, run("OneHotEncoder", [whole], **ML, cats_int64s=[1, 2, 3], zeros=1))
    x[1] = 0
    for norm in ("MAX", "L1", "L2"):
        assert_same(classical.normalize_rows(on_device(x), norm), run("Normalizer", [x], **ML, norm=norm))
    offset, scale = np.array([0.5, 1.0], np.float32), np.array([2.0, 3.0], np.float32)
    scaled = classical.scale_features(on_device(whole), on_device(offset), on_device(scale))
    assert_same(scaled, run("Scaler", [whole], **ML, offset=offset.tolist(), scale=scale.tolist()))
    joined = classical.vectorize_features([on_device(x), on_device(x)], [4, 4])
    assert_same(joined, run("FeatureVectorizer", [x, x], **ML, inputdimensions=[4, 4]))
    assert classical.vectorize_features([on_device(x), on_device(x)], [2, 6]).shape == (3, 8)
    x[0, 1] = np.nan
    values = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    filled = run("Imputer", [x], **ML, imputed_value_floats=values.tolist(), replaced_value_float=float("nan"))
    assert_same(classical.impute(on_device(x), on_device(values), float("nan")), filled)
    labels = run(
        "LabelEncoder", [whole], **ML, keys_int64s=[1, 2, 9], values_floats=[5.0, 6.0, 7.0], default_float=-1.0
    )
    assert_same(classical.encode_labels(on_device(whole), [1, 2, 9], [5.0, 6.0, 7.0], -1.0), labels)
    taken = run("ArrayFeatureExtractor", [x, np.array([2, 0])], **ML)
    assert_same(classical.extract_features(on_device(x), on_device(np.array([2, 0]))), taken)


def test_nan_may_be_a_label() -> None:
    x = on_device(np.array([np.nan, 1.0, 2.0], np.float32))
    keys = np.array([np.nan, 2.0], np.float32)
    assert np.asarray(classical.encode_labels(x, keys, [7, 8], 0)).tolist() == [7, 0, 8]
    assert x.device is DEVICE
