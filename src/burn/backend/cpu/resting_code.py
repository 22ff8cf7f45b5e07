"""How a worker shares its core with other processes, as LLVM IR.

A thread that wants all of a core that it has to share is stopped by the system in the middle of a chunk, for
milliseconds, and everybody waits for that chunk. A thread that takes less than its part and sleeps of its own will is
not stopped, and gets the core back at once when it wakes. So a worker compares what it ran with what has passed. If it
loses more than now and then, it rests from then on between chunks, in proportion to what it runs: longer if it loses
time all the same, shorter the longer nothing happens, and when it does not rest any more and loses time again, it waits
twice as long before it tries next time.

Time is missing as well where the host of a virtual machine takes the core away, and there resting gives nothing back:
it loses that time a second time. So a worker that misses time asks the scheduler how long it stood in line for a core
(`stood_in_line`), and rests only if that is a good part of what is missing.

    settle(share, team)   the end of a stint: how much of it was lost, and what rest that calls for
    wake(share, team)     the start of a stint, after sleeping: that was rest too
    rest(share, team)     settle, and sleep if rest is due

`RECORD` is the memory that this takes. At the start of a stint: `since`, the processor's clock; `wall` and `ran`, the
system's and the thread's own, in nanoseconds. `stint`, how long one may last on the processor's clock; `ratio` of rest
to work, in sixteenths; `debt`, nanoseconds of rest that are due. Of the spell that is looked at: what was `lost` and
`used` so far; `quiet` spells one after the other, and how many of these are `enough` to rest less. `file`, the
descriptor of the scheduler's count and 1, 0 before it was asked for, -1 where there is none; `line`, the count at the
end of the last spell.
"""

from __future__ import annotations

import re

from burn.backend.cpu.waiting_code import clock, has_futex

RECORD = ("since", "wall", "ran", "stint", "ratio", "debt", "lost", "used", "quiet", "enough", "file", "line")
FIRST = 10
"""The number of the record's first field in a share."""

CONSTANTS = {
    "FAIR": 17,  # sixteenths of rest to work at first, where one other process wants the core
    "MOST": 40,  # sixteenths at most
    "DUE": 50_000,  # nanoseconds of the shortest rest
    "SPELL": 24_000_000,  # nanoseconds that are looked at together
    "OFTEN": 3,  # a worker rests if it lost one in so many of these
    "PART": 6,  # and stood in line for one in so many
    "VERY_OFTEN": 2,  # and longer if it did all the same
    "SELDOM": 16,  # a spell is quiet if it lost less than one in so many
    "FEW_SPELLS": 2,
    "MANY_SPELLS": 8,
    "MONOTONIC": 1,  # numbers of clocks, on Linux
    "OF_THE_THREAD": 3,
    "TO_READ": 0x80000,  # and not for programs that this process becomes
}

COUNT = b"/proc/thread-self/schedstat\0"
"""How long the thread ran, how long it stood in line for a core, in nanoseconds, and how often it got one."""

