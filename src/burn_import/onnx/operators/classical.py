"""Models of `ai.onnx.ml` that are numbers: trees, linear models, support vectors, and what prepares their features.

Labels that are strings are host values: a classifier gives the numbers of its classes to `text.choose`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burn_import.functions.classical import TRANSFORMS
from burn_import.functions.trees import Forest, forest_of_branches, forest_of_nodes
from burn_import.onnx.code.expression import Expression, binary
from burn_import.onnx.code.fields import Array
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.calling import written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

ML = "ai.onnx.ml"


def _array(op: Operation, name: str, dtype: Any = np.float32) -> Array | None:
    """A list among the attributes, or its form as a tensor, which may be of another type."""
    tensor = op.node.attributes.get(f"{name}_as_tensor")
    if isinstance(tensor, Constant):
        return tensor.array
    found = op.node.attributes.get(name)
    if isinstance(found, Constant):
        return found.array
    return None if found is None or len(found) == 0 else np.asarray(found, dtype)


def _floats(op: Operation) -> Expression:
    """The features (items, features) as floats; a vector is one item."""
    x = op.x if op.dtype().is_float else op.cast(op.x, ElementType.f32)
    return x.method("reshape", [1, -1]) if op.known_rank() == 1 else x


def _labels(op: Operation) -> tuple[Any, ...]:
    for name in ("classlabels_strings", "classlabels_int64s", "classlabels_ints"):
        found = op.attribute(name)
        if found:
            return tuple(each.decode() if isinstance(each, bytes) else each for each in found)
    return ()


def _classes(op: Operation, both: Expression) -> list[Expression | None]:
    """Labels and scores, from a function that gives the numbers of classes and scores."""
    labels = _labels(op)
    pair = op.assign("classes", both)
    index, scores = pair.item(0), pair.item(1)
    if not op.wanted(0):
        return [None, scores]
    if labels and isinstance(labels[0], str):
        names = labels if len(labels) > 1 else (*labels, "")
        return [op.function("text", "choose")(index, list(names)).other(), scores]
    if len(labels) < 2 or labels == tuple(range(len(labels))):
        return [op.cast(index, ElementType.i64), scores]
    return [op.table("labels", np.asarray(labels, np.int64)).method("select", 0, index), scores]


def _transform(op: Operation) -> str:
    found = op.attribute("post_transform", "NONE")
    return TRANSFORMS[found] if isinstance(found, int) else str(found)


def _transformed(op: Operation, scores: Expression) -> Expression:
    name = _transform(op)
    return scores if name == "NONE" else written(op, "classical", "transformed", scores, name)


# Trees


def _scores(op: Operation, forest: Forest, aggregate: str) -> Expression:
    names = ("roots", "features", "splits", "modes", "yes", "no", "missing", "votes")
    tables = [op.table(name, array) for name, array in zip(names, forest.arrays(), strict=True)]
    return written(op, "trees", "tree_ensemble", _floats(op), *tables, aggregate)


def _forest(op: Operation, targets: int, leaf: str) -> Forest:
    """A forest of nodes that name their tree; `leaf` begins the names of the attributes of votes."""
    kinds = ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids")
    found: dict[str, Any] = {name: op.node.attributes[name] for name in kinds}
    found["nodes_modes"] = [each.decode() if isinstance(each, bytes) else each for each in op.attribute("nodes_modes")]
    found["nodes_values"] = _array(op, "nodes_values")
    tracks = op.node.attributes.get("nodes_missing_value_tracks_true")
    found["nodes_missing_value_tracks_true"] = tracks if tracks else None
    for name in ("treeids", "nodeids"):
        found[f"leaf_{name}"] = op.node.attributes[f"{leaf}_{name}"]
    found["leaf_targetids"] = op.node.attributes[f"{leaf}_ids"]
    found["leaf_weights"] = _array(op, f"{leaf}_weights")
    return forest_of_nodes(targets, **found)


@operator("TreeEnsemble", domain=ML)
def tree_ensemble(op: Operation) -> Expression:
    lists = (
        "tree_roots", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs",
        "nodes_falseleafs", "leaf_targetids",
    )  # fmt: skip
    found: dict[str, Any] = {name: op.node.attributes[name] for name in lists}
    found |= {name: _array(op, name) for name in ("nodes_splits", "nodes_modes", "leaf_weights", "membership_values")}
    tracks = op.node.attributes.get("nodes_missing_value_tracks_true")
    forest = forest_of_branches(op.attribute("n_targets"), **found, nodes_missing_value_tracks_true=tracks or None)
    aggregate = ("average", "sum", "min", "max")[op.attribute("aggregate_function", 1)]
    return _transformed(op, _scores(op, forest, aggregate))


@operator("TreeEnsembleRegressor", domain=ML)
def tree_regressor(op: Operation) -> Expression:
    forest = _forest(op, op.attribute("n_targets", 1), "target")
    scores = _scores(op, forest, str(op.attribute("aggregate_function", "SUM")).lower())
    base = _array(op, "base_values")
    return _transformed(op, scores if base is None else binary("+", scores, op.table("base", base)))


@operator("TreeEnsembleClassifier", domain=ML)
def tree_classifier(op: Operation) -> list[Expression | None]:
    labels, voted = _labels(op), sorted(set(op.node.attributes["class_ids"]))
    scores = _scores(op, _forest(op, max(len(labels), 1), "class"), "sum")
    base, weights = _array(op, "base_values"), _array(op, "class_weights")
    if base is not None:
        if len(base) == 1 and len(labels) == 2:
            # ONNX Runtime leaves it out where only the second class has votes
            base = np.asarray([base[0] if voted[:1] == [0] else 0, 0], base.dtype)
        scores = binary("+", scores, op.table("base", base))
    positive = weights is not None and bool((weights >= 0).all())
    return _classes(op, written(op, "classical", "classify", scores, voted, positive, _transform(op)))


# Linear models


@operator("LinearRegressor", domain=ML)
def linear_regressor(op: Operation) -> Expression:
    targets = op.attribute("targets", 1)
    weight, bias = _array(op, "coefficients"), _array(op, "intercepts")
    if weight is None:
        raise op.refuse("no coefficients")
    scores = _floats(op).method("matmul", op.table("coefficients", weight.reshape(targets, -1).T))
    return _transformed(op, scores if bias is None else binary("+", scores, op.table("intercepts", bias)))


@operator("LinearClassifier", domain=ML)
def linear_classifier(op: Operation) -> list[Expression | None]:
    weight, bias = _array(op, "coefficients"), _array(op, "intercepts")
    if weight is None:
        raise op.refuse("no coefficients")
    columns = len(bias) if bias is not None else max(len(_labels(op)), 1)
    table = op.table("coefficients", weight.reshape(columns, -1).T)
    shift = None if bias is None else op.table("intercepts", bias)
    inputs = (_floats(op), table, shift, len(_labels(op)), _transform(op))
    return _classes(op, written(op, "classical", "linear_classes", *inputs))


# Support vectors


def _kernel(op: Operation, vectors: Array, kind: str) -> Expression:
    gamma, offset, degree = (*(op.attribute("kernel_params") or ()), 0.0, 0.0, 0.0)[:3]
    return written(op, "classical", "kernel", _floats(op), op.table("vectors", vectors), kind, gamma, offset, degree)


@operator("SVMRegressor", domain=ML)
def support_regressor(op: Operation) -> Expression:
    count, coefficients, rho = op.attribute("n_supports", 0), _array(op, "coefficients"), _array(op, "rho")
    vectors = _array(op, "support_vectors")
    if coefficients is None or rho is None:
        raise op.refuse("no coefficients or no rho")
    if count and vectors is not None:
        likeness = _kernel(op, vectors.reshape(count, -1), op.attribute("kernel_type", "LINEAR"))
        product = likeness.method("matmul", op.table("coefficients", coefficients.reshape(-1, 1)))
    else:
        product = _kernel(op, coefficients.reshape(1, -1), "LINEAR")
    scores = binary("+", product, rho[0])
    if op.flag("one_class"):
        above = binary(">", scores, 0.0).method("float")
        return binary("-", binary("*", above, 2.0), 1.0)
    return _transformed(op, scores)


@operator("SVMClassifier", domain=ML)
def support_classifier(op: Operation) -> list[Expression | None]:
    counts, coefficients, rho = op.attribute("vectors_per_class"), _array(op, "coefficients"), _array(op, "rho")
    vectors = _array(op, "support_vectors")
    if coefficients is None or rho is None:
        raise op.refuse("no coefficients or no rho")
    classes = len(_labels(op))
    if not counts or vectors is None:
        weight = op.table("coefficients", coefficients.reshape(classes, -1).T)
        shift = op.table("rho", rho[:1])
        return _classes(
            op, written(op, "classical", "linear_classes", _floats(op), weight, shift, classes, _transform(op))
        )
    likeness = _kernel(op, vectors.reshape(sum(counts), -1), op.attribute("kernel_type", "LINEAR"))
    table = op.table("coefficients", coefficients.reshape(classes - 1, -1))
    both = written(op, "classical", "support_scores", likeness, table, op.table("rho", rho), list(counts))
    pair = op.assign("scores", both)
    slopes, shifts = _array(op, "prob_a"), _array(op, "prob_b")
    extra = [None if each is None else op.table(name, each) for name, each in (("slopes", slopes), ("shifts", shifts))]
    inputs = (pair.item(0), pair.item(1), *extra)
    return _classes(op, written(op, "classical", "support_classes", *inputs, _transform(op)))


# Features


@operator("Scaler", domain=ML)
def scaler(op: Operation) -> Expression:
    def table(name: str, usual: float) -> Expression:
        found = _array(op, name)
        return op.table(name, np.full(1, usual, np.float32) if found is None else found)

    return written(op, "classical", "scale_features", op.x, table("offset", 0.0), table("scale", 1.0))


@operator("Normalizer", domain=ML)
def normalizer(op: Operation) -> Expression:
    return written(op, "classical", "normalize_rows", op.x, op.attribute("norm", "MAX"))


@operator("Imputer", domain=ML)
def imputer(op: Operation) -> Expression:
    floats = op.dtype().is_float
    values = _array(op, "imputed_value_floats") if floats else _array(op, "imputed_value_int64s", np.int64)
    replaced = op.attribute("replaced_value_float", 0.0) if floats else op.attribute("replaced_value_int64", 0)
    if values is None:
        raise op.refuse("no values to put in")
    return written(op, "classical", "impute", op.x, op.table("imputed", values), replaced)


@operator("Binarizer", domain=ML)
def binarizer(op: Operation) -> Expression:
    return op.cast(binary(">", op.x, op.attribute("threshold", 0.0)), op.dtype())


@operator("ArrayFeatureExtractor", domain=ML)
def extract(op: Operation) -> Expression:
    if op.dtype() is ElementType.string:
        raise op.refuse("features that are strings")
    return written(op, "classical", "extract_features", op.x, op.tensor(1))


@operator("FeatureVectorizer", domain=ML)
def vectorize(op: Operation) -> Expression:
    parts: list[Any] = [op.cast(each, ElementType.f32) for each in op.tensors()]
    sizes: Sequence[int] | None = op.attribute("inputdimensions")
    if not sizes:
        raise op.refuse("no sizes of its inputs")
    return written(op, "classical", "vectorize_features", parts, list(sizes))
