"""Read a CSV file in batches: `python -m examples.custom_csv_dataset [FILE]`.

Without a file a small table of made-up patients is written and read.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from burn import NdArray
from burn.data.dataloader import DataLoaderBuilder
from examples.custom_csv_dataset.dataset import PatientBatcher, PatientDataset


def write_made_up_patients(path: Path, count: int = 200) -> None:
    """A table in the form of the diabetes study: age, sex, body-mass index, blood pressure, progress of the disease."""
    random = np.random.default_rng(1)
    lines = ["age\tsex\tbmi\tbp\tresponse"]
    for _ in range(count):
        age, sex = random.integers(19, 80), random.integers(1, 3)
        bmi, pressure = random.normal(26, 4), random.normal(95, 14)
        response = 6 * (bmi - 15) + 1.2 * (pressure - 70) + random.normal(50, 20)
        lines.append(f"{age}\t{sex}\t{bmi:.1f}\t{pressure:.1f}\t{max(20, int(response))}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Load both splits and show a few batches."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="a file of columns age, sex, bmi, bp, response, separated by tabs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(options.file) if options.file else Path(folder) / "patients.tsv"
        if not options.file:
            write_made_up_patients(path)
        train, test = (PatientDataset.load(path, split) for split in ("train", "test"))
    print(f"{len(train)} patients for training, {len(test)} for testing")
    print(f"the first: {train[0]}")
    loader = DataLoaderBuilder(PatientBatcher()).batch_size(32).shuffle(42).set_device(NdArray()).build(train)
    for batch in loader:
        mean = float(batch.targets.mean())
        print(f"inputs {batch.inputs.dims()}, targets {batch.targets.dims()} with mean {mean:.1f}")


if __name__ == "__main__":
    main()
