#!/usr/bin/env -S uv run --script
# /// script
# requires-python = ">=3.11"
# dependencies = ["burn-dl", "onnx>=1.17"]
#
# [tool.uv.sources]
# burn-dl = { path = "..", editable = true }
# ///
"""Write an ONNX file in a newer operator set, with inferred shapes.

    uv run --script tools/onnx_opset_upgrade.py model.onnx                      # upgraded_model.onnx, opset 16
    uv run --script tools/onnx_opset_upgrade.py model.onnx -o new.onnx --opset 20

`burn-import --input model.onnx --opset 16` does the same, with the same code. Importing needs neither: burn-import
reads files of every operator set.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from burn.errors import BurnError
from burn_import.onnx.upgrade import FILE, TARGET, upgrade


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write an ONNX file in a newer operator set, with inferred shapes.")
    parser.add_argument("input", type=Path, help="the ONNX file")
    parser.add_argument("--output", "-o", type=Path, default=FILE, help="the file to write (default: %(default)s)")
    parser.add_argument("--opset", type=int, default=TARGET, help="the operator set (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        print(f"wrote {upgrade(options.input, options.output, options.opset)}")
    except BurnError as error:
        print(f"onnx_opset_upgrade: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
