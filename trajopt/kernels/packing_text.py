"""LLVM text that turns rows of arrays into lanes, and lanes into rows."""

from __future__ import annotations

from trajopt.kernels.builder import Builder

_LANES = "<8 x double>"


def packing_text() -> str:
    """The functions `trajopt_rows_8`, `trajopt_pack_8`, `trajopt_splat_8` and `trajopt_unpack_8`."""
    return "\n".join([_rows_text(), _pack_text(), _splat_text(), _unpack_text()])


def _rows_text() -> str:
    """Addresses of the rows of array a, one a lane; returns whether they are all the same."""
    integers = "<8 x i64>"
    lanes = ", ".join(f"i64 {lane}" for lane in range(8))
    b = Builder(
        "define internal i1 @trajopt_rows_8(ptr %rows, i64 %a, ptr %bases, ptr %row_strides, ptr %lane_strides, "
        "ptr %index)"
    )
    base, stride, gap = (
        _splat(b, b.load(b.op(f"getelementptr i64, ptr %{table}, i64 %a"), "i64"), "i64")
        for table in ("bases", "row_strides", "lane_strides")
    )
    ahead = b.op(f"mul {integers} {b.load('%index', integers)}, {stride}")
    aside = b.op(f"mul {integers} {gap}, <{lanes}>")
    places = b.op(f"add {integers} {base}, {b.op(f'add {integers} {ahead}, {aside}')}")
    b.store(places, "%rows", integers, 64)
    first = _splat(b, b.op(f"extractelement {integers} {places}, i32 0"), "i64")
    same = b.op(f"bitcast <8 x i1> {b.op(f'icmp eq {integers} {places}, {first}')} to i8")
    return b.text(f"ret i1 {b.op(f'icmp eq i8 {same}, -1')}")


def _splat(b: Builder, value: str, kind: str = "double") -> str:
    """A vector that holds one value in all lanes."""
    one = b.op(f"insertelement <8 x {kind}> poison, {kind} {value}, i32 0")
    return b.op(f"shufflevector <8 x {kind}> {one}, <8 x {kind}> poison, <8 x i32> zeroinitializer")


def _lane(b: Builder, base: str, element: str, k: int = 0) -> str:
    """Address of element `element + k` in all lanes."""
    return b.op(f"getelementptr {_LANES}, ptr {base}, i64 {b.index((element, 1), k)}")


def _row_pointers(b: Builder) -> list[str]:
    return [b.load(b.op(f"getelementptr ptr, ptr %rows, i64 {lane}"), "ptr") for lane in range(8)]


def _pack_text() -> str:
    """Rows to lanes, element by element: transposing four at a time gains 1 % at most of a kernel."""
    b = Builder("define internal void @trajopt_pack_8(ptr %rows, i64 %len, ptr %to)")
    rows = _row_pointers(b)
    with b.loop(0, "%len", only_if=b.op("icmp sgt i64 %len, 0")) as i:
        value = "poison"
        for lane, row in enumerate(rows):
            x = b.load(b.at(row, (i.index, 1)))
            value = b.op(f"insertelement {_LANES} {value}, double {x}, i32 {lane}")
        b.store(value, _lane(b, "%to", i.index), _LANES, 64)
    return b.text()


def _splat_text() -> str:
    """One row to all lanes: an eighth of the loads of `_pack_text`, with the same result."""
    b = Builder("define internal void @trajopt_splat_8(ptr %row, i64 %len, ptr %to)")
    with b.loop(0, "%len", only_if=b.op("icmp sgt i64 %len, 0")) as i:
        b.store(_splat(b, b.load(b.at("%row", (i.index, 1)))), _lane(b, "%to", i.index), _LANES, 64)
    return b.text()


def _unpack_text() -> str:
    """Lanes to rows, within runs of elements only.

    Four elements at a time are transposed in registers; the last four of a run may overlap those before. Runs of less
    than four are written one by one. Eight at a time, with 512 bits, gain nothing, and neither do prefetches.
    """
    b = Builder("define internal void @trajopt_unpack_8(ptr %from, ptr %runs, i64 %count, ptr %rows)")
    rows = _row_pointers(b)
    with b.loop(0, "%count", only_if=b.op("icmp sgt i64 %count, 0")) as run:
        at = b.op(f"getelementptr [2 x i64], ptr %runs, i64 {run.index}")
        first, end = b.load(at, "i64"), b.load(b.op(f"getelementptr i64, ptr {at}, i64 1"), "i64")
        last = b.op(f"sub i64 {end}, 4")
        enough = b.op(f"icmp sle i64 {first}, {last}")
        with b.loop(first, end, 4, only_if=enough) as i:
            inside = b.op(f"icmp slt i64 {i.index}, {last}")
            _unpack_four(b, rows, b.op(f"select i1 {inside}, i64 {i.index}, i64 {last}"))
        some = b.op(f"icmp slt i64 {first}, {end}")
        with b.loop(first, end, only_if=b.op(f"select i1 {enough}, i1 false, i1 {some}")) as i:
            value = b.load(_lane(b, "%from", i.index), _LANES, 64)
            for lane, row in enumerate(rows):
                b.store(b.op(f"extractelement {_LANES} {value}, i32 {lane}"), b.at(row, (i.index, 1)))
    return b.text()


def _unpack_four(b: Builder, rows: list[str], element: str) -> None:
    """Four elements: neighbours are interleaved, then a quarter of one register joins one of another."""
    v = [b.load(_lane(b, "%from", element, k), _LANES, 64) for k in range(4)]
    even, odd = (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)
    pairs = [[_shuffle(b, v[k], v[k + 1], mask) for k in (0, 2)] for mask in (even, odd)]
    for lane, row in enumerate(rows):
        x, y = pairs[lane % 2]
        q = lane - lane % 2
        b.store(_shuffle(b, x, y, (q, q + 1, q + 8, q + 9)), b.at(row, (element, 1)), "<4 x double>")


def _shuffle(b: Builder, x: str, y: str, mask: tuple[int, ...]) -> str:
    order = ", ".join(f"i32 {i}" for i in mask)
    return b.op(f"shufflevector {_LANES} {x}, {_LANES} {y}, <{len(mask)} x i32> <{order}>")
