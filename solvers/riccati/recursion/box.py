"""The quadratic program of a knot whose controls have limits: minimise ½ uᵀ H u + qᵀ u over lower <= u <= upper.

Projected Newton (Bertsekas, Projected Newton methods, 1982; Tassa, Mansard, Todorov, ICRA 2014, section III-B):
controls at a bound that the gradient pushes against are clamped; the others take a Newton step, of which what leaves
the box is cut off, shortened until the program's value falls. Where no such step is found, as cutting off may turn a
direction uphill, each control in turn goes to its own minimum. Once a whole step stays within the box, and the same
controls are clamped after it, the solution is exact.

Then the rows (Quu | Qux | Qu) of the recursion are rewritten, so that their elimination gives the knot's law, with c
the clamped controls and b where they are:

    row c: (I | 0 | -b),  other rows: Qu + Quc b, without column c,  Qx + Qxc b

that is K = 0, k = -b along clamped controls. Unless the options say `exact`, the three terms with b are left out, the
method starts from the last k, it ends where no step is found, and passes with gaps have no limits, as in Crocoddyl
3.2.1.
"""

from __future__ import annotations

from trajopt.kernels.builder import Builder
from trajopt.solvers.riccati.recursion.sizes import Sizes

BOX, PLAIN, BOXED, NOT_CONVEX = "box", 0, 1, 2
OPTIONS = ("iterations", "acceptance", "exact")
"""Numbers that the pass reads from the array `box_options`, see `BoxOptions`."""
LENGTHS = 10
"""Step lengths 1, ½, ... that are tried."""
NONE, SHORT, WHOLE = 0, 1, 2  # what a search has found


def box_text(sizes: Sizes) -> str:
    """LLVM text of `i64 box(R, q, lower, upper, k, options, work)`, which returns PLAIN, BOXED or NOT_CONVEX.

    PLAIN means that no control has a limit.

    R holds (Quu | Qux | Qu), Quu on and below its diagonal; q is (Qx, Qu); k the last feed-forward. It leaves the
    solution in `u` of the scratch, Σ Qu · k and Σ k · Quu k with k = -u in `slope` and `curvature`.
    """
    parts = (_newton, _value, _search, _solve, _rewrite, _box)
    return "\n".join([write(sizes) for write in parts] + ["declare double @llvm.sqrt.f64(double)\n"])


class _Function(Builder):
    """A function on the scratch of a box."""

    def __init__(self, sizes: Sizes, result: str, name: str, *arguments: str) -> None:
        super().__init__(f"define internal {result} @{name}({', '.join([*arguments, 'ptr %work'])})")
        self.m = sizes.m
        self._places, _ = sizes.box()

    def of(self, name: str, *terms: tuple[str | int, int] | int) -> str:
        """Address in the scratch."""
        return self.at("%work", *terms, self._places[name])

    def dot(self, a: str, b: str, count: str | int, a_step: int = 1, b_step: int = 1) -> str:
        """Σ a_i b_i over as many elements, which may be none."""
        only_if = self.op(f"icmp sgt i64 {count}, 0") if isinstance(count, str) else None
        with self.loop(0, count, carried=[("double", "0.0")], only_if=only_if) as i:
            product = self.times(self.load(self.at(a, (i.index, a_step))), self.load(self.at(b, (i.index, b_step))))
            i.carry(self.plus(i.values[0], product))
        return i.results[0]

    def plus(self, a: str, b: str) -> str:
        """a + b."""
        return self.op(f"fadd double {a}, {b}")

    def minus(self, a: str, b: str) -> str:
        """a - b."""
        return self.op(f"fsub double {a}, {b}")

    def times(self, a: str, b: str) -> str:
        """a b."""
        return self.op(f"fmul double {a}, {b}")

    def choose(self, condition: str, a: str, b: str) -> str:
        """a if the condition holds, else b."""
        return self.op(f"select i1 {condition}, double {a}, double {b}")

    def clip(self, value: str, lower: str, upper: str) -> str:
        """The value, or the bound that it is beyond."""
        low = self.choose(self.op(f"fcmp ogt double {value}, {upper}"), upper, value)
        return self.choose(self.op(f"fcmp olt double {low}, {lower}"), lower, low)


def _option(b: _Function, name: str) -> str:
    """Whether an option is not 0."""
    return b.op(f"fcmp one double {b.load(b.at('%options', OPTIONS.index(name)))}, 0.0")


