"""LLVM text for sharing a job between threads without locks; no one waits for a thread that has not begun.

A job (see `JOB`) is a number of independent units; a unit is a call of
`void run(void *call, long block, double *scratch)`. A free thread claims the next unit by an atomic addition. While
others work on the job, its caller may already read the rows of arrays that are done.

A helper and its callers share only the helper's box, integers of eight bytes and a lock:

    post      0: free; a job's address: written by its caller; address + 1: the helper is working on it
    closed    1: the helper shall end
    asleep    1: the helper is asleep or about to be; whoever writes to its box must wake it
    number    index of the helper's scratch in the job
"""

from __future__ import annotations

import time

from trajopt.kernels.builder import Builder
from trajopt.kernels.codegen import triple

BOX = ("post", "closed", "asleep", "number")
MUTEX, CONDITION = 64, 128  # offsets in a box [bytes]; each takes at most 64 bytes
BOX_BYTES = 256
JOB = ("claimed", "units", "table", "scratches", "rows", "row_count", "waited", "result")
"""Fields of a job: number of claimed units; number of units; addresses of a table (run, call, block, done) of the
units, of the scratch of each thread (the caller's first), and of each row's unit (-1 for none); number of rows; time
for which its caller has waited for rows [ns]; the reader's result."""

FOREVER = 2**63 - 1  # end of a loop that something else ends
NOW = "call i64 @trajopt_now()"

_DECLARATIONS = """
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
"""


def thread_pool_text() -> str:
    """LLVM text of `trajopt_share` and `trajopt_ready` for the caller, `trajopt_help` for a helper, `trajopt_wake`.

    `trajopt_share` runs a job. If there is a reader, `long read(void *matter)`, it calls that first. The reader calls
    `trajopt_ready(job, row)` before it reads a row; this returns when the row is done and works on other units until
    then. The result is by how much it waited for helpers longer than it worked [ns]. `trajopt_help` works on posted
    jobs and looks for more for `patience` nanoseconds before it sleeps; meanwhile other threads of its core go first.
    It returns when its box is closed.
    """
    pause, declaration = _pause()
    texts = [_now_text(int(time.CLOCK_MONOTONIC)), _spin_text(pause), _unit_text(), _work_text(), _begin_text()]
    texts += [_wake_text(), _ready_text(), _share_text(), _help_text(pause)]
    return "\n".join([_DECLARATIONS, declaration, *texts])


def _now_text(clock: int) -> str:
    """The time of a clock [ns]."""
    b = Builder("define internal i64 @trajopt_now()")
    moment = b.op("alloca [2 x i64], align 16")
    b.op(f"call i32 @clock_gettime(i32 {clock}, ptr {moment})")
    seconds, rest = b.field(moment, 0), b.field(moment, 1)
    return b.text(f"ret i64 {b.index((seconds, 1_000_000_000), (rest, 1))}")


def _spin_text(pause: str) -> str:
    """Waits while a word has a value; the time waited [ns]."""
    b = Builder("define internal i64 @trajopt_spin(ptr %word, i64 %value)")
    b.leave(b.op(f"icmp ne i64 {_loaded(b, '%word')}, %value"), 0)
    start = b.op(NOW)
    with b.loop(2, FOREVER) as spins:
        b.do(pause)
        with b.when(_is_tired(b, spins.index)):
            b.op("call i32 @sched_yield()")
        spins.only_while(b.op(f"icmp eq i64 {_loaded(b, '%word')}, %value"))
    return b.text(f"ret i64 {b.op(f'sub i64 {b.op(NOW)}, {start}')}")


def _loaded(b: Builder, place: str, order: str = "acquire") -> str:
    return b.op(f"load atomic i64, ptr {place} {order}, align 8")


def _is_tired(b: Builder, spins: str) -> str:
    """True in every 32nd pass of a waiting loop, which then lets other threads run."""
    return b.op(f"icmp eq i64 {b.op(f'and i64 {spins}, 31')}, 0")


def _unit_text() -> str:
    """Claims a unit and runs it; whether there was one."""
    b = Builder("define internal i1 @trajopt_unit(ptr %job, i64 %number)")
    some, units = b.op("alloca i1"), b.field("%job", JOB.index("units"))
    b.do(f"store i1 false, ptr {some}")
    claimed = b.op("load atomic i64, ptr %job monotonic, align 8")
    with b.when(b.op(f"icmp slt i64 {claimed}, {units}")):
        number = b.op("atomicrmw add ptr %job, i64 1 monotonic")
        with b.when(b.op(f"icmp slt i64 {number}, {units}")):
            unit = b.op(f"getelementptr [4 x i64], ptr {b.field('%job', JOB.index('table'), 'ptr')}, i64 {number}")
            function, call, block = b.field(unit, 0, "ptr"), b.field(unit, 1, "ptr"), b.field(unit, 2)
            scratch = b.field(b.field("%job", JOB.index("scratches"), "ptr"), "%number", "ptr")
            b.do(f"call void {function}(ptr {call}, i64 {block}, ptr {scratch})")
            done = b.op(f"getelementptr i64, ptr {unit}, i64 3")
            b.do(f"store atomic i64 1, ptr {done} release, align 8")
            b.do(f"store i1 true, ptr {some}")
    return b.text(f"ret i1 {b.op(f'load i1, ptr {some}')}")


