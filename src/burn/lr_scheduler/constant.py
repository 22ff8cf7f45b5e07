"""The constant scheduler."""

from burn.lr_scheduler.base import ConstantLr

__all__ = ["ConstantLr"]
