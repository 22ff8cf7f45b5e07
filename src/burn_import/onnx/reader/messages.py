"""The messages of an ONNX file, as tables of the fields that this reader uses."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.reader.wire import Spec

# name: (number name kind, ...); a kind with * is repeated
_LAYOUT = {
    "ModelProto": (
        "1 ir_version int, 8 opset_import OperatorSetIdProto*, 2 producer_name string, 3 producer_version string, "
        "4 domain string, 5 model_version int, 6 doc_string string, 7 graph GraphProto, "
        "14 metadata_props StringStringEntryProto*, 25 functions FunctionProto*"
    ),
    "OperatorSetIdProto": "1 domain string, 2 version int",
    "StringStringEntryProto": "1 key string, 2 value string",
    "GraphProto": (
        "1 node NodeProto*, 2 name string, 5 initializer TensorProto*, 15 sparse_initializer SparseTensorProto*, "
        "11 input ValueInfoProto*, 12 output ValueInfoProto*, 13 value_info ValueInfoProto*"
    ),
    "NodeProto": (
        "1 input string*, 2 output string*, 3 name string, 4 op_type string, 7 domain string, 8 overload string, "
        "5 attribute AttributeProto*, 9 metadata_props StringStringEntryProto*"
    ),
    "AttributeProto": (
        "1 name string, 21 ref_attr_name string, 20 type int, 2 f float, 3 i int, 4 s bytes, 5 t TensorProto, "
        "6 g GraphProto, 22 sparse_tensor SparseTensorProto, 14 tp TypeProto, 7 floats packed_float, "
        "8 ints packed_int, 9 strings bytes*, 10 tensors TensorProto*, 11 graphs GraphProto*, "
        "23 sparse_tensors SparseTensorProto*, 15 type_protos TypeProto*"
    ),
    "ValueInfoProto": "1 name string, 2 type TypeProto",
    "FunctionProto": (
        "1 name string, 4 input string*, 5 output string*, 6 attribute string*, 11 attribute_proto AttributeProto*, "
        "7 node NodeProto*, 9 opset_import OperatorSetIdProto*, 10 domain string, 13 overload string, "
        "12 value_info ValueInfoProto*"
    ),
    "TensorProto": (
        "1 dims packed_int, 2 data_type int, 3 segment Segment, 4 float_data packed_float, 5 int32_data packed_int, "
        "6 string_data bytes*, 7 int64_data packed_int, 8 name string, 9 raw_data bytes, "
        "13 external_data StringStringEntryProto*, 14 data_location int, 10 double_data packed_double, "
        "11 uint64_data packed_int"
    ),
    "Segment": "1 begin int, 2 end int",
    "SparseTensorProto": "1 values TensorProto, 2 indices TensorProto, 3 dims packed_int",
    "TensorShapeProto": "1 dim Dimension*",
    "Dimension": "1 dim_value int, 2 dim_param string",
    "TypeProto": (
        "1 tensor_type TensorTypeProto, 4 sequence_type SequenceTypeProto, 5 map_type MapTypeProto, "
        "9 optional_type SequenceTypeProto, 8 sparse_tensor_type TensorTypeProto, 7 opaque_type OpaqueTypeProto"
    ),
    "TensorTypeProto": "1 elem_type int, 2 shape TensorShapeProto",
    "SequenceTypeProto": "1 elem_type TypeProto",
    "MapTypeProto": "1 key_type int, 2 value_type TypeProto",
    "OpaqueTypeProto": "1 domain string, 2 name string",
}
_PRESENCE = {("AttributeProto", "f"), ("AttributeProto", "i"), ("AttributeProto", "s"), ("Dimension", "dim_value")}


def _spec(name: str, layout: str) -> Spec:
    fields: dict[int, tuple[str, str, bool]] = {}
    defaults: dict[str, Any] = {}
    for entry in layout.split(", "):
        number, field, kind = entry.split(" ")
        repeated = kind.endswith("*")
        kind = kind.rstrip("*")
        fields[int(number)] = (field, kind, repeated)
        if repeated:
            defaults[field] = ()
        elif (name, field) in _PRESENCE:
            defaults[field] = None
        else:
            defaults[field] = {"string": "", "int": 0}.get(kind)
    return Spec(name, fields, defaults)


SPECS = {name: _spec(name, layout) for name, layout in _LAYOUT.items()}
