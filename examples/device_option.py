"""The option `--device` that the examples share."""

from __future__ import annotations

import argparse

import burn
from burn import Device

DEVICES = {"cpu": "Cpu", "ndarray": "NdArray", "libtorch": "LibTorch"}


def add_device_option(parser: argparse.ArgumentParser) -> None:
    """Let the user choose where to compute."""
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="where to compute (default: cpu)")


def chosen_device(options: argparse.Namespace) -> Device:
    """The device of the command line."""
    device: Device = getattr(burn, DEVICES[options.device])()
    return device
