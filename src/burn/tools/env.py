"""What an installation consists of: `burn env`."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence

from burn.tools.entry import command
from burn.version import __version__

PACKAGES = ("numpy", "ml_dtypes", "msgpack", "torch", "llvmlite", "onnx")


def installed(name: str) -> str:
    """The installed version of a distribution, found without importing it."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def devices() -> list[str]:
    """The devices of this machine, each as the source that makes it."""
    found = ["NdArray()"]
    if installed("llvmlite") != "not installed":
        found.append("Cpu()")
    if installed("torch") != "not installed":
        from burn.backend.torch.device import available

        found += [f"LibTorch({name!r})" for name in available()]
    return found


def facts() -> list[tuple[str, str]]:
    """Name and value of everything worth knowing in a bug report."""
    return [
        ("burn-dl", __version__),
        ("python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("platform", platform.platform()),
        ("cpus", str(os.cpu_count())),
        *((name, installed(name)) for name in PACKAGES),
        ("devices", ", ".join(devices())),
        *engine(),
    ]


def engine() -> list[tuple[str, str]]:
    """What the CPU engine runs on: threads, instruction sets, kernel cache."""
    if installed("llvmlite") == "not installed":
        return []
    from burn.backend.cpu.pool import describe

    return list(describe().items())


@command("burn env")
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the facts, one a line."""
    parser = argparse.ArgumentParser(prog="burn env", description="Describe this installation.")
    parser.parse_args(arguments)
    listed = facts()
    width = max(len(name) for name, _ in listed)
    for name, value in listed:
        print(f"{name:<{width}}  {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
