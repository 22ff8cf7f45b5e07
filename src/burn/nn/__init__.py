"""Layers: each with a config that says what it needs and makes it, `LinearConfig(784, 10).init(device)`."""

from typing import TYPE_CHECKING, Any

from burn.guesses import missing_name
from burn.nn import conv, pool
from burn.nn.activation import (
    GLU,
    Activation,
    ActivationConfig,
    Celu,
    CeluConfig,
    Elu,
    EluConfig,
    Gelu,
    HardShrink,
    HardShrinkConfig,
    HardSigmoid,
    HardSigmoidConfig,
    HardSwish,
    Hardtanh,
    HardtanhConfig,
    LeakyRelu,
    LeakyReluConfig,
    LogSigmoid,
    Mish,
    PRelu,
    PReluConfig,
    Relu,
    Relu6,
    RRelu,
    RReluConfig,
    Selu,
    Shrink,
    ShrinkConfig,
    Sigmoid,
    SiLU,
    Softplus,
    SoftplusConfig,
    SoftShrink,
    SoftShrinkConfig,
    Softsign,
    SwiGlu,
    SwiGluConfig,
    Tanh,
    Tanhshrink,
    Threshold,
    ThresholdConfig,
    ThresholdedRelu,
    ThresholdedReluConfig,
)
from burn.nn.attention import (
    CrossAttention,
    CrossAttentionCache,
    CrossAttentionConfig,
    GeneratePaddingMask,
    MhaCache,
    MhaInput,
    MhaOutput,
    MultiHeadAttention,
    MultiHeadAttentionConfig,
    SeqLengthOption,
    generate_autoregressive_mask,
    generate_padding_mask,
)
from burn.nn.cache import TensorCache
from burn.nn.dropout import Dropout, DropoutConfig
from burn.nn.embedding import Embedding, EmbeddingConfig
from burn.nn.identity import Identity
from burn.nn.initializer import Initializer
from burn.nn.interpolate import Interpolate1d, Interpolate1dConfig, Interpolate2d, Interpolate2dConfig, InterpolateMode
from burn.nn.linear import Linear, LinearConfig
from burn.nn.noise import GaussianNoise, GaussianNoiseConfig
from burn.nn.norm import (
    BatchNorm,
    BatchNormConfig,
    GroupNorm,
    GroupNormConfig,
    InstanceNorm,
    InstanceNormConfig,
    LayerNorm,
    LayerNormConfig,
    LocalResponseNorm,
    LocalResponseNormConfig,
    Normalization,
    NormalizationConfig,
    RmsNorm,
    RmsNormConfig,
)
from burn.nn.padding import PaddingConfig1d, PaddingConfig2d, PaddingConfig3d
from burn.nn.patches import Fold4d, Fold4dConfig, Unfold4d, Unfold4dConfig
from burn.nn.pixel_shuffle import PixelShuffle, PixelShuffleConfig, PixelUnshuffle, PixelUnshuffleConfig
from burn.nn.positional_encoding import PositionalEncoding, PositionalEncodingConfig, generate_sinusoids
from burn.nn.rnn import (
    BiGru,
    BiGruConfig,
    BiLstm,
    BiLstmConfig,
    BiRnn,
    BiRnnConfig,
    GateController,
    Gru,
    GruConfig,
    Lstm,
    LstmConfig,
    LstmState,
    Rnn,
    RnnConfig,
    RnnState,
)
from burn.nn.rotary_encoding import RotaryEncoding, RotaryEncodingConfig
from burn.nn.similarity import CosineSimilarity, CosineSimilarityConfig, PairwiseDistance, PairwiseDistanceConfig
from burn.nn.transformer import (
    PositionWiseFeedForward,
    PositionWiseFeedForwardConfig,
    TransformerDecoder,
    TransformerDecoderAutoregressiveCache,
    TransformerDecoderConfig,
    TransformerDecoderInput,
    TransformerDecoderLayer,
    TransformerDecoderLayerAutoregressiveCache,
    TransformerEncoder,
    TransformerEncoderAutoregressiveCache,
    TransformerEncoderConfig,
    TransformerEncoderInput,
    TransformerEncoderLayer,
    TransformerEncoderLayerAutoregressiveCache,
)

__all__ = [
    "conv", "pool",
    "GLU", "Activation", "ActivationConfig", "Celu", "CeluConfig", "Elu", "EluConfig", "Gelu", "HardShrink",
    "HardShrinkConfig", "HardSigmoid", "HardSigmoidConfig", "HardSwish", "Hardtanh", "HardtanhConfig", "LeakyRelu",
    "LeakyReluConfig", "LogSigmoid", "Mish", "PRelu", "PReluConfig", "RRelu", "RReluConfig", "Relu", "Relu6",
    "Selu", "Shrink", "ShrinkConfig", "SiLU", "Sigmoid", "SoftShrink", "SoftShrinkConfig", "Softplus",
    "SoftplusConfig", "Softsign", "SwiGlu", "SwiGluConfig", "Tanh", "Tanhshrink", "Threshold", "ThresholdConfig",
    "ThresholdedRelu", "ThresholdedReluConfig",
    "Embedding", "EmbeddingConfig",
    "Identity",
    "Interpolate1d", "Interpolate1dConfig", "Interpolate2d", "Interpolate2dConfig", "InterpolateMode",
    "GaussianNoise", "GaussianNoiseConfig",
    "BatchNorm", "BatchNormConfig", "GroupNorm", "GroupNormConfig", "InstanceNorm", "InstanceNormConfig",
    "LayerNorm", "LayerNormConfig", "LocalResponseNorm", "LocalResponseNormConfig", "Normalization",
    "NormalizationConfig", "RmsNorm", "RmsNormConfig",
    "PaddingConfig1d", "PaddingConfig2d", "PaddingConfig3d",
    "Fold4d", "Fold4dConfig", "Unfold4d", "Unfold4dConfig",
    "PixelShuffle", "PixelShuffleConfig", "PixelUnshuffle", "PixelUnshuffleConfig",
    "CosineSimilarity", "CosineSimilarityConfig", "PairwiseDistance", "PairwiseDistanceConfig",
    "CrossAttention", "CrossAttentionCache", "CrossAttentionConfig", "GeneratePaddingMask", "MhaCache", "MhaInput",
    "MhaOutput", "MultiHeadAttention", "MultiHeadAttentionConfig", "SeqLengthOption", "TensorCache",
    "generate_autoregressive_mask", "generate_padding_mask",
    "PositionalEncoding", "PositionalEncodingConfig", "RotaryEncoding", "RotaryEncodingConfig", "generate_sinusoids",
    "BiGru", "BiGruConfig", "BiLstm", "BiLstmConfig", "BiRnn", "BiRnnConfig", "GateController", "Gru", "GruConfig",
    "Lstm", "LstmConfig", "LstmState", "Rnn", "RnnConfig", "RnnState",
    "PositionWiseFeedForward", "PositionWiseFeedForwardConfig", "TransformerDecoder",
    "TransformerDecoderAutoregressiveCache", "TransformerDecoderConfig", "TransformerDecoderInput",
    "TransformerDecoderLayer", "TransformerDecoderLayerAutoregressiveCache", "TransformerEncoder",
    "TransformerEncoderAutoregressiveCache", "TransformerEncoderConfig", "TransformerEncoderInput",
    "TransformerEncoderLayer", "TransformerEncoderLayerAutoregressiveCache",
    "Dropout", "DropoutConfig",
    "Initializer",
    "Linear", "LinearConfig",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing_name(__name__, name, __all__)
