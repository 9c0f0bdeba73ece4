"""LLVM text that packs rows of arrays into lanes, and unpacks lanes into rows."""

from __future__ import annotations

from trajopt.kernels.builder import Builder
from trajopt.kernels.operations import LaneType


def packing_text(width: int) -> str:
    """The functions `trajopt_rows_W`, `trajopt_pack_W`, `trajopt_splat_W` and `trajopt_unpack_W` for W > 1 lanes."""
    lanes = LaneType(width)
    return "\n".join([_rows_text(width), _pack_text(lanes), _splat_text(lanes), _unpack_text(lanes)])


def _rows_text(width: int) -> str:
    """Function that computes the addresses of array a's rows, one per lane, and whether they are all the same."""
    integers, mask = f"<{width} x i64>", f"i{width}"
    b = Builder(
        f"define internal i1 @trajopt_rows_{width}(ptr %rows, i64 %a, ptr %bases, ptr %row_strides, ptr %lane_strides, "
        "ptr %index)"
    )
    base, stride, gap = (
        b.splat(b.load(b.op(f"getelementptr i64, ptr %{table}, i64 %a"), "i64"), width, "i64")
        for table in ("bases", "row_strides", "lane_strides")
    )
    ahead = b.op(f"mul {integers} {b.load('%index', integers)}, {stride}")
    aside = b.op(f"mul {integers} {gap}, <{', '.join(f'i64 {lane}' for lane in range(width))}>")
    places = b.op(f"add {integers} {base}, {b.op(f'add {integers} {ahead}, {aside}')}")
    b.store(places, "%rows", integers, 64)
    first = b.splat(b.op(f"extractelement {integers} {places}, i32 0"), width, "i64")
    same = b.op(f"bitcast <{width} x i1> {b.op(f'icmp eq {integers} {places}, {first}')} to {mask}")
    return b.text(f"ret i1 {b.op(f'icmp eq {mask} {same}, -1')}")


def _lane(b: Builder, lanes: LaneType, base: str, element: str, k: int = 0) -> str:
    """Address of element `element + k` in all lanes."""
    return b.op(f"getelementptr {lanes.real}, ptr {base}, i64 {b.index((element, 1), k)}")


def _row_pointers(b: Builder, lanes: LaneType) -> list[str]:
    return [b.field("%rows", lane, "ptr") for lane in range(lanes.width)]


def _pack_text(lanes: LaneType) -> str:
    """Function that packs rows element by element; transposing four at a time gains at most 1 % of a kernel."""
    b = Builder(f"define internal void @trajopt_pack_{lanes.width}(ptr %rows, i64 %len, ptr %to)")
    rows = _row_pointers(b, lanes)
    with b.loop(0, "%len", only_if=b.op("icmp sgt i64 %len, 0")) as i:
        value = "poison"
        for lane, row in enumerate(rows):
            x = b.load(b.at(row, (i.index, 1)))
            value = b.op(f"insertelement {lanes.real} {value}, double {x}, i32 {lane}")
        b.store(value, _lane(b, lanes, "%to", i.index), lanes.real, lanes.align)
    return b.text()


def _splat_text(lanes: LaneType) -> str:
    """Function that packs one row into all lanes: one load instead of the W loads of `_pack_text`."""
    b = Builder(f"define internal void @trajopt_splat_{lanes.width}(ptr %row, i64 %len, ptr %to)")
    with b.loop(0, "%len", only_if=b.op("icmp sgt i64 %len, 0")) as i:
        value = b.splat(b.load(b.at("%row", (i.index, 1))), lanes.width)
        b.store(value, _lane(b, lanes, "%to", i.index), lanes.real, lanes.align)
    return b.text()


def _unpack_text(lanes: LaneType) -> str:
    """Function that unpacks lanes into rows, within runs of elements only.

    Four elements at a time are transposed in registers; the last four of a run may overlap the previous ones. Runs of
    less than four are written one by one. Eight at a time, with 512 bits, and prefetches gain nothing.
    """
    b = Builder(f"define internal void @trajopt_unpack_{lanes.width}(ptr %from, ptr %runs, i64 %count, ptr %rows)")
    rows = _row_pointers(b, lanes)
    with b.loop(0, "%count", only_if=b.op("icmp sgt i64 %count, 0")) as run:
        at = b.op(f"getelementptr [2 x i64], ptr %runs, i64 {run.index}")
        first, end = b.field(at, 0), b.field(at, 1)
        last = b.op(f"sub i64 {end}, 4")
        enough = b.op(f"icmp sle i64 {first}, {last}")
        with b.loop(first, end, 4, only_if=enough) as i:
            inside = b.op(f"icmp slt i64 {i.index}, {last}")
            _unpack_four(b, lanes, rows, b.op(f"select i1 {inside}, i64 {i.index}, i64 {last}"))
        some = b.op(f"icmp slt i64 {first}, {end}")
        with b.loop(first, end, only_if=b.op(f"select i1 {enough}, i1 false, i1 {some}")) as i:
            value = b.load(_lane(b, lanes, "%from", i.index), lanes.real, lanes.align)
            for lane, row in enumerate(rows):
                b.store(b.op(f"extractelement {lanes.real} {value}, i32 {lane}"), b.at(row, (i.index, 1)))
    return b.text()


def _unpack_four(b: Builder, lanes: LaneType, rows: list[str], element: str) -> None:
    """Unpacks four elements: neighbours are interleaved, then pairs of lanes from two registers are joined."""
    width = lanes.width
    v = [b.load(_lane(b, lanes, "%from", element, k), lanes.real, lanes.align) for k in range(4)]
    even, odd = ([place for i in range(first, width, 2) for place in (i, i + width)] for first in (0, 1))
    pairs = [[_shuffle(b, lanes, v[k], v[k + 1], mask) for k in (0, 2)] for mask in (even, odd)]
    for lane, row in enumerate(rows):
        x, y = pairs[lane % 2]
        q = lane - lane % 2
        four = _shuffle(b, lanes, x, y, [q, q + 1, q + width, q + width + 1])
        b.store(four, b.at(row, (element, 1)), "<4 x double>")


def _shuffle(b: Builder, lanes: LaneType, x: str, y: str, mask: list[int]) -> str:
    order = ", ".join(f"i32 {i}" for i in mask)
    return b.op(f"shufflevector {lanes.real} {x}, {lanes.real} {y}, <{len(mask)} x i32> <{order}>")