def _newton(sizes: Sizes) -> str:
    """`i64 box_newton(work)`: step = -H⁻¹ gradient along free controls, by L Lᵀ = H; 0, or NOT_CONVEX."""
    b = _Function(sizes, "i64", "box_newton")
    m = b.m
    with b.loop(0, m) as i:
        own = b.load(b.of("free", (i.index, 1)))
        with b.loop(0, b.op(f"add i64 {i.index}, 1")) as j:
            here = b.op(f"icmp eq i64 {i.index}, {j.index}")
            both = b.times(own, b.load(b.of("free", (j.index, 1))))
            free = b.op(f"fcmp one double {both}, 0.0")
            H = b.choose(free, b.load(b.of("H", (i.index, m), (j.index, 1))), b.choose(here, "1.0", "0.0"))
            found = b.minus(H, b.dot(b.of("L", (i.index, m)), b.of("L", (j.index, m)), j.index))
            b.leave(b.op(f"and i1 {here}, {b.op(f'fcmp ule double {found}, 0.0')}"), NOT_CONVEX)
            root = b.op(f"call double @llvm.sqrt.f64(double {b.choose(here, found, '1.0')})")
            pivot = b.load(b.of("L", (j.index, m + 1)))
            value = b.choose(here, root, b.op(f"fdiv double {found}, {b.choose(here, '1.0', pivot)}"))
            b.store(value, b.of("L", (i.index, m), (j.index, 1)))
        known = b.dot(b.of("L", (i.index, m)), b.of("step"), i.index)
        right = b.times(own, b.op(f"fneg double {b.load(b.of('gradient', (i.index, 1)))}"))
        b.store(
            b.op(f"fdiv double {b.minus(right, known)}, {b.load(b.of('L', (i.index, m + 1)))}"),
            b.of("step", (i.index, 1)),
        )
    with b.loop(0, m) as back:
        i_ = b.op(f"sub i64 {m - 1}, {back.index}")
        after = b.op(f"add i64 {i_}, 1")
        known = b.dot(b.of("L", (after, m), (i_, 1)), b.of("step", (after, 1)), back.index, a_step=m)
        value = b.minus(b.load(b.of("step", (i_, 1))), known)
        b.store(b.op(f"fdiv double {value}, {b.load(b.of('L', (i_, m + 1)))}"), b.of("step", (i_, 1)))
    return b.text("ret i64 0")


def _value(sizes: Sizes) -> str:
    """`double box_value(u, work)`: ½ uᵀ H u + qᵀ u."""
    b = _Function(sizes, "double", "box_value", "ptr %u")
    with b.loop(0, b.m, carried=[("double", "0.0")]) as i:
        half = b.times("0.5", b.dot(b.of("H", (i.index, b.m)), "%u", b.m))
        slope = b.plus(half, b.load(b.of("q", (i.index, 1))))
        i.carry(b.plus(i.values[0], b.times(slope, b.load(b.at("%u", (i.index, 1))))))
    return b.text(f"ret double {i.results[0]}")


def _search(sizes: Sizes) -> str:
    """`i64 box_search(lower, upper, options, work)`: moves u along the step; NONE, SHORT or WHOLE."""
    b = _Function(sizes, "i64", "box_search", "ptr %lower", "ptr %upper", "ptr %options")
    acceptance = b.load(b.at("%options", OPTIONS.index("acceptance")))
    before = b.op(f"call double @box_value(ptr {b.of('u')}, ptr %work)")
    with b.loop(0, LENGTHS, carried=[("double", "1.0")]) as n:
        with b.loop(0, b.m, carried=[("double", "0.0"), ("i1", "true")]) as i:
            u = b.load(b.of("u", (i.index, 1)))
            aim = b.plus(u, b.times(n.values[0], b.load(b.of("step", (i.index, 1)))))
            trial = b.clip(aim, b.load(b.at("%lower", (i.index, 1))), b.load(b.at("%upper", (i.index, 1))))
            b.store(trial, b.of("trial", (i.index, 1)))
            fall = b.times(b.load(b.of("gradient", (i.index, 1))), b.minus(u, trial))
            inside = b.op(f"and i1 {i.values[1]}, {b.op(f'fcmp oeq double {aim}, {trial}')}")
            i.carry(b.plus(i.values[0], fall), inside)
        after = b.op(f"call double @box_value(ptr {b.of('trial')}, ptr %work)")
        enough = b.times(acceptance, i.results[0])
        whole = b.op(f"and i1 {i.results[1]}, {b.op(f'icmp eq i64 {n.index}, 0')}")  # rounding may hide its decrease
        accepted = b.op(f"or i1 {whole}, {b.op(f'fcmp ogt double {b.minus(before, after)}, {enough}')}")
        stem = b.name("accepted")
        b.do(f"br i1 {accepted}, label %{stem}, label %{stem}.not")
        b.label(stem)
        with b.loop(0, b.m) as j:
            b.store(b.load(b.of("trial", (j.index, 1))), b.of("u", (j.index, 1)))
        b.do(f"ret i64 {b.op(f'select i1 {whole}, i64 {WHOLE}, i64 {SHORT}')}")
        b.label(f"{stem}.not")
        n.carry(b.times(n.values[0], "0.5"))
    return b.text(f"ret i64 {NONE}")


