"""Metrics: what is followed over a training.

    builder.metric_train_numeric(AccuracyMetric()).metric_valid_numeric(FBetaScoreMetric.multiclass(beta=1.0))

Metrics of predictions read what a step's output adapts to (`adaptor`); those of the machine load `psutil` and
`nvidia-ml-py` when they are first asked.
"""

from __future__ import annotations

from burn.train.metric.accuracy import AccuracyInput, AccuracyMetric, TopKAccuracyInput, TopKAccuracyMetric
from burn.train.metric.adaptor import Adaptor, AdaptorError, adapt, check_adaptors, register_adaptor
from burn.train.metric.bleu import BleuInput, BleuScore, BleuSmoothing
from burn.train.metric.classification import (
    ClassReduction,
    ConfusionStats,
    ConfusionStatsInput,
    ConfusionStatsMetric,
    DecisionRule,
)
from burn.train.metric.confusion_matrix import ConfusionMatrixMetric
from burn.train.metric.cpu import CpuMemory, CpuTemperature, CpuUse
from burn.train.metric.dice import DiceInput, DiceMetric
from burn.train.metric.error_rate import CerInput, CharErrorRate, WerInput, WordErrorRate
from burn.train.metric.f_beta_score import FBetaScoreMetric
from burn.train.metric.gpu import CudaMetric, GpuMemory, GpuTemperature, GpuUse
from burn.train.metric.hamming import HammingScore, HammingScoreInput
from burn.train.metric.image_quality import (
    ImagePairInput,
    MsSsimInput,
    MsSsimMetric,
    PsnrInput,
    PsnrMetric,
    SsimInput,
    SsimMetric,
)
from burn.train.metric.iteration_speed import IterationSpeedMetric
from burn.train.metric.learning_rate import LearningRateMetric
from burn.train.metric.loss import LossInput, LossMetric
from burn.train.metric.numeric import StateMetric
from burn.train.metric.perplexity import PerplexityInput, PerplexityMetric
from burn.train.metric.precision import PrecisionMetric
from burn.train.metric.protocol import (
    Metric,
    MetricAttributes,
    MetricEntry,
    MetricMetadata,
    Numeric,
    NumericMetric,
)
from burn.train.metric.ranking import AucPrInput, AucPrMetric, AurocInput, AurocMetric, RankingInput
from burn.train.metric.recall import RecallMetric
from burn.train.metric.regression import (
    MeanAbsoluteErrorMetric,
    MeanSquaredErrorMetric,
    R2ScoreMetric,
    RegressionInput,
    RootMeanSquaredErrorMetric,
)
from burn.train.metric.rouge import RougeLInput, RougeLScore
from burn.train.metric.state import FormatOptions, NumericEntry, NumericMetricState, format_float
from burn.train.metric.system import SystemMetric

__all__ = [
    "AccuracyInput", "AccuracyMetric", "Adaptor", "AdaptorError", "AucPrInput", "AucPrMetric", "AurocInput",
    "AurocMetric", "BleuInput", "BleuScore", "BleuSmoothing", "CerInput", "CharErrorRate", "ClassReduction",
    "ConfusionMatrixMetric", "ConfusionStats", "ConfusionStatsInput", "ConfusionStatsMetric", "CpuMemory",
    "CpuTemperature", "CpuUse", "CudaMetric", "DecisionRule", "DiceInput", "DiceMetric", "FBetaScoreMetric",
    "FormatOptions", "GpuMemory", "GpuTemperature", "GpuUse", "HammingScore", "HammingScoreInput", "ImagePairInput",
    "IterationSpeedMetric", "LearningRateMetric", "LossInput", "LossMetric", "MeanAbsoluteErrorMetric",
    "MeanSquaredErrorMetric", "Metric", "MetricAttributes", "MetricEntry", "MetricMetadata", "MsSsimInput",
    "MsSsimMetric", "Numeric", "NumericEntry", "NumericMetric", "NumericMetricState", "PerplexityInput",
    "PerplexityMetric", "PrecisionMetric", "PsnrInput", "PsnrMetric", "R2ScoreMetric", "RankingInput", "RecallMetric",
    "RegressionInput", "RootMeanSquaredErrorMetric", "RougeLInput", "RougeLScore", "SsimInput", "SsimMetric",
    "StateMetric", "SystemMetric", "TopKAccuracyInput", "TopKAccuracyMetric", "WerInput", "WordErrorRate", "adapt",
    "check_adaptors", "format_float", "register_adaptor",
]  # fmt: skip
