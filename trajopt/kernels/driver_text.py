"""LLVM text of the drivers: the loop over blocks that packs rows into lanes, calls a kernel, writes lanes back as rows.

Scratch of a call starts at a multiple of 64 bytes. It contains the pointers for the kernel, the packed arrays, and the
kernel's own scratch. Each of these starts at a multiple of the size of W doubles, as the kernel's loads require.
"""

from __future__ import annotations

from trajopt.kernels.builder import Builder
from trajopt.kernels.packing_text import packing_text

TABLES = (
    *("kinds", "indices", "entries", "n_in", "n", "bases", "row_strides", "lane_strides", "lengths"),
    *("run_bounds", "runs"),
)
CALL = (*TABLES, "first", "end", "scratch")
"""Fields of a driver's argument, eight bytes each: addresses of tables and scratch, numbers of arrays and blocks."""

_ENTRIES = """
define void @trajopt_whole_{W}(ptr %call, i64 %block, ptr %scratch) nounwind {{
  call void @trajopt_run_{W}(ptr %call)
  ret void
}}

define void @trajopt_block_{W}(ptr %call, i64 %first, ptr %scratch) nounwind {{
  %end = add i64 %first, 1
  call void @trajopt_blocks_{W}(ptr %call, i64 %first, i64 %end, ptr %scratch)
  ret void
}}
"""


def argument_bytes(arrays: int) -> int:
    """Size of the table of pointers to the arrays of one call [bytes]."""
    return -(-8 * arrays // 64) * 64


def driver_text(width: int, *, packed: bool = False) -> str:
    """LLVM text of the driver for W lanes; with `packed`, rows of arrays hold the numbers of all lanes already.

    `trajopt_run_W` and `trajopt_whole_W` run a call's range of blocks; `trajopt_block_W` runs one block with its own
    scratch. The latter two have the signature of a job's units, see `thread_pool_text`. `trajopt_blocks_W` runs any
    range of blocks and has the signature of a unit of `call_sequence_text`.
    """
    in_place = packed or width == 1
    texts = [_run_text(width), _ENTRIES.format(W=width), _blocks_text(width, in_place)]
    return "\n".join(texts if in_place else [*texts, packing_text(width)])


def _run_text(width: int) -> str:
    b = Builder(f"define void @trajopt_run_{width}(ptr %call)")
    first, end, scratch = (_field(b, name) for name in CALL[len(TABLES) :])
    b.do(f"call void @trajopt_blocks_{width}(ptr %call, i64 {first}, i64 {end}, ptr {scratch})")
    return b.text()


def _field(b: Builder, name: str) -> str:
    """Value under a name of a call's table."""
    return b.field("%call", CALL.index(name), "i64" if name in ("n_in", "n", "first", "end") else "ptr")


def _blocks_text(width: int, in_place: bool) -> str:
    b = Builder(f"define void @trajopt_blocks_{width}(ptr %call, i64 %first, i64 %end, ptr %scratch)")
    tables = {name: _field(b, name) for name in TABLES}
    n = tables["n"]
    rows = b.op(f"alloca [{width} x ptr], align 64")
    room = b.op(f"and i64 {b.index((n, 8), 63)}, -64")
    with b.loop("%first", "%end", only_if=b.op("icmp slt i64 %first, %end")) as block:
        kind = b.field(tables["kinds"], block.index)
        lanes = 1 if in_place else width
        index = b.op(f"getelementptr [{lanes} x i64], ptr {tables['indices']}, i64 {block.index}")
        first = b.op(f"mul i64 {kind}, {n}")
        lengths = b.op(f"getelementptr i64, ptr {tables['lengths']}, i64 {first}")
        with b.loop(0, n, carried=[("i64", room)]) as array:
            slot = b.op(f"getelementptr ptr, ptr %scratch, i64 {array.index}")
            if in_place:
                base, stride = (
                    b.field(tables["bases"], array.index, "ptr"),
                    b.field(tables["row_strides"], array.index),
                )
                ahead = b.op(f"mul i64 {b.load(index, 'i64')}, {stride}")
                b.store(b.op(f"getelementptr i8, ptr {base}, i64 {ahead}"), slot, "ptr")
                array.carry(array.values[0])
            else:
                at = b.op(f"getelementptr i8, ptr %scratch, i64 {array.values[0]}")
                b.store(at, slot, "ptr")
                length = b.field(lengths, array.index)
                with b.when(b.op(f"icmp slt i64 {array.index}, {tables['n_in']}")):
                    _pack(b, width, tables, array.index, (rows, index, length, at))
                array.carry(b.index((length, 8 * width), (array.values[0], 1)))
        own = b.op(f"getelementptr i8, ptr %scratch, i64 {array.results[0]}")
        b.do(f"call void {b.field(tables['entries'], kind, 'ptr')}(ptr %scratch, ptr {own})")
        if not in_place:
            bounds = b.op(f"getelementptr i64, ptr {tables['run_bounds']}, i64 {first}")
            with b.loop(tables["n_in"], n) as result:
                _unpack(b, width, tables, result.index, (rows, index, bounds))
    return b.text()


def _rows(b: Builder, width: int, tables: dict[str, str], array: str, rows: str, index: str) -> str:
    """Finds the rows of an array, one a lane; an i1: whether they are all the same."""
    places = ", ".join(f"ptr {tables[name]}" for name in ("bases", "row_strides", "lane_strides"))
    return b.op(f"call i1 @trajopt_rows_{width}(ptr {rows}, i64 {array}, {places}, ptr {index})")


def _pack(b: Builder, width: int, tables: dict[str, str], array: str, places: tuple[str, str, str, str]) -> None:
    rows, index, length, at = places
    shared = _rows(b, width, tables, array, rows, index)
    with b.when(shared):
        only = b.load(rows, "ptr")
        b.do(f"call void @trajopt_splat_{width}(ptr {only}, i64 {length}, ptr {at})")
    with b.when(b.op(f"xor i1 {shared}, true")):
        b.do(f"call void @trajopt_pack_{width}(ptr {rows}, i64 {length}, ptr {at})")


def _unpack(b: Builder, width: int, tables: dict[str, str], array: str, places: tuple[str, str, str]) -> None:
    rows, index, bounds = places
    first, end = b.field(bounds, array), b.field(bounds, b.op(f"add i64 {array}, 1"))
    run, count = b.op(f"getelementptr [2 x i64], ptr {tables['runs']}, i64 {first}"), b.op(f"sub i64 {end}, {first}")
    _rows(b, width, tables, array, rows, index)
    lanes = b.field("%scratch", array, "ptr")
    b.do(f"call void @trajopt_unpack_{width}(ptr {lanes}, ptr {run}, i64 {count}, ptr {rows})")
