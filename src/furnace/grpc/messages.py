"""The messages of the Open Inference Protocol as classes, from a table of their fields.

A row says number, name and kind: `string`, `int64[]` for several, `{InferParameter}` for a map from names. The classes
live in a pool of their own, so that a client library with the same messages can be used in the same process.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "inference"
SERVICE = "inference.GRPCInferenceService"
HEALTH_SERVICE = "grpc.health.v1.Health"

_NAME_AND_VERSION = "1 name string, 2 version string"
_DURATION = "StatisticDuration"
_INFERENCE: dict[str, str] = {
    "ServerLiveRequest": "",
    "ServerLiveResponse": "1 live bool",
    "ServerReadyRequest": "",
    "ServerReadyResponse": "1 ready bool",
    "ModelReadyRequest": _NAME_AND_VERSION,
    "ModelReadyResponse": "1 ready bool",
    "ServerMetadataRequest": "",
    "ServerMetadataResponse": "1 name string, 2 version string, 3 extensions string[]",
    "ModelMetadataRequest": _NAME_AND_VERSION,
    "TensorMetadata": "1 name string, 2 datatype string, 3 shape int64[]",
    "ModelMetadataResponse": "1 name string, 2 versions string[], 3 platform string, 4 inputs TensorMetadata[], "
                             "5 outputs TensorMetadata[]",
    "InferParameter": "1 bool_param bool|, 2 int64_param int64|, 3 string_param string|, 4 double_param double|, "
                      "5 uint64_param uint64|",
    "InferTensorContents": "1 bool_contents bool[], 2 int_contents int32[], 3 int64_contents int64[], "
                           "4 uint_contents uint32[], 5 uint64_contents uint64[], 6 fp32_contents float[], "
                           "7 fp64_contents double[], 8 bytes_contents bytes[]",
    "InferInputTensor": "1 name string, 2 datatype string, 3 shape int64[], 4 parameters {InferParameter}, "
                        "5 contents InferTensorContents",
    "InferRequestedOutputTensor": "1 name string, 2 parameters {InferParameter}",
    "InferOutputTensor": "1 name string, 2 datatype string, 3 shape int64[], 4 parameters {InferParameter}, "
                         "5 contents InferTensorContents",
    "ModelInferRequest": "1 model_name string, 2 model_version string, 3 id string, 4 parameters {InferParameter}, "
                         "5 inputs InferInputTensor[], 6 outputs InferRequestedOutputTensor[], "
                         "7 raw_input_contents bytes[]",
    "ModelInferResponse": "1 model_name string, 2 model_version string, 3 id string, 4 parameters {InferParameter}, "
                          "5 outputs InferOutputTensor[], 6 raw_output_contents bytes[]",
    "ModelStreamInferResponse": "1 error_message string, 2 infer_response ModelInferResponse",
    "ModelConfigRequest": _NAME_AND_VERSION,
    "ModelInput": "1 name string, 2 data_type int32, 4 dims int64[]",
    "ModelOutput": "1 name string, 2 data_type int32, 3 dims int64[]",
    "ModelConfig": "1 name string, 2 platform string, 4 max_batch_size int32, 5 input ModelInput[], "
                   "6 output ModelOutput[], 17 backend string",
    "ModelConfigResponse": "1 config ModelConfig",
    "ModelStatisticsRequest": _NAME_AND_VERSION,
    "StatisticDuration": "1 count uint64, 2 ns uint64",
    "InferStatistics": f"1 success {_DURATION}, 2 fail {_DURATION}, 3 queue {_DURATION}, 4 compute_input {_DURATION}, "
                       f"5 compute_infer {_DURATION}, 6 compute_output {_DURATION}",
    "InferBatchStatistics": f"1 batch_size uint64, 2 compute_input {_DURATION}, 3 compute_infer {_DURATION}, "
                            f"4 compute_output {_DURATION}",
    "ModelStatistics": "1 name string, 2 version string, 3 last_inference uint64, 4 inference_count uint64, "
                       "5 execution_count uint64, 6 inference_stats InferStatistics, "
                       "7 batch_stats InferBatchStatistics[]",
    "ModelStatisticsResponse": "1 model_stats ModelStatistics[]",
    "RepositoryIndexRequest": "1 repository_name string, 2 ready bool",
    "ModelIndex": "1 name string, 2 version string, 3 state string, 4 reason string",
    "RepositoryIndexResponse": "1 models ModelIndex[]",
    "RepositoryModelLoadRequest": "1 repository_name string, 2 model_name string",
    "RepositoryModelLoadResponse": "",
    "RepositoryModelUnloadRequest": "1 repository_name string, 2 model_name string",
    "RepositoryModelUnloadResponse": "",
}  # fmt: skip
_HEALTH = {"HealthCheckRequest": "1 service string", "HealthCheckResponse": "1 status int32"}

# numbers of element types in a ModelConfig
DATA_TYPES = {
    "BOOL": 1, "UINT8": 2, "UINT16": 3, "UINT32": 4, "UINT64": 5, "INT8": 6, "INT16": 7, "INT32": 8, "INT64": 9,
    "FP16": 10, "FP32": 11, "FP64": 12, "BYTES": 13, "BF16": 14,
}  # fmt: skip

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = ("bool", "int32", "int64", "uint32", "uint64", "float", "double", "string", "bytes")


def _file(package: str, table: dict[str, str]) -> Any:
    described = descriptor_pb2.FileDescriptorProto(name=f"furnace/{package}.proto", package=package, syntax="proto3")
    for name, rows in table.items():
        message = described.message_type.add(name=name)
        for row in filter(None, rows.split(", ")):
            _add_field(message, f".{package}", row)
    return described


def _add_field(message: Any, package: str, row: str) -> None:
    number, name, kind = row.split(" ")
    field = message.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
    if kind.startswith("{"):
        entry = message.nested_type.add(name="".join(map(str.capitalize, name.split("_"))) + "Entry")
        entry.options.map_entry = True
        _add_field(entry, package, "1 key string")
        _add_field(entry, package, f"2 value {kind[1:-1]}")
        field.label, field.type = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE
        field.type_name = f"{package}.{message.name}.{entry.name}"
        return
    if kind.endswith("[]"):
        field.label = _Field.LABEL_REPEATED
    if kind.endswith("|"):  # one of the fields marked so is set
        if not message.oneof_decl:
            message.oneof_decl.add(name="parameter_choice")
        field.oneof_index = 0
    kind = kind.rstrip("[]|")
    if kind in _SCALARS:
        field.type = getattr(_Field, f"TYPE_{kind.upper()}")
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f"{package}.{kind}"


def _classes(package: str, table: dict[str, str], pool: Any) -> dict[str, Any]:
    pool.AddSerializedFile(_file(package, table).SerializeToString())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in table}


_POOL = descriptor_pool.DescriptorPool()
MESSAGES: dict[str, Any] = _classes(PACKAGE, _INFERENCE, _POOL) | _classes("grpc.health.v1", _HEALTH, _POOL)
"""The classes by name."""