RESTING = """
@count = internal constant [COUNT_SIZE x i8] c"COUNT_TEXT"

declare i32 @open(ptr, i32, ...)
declare i64 @pread(i32, ptr, i64, i64)
declare i64 @strtoll(ptr, ptr, i32)
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_getcpu()
declare i32 @nanosleep(ptr, ptr)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.smax.i64(i64, i64)

; Nanoseconds on a clock of the system.
define internal i64 @nanoseconds(i32 %clock) nounwind {
  %time = alloca { i64, i64 }
  %answer = call i32 @clock_gettime(i32 %clock, ptr %time)
  %seconds = load i64, ptr %time
  %nanop = getelementptr { i64, i64 }, ptr %time, i64 0, i32 1
  %nano = load i64, ptr %nanop
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %nano
  ret i64 %all
}

define internal void @resume(ptr %share) nounwind {
  AT %share: since wall ran
  %now = CLOCK
  %wall.now = call i64 @nanoseconds(i32 MONOTONIC)
  %ran.now = call i64 @nanoseconds(i32 OF_THE_THREAD)
  store i64 %now, ptr %since
  store i64 %wall.now, ptr %wall
  store i64 %ran.now, ptr %ran
  ret void
}

define internal void @settle(ptr %share, ptr %team) nounwind {
entry:
  AT %share: wall ran debt ratio lost used
  %wall.then = load i64, ptr %wall
  %ran.then = load i64, ptr %ran
  call void @resume(ptr %share)
  %wall.now = load i64, ptr %wall
  %ran.now = load i64, ptr %ran
  %passed = sub i64 %wall.now, %wall.then
  %worked = sub i64 %ran.now, %ran.then
  %missed = sub i64 %passed, %worked
  %missing = call i64 @llvm.smax.i64(i64 %missed, i64 0)
  %lost.then = load i64, ptr %lost
  %lost.now = add i64 %lost.then, %missing
  store i64 %lost.now, ptr %lost
  %used.then = load i64, ptr %used
  %used.now = add i64 %used.then, %worked
  store i64 %used.now, ptr %used
  %spell = add i64 %lost.now, %used.now
  %over = icmp sgt i64 %spell, SPELL
  br i1 %over, label %judge, label %owe
judge:
  call void @judge(ptr %share, ptr %team)
  br label %owe
owe:
  %sixteenths = load i64, ptr %ratio
  %wide = mul i64 %worked, %sixteenths
  %new = lshr i64 %wide, 4
  %debt.then = load i64, ptr %debt
  %with = add i64 %debt.then, %new
  %without = sub i64 %with, %missing
  %rests = icmp ne i64 %sixteenths, 0
  %least = call i64 @llvm.smax.i64(i64 %without, i64 0)
  %debt.now = select i1 %rests, i64 %least, i64 0
  store i64 %debt.now, ptr %debt
  ret void
}

; Nanoseconds that this thread stood in line since this was asked last; -1 where that is not known, or not yet.
define internal i64 @stood_in_line(ptr %share) nounwind {
entry:
  AT %share: file line
  %text = alloca [64 x i8]
  %after = alloca ptr
  %held = load i64, ptr %file
  %new = icmp eq i64 %held, 0
  br i1 %new, label %first, label %again
first:
  %answer = call i32 (ptr, i32, ...) @open(ptr @count, i32 TO_READ)
  %there = icmp sge i32 %answer, 0
  %opened = add i32 %answer, 1
  %known = select i1 %there, i32 %opened, i32 -1
  %wide = sext i32 %known to i64
  store i64 %wide, ptr %file
  br label %again
again:
  %number = load i64, ptr %file
  %short = trunc i64 %number to i32
  %descriptor = sub i32 %short, 1
  %none = icmp slt i64 %number, 0
  br i1 %none, label %unknown, label %ask
ask:
  %got = call i64 @pread(i32 %descriptor, ptr %text, i64 63, i64 0)
  %some = icmp sgt i64 %got, 0
  br i1 %some, label %read, label %unknown
read:
  %end = getelementptr i8, ptr %text, i64 %got
  store i8 0, ptr %end
  %ran = call i64 @strtoll(ptr %text, ptr %after, i32 10)
  %second = load ptr, ptr %after
  %now = call i64 @strtoll(ptr %second, ptr null, i32 10)
  %then = load i64, ptr %line
  store i64 %now, ptr %line
  %since = sub i64 %now, %then
  %result = select i1 %new, i64 0, i64 %since
  ret i64 %result
unknown:
  ret i64 -1
}

; What a spell says about the next ones.
define internal void @judge(ptr %share, ptr %team) nounwind {
entry:
  AT %share: file
  %asked = load i64, ptr %file
  %asks = icmp sgt i64 %asked, 0
  br i1 %asks, label %keep.up, label %start
keep.up:
  %already = call i64 @stood_in_line(ptr %share)
  br label %start
start:
  %line.known = phi i64 [ 0, %entry ], [ %already, %keep.up ]
  AT %share: stint ratio lost used quiet enough
  %turnp = getelementptr %Team, ptr %team, i64 0, i32 8
  %turn = load i64, ptr %turnp
  %short = lshr i64 %turn, 2
  %old = load i64, ptr %ratio
  %away = load i64, ptr %lost
  %there = load i64, ptr %used
  %spell = add i64 %away, %there
  store i64 0, ptr %lost
  store i64 0, ptr %used
  %rests = icmp ne i64 %old, 0
  %limit = select i1 %rests, i64 VERY_OFTEN, i64 OFTEN
  %often.wide = mul i64 %away, %limit
  %often = icmp sgt i64 %often.wide, %spell
  br i1 %often, label %missing, label %calm
missing:
  br i1 %asks, label %compare, label %look
look:
  %looked = call i64 @stood_in_line(ptr %share)
  br label %compare
compare:
  %line = phi i64 [ %line.known, %missing ], [ %looked, %look ]
  %unknown = icmp slt i64 %line, 0
  %line.wide = mul i64 %line, PART
  %in.line = icmp sgt i64 %line.wide, %spell
  %by.others = or i1 %unknown, %in.line
  br i1 %by.others, label %disturbed, label %leave
disturbed:
  %quarter = lshr i64 %old, 2
  %more = add i64 %old, %quarter
  %at.least = call i64 @llvm.smax.i64(i64 %more, i64 FAIR)
  %raised = call i64 @llvm.smin.i64(i64 %at.least, i64 MOST)
  %patience = load i64, ptr %enough
  %twice = shl i64 %patience, 1
  %longer = call i64 @llvm.smax.i64(i64 %twice, i64 FEW_SPELLS)
  %bounded = call i64 @llvm.smin.i64(i64 %longer, i64 MANY_SPELLS)
  %next.patience = select i1 %rests, i64 %patience, i64 %bounded
  store i64 %next.patience, ptr %enough
  br label %reset
calm:
  %seldom.wide = mul i64 %away, SELDOM
  %seldom = icmp slt i64 %seldom.wide, %spell
  br i1 %seldom, label %still, label %leave
still:
  %quiet.then = load i64, ptr %quiet
  %quiet.now = add i64 %quiet.then, 1
  store i64 %quiet.now, ptr %quiet
  %wanted = load i64, ptr %enough
  %long = icmp sge i64 %quiet.now, %wanted
  br i1 %long, label %relax, label %leave
relax:
  %forgotten = select i1 %rests, i64 %wanted, i64 FEW_SPELLS
  store i64 %forgotten, ptr %enough
  br label %reset
reset:
  %new = phi i64 [ %raised, %disturbed ], [ 0, %relax ]
  store i64 %new, ptr %ratio
  store i64 0, ptr %quiet
  br label %leave
leave:
  %rests.now = load i64, ptr %ratio
  %none = icmp eq i64 %rests.now, 0
  %length = select i1 %none, i64 %turn, i64 %short
  store i64 %length, ptr %stint
  ret void
}

define internal void @wake(ptr %share) nounwind {
entry:
  AT %share: wall debt ratio
  %sixteenths = load i64, ptr %ratio
  %rests = icmp ne i64 %sixteenths, 0
  br i1 %rests, label %place, label %go
place:
  call void @step_aside(ptr %share)
  br label %go
go:
  %asleep = load i64, ptr %wall
  call void @resume(ptr %share)
  %awake = load i64, ptr %wall
  %slept = sub i64 %awake, %asleep
  %owed = load i64, ptr %debt
  %left = sub i64 %owed, %slept
  %some = call i64 @llvm.smax.i64(i64 %left, i64 0)
  store i64 %some, ptr %debt
  ret void
}

; Where a worker wakes up, the system decides. If that is the core of the thread that it works for, they take turns
; there, and the core that is shared with others stays theirs: any other core is better.
define internal void @step_aside(ptr %share) nounwind {
entry:
  %jobp = getelementptr %Share, ptr %share, i64 0, i32 4
  %job = load atomic ptr, ptr %jobp monotonic, align 8
  %no.job = icmp eq ptr %job, null
  br i1 %no.job, label %leave, label %compare
compare:
  %corep = getelementptr %Job, ptr %job, i64 0, i32 5
  %core = load atomic i32, ptr %corep monotonic, align 4
  %here = call i32 @sched_getcpu()
  %same = icmp eq i32 %core, %here
  %known = icmp ult i32 %here, 8192
  %both = and i1 %same, %known
  br i1 %both, label %look, label %leave
look:
  %allowed = alloca [128 x i64], align 8
  %others = alloca [128 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %allowed, i8 0, i64 1024, i1 false)
  %got = call i32 @sched_getaffinity(i32 0, i64 1024, ptr %allowed)
  %failed = icmp ne i32 %got, 0
  br i1 %failed, label %leave, label %choose
choose:
  call void @llvm.memcpy.p0.p0.i64(ptr %others, ptr %allowed, i64 1024, i1 false)
  %wide = zext i32 %here to i64
  %word = lshr i64 %wide, 6
  %bit = and i64 %wide, 63
  %mask = shl i64 1, %bit
  %rest.mask = xor i64 %mask, -1
  %wordp = getelementptr i64, ptr %others, i64 %word
  %old = load i64, ptr %wordp
  %new = and i64 %old, %rest.mask
  store i64 %new, ptr %wordp
  %moved = call i32 @sched_setaffinity(i32 0, i64 1024, ptr %others) ; fails where there is no other
  %restored = call i32 @sched_setaffinity(i32 0, i64 1024, ptr %allowed)
  br label %leave
leave:
  ret void
}

define internal void @rest(ptr %share, ptr %team) nounwind {
entry:
  AT %share: debt
  %time = alloca { i64, i64 }
  call void @settle(ptr %share, ptr %team)
  %owed = load i64, ptr %debt
  %due = icmp sgt i64 %owed, DUE
  br i1 %due, label %sleep, label %leave
sleep:
  %nano = call i64 @llvm.smin.i64(i64 %owed, i64 20000000)
  %nanop = getelementptr { i64, i64 }, ptr %time, i64 0, i32 1
  store i64 0, ptr %time
  store i64 %nano, ptr %nanop
  %answer = call i32 @nanosleep(ptr %time, ptr null)
  call void @wake(ptr %share)
  br label %leave
leave:
  ret void
}
"""

