"""Reads the tensors of an ONNX file and writes a network as one, without the package `onnx`.

An ONNX file is a protocol buffer: fields with a number, each a varint or a length and that many bytes. Only
the few fields that are used here have names; they are those of `onnx.proto` (ModelProto, GraphProto,
NodeProto, AttributeProto, TensorProto, ValueInfoProto).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

IR_VERSION = 10
OPSET_VERSION = 17
MICROSOFT = "com.microsoft"
"""The domain of the operators that only onnxruntime has."""

_MODEL_IR_VERSION, _MODEL_GRAPH, _MODEL_OPSET = 1, 7, 8
_OPSET_DOMAIN, _OPSET_NUMBER = 1, 2
_GRAPH_NODE, _GRAPH_NAME, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 2, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_TYPE, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 2, 3, 4, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_INTEGER, _ATTRIBUTE_TYPE = 1, 3, 20
_INTEGER_ATTRIBUTE = 2
_TENSOR_DIMENSION, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_BYTES = 1, 2, 8, 9
_VALUE_NAME, _VALUE_TYPE, _TYPE_TENSOR, _TENSOR_ELEMENT, _TENSOR_SHAPE = 1, 2, 1, 1, 2
_SHAPE_DIMENSION, _DIMENSION_VALUE, _DIMENSION_NAME = 1, 1, 2

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_FIXED_LENGTHS = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}

TYPES: Mapping[np.dtype[np.generic], int] = {
    np.dtype(np.float32): 1,
    np.dtype(np.uint8): 2,
    np.dtype(np.int8): 3,
    np.dtype(np.int32): 6,
    np.dtype(np.int64): 7,
    np.dtype(np.bool_): 9,
}
"""The numbers of TensorProto.DataType."""
_DTYPES = {number: dtype for dtype, number in TYPES.items()}

Tensor = NDArray[Any]


def read_tensors(model: bytes) -> dict[str, Tensor]:
    """The constant tensors of a network by name, in the order of the file; views of its bytes."""
    tensors: dict[str, Tensor] = {}
    for graph in _messages(memoryview(model), _MODEL_GRAPH):
        for tensor in _messages(graph, _GRAPH_INITIALIZER):
            name, array = _read_tensor(tensor)
            tensors[name] = array
    return tensors


def _read_tensor(message: memoryview) -> tuple[str, Tensor]:
    """A tensor whose numbers are raw bytes; others have no elements here."""
    fields = list(_fields(message))
    integers = [(number, value) for number, value in fields if isinstance(value, int)]
    dimensions = [value for number, value in integers if number == _TENSOR_DIMENSION]
    dtype = _DTYPES.get(dict(integers)[_TENSOR_TYPE], np.dtype(np.uint8))
    texts = {number: value for number, value in fields if isinstance(value, memoryview)}
    array = np.frombuffer(texts.get(_TENSOR_BYTES, b""), dtype)
    name = bytes(texts[_TENSOR_NAME]).decode()
    return name, array.reshape(dimensions) if array.size == np.prod(dimensions) else array


def _messages(message: memoryview, number: int) -> Iterator[memoryview]:
    for found, value in _fields(message):
        if found == number and isinstance(value, memoryview):
            yield value


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The number and the value of each field."""
    position = 0
    while position < len(message):
        tag, position = _read_varint(message, position)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, position = _read_varint(message, position)
            yield number, value
            continue
        length = _FIXED_LENGTHS.get(kind)
        if length is None:
            length, position = _read_varint(message, position)
        yield number, message[position : position + length]
        position += length


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


@dataclass
class Graph:
    """A network under construction: values have names, operators are added in the order of execution."""

    _nodes: list[bytes] = field(default_factory=list)
    _tensors: list[bytes] = field(default_factory=list)
    _inputs: list[bytes] = field(default_factory=list)
    _outputs: list[bytes] = field(default_factory=list)
    _count: int = 0

    def input(self, name: str, dtype: type[np.generic], dimensions: Sequence[str]) -> str:
        """Declare an input; a dimension is a name, since its size differs between calls."""
        self._inputs.append(_value_info(name, dtype, dimensions))
        return name

    def output(self, name: str, given: str, dimensions: Sequence[str]) -> None:
        """Make a value an output of float32 numbers."""
        self._nodes.append(_node("Identity", [given], name, "", {}))
        self._outputs.append(_value_info(name, np.float32, dimensions))

    def constant(self, array: Tensor) -> str:
        """A constant tensor."""
        name = self._new_name()
        dimensions = b"".join(_integer(_TENSOR_DIMENSION, size) for size in array.shape)
        header = dimensions + _integer(_TENSOR_TYPE, TYPES[array.dtype]) + _text(_TENSOR_NAME, name)
        self._tensors.append(header + _field(_TENSOR_BYTES, np.ascontiguousarray(array).tobytes()))
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: int) -> str:
        """Add an operator with one result; an empty input is one that is left out."""
        name = self._new_name()
        self._nodes.append(_node(operator, inputs, name, domain, attributes))
        return name

    def model(self) -> bytes:
        """The bytes of the file."""
        graph = b"".join(
            [
                *(_field(_GRAPH_NODE, node) for node in self._nodes),
                _text(_GRAPH_NAME, "network"),
                *(_field(_GRAPH_INITIALIZER, tensor) for tensor in self._tensors),
                *(_field(_GRAPH_INPUT, value) for value in self._inputs),
                *(_field(_GRAPH_OUTPUT, value) for value in self._outputs),
            ]
        )
        opsets = {"": OPSET_VERSION, MICROSOFT: 1}
        return b"".join(
            [
                _integer(_MODEL_IR_VERSION, IR_VERSION),
                _field(_MODEL_GRAPH, graph),
                *(
                    _field(_MODEL_OPSET, _text(_OPSET_DOMAIN, domain) + _integer(_OPSET_NUMBER, version))
                    for domain, version in opsets.items()
                ),
            ]
        )

    def _new_name(self) -> str:
        self._count += 1
        return f"value_{self._count}"


def _node(
    operator: str, inputs: Sequence[str], output: str, domain: str, attributes: Mapping[str, int]
) -> bytes:
    return b"".join(
        [
            *(_text(_NODE_INPUT, name) for name in inputs),
            _text(_NODE_OUTPUT, output),
            _text(_NODE_NAME, output),
            _text(_NODE_TYPE, operator),
            *(_field(_NODE_ATTRIBUTE, _attribute(name, value)) for name, value in attributes.items()),
            _text(_NODE_DOMAIN, domain),
        ]
    )


def _attribute(name: str, value: int) -> bytes:
    kind = _integer(_ATTRIBUTE_TYPE, _INTEGER_ATTRIBUTE)
    return _text(_ATTRIBUTE_NAME, name) + _integer(_ATTRIBUTE_INTEGER, value) + kind


def _value_info(name: str, dtype: type[np.generic], dimensions: Sequence[str]) -> bytes:
    shape = b"".join(_field(_SHAPE_DIMENSION, _text(_DIMENSION_NAME, dimension)) for dimension in dimensions)
    tensor = _integer(_TENSOR_ELEMENT, TYPES[np.dtype(dtype)]) + _field(_TENSOR_SHAPE, shape)
    return _text(_VALUE_NAME, name) + _field(_VALUE_TYPE, _field(_TYPE_TENSOR, tensor))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _varint(value: int) -> bytes:
    """Of a number that is not negative."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
