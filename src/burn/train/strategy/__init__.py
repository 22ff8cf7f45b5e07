"""Training strategies: one device, several devices, low precision, averaged weights."""

from burn.train.strategy.average import WeightAverage
from burn.train.strategy.multi import MultiDevice
from burn.train.strategy.precision import MixedPrecision
from burn.train.strategy.protocol import TrainingStrategy
from burn.train.strategy.single import SingleDevice

__all__ = ["MixedPrecision", "MultiDevice", "SingleDevice", "TrainingStrategy", "WeightAverage"]
