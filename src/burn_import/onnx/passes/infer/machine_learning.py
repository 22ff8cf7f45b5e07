"""Rules of the ai.onnx.ml domain: encoders, linear models, trees, support vectors."""

from __future__ import annotations

from burn_import.onnx.ir.types import ElementType, MapType, SequenceType, Size, TensorType
from burn_import.onnx.passes.infer import sizes
from burn_import.onnx.passes.infer.context import Inference, rule

ML = "ai.onnx.ml"


@rule("Binarizer", "Imputer", domain=ML)
def same(op: Inference) -> None:
    op.set(op.shape(0))


@rule("Normalizer", "Scaler", domain=ML)
def scaled(op: Inference) -> None:
    op.set(op.shape(0), dtype=ElementType.f32)


@rule("ArrayFeatureExtractor", domain=ML)
def extract(op: Inference) -> None:
    data, count = op.shape(0), sizes.product(op.shape(1) or (None,))
    if data is not None:
        op.set((1, count) if len(data) == 1 else (*data[:-1], count))


@rule("CategoryMapper", domain=ML)
def category(op: Inference) -> None:
    is_text = op.dtype(0) is ElementType.string
    op.set(op.shape(0), dtype=ElementType.i64 if is_text else ElementType.string)


@rule("LabelEncoder", domain=ML)
def label(op: Inference) -> None:
    attributes = op.node.attributes
    dtype = None
    tensor = attributes.get("values_tensor")
    if tensor is not None:
        dtype = tensor.dtype
    elif attributes.get("values_strings"):
        dtype = ElementType.string
    elif attributes.get("values_int64s"):
        dtype = ElementType.i64
    elif attributes.get("values_floats"):
        dtype = ElementType.f32
    op.set(op.shape(0), dtype=dtype)


@rule("OneHotEncoder", domain=ML)
def one_hot_encoder(op: Inference) -> None:
    shape = op.shape(0)
    count = len(op.attribute("cats_int64s") or op.attribute("cats_strings") or ())
    op.set(None if shape is None else (*shape, count), dtype=ElementType.f32)


@rule("FeatureVectorizer", domain=ML)
def features(op: Inference) -> None:
    widths = op.attribute("inputdimensions") or ()
    op.set((op.size(0, 0), sum(widths) if widths else None), dtype=ElementType.f32)


def _rows(op: Inference) -> Size:
    """How many examples there are: a row alone is one."""
    rank = op.rank(0)
    return 1 if rank == 1 else op.size(0, 0)


@rule("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier", domain=ML)
def classifier(op: Inference) -> None:
    names = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")
    labels = next((op.attribute(name) for name in names if op.attribute(name)), ())
    is_text = bool(op.attribute("classlabels_strings"))
    op.set((_rows(op),), dtype=ElementType.string if is_text else ElementType.i64)
    count: Size = len(labels)
    if count == 1:
        count = None
    if op.node.op_type == "SVMClassifier" and labels and not op.attribute("prob_a"):
        vectors = op.attribute("vectors_per_class") or ()
        pairs = len(labels) * (len(labels) - 1) // 2
        count = pairs if vectors and len(labels) > 2 else len(labels)
    op.set((_rows(op), count), dtype=ElementType.f32, index=1)


@rule("LinearRegressor", "SVMRegressor", "TreeEnsembleRegressor", domain=ML)
def regressor(op: Inference) -> None:
    count = op.attribute("targets", 1) if op.node.op_type == "LinearRegressor" else op.attribute("n_targets", 1)
    op.set((_rows(op), 1 if op.node.op_type == "SVMRegressor" else count), dtype=ElementType.f32)


@rule("TreeEnsemble", domain=ML)
def ensemble(op: Inference) -> None:
    op.set((_rows(op), op.attribute("n_targets")), dtype=op.dtype(0))


@rule("ZipMap", domain=ML)
def zip_map(op: Inference) -> None:
    key = ElementType.string if op.attribute("classlabels_strings") else ElementType.i64
    op.set_type(SequenceType(MapType(key, TensorType(ElementType.f32, ()))))


@rule("CastMap", domain=ML)
def cast_map(op: Inference) -> None:
    names = {"TO_FLOAT": ElementType.f32, "TO_STRING": ElementType.string, "TO_INT64": ElementType.i64}
    sparse = op.attribute("map_form", "DENSE") == "SPARSE"
    op.set((1, op.attribute("max_map", 1) if sparse else None), dtype=names.get(op.attribute("cast_to", "TO_FLOAT")))


@rule("DictVectorizer", domain=ML)
def dictionary(op: Inference) -> None:
    given = op.type(0)
    count = len(op.attribute("string_vocabulary") or op.attribute("int64_vocabulary") or ())
    dtype = None
    if isinstance(given, MapType) and isinstance(given.value, TensorType):
        dtype = given.value.dtype
    op.set((1, count), dtype=dtype)
