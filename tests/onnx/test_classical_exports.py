"""Exports of scikit-learn by skl2onnx: scalers, linear models, tree ensembles and pipelines answer as before."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn, which is not installed: pip install scikit-learn skl2onnx")
pytest.importorskip("skl2onnx", reason="needs skl2onnx, which is not installed: pip install scikit-learn skl2onnx")

from skl2onnx import to_onnx  # type: ignore[import-not-found,unused-ignore]
from sklearn.ensemble import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    LinearRegression,
    LogisticRegression,
)
from sklearn.neighbors import KNeighborsClassifier  # type: ignore[import-not-found,import-untyped,unused-ignore]
from sklearn.neural_network import MLPClassifier  # type: ignore[import-not-found,import-untyped,unused-ignore]
from sklearn.pipeline import make_pipeline  # type: ignore[import-not-found,import-untyped,unused-ignore]
from sklearn.preprocessing import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC  # type: ignore[import-not-found,import-untyped,unused-ignore]

import burn
from burn_import.onnx import load

RNG = np.random.default_rng(0)
X = RNG.standard_normal((160, 5)).astype(np.float32)
CLASSES = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int64) + (X[:, 3] > 1)
NUMBERS = X @ np.arange(5, dtype=np.float32) + np.sin(X[:, 0])

CLASSIFIERS = {
    "scaler and logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "pipeline of four": lambda: make_pipeline(
        MinMaxScaler(), PolynomialFeatures(2), Normalizer(), LogisticRegression(max_iter=500)
    ),
    "random forest": lambda: RandomForestClassifier(12, max_depth=5, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "support vectors": lambda: SVC(probability=False, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(3),
    "perceptron": lambda: MLPClassifier((8,), max_iter=40, random_state=0),
}
REGRESSORS = {
    "linear regression": LinearRegression,
    "random forest": lambda: RandomForestRegressor(12, max_depth=5, random_state=0),
    "gradient boosting": lambda: GradientBoostingRegressor(n_estimators=8, random_state=0),
}


def fitted(make: Any, targets: Any) -> tuple[Any, bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = make().fit(X, targets)
        options = {"zipmap": False} if hasattr(estimator, "predict_proba") else None
        return estimator, to_onnx(estimator, X[:1], options=options).SerializeToString()


@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu()], ids=repr)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_answers_as_in_scikit_learn(name: str, device: burn.Device) -> None:
    estimator, data = fitted(CLASSIFIERS[name], CLASSES)
    model = load(data, device)
    for count in (1, 40):
        results = list(model.run({model.input_names[0]: X[:count]}).values())
        assert np.array_equal(results[0], estimator.predict(X[:count]))
        if hasattr(estimator, "predict_proba"):
            np.testing.assert_allclose(results[1], estimator.predict_proba(X[:count]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", [burn.NdArray(), burn.Cpu()], ids=repr)
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_answers_as_in_scikit_learn(name: str, device: burn.Device) -> None:
    estimator, data = fitted(REGRESSORS[name], NUMBERS)
    model = load(data, device)
    for count in (1, 40):
        (result,) = model.run({model.input_names[0]: X[:count]}).values()
        np.testing.assert_allclose(result.reshape(-1), estimator.predict(X[:count]), rtol=1e-4, atol=1e-4)


def test_probabilities_as_maps_answer_as_in_scikit_learn() -> None:
    """What skl2onnx writes when it is not asked otherwise: a dictionary from class to probability for each row."""
    estimator = LogisticRegression(max_iter=500).fit(X, CLASSES)
    model = load(to_onnx(estimator, X[:1]).SerializeToString(), burn.NdArray())
    labels, maps = model.run({model.input_names[0]: X[:6]}).values()
    assert np.array_equal(labels, estimator.predict(X[:6]))
    for row, wanted in zip(maps, estimator.predict_proba(X[:6])):
        assert list(row) == list(estimator.classes_)
        np.testing.assert_allclose(list(row.values()), wanted, rtol=1e-4, atol=1e-5)
