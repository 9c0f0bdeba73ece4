"""LLVM text of the drivers: the loop over blocks that packs rows into lanes, calls a kernel, writes lanes back as rows.

Scratch of a call: the pointers that the kernel gets, then the packed arrays, then the kernel's own scratch; each starts
at a multiple of 64 bytes.
"""

from __future__ import annotations

LANES = 8

TABLES = ("kinds", "indices", "entries", "n_in", "n", "bases", "row_strides", "lane_strides", "lengths")
CALL = (*TABLES, "first", "end", "scratch")
"""What a driver is given, eight bytes each: addresses of tables and scratch, numbers of arrays and blocks."""

_RUN = """
define void @trajopt_run_{W}(ptr %call) nounwind {{
{range}
  call void @trajopt_blocks_{W}(ptr %call, i64 %first, i64 %end, ptr %scratch)
  ret void
}}

define internal void @trajopt_blocks_{W}(ptr %call, i64 %first, i64 %end, ptr %scratch) nounwind {{
entry:
{tables}
  %rows = alloca [{W} x ptr], align 64
  %pointers = mul i64 %n, 8
  %roomy = add i64 %pointers, 63
  %room = and i64 %roomy, -64
  %some = icmp slt i64 %first, %end
  br i1 %some, label %block, label %done
block:
  %b = phi i64 [%first, %entry], [%b.next, %block.done]
  %kp = getelementptr i64, ptr %kinds, i64 %b
  %kind = load i64, ptr %kp
  %ip = getelementptr [{W} x i64], ptr %indices, i64 %b
  %kn = mul i64 %kind, %n
  %lens = getelementptr i64, ptr %lengths, i64 %kn
  br label %arrange
arrange:
  %a = phi i64 [0, %block], [%a.next, %arrange.done]
  %off = phi i64 [%room, %block], [%off.next, %arrange.done]
  %lp = getelementptr i64, ptr %lens, i64 %a
  %len = load i64, ptr %lp
  %slot = getelementptr ptr, ptr %scratch, i64 %a
{arrange}
  br label %arrange.done
arrange.done:
  %a.next = add i64 %a, 1
  %a.end = icmp eq i64 %a.next, %n
  br i1 %a.end, label %kernel, label %arrange
kernel:
  %ep = getelementptr ptr, ptr %entries, i64 %kind
  %entrypoint = load ptr, ptr %ep
  %own = getelementptr i8, ptr %scratch, i64 %off.next
  call void %entrypoint(ptr %scratch, ptr %own)
{finish}
block.done:
  %b.next = add i64 %b, 1
  %more = icmp slt i64 %b.next, %end
  br i1 %more, label %block, label %done
done:
  ret void
}}
"""

_ONE_LANE = """
  %bp = getelementptr ptr, ptr %bases, i64 %a
  %base = load ptr, ptr %bp
  %sp = getelementptr i64, ptr %row_strides, i64 %a
  %stride = load i64, ptr %sp
  %row = load i64, ptr %ip
  %o = mul i64 %row, %stride
  %at = getelementptr i8, ptr %base, i64 %o
  store ptr %at, ptr %slot
  %off.next = add i64 %off, 0
"""

_PACK = """
  %at = getelementptr i8, ptr %scratch, i64 %off
  store ptr %at, ptr %slot
  %bytes = mul i64 %len, {bytes}
  %off.next = add i64 %off, %bytes
  %is.input = icmp slt i64 %a, %n_in
  br i1 %is.input, label %pack, label %arrange.done
pack:
  %shared = call i1 @trajopt_rows_{W}(ptr %rows, i64 %a, ptr %bases, ptr %row_strides, ptr %lane_strides, ptr %ip)
  br i1 %shared, label %pack.one, label %pack.all
pack.one:
  %only = load ptr, ptr %rows
  call void @trajopt_splat_{W}(ptr %only, i64 %len, ptr %at)
  br label %arrange.done
pack.all:
  call void @trajopt_pack_{W}(ptr %rows, i64 %len, ptr %at)
"""

