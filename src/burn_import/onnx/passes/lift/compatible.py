"""Versions that differ from the one before only by types they admit, or by attributes whose defaults keep the meaning.

`COMPATIBLE[domain]` maps an operator to those versions. Attributes that a newer version no longer knows, such as
`consumed_inputs` of the first versions, are dropped at the end for every operator.
"""

from __future__ import annotations

_ONNX = """
Abs 6 13 | Acos 22 | Acosh 22 | Add 6 13 14 | ArgMax 11 12 13 | ArgMin 11 12 13 | Asin 22 | Asinh 22 | Atan 22 |
Atanh 22 | Attention 24 25 | AveragePool 7 10 11 19 22 | BatchNormalization 6 7 15 | Bernoulli 22 | BitShift 28 |
Cast 9 13 19 21 23 24 25 28 | CastLike 19 21 23 24 25 | Ceil 6 13 | Celu 28 | Clip 6 12 13 | Compress 11 28 |
Concat 11 13 | Constant 9 11 12 13 19 21 23 24 25 | ConstantOfShape 20 21 23 24 25 | Conv 11 22 |
ConvTranspose 11 22 | Cos 22 | Cosh 22 | CumSum 14 | DeformConv 22 | DepthToSpace 11 13 28 |
DequantizeLinear 13 19 21 23 24 25 28 | Det 22 | Div 6 13 14 | Dropout 6 7 13 22 | Einsum 28 | Elu 6 22 |
Equal 11 13 19 | Erf 13 | Exp 6 13 | Expand 13 | EyeLike 22 | Flatten 9 11 13 21 23 24 25 | Floor 6 13 |
GRU 3 7 14 22 | Gather 11 13 | GatherElements 13 | GatherND 12 13 | Gemm 6 7 9 11 13 | GlobalAveragePool 22 |
GlobalLpPool 22 | GlobalMaxPool 22 | Greater 9 13 | GreaterOrEqual 16 | GridSample 22 | HardSigmoid 6 22 |
HardSwish 22 | Hardmax 11 | Identity 13 14 16 19 21 23 24 25 | If 11 13 16 19 21 23 24 25 |
InstanceNormalization 6 22 | IsInf 20 | IsNaN 13 20 | LRN 13 | LSTM 7 14 22 | LeakyRelu 6 16 | Less 9 13 |
LessOrEqual 16 | Log 6 13 | LogSoftmax 11 | Loop 11 13 16 19 21 23 24 25 | LpNormalization 22 | LpPool 11 18 22 |
MatMul 9 13 | Max 6 8 12 13 | MaxPool 8 10 11 12 22 | MaxRoiPool 22 | MaxUnpool 11 22 | Mean 6 8 13 |
MeanVarianceNormalization 13 | Min 6 8 12 13 | Mish 22 | Mod 13 28 | Mul 6 13 14 | Multinomial 22 | Neg 6 13 |
NegativeLogLikelihoodLoss 13 22 | NonMaxSuppression 11 | NonZero 13 | OneHot 11 28 | Optional 28 |
OptionalGetElement 18 28 | OptionalHasElement 18 28 | PRelu 6 9 16 | Pad 13 18 19 21 23 24 25 | Pow 12 13 15 |
QLinearMatMul 21 | QuantizeLinear 13 19 21 23 24 25 28 | RNN 7 14 22 | RandomNormal 22 | RandomNormalLike 22 |
RandomUniform 22 | RandomUniformLike 22 | Range 27 | Reciprocal 6 13 | ReduceL1 11 13 | ReduceL2 11 13 |
ReduceLogSum 11 13 28 | ReduceLogSumExp 11 13 28 | ReduceMax 11 12 13 20 | ReduceMean 11 13 |
ReduceMin 11 12 13 20 | ReduceProd 11 13 | ReduceSum 11 | ReduceSumSquare 11 13 | Relu 6 13 14 |
Reshape 13 14 19 21 23 24 25 | Resize 13 18 19 | ReverseSequence 28 | RoiAlign 22 | Round 22 |
Scan 11 16 19 21 23 24 25 | ScatterElements 13 16 18 | ScatterND 13 16 18 | Selu 22 | Shape 13 15 19 21 23 24 25 |
Sigmoid 6 13 | Sign 13 | Sin 22 | Sinh 22 | Size 13 19 21 23 24 25 | Slice 11 13 | Softmax 11 |
SoftmaxCrossEntropyLoss 13 | Softplus 22 | Softsign 22 | SpaceToDepth 13 28 | Split 2 11 | SplitToSequence 24 |
Sqrt 6 13 | Squeeze 11 21 23 24 25 | Sub 6 13 14 | Sum 6 8 13 | Tan 22 | Tanh 6 13 | ThresholdedRelu 22 |
Tile 13 | TopK 11 24 | Transpose 13 21 23 24 25 | Unique 28 | Unsqueeze 11 21 23 24 25 | Where 16
"""
_ML = "LabelEncoder 4 | TreeEnsembleClassifier 3 5 | TreeEnsembleRegressor 3 5"


def _read(text: str) -> dict[str, frozenset[int]]:
    rows = (entry.split() for entry in text.split("|"))
    return {name: frozenset(map(int, versions)) for name, *versions in rows}


COMPATIBLE = {"": _read(_ONNX), "ai.onnx.ml": _read(_ML)}
