"""A kernel: a program as machine code for W lanes.

Large programs come in two tiers. The quick one is ready within seconds; the optimised one is compiled by a background
thread and takes its place when it is ready. Both give the same bits, so the exchange never changes a solve.
"""

from __future__ import annotations

import json
import logging
import threading

import casadi as ca

from trajopt.kernels import cache, compiler
from trajopt.kernels.emission import EmittedFunction, symbol
from trajopt.kernels.instructions import read_instructions
from trajopt.kernels.lane_algebra import declarations, matmul_name, matmul_text
from trajopt.kernels.program import Call, MatrixProduct, Program

TWO_TIERS = 30_000  # instructions from which a quick tier comes first

_logger = logging.getLogger(__name__)
_functions: dict[tuple[str, int], tuple[int, int]] = {}
_kernels: dict[tuple[str, int], Kernel] = {}
_guard = threading.RLock()


def kernel(program: Program, width: int) -> Kernel:
    """The kernel of a program; programs with the same content share one in this process."""
    key = (program.digest(), width)
    with _guard:
        if key not in _kernels:
            _kernels[key] = Kernel(program, width, key[0])
        return _kernels[key]


class Kernel:
    """Machine code `void (double **arrays, double *scratch)` of a program; compiled when its address is first asked.

    Attributes:
        width: Lanes W.
        n_in: Number of inputs.
        lengths: Elements of each input, then of each output.
    """

    def __init__(self, program: Program, width: int, digest: str) -> None:
        self.program = program
        self.width = width
        self.n_in = len(program.inputs)
        self.lengths = [a.size for a in (*program.inputs, *program.outputs)]
        self._digest = digest
        self._address = 0
        self._scratch_bytes = 0
        self._compiling = threading.Lock()
        self.tier = "none"

    def __repr__(self) -> str:
        return f"Kernel({self.program.name!r}, width={self.width}, tier={self.tier})"

    @property
    def address(self) -> int:
        """Where the code is; compiles it first if needed."""
        if not self._address:
            self.compile()
        return self._address

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch that one call needs, the same for both tiers."""
        if not self._address:
            self.compile()
        return self._scratch_bytes

    def compile(self) -> None:
        """Makes the code ready: from the cache, or compiled now (the quick tier first if the program is large)."""
        with self._compiling:
            if self._address:
                return
            large = self.program.instructions > TWO_TIERS
            if large and not self._is_cached():
                self._build(compiler.QUICK)
                threading.Thread(target=self._optimise, name="trajopt-optimise", daemon=True).start()
            else:
                self._build(compiler.OPTIMISED)

    def wait_until_optimised(self) -> None:
        """Returns when the optimised tier is in place."""
        self.compile()
        if self.tier != "optimised":
            self._build(compiler.OPTIMISED)

    def _optimise(self) -> None:
        try:
            self._build(compiler.OPTIMISED)
        except Exception:
            _logger.exception("%s: the optimised tier could not be compiled; the quick one stays", self)

    def _is_cached(self) -> bool:
        calls = [s for s in self.program.steps if isinstance(s, Call)]
        keys = {_function_key(c.function, self.width, compiler.OPTIMISED) for c in calls}
        return all(cache.contains(k) for k in keys)

    def _build(self, level: int) -> None:
        functions: dict[str, tuple[int, int]] = {}
        for step in self.program.steps:
            if isinstance(step, Call):
                functions[_function_symbol(step.function, self.width)] = _function(step.function, self.width, level)
        spill = max((scratch for _, scratch in functions.values()), default=0)
        text, local_bytes = _entry_text(self.program, self.width)
        image = compiler.object_code(text)
        imports = {name: address for name, (address, _) in functions.items()}
        address = compiler.load([image], ["trajopt_entry"], imports)["trajopt_entry"]
        self._scratch_bytes = local_bytes + spill * self.width * 8 + 64
        self._address = address
        self.tier = "optimised" if level == compiler.OPTIMISED else "quick"


def _function_symbol(function: ca.Function, width: int) -> str:
    return symbol("trajopt_f", function.serialize(), str(width))


def _function_key(function: ca.Function, width: int, level: int) -> str:
    return cache.key("function", function.serialize(), str(width), str(level), compiler.target_description())


def _function(function: ca.Function, width: int, level: int) -> tuple[int, int]:
    """Address of a function's code and its scratch [elements], from this process, the disk cache, or compiled now."""
    key = _function_key(function, width, level)
    with _guard:
        known = _functions.get((key, width))
    if known is not None:
        return known
    name = _function_symbol(function, width)
    stored = cache.load(key)
    if stored is None:
        emitted = EmittedFunction(name, read_instructions(function), width)
        images = [compiler.machine_code(text, level) for text in emitted.parts]
        scratch = emitted.scratch
        head = json.dumps({"scratch": scratch, "sizes": [len(i) for i in images]}).encode()
        cache.store(key, len(head).to_bytes(8, "little") + head + b"".join(images))
    else:
        scratch, images = _unpack(stored)
    address = compiler.load(images, [name], {})[name]
    with _guard:
        _functions[(key, width)] = (address, scratch)
    return address, scratch


