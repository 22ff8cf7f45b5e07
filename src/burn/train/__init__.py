"""Training: the learner, metrics, checkpoints, loggers and renderers.

learner = LearnerBuilder("artifacts").metrics([LossMetric()]).num_epochs(10).build(model, optim, 1e-3)
model = learner.fit(train_loader, valid_loader)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burn.train import checkpoint, logger, metric, renderer, strategy
    from burn.train.builder import LearnerBuilder
    from burn.train.callback import Callback, TrainingContext
    from burn.train.checkpoint import (
        Checkpointer,
        CheckpointError,
        CheckpointFolder,
        CheckpointingStrategy,
        ComposedCheckpointingStrategy,
        KeepLastNCheckpoints,
        MetricCheckpointingStrategy,
    )
    from burn.train.early_stopping import (
        EarlyStoppingStrategy,
        MetricEarlyStoppingStrategy,
        NoImprovementSince,
        StoppingCondition,
    )
    from burn.train.evaluator import Evaluator, EvaluatorBuilder
    from burn.train.interrupter import Interrupter
    from burn.train.learner import Learner
    from burn.train.logger import (
        ApplicationLogger,
        CsvLogger,
        FileApplicationLogger,
        FileMetricLogger,
        InMemoryMetricLogger,
        JsonLinesLogger,
        MetricLogger,
        RunLogger,
        TensorBoardLogger,
        WandbLogger,
    )
    from burn.train.lr_finder import LrCurve, find_lr
    from burn.train.metric import (
        AccuracyInput,
        AccuracyMetric,
        Adaptor,
        AdaptorError,
        AucPrInput,
        AucPrMetric,
        AurocInput,
        AurocMetric,
        BleuInput,
        BleuScore,
        BleuSmoothing,
        CerInput,
        CharErrorRate,
        ClassReduction,
        ConfusionMatrixMetric,
        ConfusionStats,
        ConfusionStatsInput,
        ConfusionStatsMetric,
        CpuMemory,
        CpuTemperature,
        CpuUse,
        CudaMetric,
        DecisionRule,
        DiceInput,
        DiceMetric,
        FBetaScoreMetric,
        FormatOptions,
        GpuMemory,
        GpuTemperature,
        GpuUse,
        HammingScore,
        HammingScoreInput,
        ImagePairInput,
        IterationSpeedMetric,
        LearningRateMetric,
        LossInput,
        LossMetric,
        MeanAbsoluteErrorMetric,
        MeanSquaredErrorMetric,
        Metric,
        MetricAttributes,
        MetricEntry,
        MetricMetadata,
        MsSsimInput,
        MsSsimMetric,
        Numeric,
        NumericEntry,
        NumericMetric,
        NumericMetricState,
        PerplexityInput,
        PerplexityMetric,
        PrecisionMetric,
        PsnrInput,
        PsnrMetric,
        R2ScoreMetric,
        RankingInput,
        RecallMetric,
        RegressionInput,
        RootMeanSquaredErrorMetric,
        RougeLInput,
        RougeLScore,
        SsimInput,
        SsimMetric,
        StateMetric,
        SystemMetric,
        TopKAccuracyInput,
        TopKAccuracyMetric,
        WerInput,
        WordErrorRate,
        adapt,
        check_adaptors,
        format_float,
        register_adaptor,
    )
    from burn.train.output import ClassificationOutput, MultiLabelClassificationOutput, RegressionOutput, SequenceOutput
    from burn.train.processor import MetricError
    from burn.train.progress import Progress, TrainingProgress
    from burn.train.renderer import (
        MetricsRenderer,
        MetricState,
        NoRenderer,
        PlainRenderer,
        TrainingPlan,
        default_renderer,
    )
    from burn.train.settings import LearnerSettings
    from burn.train.step import TrainOutput, TrainStep, ValidStep
    from burn.train.store import Aggregate, Direction, EventStore, Split
    from burn.train.strategy import MixedPrecision, MultiDevice, SingleDevice, TrainingStrategy, WeightAverage
    from burn.train.summary import LearnerSummary

__all__ = [
    "AccuracyInput", "AccuracyMetric", "Adaptor", "AdaptorError", "Aggregate", "ApplicationLogger", "AucPrInput",
    "AucPrMetric", "AurocInput", "AurocMetric", "BleuInput", "BleuScore", "BleuSmoothing", "Callback", "CerInput",
    "CharErrorRate", "CheckpointError", "CheckpointFolder", "Checkpointer", "CheckpointingStrategy",
    "ClassReduction", "ClassificationOutput", "ComposedCheckpointingStrategy", "ConfusionMatrixMetric",
    "ConfusionStats", "ConfusionStatsInput", "ConfusionStatsMetric", "CpuMemory", "CpuTemperature", "CpuUse",
    "CsvLogger", "CudaMetric", "DecisionRule", "DiceInput", "DiceMetric", "Direction", "EarlyStoppingStrategy",
    "Evaluator", "EvaluatorBuilder", "EventStore", "FBetaScoreMetric", "FileApplicationLogger", "FileMetricLogger",
    "FormatOptions", "GpuMemory", "GpuTemperature", "GpuUse", "HammingScore", "HammingScoreInput", "ImagePairInput",
    "InMemoryMetricLogger", "Interrupter", "IterationSpeedMetric", "JsonLinesLogger", "KeepLastNCheckpoints",
    "Learner", "LearnerBuilder", "LearnerSettings", "LearnerSummary", "LearningRateMetric", "LossInput",
    "LossMetric", "LrCurve", "MeanAbsoluteErrorMetric", "MeanSquaredErrorMetric", "Metric", "MetricAttributes",
    "MetricCheckpointingStrategy", "MetricEarlyStoppingStrategy", "MetricEntry", "MetricError", "MetricLogger",
    "MetricMetadata", "MetricState", "MetricsRenderer", "MixedPrecision", "MsSsimInput", "MsSsimMetric",
    "MultiDevice", "MultiLabelClassificationOutput", "NoImprovementSince", "NoRenderer", "Numeric", "NumericEntry",
    "NumericMetric", "NumericMetricState", "PerplexityInput", "PerplexityMetric", "PlainRenderer",
    "PrecisionMetric", "Progress", "PsnrInput", "PsnrMetric", "R2ScoreMetric", "RankingInput", "RecallMetric",
    "RegressionInput", "RegressionOutput", "RootMeanSquaredErrorMetric", "RougeLInput", "RougeLScore", "RunLogger",
    "SequenceOutput", "SingleDevice", "Split", "SsimInput", "SsimMetric", "StateMetric", "StoppingCondition",
    "SystemMetric", "TensorBoardLogger", "TopKAccuracyInput", "TopKAccuracyMetric", "TrainOutput", "TrainStep",
    "TrainingContext", "TrainingPlan", "TrainingProgress", "TrainingStrategy", "ValidStep", "WandbLogger",
    "WeightAverage", "WerInput", "WordErrorRate", "adapt", "check_adaptors", "checkpoint", "default_renderer",
    "find_lr", "format_float", "logger", "metric", "register_adaptor", "renderer", "strategy",
]  # fmt: skip

_PACKAGES = ("checkpoint", "logger", "metric", "renderer", "strategy")
_MODULES = {
    "builder": "LearnerBuilder",
    "callback": "Callback TrainingContext",
    "checkpoint": "Checkpointer CheckpointError CheckpointFolder CheckpointingStrategy ComposedCheckpointingStrategy "
    "KeepLastNCheckpoints MetricCheckpointingStrategy",
    "early_stopping": "EarlyStoppingStrategy MetricEarlyStoppingStrategy NoImprovementSince StoppingCondition",
    "evaluator": "Evaluator EvaluatorBuilder",
    "interrupter": "Interrupter",
    "learner": "Learner",
    "logger": "ApplicationLogger CsvLogger FileApplicationLogger FileMetricLogger InMemoryMetricLogger "
    "JsonLinesLogger MetricLogger RunLogger TensorBoardLogger WandbLogger",
    "lr_finder": "LrCurve find_lr",
    "metric": "AccuracyInput AccuracyMetric Adaptor AdaptorError AucPrInput AucPrMetric AurocInput AurocMetric "
    "BleuInput BleuScore BleuSmoothing CerInput CharErrorRate ClassReduction ConfusionMatrixMetric "
    "ConfusionStats ConfusionStatsInput ConfusionStatsMetric CpuMemory CpuTemperature CpuUse CudaMetric "
    "DecisionRule DiceInput DiceMetric FBetaScoreMetric FormatOptions GpuMemory GpuTemperature GpuUse "
    "HammingScore HammingScoreInput ImagePairInput IterationSpeedMetric LearningRateMetric LossInput "
    "LossMetric MeanAbsoluteErrorMetric MeanSquaredErrorMetric Metric MetricAttributes MetricEntry "
    "MetricMetadata MsSsimInput MsSsimMetric Numeric NumericEntry NumericMetric NumericMetricState "
    "PerplexityInput PerplexityMetric PrecisionMetric PsnrInput PsnrMetric R2ScoreMetric RankingInput "
    "RecallMetric RegressionInput RootMeanSquaredErrorMetric RougeLInput RougeLScore SsimInput SsimMetric "
    "StateMetric SystemMetric TopKAccuracyInput TopKAccuracyMetric WerInput WordErrorRate adapt "
    "check_adaptors format_float register_adaptor",
    "output": "ClassificationOutput MultiLabelClassificationOutput RegressionOutput SequenceOutput",
    "processor": "MetricError",
    "progress": "Progress TrainingProgress",
    "renderer": "MetricState MetricsRenderer NoRenderer PlainRenderer TrainingPlan default_renderer",
    "settings": "LearnerSettings",
    "step": "TrainOutput TrainStep ValidStep",
    "store": "Aggregate Direction EventStore Split",
    "strategy": "MixedPrecision MultiDevice SingleDevice TrainingStrategy WeightAverage",
    "summary": "LearnerSummary",
}
_HOME = {name: f"burn.train.{module}" for module, names in _MODULES.items() for name in names.split()}

if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        """Load a name when it is first asked for."""
        if name in _PACKAGES:
            found: Any = importlib.import_module(f"burn.train.{name}")
        elif name in _HOME:
            found = getattr(importlib.import_module(_HOME[name]), name)
        else:
            raise AttributeError(f"module 'burn.train' has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
