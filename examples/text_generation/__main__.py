"""Learn to go on with a text, then do so.

python -m examples.text_generation train [--dataset proverbs|dbpedia|FILE]
python -m examples.text_generation generate "A wise man"
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from burn.nn.transformer import TransformerEncoderConfig
from burn.optim import AdamConfig
from examples.artifact_folder import add_artifact_option
from examples.device_option import add_device_option, chosen_device
from examples.text_generation.data import texts_of
from examples.text_generation.generation import generate, load
from examples.text_generation.training import ExperimentConfig, train


def write(options: argparse.Namespace) -> None:
    """Print a prompt and what follows it, token by token."""
    model, tokenizer = load(options.artifact_dir, chosen_device(options))
    print(options.prompt, end="")
    for piece in generate(model, tokenizer, options.prompt, options.length, options.temperature, seed=options.seed):
        print(piece, end="", flush=True)
    print()


def with_command(arguments: Sequence[str] | None) -> list[str]:
    """The command line; without a command it is `train`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    named = given[:1] and (not given[0].startswith("-") or given[0] in ("-h", "--help"))
    return given if named else ["train", *given]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and do as it says."""
    parser = argparse.ArgumentParser(prog="examples.text_generation", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command")
    training = commands.add_parser("train", help="train a model, and write a little")
    training.add_argument("--dataset", default="proverbs", help="proverbs (bundled), dbpedia, or a text file")
    training.add_argument("--max-items", type=int, default=10_000, help="entries of dbpedia, at most")
    training.add_argument("--epochs", type=int, default=4)
    training.add_argument("--batch-size", type=int, default=16)
    training.add_argument("--lr", type=float, default=3e-3, help="the learning rate at the start")
    training.add_argument("--d-model", type=int, default=96, help="features of a token")
    training.add_argument("--layers", type=int, default=2)
    training.add_argument("--vocab-size", type=int, default=512, help="how many tokens there are")
    training.add_argument("--prompt", default="A wise man")
    generation = commands.add_parser("generate", help="write with the model of the last training")
    generation.add_argument("prompt")
    for command in (training, generation):
        add_artifact_option(command, "text-generation")
        command.add_argument("--length", type=int, default=150, help="tokens to write")
        command.add_argument("--temperature", type=float, default=0.8, help="0 always takes the most likely token")
        command.add_argument("--seed", type=int, default=0, help="another one gives another text")
        add_device_option(command)
    options = parser.parse_args(with_command(arguments))
    if options.command == "train":
        config = ExperimentConfig(
            TransformerEncoderConfig(options.d_model, options.d_model * 4, 4, options.layers, norm_first=True),
            AdamConfig(),
            num_epochs=options.epochs,
            batch_size=options.batch_size,
            lr=options.lr,
            vocab_size=options.vocab_size,
        )
        train(chosen_device(options), texts_of(options.dataset, options.max_items), config, options.artifact_dir)
        print()
    elif not (Path(options.artifact_dir) / "model.json").exists():
        parser.error(f"there is no model in {options.artifact_dir}; run `train` first, or name its --artifact-dir")
    write(options)


if __name__ == "__main__":
    main()
