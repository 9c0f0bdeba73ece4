"""Translation of LLVM text to machine code by llvmlite. It is also a script, so that other processes can compile."""

from __future__ import annotations

import functools
import os
import pickle
import sys
from typing import Any

OPTIMISED, QUICK = 1, 0  # LLVM code generation levels; both give the same bits
TAG = b"trajopt image "  # precedes the size (8 bytes) and content of each object file that the script writes
WIDTHS = (2, 4, 8)  # possible numbers of lanes of code for many knots


@functools.cache
def host() -> tuple[str, str]:
    """Name of this processor and its usable features; TRAJOPT_LANES of 2 or 4 excludes AVX-512."""
    from llvmlite import binding

    features = str(binding.get_host_cpu_features().flatten())
    if (_wanted_lanes() or max(WIDTHS)) < max(WIDTHS):
        features = features.replace("+avx512", "-avx512").replace("+evex512", "-evex512")
    return str(binding.get_host_cpu_name()), features


@functools.cache
def lanes() -> int:
    """Number of lanes of code for many knots: TRAJOPT_LANES, or the number that suits this processor's registers.

    Raises:
        InvalidArgumentError: TRAJOPT_LANES is not 2, 4 or 8.
    """
    return _wanted_lanes() or lanes_for(host()[1].split(","))


def lanes_for(features: list[str]) -> int:
    """Number of lanes that suits a processor: the doubles in a vector register.

    Twice as many are slower on AVX2 and take two to three times as long to compile. On NEON, LLVM's code with 4 lanes
    has 5 % more instructions per lane than with 2 and takes three times as long to compile; it was not run.
    """
    if "+avx512f" in features:
        return 8
    return 4 if "+avx" in features else 2


def _wanted_lanes() -> int | None:
    """Number of lanes in the environment variable TRAJOPT_LANES; None if it is not set."""
    text = os.environ.get("TRAJOPT_LANES", "")
    if text and text not in map(str, WIDTHS):
        from trajopt.errors import InvalidArgumentError

        raise InvalidArgumentError(
            f"TRAJOPT_LANES: expected 2, 4 or 8, got {text!r}; unset it for the number that suits this processor"
        )
    return int(text) if text else None


@functools.cache
def triple() -> str:
    """Returns LLVM's target triple of this process: processor family, vendor and operating system."""
    from llvmlite import binding

    return str(binding.get_process_triple())


@functools.cache
def target_machine(level: int) -> Any:
    """Returns llvmlite's TargetMachine for this processor, with level OPTIMISED or QUICK."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    cpu, features = host()
    target = binding.Target.from_triple(triple())
    return target.create_target_machine(cpu=cpu, features=features, opt=level, codemodel="default", jit=True)


def machine_code(text: str, level: int) -> bytes:
    """Object file of a module.

    Raises:
        RuntimeError: LLVM rejects the text.
    """
    from llvmlite import binding

    machine = target_machine(level)
    # Free the module before its context; a garbage collector could begin with either of them.
    with binding.create_context() as context, binding.parse_assembly(text, context) as module:
        module.verify()  # generating code from an invalid module can terminate the process
        return bytes(machine.emit_object(module))


def main() -> None:
    """Compiles the texts from standard input; see `trajopt.kernels.workers`."""
    path, texts, level, niceness = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    os.nice(niceness)
    for text in texts:
        image = machine_code(text, level)
        sys.stdout.buffer.write(TAG + len(image).to_bytes(8, "little") + image)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
