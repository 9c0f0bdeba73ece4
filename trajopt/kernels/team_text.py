"""LLVM text of how threads share a job, without locks; nobody waits for a thread that has not begun.

A job is a number of units that do not depend on each other (see `JOB`); a unit is a call of
`void run(void *call, long block, double *scratch)`. Whoever is free claims the next one by an atomic addition.

A helper's box, integers of eight bytes and a lock, is all that it and its callers have in common:

    post      0: free; a job's address: written by its caller; address + 1: the helper is at work on it
    closed    1: the helper is to end
    asleep    1: the helper sleeps, or is about to: whoever writes to its box must wake it
    number    of the job's scratch that is the helper's
"""

from __future__ import annotations

import time

from trajopt.kernels.codegen import triple

BOX = ("post", "closed", "asleep", "number")
MUTEX, CONDITION = 64, 128  # where they are in a box [bytes]; at most 64 bytes each
BOX_BYTES = 256
JOB = ("claimed", "units", "table", "scratches")
"""Number of units that were claimed, of all units; addresses of a table (run, call, block) of each unit, and of a table
of the scratch of each thread, the caller's first."""

_TEXT = """
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
{pause_declaration}

define internal i64 @trajopt_now() nounwind {{
  %time = alloca [2 x i64], align 16
  %failed = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}}

define internal void @trajopt_work(ptr %job, i64 %number) nounwind {{
entry:
  %units.at = getelementptr i64, ptr %job, i64 1
  %units = load i64, ptr %units.at
  %table.at = getelementptr i64, ptr %job, i64 2
  %table = load ptr, ptr %table.at
  %scratches.at = getelementptr i64, ptr %job, i64 3
  %scratches = load ptr, ptr %scratches.at
  %scratch.at = getelementptr i64, ptr %scratches, i64 %number
  %scratch = load ptr, ptr %scratch.at
  br label %claim
claim:
  %unit = atomicrmw add ptr %job, i64 1 monotonic
  %some = icmp slt i64 %unit, %units
  br i1 %some, label %unit.run, label %done
unit.run:
  %run.at = getelementptr [3 x i64], ptr %table, i64 %unit
  %run = load ptr, ptr %run.at
  %call.at = getelementptr i64, ptr %run.at, i64 1
  %call = load ptr, ptr %call.at
  %block.at = getelementptr i64, ptr %run.at, i64 2
  %block = load i64, ptr %block.at
  call void %run(ptr %call, i64 %block, ptr %scratch)
  br label %claim
done:
  ret void
}}

define void @trajopt_wake(ptr %box) nounwind {{
entry:
  %asleep.at = getelementptr i64, ptr %box, i64 2
  %asleep = load atomic i64, ptr %asleep.at seq_cst, align 8
  %sleeps = icmp ne i64 %asleep, 0
  br i1 %sleeps, label %wake, label %done
wake:
  %mutex = getelementptr i8, ptr %box, i64 {mutex}
  %condition = getelementptr i8, ptr %box, i64 {condition}
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %signalled = call i32 @pthread_cond_signal(ptr %condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %done
done:
  ret void
}}

define i64 @trajopt_share(ptr %job, ptr %boxes, i64 %helpers) nounwind {{
entry:
  %start = call i64 @trajopt_now()
  store atomic i64 0, ptr %job monotonic, align 8
  %job.free = ptrtoint ptr %job to i64
  %job.taken = add i64 %job.free, 1
  %any = icmp sgt i64 %helpers, 0
  br i1 %any, label %post, label %work
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
  br i1 %i.more, label %post, label %work
work:
  call void @trajopt_work(ptr %job, i64 0)
  %worked = call i64 @trajopt_now()
  br i1 %any, label %withdraw, label %done
withdraw:
  %j = phi i64 [0, %work], [%j.next, %withdrawn]
  %j.at = mul i64 %j, {box}
  %j.box = getelementptr i8, ptr %boxes, i64 %j.at
  %back = cmpxchg ptr %j.box, i64 %job.free, i64 0 acq_rel acquire
  %seen = extractvalue {{i64, i1}} %back, 0
  br label %wait
wait:
  %now = phi i64 [%seen, %withdraw], [%again, %wait.on]
  %spins = phi i64 [0, %withdraw], [%spins.next, %wait.on]
  %busy = icmp eq i64 %now, %job.taken
  br i1 %busy, label %wait.pause, label %withdrawn
wait.pause:
  {pause}
  %spins.next = add i64 %spins, 1
  %long = and i64 %spins.next, 31
  %tired = icmp eq i64 %long, 0
  br i1 %tired, label %wait.yield, label %wait.on
wait.yield:
  %yielded = call i32 @sched_yield()
  br label %wait.on
wait.on:
  %again = load atomic i64, ptr %j.box acquire, align 8
  br label %wait
withdrawn:
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %helpers
  br i1 %j.more, label %withdraw, label %done
done:
  %finished = call i64 @trajopt_now()
  %twice = mul i64 %worked, 2
  %both = add i64 %start, %finished
  %late = sub i64 %both, %twice
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


def team_text() -> str:
    """LLVM text of `trajopt_share`, the caller's part, `trajopt_help`, a helper's, and `trajopt_wake`.

    `trajopt_share` returns by how much its wait for helpers was longer than its work [ns]. `trajopt_help` works on what
    is posted, and looks for more for `patience` nanoseconds before it sleeps. While it looks, it lets other threads of
    its core go first. It returns when its box is closed.
    """
    pause, declaration = _pause()
    clock = int(time.CLOCK_MONOTONIC)
    places = {"box": BOX_BYTES, "mutex": MUTEX, "condition": CONDITION}
    return _TEXT.format(**places, clock=clock, pause=pause, pause_declaration=declaration)


def _pause() -> tuple[str, str]:
    """The processor's hint that this is a loop which waits, and its declaration."""
    if triple().startswith("x86_64"):
        return "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
    if triple().startswith(("aarch64", "arm64")):
        return "call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"
    return "", ""