def _unpack(stored: bytes) -> tuple[int, list[bytes]]:
    end = 8 + int.from_bytes(stored[:8], "little")
    head = json.loads(stored[8:end])
    images = []
    for size in head["sizes"]:
        images.append(stored[end : end + size])
        end += size
    return int(head["scratch"]), images


def _entry_text(program: Program, width: int) -> tuple[str, int]:
    """LLVM text of the program's entry, and the bytes of its local arrays."""
    names: dict[int, str] = {}
    lines = ["define void @trajopt_entry(ptr %args, ptr %scratch) nounwind {"]
    for i, array in enumerate((*program.inputs, *program.outputs)):
        names[array.number] = f"%a{array.number}"
        lines += [f"%p{array.number} = getelementptr ptr, ptr %args, i64 {i}"]
        lines += [f"%a{array.number} = load ptr, ptr %p{array.number}"]
    offset = 0
    for array in program.arrays:
        if array.number not in names:
            names[array.number] = f"%a{array.number}"
            lines.append(f"%a{array.number} = getelementptr i8, ptr %scratch, i64 {offset}")
            offset += -(-array.size * width * 8 // 64) * 64
    lines.append(f"%spill = getelementptr i8, ptr %scratch, i64 {offset}")
    pieces: dict[str, str] = {}
    for step in program.steps:
        if isinstance(step, Call):
            lines += _call_lines(step, width, names, pieces)
        else:
            lines += _product_lines(step, width, names, pieces)
    return "\n".join([*lines, "ret void", "}", *pieces.values()]), offset


def _call_lines(step: Call, width: int, names: dict[int, str], pieces: dict[str, str]) -> list[str]:
    name = _function_symbol(step.function, width)
    arrays = (*step.inputs, *step.outputs)
    pieces[name] = f"declare void @{name}({', '.join(['ptr'] * (len(arrays) + 1))})"
    arguments = [f"ptr {names[a.number]}" for a in arrays] + ["ptr %spill"]
    return [f"call void @{name}({', '.join(arguments)})"]


def _product_lines(step: MatrixProduct, width: int, names: dict[int, str], pieces: dict[str, str]) -> list[str]:
    (m, n), k = step.result.shape, step.b.shape[0]
    accumulate = step.initial is not None
    name = matmul_name(m, k, n, width, transpose_a=step.transpose_a, accumulate=accumulate)
    pieces[name] = matmul_text(m, k, n, width, transpose_a=step.transpose_a, accumulate=accumulate)
    pieces["llvm.fma"] = declarations(width)
    arrays = (step.a, step.b, step.initial or step.result, step.result)
    return [f"call void @{name}({', '.join(f'ptr {names[a.number]}' for a in arrays)})"]
