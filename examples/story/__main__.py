"""Train a network that reads digits, save it, load it again, turn an ONNX file into Python and teach it new digits.

python -m examples.story [--epochs 20] [--device cpu] [--artifact-dir FOLDER]

Everything it needs comes with the project: nothing is downloaded.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from burn.data.dataset.vision import MnistDataset
from burn.optim import AdamConfig
from examples.device_option import add_device_option, chosen_device
from examples.fine_tune_onnx.__main__ import run as fine_tune
from examples.guide.inference import infer
from examples.guide.model import ModelConfig
from examples.guide.training import TrainingConfig, train

NEXT = """
What to try next
  python -m examples.guide --help              the same training with all its options
  burn-train plot {folder}
                                               its curves as a picture
  burn-import --input examples/onnx_inference/mnist.onnx --output mnist_burn
  furnace --model-path mnist_burn.mpk          serve it on http://127.0.0.1:3000
  docs/README.md                               every page of the documentation
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Tell the story."""
    parser = argparse.ArgumentParser(prog="examples.story", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20, help="how often the digits are gone through (default: 20)")
    parser.add_argument(
        "--artifact-dir", type=Path, default=Path(tempfile.gettempdir()) / "burn-story", help="default: %(default)s"
    )
    add_device_option(parser)
    options = parser.parse_args(arguments)
    device, begin = chosen_device(options), time.perf_counter()
    digits, unseen = MnistDataset.bundled("train"), MnistDataset.bundled("test")

    print(f"1. Train the guide's network on {len(digits)} digits, on {device}\n")
    config = TrainingConfig(
        ModelConfig(10, 512), AdamConfig(), num_epochs=options.epochs, num_workers=1, learning_rate=1e-3
    )
    train(options.artifact_dir, config, device, digits, unseen)

    print(f"\n2. Load the model that was saved in {options.artifact_dir} and read one digit\n")
    infer(options.artifact_dir, device, unseen[42])

    print("\n3. Turn an ONNX file into Python, and teach it digits it has never seen\n")
    fine_tune(options.artifact_dir / "imported", device.autodiff(), epochs=30, each=20)
    source = options.artifact_dir / "imported" / "digits.py"
    print(f"\nThe Python that the ONNX file became: {source}")
    print(f"All of it took {time.perf_counter() - begin:.0f} s.")
    print(NEXT.format(folder=options.artifact_dir))


if __name__ == "__main__":
    main()
