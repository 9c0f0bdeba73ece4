"""LLVM text of the drivers: the loop over blocks that packs rows into lanes, calls a kernel, writes lanes back as rows.

Scratch of a call starts at a multiple of 64 bytes. It contains the pointers for the kernel, the packed arrays, and the
kernel's own scratch. Each of these starts at a multiple of the size of W doubles, as the kernel's loads require.
"""

from __future__ import annotations

from trajopt.kernels.packing_text import packing_text

TABLES = (
    *("kinds", "indices", "entries", "n_in", "n", "bases", "row_strides", "lane_strides", "lengths"),
    *("run_bounds", "runs"),
)
CALL = (*TABLES, "first", "end", "scratch")
"""Fields of a driver's argument, eight bytes each: addresses of tables and scratch, numbers of arrays and blocks."""

_RUN = """
define void @trajopt_run_{W}(ptr %call) nounwind {{
{range}
  call void @trajopt_blocks_{W}(ptr %call, i64 %first, i64 %end, ptr %scratch)
  ret void
}}

define void @trajopt_whole_{W}(ptr %call, i64 %block, ptr %scratch) nounwind {{
  call void @trajopt_run_{W}(ptr %call)
  ret void
}}

define void @trajopt_block_{W}(ptr %call, i64 %first, ptr %scratch) nounwind {{
  %end = add i64 %first, 1
  call void @trajopt_blocks_{W}(ptr %call, i64 %first, i64 %end, ptr %scratch)
  ret void
}}

define void @trajopt_blocks_{W}(ptr %call, i64 %first, i64 %end, ptr %scratch) nounwind {{
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
  %bounds = getelementptr i64, ptr %run_bounds, i64 %kn
  br label %unpack
unpack:
  %u = phi i64 [%n_in, %kernel], [%u.next, %unpack]
  %u.next = add i64 %u, 1
  %first.at = getelementptr i64, ptr %bounds, i64 %u
  %first.run = load i64, ptr %first.at
  %last.at = getelementptr i64, ptr %bounds, i64 %u.next
  %last.run = load i64, ptr %last.at
  %count = sub i64 %last.run, %first.run
  %run.at = getelementptr [2 x i64], ptr %runs, i64 %first.run
  %from.at = getelementptr ptr, ptr %scratch, i64 %u
  %from = load ptr, ptr %from.at
  %same = call i1 @trajopt_rows_{W}(ptr %rows, i64 %u, ptr %bases, ptr %row_strides, ptr %lane_strides, ptr %ip)
  call void @trajopt_unpack_{W}(ptr %from, ptr %run.at, i64 %count, ptr %rows)
  %u.end = icmp eq i64 %u.next, %n
  br i1 %u.end, label %block.done, label %unpack
"""


def _fields(names: tuple[str, ...]) -> str:
    """LLVM text that loads all fields of a call's table, each under its name."""
    lines = []
    for name in names:
        kind = "i64" if name in ("n_in", "n", "first", "end") else "ptr"
        lines.append(f"  %{name}.at = getelementptr i64, ptr %call, i64 {CALL.index(name)}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}.at")
    return "\n".join(lines)


def argument_bytes(arrays: int) -> int:
    """Size of the table of pointers to the arrays of one call [bytes]."""
    return -(-8 * arrays // 64) * 64


def driver_text(width: int) -> str:
    """LLVM text of the driver for W lanes.

    `trajopt_run_W` and `trajopt_whole_W` run a call's range of blocks; `trajopt_block_W` runs one block with its own
    scratch. The latter two have the signature of a job's units, see `thread_pool_text`. `trajopt_blocks_W` runs any
    range of blocks and has the signature of a unit of `call_sequence_text`.
    """
    fields = {"range": _fields(CALL[len(TABLES) :]), "tables": _fields(TABLES)}
    if width == 1:
        return _RUN.format(W=width, **fields, arrange=_ONE_LANE, finish="  br label %block.done")
    pack = _PACK.format(W=width, bytes=8 * width)
    run = _RUN.format(W=width, **fields, arrange=pack, finish=_UNPACK.format(W=width))
    return "\n".join([run, packing_text(width)])
