"""Code links also where free memory is scattered over more than 2 GB, as in large processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import ctypes
from trajopt import problems

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
case = problems.load("quadruped-walk", "small-quadruped")
hold = [(libc.mmap(None, 1 << 30, 0, 0x4022, -1, 0), 1 << 30) for _ in range(8)]  # no access, not reserved
first = hold[0][0]
for bits in (26, 22, 18, 16, 14):  # all gaps above are filled, so that what is large lies 8 GB below them
    while True:
        hold.append((libc.mmap(None, 1 << bits, 0, 0x4022, -1, 0), 1 << bits))
        if hold[-1][0] < first:
            break
for at, size in hold:
    if at > first and size in (1 << 14, 1 << 16):
        libc.munmap(at + size // 2, size // 4)  # holes for what is small
print(case.solve().status.name)
"""


@pytest.mark.slow
def test_a_gait_compiles_and_solves() -> None:
    """Constants of a function came to lie 8 GB from its instructions, and LLVM ended the process."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "CONVERGED\n"), done.stderr[-500:]