def _begin_text() -> str:
    """Marks a job's units as neither claimed nor done."""
    b = Builder("define internal void @trajopt_begin(ptr %job)")
    units, table = b.field("%job", JOB.index("units")), b.field("%job", JOB.index("table"), "ptr")
    b.store("0", b.op(f"getelementptr i64, ptr %job, i64 {JOB.index('waited')}"), "i64")
    b.do("store atomic i64 0, ptr %job monotonic, align 8")
    with b.loop(0, units, only_if=b.op(f"icmp sgt i64 {units}, 0")) as unit:
        done = b.op(f"getelementptr [4 x i64], ptr {table}, i64 {unit.index}, i64 3")
        b.do(f"store atomic i64 0, ptr {done} monotonic, align 8")
    return b.text()


def _wake_text() -> str:
    """Wakes the helper of a box if it sleeps."""
    b = Builder("define void @trajopt_wake(ptr %box)")
    place = b.op(f"getelementptr i64, ptr %box, i64 {BOX.index('asleep')}")
    asleep = b.op(f"load atomic i64, ptr {place} seq_cst, align 8")
    with b.when(b.op(f"icmp ne i64 {asleep}, 0")):
        mutex, condition = (b.op(f"getelementptr i8, ptr %box, i64 {at}") for at in (MUTEX, CONDITION))
        for name, of in (("mutex_lock", mutex), ("cond_signal", condition), ("mutex_unlock", mutex)):
            b.op(f"call i32 @pthread_{name}(ptr {of})")
    return b.text()


def _work_text() -> str:
    """Runs units of a job until none is left."""
    b = Builder("define internal void @trajopt_work(ptr %job, i64 %number)")
    with b.loop(0, FOREVER) as turn:
        turn.only_while(b.op("call i1 @trajopt_unit(ptr %job, i64 %number)"))
    return b.text()


def _ready_text() -> str:
    """Returns once a row is done; until then it runs units, and waits if none is left."""
    b = Builder("define void @trajopt_ready(ptr %job, i64 %row)")
    with b.when(b.op(f"icmp ult i64 %row, {b.field('%job', JOB.index('row_count'))}")):
        unit = b.field(b.field("%job", JOB.index("rows"), "ptr"), "%row")
        with b.when(b.op(f"icmp sge i64 {unit}, 0")):
            table = b.field("%job", JOB.index("table"), "ptr")
            done = b.op(f"getelementptr [4 x i64], ptr {table}, i64 {unit}, i64 3")
            with b.loop(0, FOREVER, only_if=b.op(f"icmp eq i64 {_loaded(b, done)}, 0")) as turn:
                more = b.op("call i1 @trajopt_unit(ptr %job, i64 0)")
                turn.only_while(b.op(f"and i1 {more}, {b.op(f'icmp eq i64 {_loaded(b, done)}, 0')}"))
            time_waited = b.op(f"call i64 @trajopt_spin(ptr {done}, i64 0)")
            waited = b.op(f"getelementptr i64, ptr %job, i64 {JOB.index('waited')}")
            b.store(b.index((b.load(waited, "i64"), 1), (time_waited, 1)), waited, "i64")
    return b.text()