UNKNOWN = """
define internal i32 @sched_getcpu() nounwind {
  ret i32 -1
}

define internal void @wake(ptr %share) nounwind {
  AT %share: since
  %now = CLOCK
  store i64 %now, ptr %since
  ret void
}

define internal void @settle(ptr %share, ptr %team) nounwind {
  ret void
}

define internal void @rest(ptr %share, ptr %team) nounwind {
  call void @wake(ptr %share)
  ret void
}
"""


def resting_code() -> str:
    """`settle`, `wake` and `rest`; where the system does not say how long a thread ran, a worker never rests."""
    code = (RESTING if has_futex() else UNKNOWN).replace("CLOCK", clock())
    text = "".join(f"\\{byte:02x}" for byte in COUNT)
    code = code.replace("COUNT_SIZE", str(len(COUNT))).replace("COUNT_TEXT", text)
    names = "|".join(CONSTANTS)
    return with_addresses(re.sub(rf"\b(?:{names})\b", lambda found: str(CONSTANTS[found[0]]), code))


def with_addresses(code: str) -> str:
    """`AT %share: name name` as the addresses of these fields of the record of a share."""

    def addresses(line: re.Match[str]) -> str:
        places = ((name, FIRST + RECORD.index(name)) for name in line[2].split())
        return "\n".join(f"  %{name} = getelementptr %Share, ptr {line[1]}, i64 0, i32 {at}" for name, at in places)

    return re.sub(r"^  AT (%\w+): ([a-z ]+)$", addresses, code, flags=re.MULTILINE)
