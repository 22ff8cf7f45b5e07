"""Learn to classify texts, then classify some.

python -m examples.text_classification train [--dataset passages|ag_news|dbpedia|FILE]
python -m examples.text_classification infer "Grace be unto you through faith in Christ."
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from burn.nn.transformer import TransformerEncoderConfig
from burn.optim import AdamWConfig
from examples.artifact_folder import add_artifact_option
from examples.device_option import add_device_option, chosen_device
from examples.text_classification.dataset import datasets_of
from examples.text_classification.inference import infer
from examples.text_classification.training import ExperimentConfig, train


def with_command(arguments: Sequence[str] | None) -> list[str]:
    """The command line; without a command it is `train`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    named = given[:1] and (not given[0].startswith("-") or given[0] in ("-h", "--help"))
    return given if named else ["train", *given]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and do as it says."""
    parser = argparse.ArgumentParser(prog="examples.text_classification", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command")
    training = commands.add_parser("train", help="train a model")
    training.add_argument("--dataset", default="passages", help="passages (bundled), ag_news, dbpedia, or a file")
    training.add_argument("--epochs", type=int, default=6)
    training.add_argument("--batch-size", type=int, default=32)
    training.add_argument("--lr", type=float, default=2e-3, help="the learning rate at the start")
    training.add_argument("--d-model", type=int, default=64, help="features of a token")
    training.add_argument("--layers", type=int, default=1)
    training.add_argument("--max-items", type=int, default=50_000, help="texts of an epoch, at most")
    classifying = commands.add_parser("infer", help="classify texts with the model of the last training")
    classifying.add_argument("text", nargs="+")
    for command in (training, classifying):
        add_artifact_option(command, "text-classification")
        add_device_option(command)
    options = parser.parse_args(with_command(arguments))
    device = chosen_device(options)
    if options.command == "train":
        config = ExperimentConfig(
            TransformerEncoderConfig(options.d_model, options.d_model * 2, 4, options.layers, norm_first=True),
            AdamWConfig(weight_decay=0.05),
            num_epochs=options.epochs,
            batch_size=options.batch_size,
            lr=options.lr,
            max_items=options.max_items,
        )
        train(device, *datasets_of(options.dataset), config, options.artifact_dir)
        print('try: python -m examples.text_classification infer "Grace be unto you through faith in Christ."')
        return
    if not (Path(options.artifact_dir) / "model.json").exists():
        parser.error(f"there is no model in {options.artifact_dir}; run `train` first, or name its --artifact-dir")
    for text, (name, share) in zip(options.text, infer(device, options.artifact_dir, options.text), strict=True):
        print(f"{share:6.1%}  {name}: {text}")


if __name__ == "__main__":
    main()
