"""Instructions on cells, that is vectors of neighbouring doubles of a row, and loops that vanish if they run once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from trajopt.kernels.builder import Builder
from trajopt.kernels.products import multiply_add

ZERO = "zeroinitializer"
LARGEST = "0x46293E5939A08CEA"  # 1e30: a value function beyond this has diverged


class Cells:
    """Writes LLVM instructions on cells: vectors of `width` neighbouring doubles.

    Args:
        builder: The function that is being written.
        width: Doubles in a cell, a power of two.
        registers: Vector registers of the processor.
    """

    def __init__(self, builder: Builder, width: int, registers: int) -> None:
        self.b, self.width, self.registers = builder, width, registers
        self.real, self.truth = f"<{width} x double>", f"<{width} x i1>"

    def widest(self, rows: int) -> int:
        """Number of cells of each of `rows` rows that fit in the registers, beside one more row and a factor."""
        return max(1, (self.registers - 1) // (rows + 1))

    def load(self, address: str) -> str:
        """Writes a load of `width` doubles from an address; returns the name of the cell."""
        return self.b.load(address, self.real)

    def fetch(self, address: str, shape: tuple[int, int], pitch: int) -> None:
        """Writes prefetches of rows and cells into the cache. The memory need not belong to the program."""
        doubles = shape[1] * self.width
        for place in (r * pitch + c for r in range(shape[0]) for c in sorted({*range(0, doubles, 8), doubles - 1})):
            self.b.do(f"call void @llvm.prefetch.p0(ptr {self.b.at(address, place)}, i32 0, i32 3, i32 1)")

    def store(self, value: str, address: str) -> None:
        """Writes a store of the cell `value` at an address."""
        self.b.store(value, address, self.real)

    def store_first(self, value: str, address: str, count: int) -> None:
        """Stores the first `count` doubles of a cell, and leaves memory behind them unchanged."""
        done, size = 0, self.width
        while done < count:
            if size <= count - done:
                piece = value if size == self.width else self.shuffle(value, "poison", range(done, done + size))
                self.b.store(piece, self.b.at(address, done), f"<{size} x double>")
                done += size
            size //= 2

    def store_row(self, cells: Sequence[str], address: str, count: int) -> None:
        """Stores neighbouring cells, of which only the first `count` doubles are written."""
        for c, cell in enumerate(cells):
            place = c * self.width
            self.store_first(cell, self.b.at(address, place), min(self.width, count - place))

    def load_first(self, address: str, count: int) -> str:
        """Loads `count` doubles one by one into a cell, with zeros behind them; reads nothing beyond them."""
        if count == self.width:
            return self.load(address)
        value = ZERO
        for i in range(count):
            value = self.b.op(
                f"insertelement {self.real} {value}, double {self.b.load(self.b.at(address, i))}, i32 {i}"
            )
        return value

    def load_masked(self, address: str, count: int) -> str:
        """Loads the first `count` doubles of a cell by a masked load, with zeros behind; reads nothing beyond them."""
        if count >= self.width:
            return self.load(address)
        mask = ", ".join(f"i1 {str(i < count).lower()}" for i in range(self.width))
        arguments = f"ptr {address}, i32 8, {self.truth} <{mask}>, {self.real} {ZERO}"
        return self.b.op(f"call {self.real} @llvm.masked.load.v{self.width}f64.p0({arguments})")

    def load_row(self, address: str, count: int) -> list[str]:
        """Loads a row of `count` doubles as a list of cells, with zeros behind them."""
        return [self.load_masked(self.b.at(address, c), count - c) for c in range(0, count, self.width)]

    def largest(self, most: str, value: str) -> str:
        """Returns the name of a cell with max(most, |value|) in each place."""
        size = self.b.op(f"call {self.real} @llvm.fabs.v{self.width}f64({self.real} {value})")
        return self.b.op(f"call {self.real} @llvm.maximum.v{self.width}f64({self.real} {most}, {self.real} {size})")

    def op(self, name: str, *values: str) -> str:
        """Writes an instruction on cells, such as "fadd", and returns the name of its result."""
        return self.b.op(f"{name} {self.real} {', '.join(values)}")

    def add_product(self, x: str, y: str, z: str) -> str:
        """Returns the name of the cell x y + z, computed in each place."""
        return multiply_add(self.b, self.real, x, y, z)

    def splat(self, value: str) -> str:
        """Returns the name of a cell that has the double `value` in all places."""
        return self.b.splat(value, self.width)

    def factor(self, address: str, *, negative: bool = False) -> str:
        """Writes a load of one double; returns the name of a cell with it, or with its negative, in all places."""
        value = self.b.load(address)
        return self.splat(self.b.op(f"fneg double {value}") if negative else value)

    def lane(self, value: str, lane: int) -> str:
        """Returns a cell with one double of another cell in all places."""
        return self.shuffle(value, "poison", [lane] * self.width)

    def element(self, value: str, lane: int) -> str:
        """Returns the name of the double in place `lane` of a cell."""
        return self.b.op(f"extractelement {self.real} {value}, i32 {lane}")

    def shuffle(self, x: str, y: str, lanes: Sequence[int]) -> str:
        """Returns a cell with the doubles of x and then y that the indices `lanes` select."""
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.b.op(f"shufflevector {self.real} {x}, {self.real} {y}, <{len(lanes)} x i32> <{mask}>")

    def select(self, where: Sequence[bool], x: str, y: str) -> str:
        """Returns a cell with the doubles of x where `where` is true, and those of y elsewhere."""
        return self.shuffle(x, y, [i if here else i + self.width for i, here in enumerate(where)])

    def first(self, count: int, value: str, behind: str = ZERO) -> str:
        """Returns a cell with the first `count` doubles of `value` and the others of `behind`, for any count."""
        if count >= self.width or value == behind:
            return value
        return behind if count <= 0 else self.select([i < count for i in range(self.width)], value, behind)

    def gather(self, places: Sequence[tuple[str, int] | None]) -> str:
        """Returns a cell of the doubles at these lanes of other cells; 0 where the place is None."""
        cells = list(dict.fromkeys(place[0] for place in places if place))
        found = ZERO
        for cell in cells:
            lanes = [self.width + place[1] if place and place[0] == cell else i for i, place in enumerate(places)]
            found = self.shuffle(found, cell, lanes)
        return found

    def bounded(self, value: str, fine: str) -> str:
        """Whether |value| < 1e30, which is false for NaN, and `fine` held before."""
        size = self.b.op(f"call {self.real} @llvm.fabs.v{self.width}f64({self.real} {value})")
        below = self.b.op(f"fcmp olt {self.real} {size}, splat (double {LARGEST})")
        return self.b.op(f"and {self.truth} {fine}, {below}")

    def all(self, truth: str) -> str:
        """Returns an i1 that tells whether a mask is true in all places."""
        return self.b.op(f"call i1 @llvm.vector.reduce.and.v{self.width}i1({self.truth} {truth})")

    def sum(self, value: str) -> str:
        """Returns the name of a double: the sum of all places of a cell."""
        return self.b.op(f"call double @llvm.vector.reduce.fadd.v{self.width}f64(double 0.0, {self.real} {value})")

    def transpose(self, rows: Sequence[str]) -> list[str]:
        """Returns the transpose of a square of cells, one for each row; missing rows count as zero."""
        width = self.width
        rows = [*rows, *[ZERO] * (width - len(rows))]
        pairs = [lane for i in range(width // 2) for lane in (2 * i, 2 * i + width)]
        found = [
            self.shuffle(rows[k], rows[k + 1], [lane + odd for lane in pairs])
            for k in range(0, width, 2)
            for odd in (0, 1)
        ]
        even = [lane for lane in range(2 * width) if lane // 2 % 2 == 0]
        for step in (2**i for i in range(1, width.bit_length() - 1)):
            for k in range(width):
                if k & step == 0:
                    x, y = found[k], found[k + step]
                    found[k], found[k + step] = self.shuffle(x, y, even), self.shuffle(x, y, [i + 2 for i in even])
        return found

    def total(self, cells: Sequence[str]) -> str:
        """Returns the name of the cell that is the sum of all `cells`, place by place; it adds them in pairs."""
        while len(cells) > 1:
            pairs = [cells[i : i + 2] for i in range(0, len(cells), 2)]
            cells = [self.op("fadd", *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return cells[0]


@contextlib.contextmanager
def each(b: Builder, first: int, end: int, step: int = 1) -> Iterator[str | int]:
    """Yields the indices first, first + step, ... below `end`: a loop in LLVM, or one number if there is only one."""
    if end - first <= step:
        yield first
        return
    with b.loop(first, end, step) as loop:
        yield loop.index


def even_strips(count: int, largest: int) -> list[tuple[int, int, int]]:
    """Returns ranges (first, end, step) that cover [0, count) in the fewest strips; widths differ by at most 1."""
    if not count:
        return []
    pieces = -(-count // largest)
    small, larger = divmod(count, pieces)
    middle = larger * (small + 1)
    return [r for r in ((0, middle, small + 1), (middle, count, small)) if r[0] < r[1]]
