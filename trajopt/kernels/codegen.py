"""LLVM text to machine code by llvmlite, and nothing else: also a script, so that other processes can compile too."""

from __future__ import annotations

import functools
import os
import pickle
import sys
from typing import Any

OPTIMISED, QUICK = 1, 0  # LLVM code generation levels; both give the same bits


@functools.cache
def host() -> tuple[str, str]:
    """Name of this processor, and the features that code may use: with TRAJOPT_LANES=4 those without AVX-512."""
    from llvmlite import binding

    features = str(binding.get_host_cpu_features().flatten())
    if os.environ.get("TRAJOPT_LANES") in ("2", "4"):
        features = features.replace("+avx512", "-avx512").replace("+evex512", "-evex512")
    return str(binding.get_host_cpu_name()), features


@functools.cache
def triple() -> str:
    """Processor family and operating system of this process."""
    from llvmlite import binding

    return str(binding.get_process_triple())


@functools.cache
def target_machine(level: int) -> Any:
    """LLVM's code generator for this processor."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    cpu, features = host()
    target = binding.Target.from_triple(triple())
    return target.create_target_machine(cpu=cpu, features=features, opt=level, codemodel="default", jit=True)


def machine_code(text: str, level: int) -> bytes:
    """Object file of a module.

    Raises:
        RuntimeError: LLVM refuses the text.
    """
    from llvmlite import binding

    machine = target_machine(level)
    # the module must be freed before its context: a garbage collector could begin with either of them
    with binding.create_context() as context, binding.parse_assembly(text, context) as module:
        module.verify()  # generating code from a module that is not valid can end the process
        return bytes(machine.emit_object(module))


def main() -> None:
    """Compiles the texts that come through the standard input; see `trajopt.kernels.workers`."""
    path, texts, level, niceness = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    os.nice(niceness)
    pickle.dump([machine_code(text, level) for text in texts], sys.stdout.buffer)


if __name__ == "__main__":
    main()