def _share_text() -> str:
    """Posts a job to free helpers, lets the caller read and work, then takes the job back and waits for helpers."""
    b = Builder("define i64 @trajopt_share(ptr %job, ptr %boxes, i64 %helpers, ptr %read, ptr %matter)")
    start = b.op(NOW)
    b.do("call void @trajopt_begin(ptr %job)")
    free = b.op("ptrtoint ptr %job to i64")
    taken, some = b.op(f"add i64 {free}, 1"), b.op("icmp sgt i64 %helpers, 0")
    with b.loop(0, "%helpers", only_if=some) as i:
        box = b.op(f"getelementptr i8, ptr %boxes, i64 {b.index((i.index, BOX_BYTES))}")
        was = b.op(f"cmpxchg ptr {box}, i64 0, i64 {free} seq_cst monotonic")
        with b.when(b.op(f"extractvalue {{i64, i1}} {was}, 1")):
            b.do(f"call void @trajopt_wake(ptr {box})")
    with b.when(b.op("icmp ne ptr %read, null")):
        result = b.op("call i64 %read(ptr %matter)")
        b.store(result, b.op(f"getelementptr i64, ptr %job, i64 {JOB.index('result')}"), "i64")
    b.do("call void @trajopt_work(ptr %job, i64 0)")
    for_rows = b.field("%job", JOB.index("waited"))
    with b.loop(0, "%helpers", carried=[("i64", for_rows)], only_if=some) as i:
        box = b.op(f"getelementptr i8, ptr %boxes, i64 {b.index((i.index, BOX_BYTES))}")
        b.op(f"cmpxchg ptr {box}, i64 {free}, i64 0 acq_rel acquire")
        i.carry(b.index((i.values[0], 1), (b.op(f"call i64 @trajopt_spin(ptr {box}, i64 {taken})"), 1)))
    total = b.op(f"sub i64 {b.op(NOW)}, {start}")
    return b.text(f"ret i64 {b.op(f'sub i64 {b.index((i.results[0], 2))}, {total}')}")


def _help_text(pause: str) -> str:
    """Waits for posts and works on them until the box is closed; sleeps where none comes within `patience` [ns]."""
    b = Builder("define void @trajopt_help(ptr %box, i64 %patience)")
    number, patient = b.field("%box", BOX.index("number")), b.op("alloca i1")
    with b.loop(0, FOREVER) as turn:
        started = b.op(NOW)
        b.do(f"store i1 true, ptr {patient}")
        with b.loop(2, FOREVER, only_if=_is_quiet(b, "acquire")) as spins:
            b.do(pause)
            with b.when(_is_tired(b, spins.index)):
                b.op("call i32 @sched_yield()")
                waited = b.op(f"sub i64 {b.op(NOW)}, {started}")
                b.do(f"store i1 {b.op(f'icmp slt i64 {waited}, %patience')}, ptr {patient}")
            quiet, still = _is_quiet(b, "acquire"), b.op(f"load i1, ptr {patient}")
            spins.only_while(b.op(f"and i1 {quiet}, {still}"))
        post = _loaded(b, "%box")
        free = b.op(f"icmp eq i64 {post}, 0")
        with b.when(b.op(f"xor i1 {free}, true")):
            _take(b, post, number)
        with b.when(free):
            _sleep(b)
        closed = _loaded(b, b.op(f"getelementptr i64, ptr %box, i64 {BOX.index('closed')}"))
        turn.only_while(b.op(f"icmp eq i64 {closed}, 0"))
    return b.text()


def _is_quiet(b: Builder, order: str) -> str:
    """Whether the box has no post and is not closed."""
    closed = b.op(f"getelementptr i64, ptr %box, i64 {BOX.index('closed')}")
    tests = [b.op(f"icmp eq i64 {_loaded(b, place, order)}, 0") for place in ("%box", closed)]
    return b.op(f"and i1 {tests[0]}, {tests[1]}")


def _take(b: Builder, post: str, number: str) -> None:
    """Works on the job that is posted, unless its caller has taken it back."""
    taken = b.op(f"add i64 {post}, 1")
    was = b.op(f"cmpxchg ptr %box, i64 {post}, i64 {taken} acq_rel monotonic")
    with b.when(b.op(f"extractvalue {{i64, i1}} {was}, 1")):
        b.do(f"call void @trajopt_work(ptr {b.op(f'inttoptr i64 {post} to ptr')}, i64 {number})")
        b.do("store atomic i64 0, ptr %box release, align 8")


def _sleep(b: Builder) -> None:
    """Sleeps until the box has a post or is closed; not at all if that is so already."""
    mutex, condition = (b.op(f"getelementptr i8, ptr %box, i64 {at}") for at in (MUTEX, CONDITION))
    asleep = b.op(f"getelementptr i64, ptr %box, i64 {BOX.index('asleep')}")
    b.op(f"call i32 @pthread_mutex_lock(ptr {mutex})")
    b.do(f"store atomic i64 1, ptr {asleep} seq_cst, align 8")
    with b.loop(0, FOREVER, only_if=_is_quiet(b, "seq_cst")) as turn:
        b.op(f"call i32 @pthread_cond_wait(ptr {condition}, ptr {mutex})")
        turn.only_while(_is_quiet(b, "seq_cst"))
    b.do(f"store atomic i64 0, ptr {asleep} seq_cst, align 8")
    b.op(f"call i32 @pthread_mutex_unlock(ptr {mutex})")


def _pause() -> tuple[str, str]:
    """Instruction that tells the processor that this is a waiting loop, and its declaration."""
    if triple().startswith("x86_64"):
        return "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
    if triple().startswith(("aarch64", "arm64")):
        return "call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"
    return "", ""