def _solve(sizes: Sizes) -> str:
    """`i64 box_solve(lower, upper, options, work)`: the solution, from u on; 0, or NOT_CONVEX."""
    b = _Function(sizes, "i64", "box_solve", "ptr %lower", "ptr %upper", "ptr %options")
    exact = _option(b, "exact")
    limit = b.op(f"fptosi double {b.load(b.at('%options', OPTIONS.index('iterations')))} to i64")
    with b.loop(0, limit, carried=[("i64", str(SHORT))]) as n:
        with b.loop(0, b.m, carried=[("double", "0.0"), ("i1", "true")]) as i:
            u = b.load(b.of("u", (i.index, 1)))
            slope = b.plus(b.load(b.of("q", (i.index, 1))), b.dot(b.of("H", (i.index, b.m)), b.of("u"), b.m))
            b.store(slope, b.of("gradient", (i.index, 1)))
            held = []
            for bound, sign in (("%lower", "ogt"), ("%upper", "olt")):
                there = b.op(f"fcmp oeq double {u}, {b.load(b.at(bound, (i.index, 1)))}")
                held.append(b.op(f"and i1 {there}, {b.op(f'fcmp {sign} double {slope}, 0.0')}"))
            free = b.choose(b.op(f"or i1 {held[0]}, {held[1]}"), "0.0", "1.0")
            same = b.op(f"fcmp oeq double {free}, {b.load(b.of('free', (i.index, 1)))}")
            b.store(free, b.of("free", (i.index, 1)))
            i.carry(b.plus(i.values[0], free), b.op(f"and i1 {i.values[1]}, {same}"))
        b.leave(b.op(f"fcmp oeq double {i.results[0]}, 0.0"), 0)
        whole = b.op(f"icmp eq i64 {n.values[0]}, {WHOLE}")
        b.leave(b.op(f"and i1 {whole}, {i.results[1]}"), 0)
        failed = b.op("call i64 @box_newton(ptr %work)")
        b.leave(b.op(f"icmp ne i64 {failed}, 0"), NOT_CONVEX)
        found = b.op("call i64 @box_search(ptr %lower, ptr %upper, ptr %options, ptr %work)")
        none = b.op(f"icmp eq i64 {found}, {NONE}")
        b.leave(b.op(f"and i1 {none}, {b.op(f'xor i1 {exact}, true')}"), 0)
        with b.when(none), b.loop(0, b.m) as i:
            slope = b.plus(b.load(b.of("q", (i.index, 1))), b.dot(b.of("H", (i.index, b.m)), b.of("u"), b.m))
            u, pivot = b.load(b.of("u", (i.index, 1))), b.load(b.of("H", (i.index, b.m + 1)))
            aim = b.minus(u, b.op(f"fdiv double {slope}, {pivot}"))
            lower, upper = (b.load(b.at(bound, (i.index, 1))) for bound in ("%lower", "%upper"))
            b.store(b.clip(aim, lower, upper), b.of("u", (i.index, 1)))
        n.carry(b.op(f"select i1 {none}, i64 {SHORT}, i64 {found}"))
    return b.text("ret i64 0")