_UNPACK = """
  br label %unpack
unpack:
  %u = phi i64 [%n_in, %kernel], [%u.next, %unpack]
  %ulp = getelementptr i64, ptr %lens, i64 %u
  %ulen = load i64, ptr %ulp
  %uslot = getelementptr ptr, ptr %scratch, i64 %u
  %from = load ptr, ptr %uslot
  %same = call i1 @trajopt_rows_{W}(ptr %rows, i64 %u, ptr %bases, ptr %row_strides, ptr %lane_strides, ptr %ip)
  call void @trajopt_unpack_{W}(ptr %from, i64 %ulen, ptr %rows)
  %u.next = add i64 %u, 1
  %u.end = icmp eq i64 %u.next, %n
  br i1 %u.end, label %block.done, label %unpack
"""


def _fields(names: tuple[str, ...]) -> str:
    """Loads what is in a call's table, each under its name."""
    lines = []
    for name in names:
        kind = "i64" if name in ("n_in", "n", "first", "end") else "ptr"
        lines.append(f"  %{name}.at = getelementptr i64, ptr %call, i64 {CALL.index(name)}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at")
    return "\n".join(lines)


def _rows_text(width: int) -> str:
    """Addresses of the rows of array a, one a lane; returns whether they are all the same."""
    integers, number = f"<{width} x i64>", f"i{width}"
    lanes = ", ".join(f"i64 {lane}" for lane in range(width))
    lines = [
        f"define internal i1 @trajopt_rows_{width}(ptr %rows, i64 %a, ptr %bases, ptr %row_strides, "
        "ptr %lane_strides, ptr %index) nounwind {",
        f"%i = load {integers}, ptr %index, align 8",
    ]
    for name, table in (("base", "bases"), ("stride", "row_strides"), ("gap", "lane_strides")):
        lines += [
            f"%{name}.at = getelementptr i64, ptr %{table}, i64 %a",
            f"%{name}.0 = load i64, ptr %{name}.at",
            *_splat(name, f"%{name}.0", "i64", width),
        ]
    lines += [
        f"%o = mul {integers} %i, %stride",
        f"%g = mul {integers} %gap, <{lanes}>",
        f"%s = add {integers} %o, %g",
        f"%p = add {integers} %base, %s",
        f"store {integers} %p, ptr %rows, align 64",
        f"%p.0 = extractelement {integers} %p, i32 0",
        *_splat("first", "%p.0", "i64", width),
        f"%equal = icmp eq {integers} %p, %first",
        f"%bits = bitcast <{width} x i1> %equal to {number}",
        f"%all = icmp eq {number} %bits, -1",
    ]
    return "\n".join([*lines, "ret i1 %all", "}"])


def _splat(name: str, value: str, kind: str, width: int) -> list[str]:
    """A vector that holds one value in all lanes."""
    vector = f"<{width} x {kind}>"
    return [
        f"%{name}.in = insertelement {vector} poison, {kind} {value}, i32 0",
        f"%{name} = shufflevector {vector} %{name}.in, {vector} poison, <{width} x i32> zeroinitializer",
    ]


def _load_rows(width: int) -> list[str]:
    lines = []
    for lane in range(width):
        lines += [f"%q{lane} = getelementptr ptr, ptr %rows, i64 {lane}", f"%p{lane} = load ptr, ptr %q{lane}"]
    return lines


def _pack_text(width: int) -> str:
    """Rows to lanes, element by element."""
    lines = [f"define internal void @trajopt_pack_{width}(ptr %rows, i64 %len, ptr %to) nounwind {{", "entry:"]
    lines += [*_load_rows(width), "%none = icmp sle i64 %len, 0", "br i1 %none, label %end, label %element", "element:"]
    lines.append("%e = phi i64 [0, %entry], [%e.next, %element]")
    previous = "poison"
    for lane in range(width):
        lines += [
            f"%a{lane} = getelementptr double, ptr %p{lane}, i64 %e",
            f"%x{lane} = load double, ptr %a{lane}",
            f"%v{lane} = insertelement <{width} x double> {previous}, double %x{lane}, i32 {lane}",
        ]
        previous = f"%v{lane}"
    lines += [
        f"%t = getelementptr <{width} x double>, ptr %to, i64 %e",
        f"store <{width} x double> {previous}, ptr %t, align 64",
        "%e.next = add i64 %e, 1",
        "%done = icmp eq i64 %e.next, %len",
        "br i1 %done, label %end, label %element",
        *("end:", "ret void", "}"),
    ]
    return "\n".join(lines)


