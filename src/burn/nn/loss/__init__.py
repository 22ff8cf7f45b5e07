"""Losses: what training makes small. Each gives one number, of shape [1]."""

from burn.nn.loss.cross_entropy import (
    BinaryCrossEntropyLoss,
    BinaryCrossEntropyLossConfig,
    CrossEntropyLoss,
    CrossEntropyLossConfig,
)
from burn.nn.loss.divergence import CTCLoss, CTCLossConfig, KLDivLoss, KLDivLossConfig
from burn.nn.loss.ranking import (
    CosineEmbeddingLoss,
    CosineEmbeddingLossConfig,
    HingeEmbeddingLoss,
    HingeEmbeddingLossConfig,
    MarginRankingLoss,
    MarginRankingLossConfig,
    MultiMarginLoss,
    MultiMarginLossConfig,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginLossConfig,
)
from burn.nn.loss.reduction import Reduction
from burn.nn.loss.regression import (
    GaussianNLLLoss,
    GaussianNLLLossConfig,
    HuberLoss,
    HuberLossConfig,
    LpLoss,
    MseLoss,
    PoissonNllLoss,
    PoissonNllLossConfig,
    SmoothL1Loss,
    SmoothL1LossConfig,
)

__all__ = [
    "BinaryCrossEntropyLoss", "BinaryCrossEntropyLossConfig",
    "CosineEmbeddingLoss", "CosineEmbeddingLossConfig",
    "CrossEntropyLoss", "CrossEntropyLossConfig",
    "CTCLoss", "CTCLossConfig",
    "GaussianNLLLoss", "GaussianNLLLossConfig",
    "HingeEmbeddingLoss", "HingeEmbeddingLossConfig",
    "HuberLoss", "HuberLossConfig",
    "KLDivLoss", "KLDivLossConfig",
    "LpLoss",
    "MarginRankingLoss", "MarginRankingLossConfig",
    "MseLoss",
    "MultiMarginLoss", "MultiMarginLossConfig",
    "PoissonNllLoss", "PoissonNllLossConfig",
    "Reduction",
    "SmoothL1Loss", "SmoothL1LossConfig",
    "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginLossConfig",
]  # fmt: skip
