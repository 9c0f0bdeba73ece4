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

_TEXT = """
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
{pause_declaration}

define internal i64 @trajopt_spin(ptr %word, i64 %value) nounwind {{
entry:
  %first = load atomic i64, ptr %word acquire, align 8
  %busy = icmp eq i64 %first, %value
  br i1 %busy, label %begin, label %done
begin:
  %start = call i64 @trajopt_now()
  br label %spin
spin:
  %spins = phi i64 [1, %begin], [%spins.next, %look]
  {pause}
  %spins.next = add i64 %spins, 1
  %few = and i64 %spins.next, 31
  %tired = icmp eq i64 %few, 0
  br i1 %tired, label %yield, label %look
yield:
  %yielded = call i32 @sched_yield()
  br label %look
look:
  %now = load atomic i64, ptr %word acquire, align 8
  %again = icmp eq i64 %now, %value
  br i1 %again, label %spin, label %over
over:
  %end = call i64 @trajopt_now()
  %waited = sub i64 %end, %start
  ret i64 %waited
done:
  ret i64 0
}}

define internal void @trajopt_work(ptr %job, i64 %number) nounwind {{
entry:
  br label %unit
unit:
  %more = call i1 @trajopt_unit(ptr %job, i64 %number)
  br i1 %more, label %unit, label %done
done:
  ret void
}}

define void @trajopt_ready(ptr %job, i64 %row) nounwind {{
entry:
  %count.at = getelementptr i64, ptr %job, i64 5
  %count = load i64, ptr %count.at
  %inside = icmp ult i64 %row, %count
  br i1 %inside, label %find, label %done
find:
  %rows.at = getelementptr i64, ptr %job, i64 4
  %rows = load ptr, ptr %rows.at
  %row.at = getelementptr i64, ptr %rows, i64 %row
  %unit = load i64, ptr %row.at
  %table.at = getelementptr i64, ptr %job, i64 2
  %table = load ptr, ptr %table.at
  %done.at = getelementptr [4 x i64], ptr %table, i64 %unit, i64 3
  %known = icmp sge i64 %unit, 0
  br i1 %known, label %look, label %done
look:
  %is = load atomic i64, ptr %done.at acquire, align 8
  %ready = icmp ne i64 %is, 0
  br i1 %ready, label %done, label %help
help:
  %more = call i1 @trajopt_unit(ptr %job, i64 0)
  br i1 %more, label %look, label %wait
wait:
  %time = call i64 @trajopt_spin(ptr %done.at, i64 0)
  %waited.at = getelementptr i64, ptr %job, i64 6
  %before = load i64, ptr %waited.at
  %waited = add i64 %before, %time
  store i64 %waited, ptr %waited.at
  br label %done
done:
  ret void
}}

define i64 @trajopt_share(ptr %job, ptr %boxes, i64 %helpers, ptr %read, ptr %matter) nounwind {{
entry:
  %start = call i64 @trajopt_now()
  call void @trajopt_begin(ptr %job)
  %job.free = ptrtoint ptr %job to i64
  %job.taken = add i64 %job.free, 1
  %any = icmp sgt i64 %helpers, 0
  br i1 %any, label %post, label %posted.all
post:
  %i = phi i64 [0, %entry], [%i.next, %posted]
  %at = mul i64 %i, {box}
  %box = getelementptr i8, ptr %boxes, i64 %at
  %was = cmpxchg ptr %box, i64 0, i64 %job.free seq_cst monotonic
  %mine = extractvalue {{i64, i1}} %was, 1
  br i1 %mine, label %posted.mine, label %posted
posted.mine:
  call void @trajopt_wake(ptr %box)
  br label %posted
posted:
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %helpers
  br i1 %i.more, label %post, label %posted.all
posted.all:
  %reads = icmp ne ptr %read, null
  br i1 %reads, label %read.rows, label %work
read.rows:
  %result = call i64 %read(ptr %matter)
  %result.at = getelementptr i64, ptr %job, i64 7
  store i64 %result, ptr %result.at
  br label %work
work:
  call void @trajopt_work(ptr %job, i64 0)
  %waited.at = getelementptr i64, ptr %job, i64 6
  %for.rows = load i64, ptr %waited.at
  br i1 %any, label %withdraw, label %done
withdraw:
  %j = phi i64 [0, %work], [%j.next, %withdraw]
  %waited = phi i64 [%for.rows, %work], [%waited.next, %withdraw]
  %j.at = mul i64 %j, {box}
  %j.box = getelementptr i8, ptr %boxes, i64 %j.at
  %back = cmpxchg ptr %j.box, i64 %job.free, i64 0 acq_rel acquire
  %time = call i64 @trajopt_spin(ptr %j.box, i64 %job.taken)
  %waited.next = add i64 %waited, %time
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %helpers
  br i1 %j.more, label %withdraw, label %done
done:
  %wait = phi i64 [%for.rows, %work], [%waited.next, %withdraw]
  %end = call i64 @trajopt_now()
  %total = sub i64 %end, %start
  %twice = mul i64 %wait, 2
  %late = sub i64 %twice, %total
  ret i64 %late
}}

define void @trajopt_help(ptr %box, i64 %patience) nounwind {{
entry:
  %closed.at = getelementptr i64, ptr %box, i64 1
  %asleep.at = getelementptr i64, ptr %box, i64 2
  %number.at = getelementptr i64, ptr %box, i64 3
  %number = load i64, ptr %number.at
  %mutex = getelementptr i8, ptr %box, i64 {mutex}
  %condition = getelementptr i8, ptr %box, i64 {condition}
  br label %begin
begin:
  %started = call i64 @trajopt_now()
  br label %look
look:
  %spins = phi i64 [1, %begin], [%spins.next, %pause], [%spins.next, %rest]
  %post = load atomic i64, ptr %box acquire, align 8
  %free = icmp eq i64 %post, 0
  br i1 %free, label %idle, label %take
take:
  %taken = add i64 %post, 1
  %got = cmpxchg ptr %box, i64 %post, i64 %taken acq_rel monotonic
  %mine = extractvalue {{i64, i1}} %got, 1
  br i1 %mine, label %work, label %begin
work:
  %job = inttoptr i64 %post to ptr
  call void @trajopt_work(ptr %job, i64 %number)
  store atomic i64 0, ptr %box release, align 8
  br label %begin
idle:
  %closed = load atomic i64, ptr %closed.at acquire, align 8
  %ended = icmp ne i64 %closed, 0
  br i1 %ended, label %end, label %idle.on
idle.on:
  %spins.next = add i64 %spins, 1
  %few = and i64 %spins.next, 31
  %long = icmp eq i64 %few, 0
  br i1 %long, label %rest, label %pause
pause:
  {pause}
  br label %look
rest:
  %yielded = call i32 @sched_yield()
  %now = call i64 @trajopt_now()
  %waited = sub i64 %now, %started
  %patient = icmp slt i64 %waited, %patience
  br i1 %patient, label %look, label %sleep
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  store atomic i64 1, ptr %asleep.at seq_cst, align 8
  br label %asleep
asleep:
  %late = load atomic i64, ptr %box seq_cst, align 8
  %none = icmp eq i64 %late, 0
  %late.closed = load atomic i64, ptr %closed.at seq_cst, align 8
  %open = icmp eq i64 %late.closed, 0
  %on = and i1 %none, %open
  br i1 %on, label %asleep.on, label %awake
asleep.on:
  %signalled = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %asleep
awake:
  store atomic i64 0, ptr %asleep.at seq_cst, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %begin
end:
  ret void
}}
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
    clock = int(time.CLOCK_MONOTONIC)
    places = {"box": BOX_BYTES, "mutex": MUTEX, "condition": CONDITION}
    text = _TEXT.format(**places, pause=pause, pause_declaration=declaration)
    return "\n".join([text, _now_text(clock), _unit_text(), _begin_text(), _wake_text()])


def _now_text(clock: int) -> str:
    """The time of a clock [ns]."""
    b = Builder("define internal i64 @trajopt_now()")
    moment = b.op("alloca [2 x i64], align 16")
    b.op(f"call i32 @clock_gettime(i32 {clock}, ptr {moment})")
    seconds, rest = b.field(moment, 0), b.field(moment, 1)
    return b.text(f"ret i64 {b.index((seconds, 1_000_000_000), (rest, 1))}")


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


def _pause() -> tuple[str, str]:
    """Instruction that tells the processor that this is a waiting loop, and its declaration."""
    if triple().startswith("x86_64"):
        return "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
    if triple().startswith(("aarch64", "arm64")):
        return "call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"
    return "", ""