def _splat_text(width: int) -> str:
    """One row to all lanes: an eighth of the loads of `_pack_text`, with the same result."""
    return "\n".join(
        [
            f"define internal void @trajopt_splat_{width}(ptr %row, i64 %len, ptr %to) nounwind {{",
            *("entry:", "%none = icmp sle i64 %len, 0", "br i1 %none, label %end, label %element"),
            *("element:", "%e = phi i64 [0, %entry], [%e.next, %element]"),
            *("%a = getelementptr double, ptr %row, i64 %e", "%x = load double, ptr %a"),
            *_splat("v", "%x", "double", width),
            f"%t = getelementptr <{width} x double>, ptr %to, i64 %e",
            f"store <{width} x double> %v, ptr %t, align 64",
            *("%e.next = add i64 %e, 1", "%done = icmp eq i64 %e.next, %len"),
            *("br i1 %done, label %end, label %element", "end:", "ret void", "}"),
        ]
    )


def _unpack_text() -> str:
    """Eight lanes to rows: four elements at a time, transposed in registers; the last ones one by one."""
    lines = ["define internal void @trajopt_unpack_8(ptr %from, i64 %len, ptr %rows) nounwind {", "entry:"]
    lines += [*_load_rows(8), "%fours = and i64 %len, -4", "%some = icmp sgt i64 %fours, 0"]
    lines += ["br i1 %some, label %four, label %rest", "four:", "%e = phi i64 [0, %entry], [%e.next, %four]"]
    for k in range(4):
        lines += [
            f"%e{k} = add i64 %e, {k}",
            f"%f{k} = getelementptr <8 x double>, ptr %from, i64 %e{k}",
            f"%v{k} = load <8 x double>, ptr %f{k}, align 64",
        ]
    even = "i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14"
    odd = "i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15"
    for name, first, mask in (("a", 0, even), ("b", 0, odd), ("c", 2, even), ("d", 2, odd)):
        lines.append(f"%{name} = shufflevector <8 x double> %v{first}, <8 x double> %v{first + 1}, <8 x i32> <{mask}>")
    for lane in range(8):
        x, y, p = ("a", "c", lane) if lane % 2 == 0 else ("b", "d", lane - 1)
        lines += [
            f"%w{lane} = shufflevector <8 x double> %{x}, <8 x double> %{y}, "
            f"<4 x i32> <i32 {p}, i32 {p + 1}, i32 {p + 8}, i32 {p + 9}>",
            f"%t{lane} = getelementptr double, ptr %p{lane}, i64 %e",
            f"store <4 x double> %w{lane}, ptr %t{lane}, align 8",
        ]
    lines += ["%e.next = add i64 %e, 4", "%e.end = icmp eq i64 %e.next, %fours"]
    lines += ["br i1 %e.end, label %rest, label %four", "rest:", "%more = icmp slt i64 %fours, %len"]
    lines += ["br i1 %more, label %one, label %end", "one:", "%r = phi i64 [%fours, %rest], [%r.next, %one]"]
    lines += ["%g = getelementptr <8 x double>, ptr %from, i64 %r", "%z = load <8 x double>, ptr %g, align 64"]
    for lane in range(8):
        lines += [
            f"%z{lane} = extractelement <8 x double> %z, i32 {lane}",
            f"%y{lane} = getelementptr double, ptr %p{lane}, i64 %r",
            f"store double %z{lane}, ptr %y{lane}",
        ]
    lines += ["%r.next = add i64 %r, 1", "%r.end = icmp eq i64 %r.next, %len"]
    return "\n".join([*lines, "br i1 %r.end, label %end, label %one", "end:", "ret void", "}"])


def argument_bytes(arrays: int) -> int:
    """Room for the pointers to the arrays of one call [bytes]."""
    return -(-8 * arrays // 64) * 64


def driver_text() -> str:
    """LLVM text of the drivers for one lane and for eight: `trajopt_run_1`, `trajopt_run_8`."""
    fields = {"range": _fields(CALL[len(TABLES) :]), "tables": _fields(TABLES)}
    one = _RUN.format(W=1, **fields, arrange=_ONE_LANE, finish="  br label %block.done")
    pack = _PACK.format(W=LANES, bytes=8 * LANES)
    many = _RUN.format(W=LANES, **fields, arrange=pack, finish=_UNPACK.format(W=LANES))
    return "\n".join([one, many, _rows_text(LANES), _pack_text(LANES), _splat_text(LANES), _unpack_text()])
