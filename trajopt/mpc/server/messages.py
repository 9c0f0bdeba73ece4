"""Message format: a header of eight bytes, then a map in msgpack.

    b"TRJ"  version (1 byte)  CRC-32 of the body (4 bytes, big-endian)  body

The body is a map from texts to None, booleans, numbers, texts and arrays. An array is again a map,
{"dtype": "<f8", "shape": [rows, columns], "data": bytes in C order}. Nothing in a message is executed. The size is
checked before the message is read, the checksum before it is unpacked, and then each field before it is used.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from trajopt.checks import all_finite
from trajopt.errors import shown
from trajopt.mpc.server.errors import BadMessageError
from trajopt.mpc.server.extra import SERVER
from trajopt.types import Reals

MAGIC, VERSION = b"TRJ", 1
DTYPE = "<f8"
DIMENSIONS = 2
"""Largest number of dimensions of an array [-]."""
_HEADER = struct.Struct(">3sBI")


def pack(fields: Mapping[str, Any]) -> bytes:
    """Packs fields into a message; arrays become float64."""
    body = SERVER.load("msgpack").packb(fields, default=_packed)
    return _HEADER.pack(MAGIC, VERSION, zlib.crc32(body)) + body


def _packed(value: Any) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"fields: expected plain values and arrays, got {shown(value)}")
    return {"dtype": DTYPE, "shape": list(value.shape), "data": np.ascontiguousarray(value, DTYPE).tobytes()}


def unpack(message: bytes, most: int) -> dict[str, Any]:
    """Unpacks a message of at most `most` bytes into fields; arrays stay maps, see `array_of`.

    Raises:
        BadMessageError: The message is too long, of another format or version, or damaged, or its body is not a map.
    """
    if len(message) > most:
        raise BadMessageError("size", f"message: expected at most {most} bytes, got {len(message)}")
    if len(message) < _HEADER.size or message[: len(MAGIC)] != MAGIC:
        start = shown(bytes(message[: _HEADER.size]))
        raise BadMessageError("header", f"message: expected one that begins with {MAGIC!r}, got {start}")
    _, version, checksum = _HEADER.unpack_from(message)
    if version != VERSION:
        raise BadMessageError(
            "version", f"version: expected {VERSION}, got {version}; use the same trajopt on both sides"
        )
    body = memoryview(message)[_HEADER.size :]
    if zlib.crc32(body) != checksum:
        raise BadMessageError(
            "checksum", "message: the checksum differs, so it was truncated or changed on the way; send it again"
        )
    return _map(body)


def _map(body: memoryview) -> dict[str, Any]:
    msgpack = SERVER.load("msgpack")
    try:  # lengths inside are at most that of the body, which bounds the memory
        fields = msgpack.unpackb(body, strict_map_key=True, max_ext_len=0)
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError, msgpack.UnpackException) as error:
        words = str(error) or type(error).__name__
        raise BadMessageError("msgpack", f"message: expected msgpack, got a damaged body: {words}") from None
    if not isinstance(fields, dict) or not all(isinstance(name, str) for name in fields):
        raise BadMessageError("msgpack", f"message: expected a map with texts as keys, got {shown(fields)}")
    return fields


def array_of(name: str, value: Any, sizes: tuple[int | None, ...]) -> Reals:
    """Returns the finite array of a field.

    Args:
        name: Name of the field, for messages.
        value: The field.
        sizes: Expected shape; None stands for any size.

    Raises:
        BadMessageError: The field is not an array, has another dtype, shape or number of bytes, or is not finite.
    """
    shape = _shape(name, value)
    if shape != sizes and not _fits(shape, sizes):
        expected = str(tuple("any" if size is None else size for size in sizes)).replace("'", "")
        raise BadMessageError("values", f"{name}: expected shape {expected}, got {shape}")
    data = value["data"]
    if not isinstance(data, bytes) or len(data) != 8 * math.prod(shape):
        got = f"{len(data)} bytes" if isinstance(data, bytes) else shown(data)
        raise BadMessageError("values", f"{name}: expected {8 * math.prod(shape)} bytes of data, got {got}")
    array: Reals = np.frombuffer(data, DTYPE).astype(np.float64).reshape(shape)
    if not all_finite(array):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise BadMessageError("values", f"{name}: expected finite numbers, got {array[where]} at index {where}")
    return array


def _fits(shape: tuple[int, ...], sizes: tuple[int | None, ...]) -> bool:
    return len(shape) == len(sizes) and all(size in (None, actual) for size, actual in zip(sizes, shape))


def _shape(name: str, value: Any) -> tuple[int, ...]:
    """Checks the map of an array and returns its shape."""
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data"}:
        raise BadMessageError(
            "values", f"{name}: expected an array, a map of dtype, shape and data, got {shown(value)}"
        )
    if value["dtype"] != DTYPE:
        raise BadMessageError("values", f"{name}: expected dtype {DTYPE!r}, got {shown(value['dtype'])}")
    shape = value["shape"]
    if (
        not isinstance(shape, list)
        or len(shape) > DIMENSIONS
        or not all(type(size) is int and 0 <= size < 2**31 for size in shape)
    ):
        raise BadMessageError("values", f"{name}: expected a shape of sizes, got {shown(shape)}")
    return tuple(shape)