def _rewrite(sizes: Sizes) -> str:
    """`void box_rewrite(R, q, exact, work)`: the rows and Qx as the module docstring has them; slope and curvature."""
    b = _Function(sizes, "void", "box_rewrite", "ptr %R", "ptr %q", "i1 %exact")
    m, pitch, right, last = b.m, sizes.pitch, sizes.left, sizes.left + sizes.n
    with b.loop(0, m, carried=[("double", "0.0"), ("double", "0.0")]) as i:
        u, free = b.load(b.of("u", (i.index, 1))), b.op(f"fcmp one double {b.load(b.of('free', (i.index, 1)))}, 0.0")
        counted = b.op(f"or i1 %exact, {free}")
        slope = b.choose(counted, b.times(b.load(b.of("q", (i.index, 1))), u), "0.0")
        bend = b.times(u, b.dot(b.of("H", (i.index, m)), b.of("u"), m))
        i.carry(b.minus(i.values[0], slope), b.plus(i.values[1], bend))
        clamped = b.choose(b.op(f"and i1 %exact, {b.op(f'xor i1 {free}, true')}"), u, "0.0")
        b.store(clamped, b.of("step", (i.index, 1)))
    b.store(i.results[0], b.of("slope"))
    b.store(i.results[1], b.of("curvature"))
    with b.loop(0, m) as c:
        moved = b.load(b.of("step", (c.index, 1)))
        some = b.op(f"fcmp one double {moved}, 0.0")
        with b.when(some), b.loop(0, sizes.n) as j:
            place = b.at("%q", (j.index, 1))
            change = b.times(moved, b.load(b.at("%R", (c.index, pitch), (j.index, 1), right)))
            b.store(b.plus(b.load(place), change), place)
    with b.loop(0, m) as i:
        free = b.op(f"fcmp one double {b.load(b.of('free', (i.index, 1)))}, 0.0")
        moved = b.dot(b.of("H", (i.index, m)), b.of("step"), m)
        slope = b.plus(b.load(b.of("q", (i.index, 1))), moved)
        at = b.op(f"fneg double {b.load(b.of('step', (i.index, 1)))}")
        b.store(b.choose(free, slope, at), b.at("%R", (i.index, pitch), last))
        with b.loop(0, b.op(f"add i64 {i.index}, 1")) as j:
            here = b.op(f"icmp eq i64 {i.index}, {j.index}")
            other = b.op(f"fcmp one double {b.load(b.of('free', (j.index, 1)))}, 0.0")
            value = b.load(b.of("H", (i.index, m), (j.index, 1)))
            kept = b.choose(b.op(f"and i1 {free}, {other}"), value, b.choose(here, "1.0", "0.0"))
            b.store(kept, b.at("%R", (i.index, pitch), (j.index, 1)))
        with b.when(b.op(f"xor i1 {free}, true")), b.loop(0, sizes.n) as j:
            b.store("0.0", b.at("%R", (i.index, pitch), (j.index, 1), right))
    return b.text()


def _box(sizes: Sizes) -> str:
    """The whole, see `box_text`."""
    arguments = ("R", "q", "lower", "upper", "k", "options")
    b = _Function(sizes, "i64", BOX, *(f"ptr %{name}" for name in arguments))
    m = b.m
    exact = _option(b, "exact")
    with b.loop(0, m, carried=[("i1", "false")]) as i:
        lower, upper = (b.load(b.at(bound, (i.index, 1))) for bound in ("%lower", "%upper"))
        finite = b.op(f"fcmp ogt double {lower}, 0xFFF0000000000000")
        finite = b.op(f"or i1 {finite}, {b.op(f'fcmp olt double {upper}, 0x7FF0000000000000')}")
        start = b.choose(exact, "0.0", b.load(b.at("%k", (i.index, 1))))
        b.store(b.clip(start, lower, upper), b.of("u", (i.index, 1)))
        b.store(b.load(b.at("%R", (i.index, sizes.pitch), sizes.left + sizes.n)), b.of("q", (i.index, 1)))
        with b.loop(0, b.op(f"add i64 {i.index}, 1")) as j:
            value = b.load(b.at("%R", (i.index, sizes.pitch), (j.index, 1)))
            b.store(value, b.of("H", (i.index, m), (j.index, 1)))
            b.store(value, b.of("H", (j.index, m), (i.index, 1)))
        i.carry(b.op(f"or i1 {i.values[0]}, {finite}"))
    b.leave(b.op(f"xor i1 {i.results[0]}, true"), PLAIN)
    failed = b.op("call i64 @box_solve(ptr %lower, ptr %upper, ptr %options, ptr %work)")
    b.leave(b.op(f"icmp ne i64 {failed}, 0"), NOT_CONVEX)
    b.do(f"call void @box_rewrite(ptr %R, ptr %q, i1 {exact}, ptr %work)")
    return b.text(f"ret i64 {BOXED}")
