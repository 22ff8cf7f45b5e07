"""What the package `burn` gives out beside what its `__init__` lists: functions of tensors, and dtypes.

A method of tensors that PyTorch has as a function, too, is that method: `burn.exp(x)` is `x.exp()`. The names are not
in `burn.__all__`, since `sum` and `max` would replace Python's there.
"""

from burn.tensor.functions import (
    arange,
    as_tensor,
    asarray,
    bfloat16,
    cat,
    concat,
    concatenate,
    double,
    einsum,
    empty,
    empty_like,
    eye,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    full,
    full_like,
    half,
    hstack,
    int8,
    int16,
    int32,
    int64,
    linspace,
    long,
    manual_seed,
    meshgrid,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    stack,
    uint8,
    uint16,
    uint32,
    uint64,
    vstack,
    where,
    zeros,
    zeros_like,
)
from burn.tensor.tensor import Tensor

abs = Tensor.abs
absolute = Tensor.absolute
acos = Tensor.acos
acosh = Tensor.acosh
add = Tensor.add
all = Tensor.all
allclose = Tensor.allclose
amax = Tensor.amax
amin = Tensor.amin
any = Tensor.any
arccos = Tensor.arccos
arccosh = Tensor.arccosh
arcsin = Tensor.arcsin
arcsinh = Tensor.arcsinh
arctan = Tensor.arctan
arctan2 = Tensor.arctan2
arctanh = Tensor.arctanh
argmax = Tensor.argmax
argmin = Tensor.argmin
argsort = Tensor.argsort
argwhere = Tensor.argwhere
asin = Tensor.asin
asinh = Tensor.asinh
atan = Tensor.atan
atan2 = Tensor.atan2
atanh = Tensor.atanh
bernoulli = Tensor.bernoulli
bitwise_and = Tensor.bitwise_and
bitwise_not = Tensor.bitwise_not
bitwise_or = Tensor.bitwise_or
bitwise_xor = Tensor.bitwise_xor
bmm = Tensor.bmm
ceil = Tensor.ceil
chunk = Tensor.chunk
clamp = Tensor.clamp
clip = Tensor.clip
cos = Tensor.cos
cosh = Tensor.cosh
count_nonzero = Tensor.count_nonzero
cross = Tensor.cross
cummax = Tensor.cummax
cummin = Tensor.cummin
cumprod = Tensor.cumprod
cumsum = Tensor.cumsum
deg2rad = Tensor.deg2rad
div = Tensor.div
divide = Tensor.divide
dot = Tensor.dot
eq = Tensor.eq
erf = Tensor.erf
exp = Tensor.exp
exp2 = Tensor.exp2
expm1 = Tensor.expm1
flatten = Tensor.flatten
flip = Tensor.flip
floor = Tensor.floor
floor_divide = Tensor.floor_divide
fmod = Tensor.fmod
frac = Tensor.frac
gather = Tensor.gather
ge = Tensor.ge
gelu = Tensor.gelu
gt = Tensor.gt
hypot = Tensor.hypot
index_add = Tensor.index_add
index_select = Tensor.index_select
isclose = Tensor.isclose
isfinite = Tensor.isfinite
isinf = Tensor.isinf
isnan = Tensor.isnan
le = Tensor.le
log = Tensor.log
log10 = Tensor.log10
log1p = Tensor.log1p
log2 = Tensor.log2
log_softmax = Tensor.log_softmax
logical_and = Tensor.logical_and
logical_not = Tensor.logical_not
logical_or = Tensor.logical_or
logical_xor = Tensor.logical_xor
logsumexp = Tensor.logsumexp
lt = Tensor.lt
masked_fill = Tensor.masked_fill
masked_select = Tensor.masked_select
matmul = Tensor.matmul
max = Tensor.max
maximum = Tensor.maximum
mean = Tensor.mean
median = Tensor.median
min = Tensor.min
minimum = Tensor.minimum
mm = Tensor.mm
moveaxis = Tensor.moveaxis
movedim = Tensor.movedim
mul = Tensor.mul
multiply = Tensor.multiply
mv = Tensor.mv
narrow = Tensor.narrow
ne = Tensor.ne
neg = Tensor.neg
negative = Tensor.negative
nonzero = Tensor.nonzero
norm = Tensor.norm
outer = Tensor.outer
permute = Tensor.permute
pow = Tensor.pow
prod = Tensor.prod
rad2deg = Tensor.rad2deg
ravel = Tensor.ravel
reciprocal = Tensor.reciprocal
relu = Tensor.relu
remainder = Tensor.remainder
reshape = Tensor.reshape
roll = Tensor.roll
round = Tensor.round
rsqrt = Tensor.rsqrt
scatter_add = Tensor.scatter_add
sigmoid = Tensor.sigmoid
sign = Tensor.sign
sin = Tensor.sin
sinh = Tensor.sinh
softmax = Tensor.softmax
sort = Tensor.sort
split = Tensor.split
sqrt = Tensor.sqrt
square = Tensor.square
squeeze = Tensor.squeeze
std = Tensor.std
sub = Tensor.sub
subtract = Tensor.subtract
sum = Tensor.sum
swapaxes = Tensor.swapaxes
t = Tensor.t
take = Tensor.take
tan = Tensor.tan
tanh = Tensor.tanh
tile = Tensor.tile
topk = Tensor.topk
trace = Tensor.trace
transpose = Tensor.transpose
tril = Tensor.tril
triu = Tensor.triu
true_divide = Tensor.true_divide
trunc = Tensor.trunc
unbind = Tensor.unbind
unflatten = Tensor.unflatten
unique = Tensor.unique
unsqueeze = Tensor.unsqueeze
var = Tensor.var

__all__: list[str] = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_tensor",
    "asarray",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bernoulli",
    "bfloat16",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "bmm",
    "cat",
    "ceil",
    "chunk",
    "clamp",
    "clip",
    "concat",
    "concatenate",
    "cos",
    "cosh",
    "count_nonzero",
    "cross",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "deg2rad",
    "div",
    "divide",
    "dot",
    "double",
    "einsum",
    "empty",
    "empty_like",
    "eq",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "eye",
    "flatten",
    "flip",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "fmod",
    "frac",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "ge",
    "gelu",
    "gt",
    "half",
    "hstack",
    "hypot",
    "index_add",
    "index_select",
    "int16",
    "int32",
    "int64",
    "int8",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "long",
    "lt",
    "manual_seed",
    "masked_fill",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "moveaxis",
    "movedim",
    "mul",
    "multiply",
    "mv",
    "narrow",
    "ne",
    "neg",
    "negative",
    "nonzero",
    "norm",
    "ones",
    "ones_like",
    "outer",
    "permute",
    "pow",
    "prod",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "ravel",
    "reciprocal",
    "relu",
    "remainder",
    "reshape",
    "roll",
    "round",
    "rsqrt",
    "scatter_add",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "t",
    "take",
    "tan",
    "tanh",
    "tile",
    "topk",
    "trace",
    "transpose",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unbind",
    "unflatten",
    "unique",
    "unsqueeze",
    "var",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]
