"""How a kernel is shared among threads, as LLVM IR.

`[0, extent)` is cut into chunks, and the chunks into shares, one for each thread of a run. A thread takes from its own
share, so that it finds in its cache what it made in the step before, and then from the shares of others: what a thread
does not begin because it lost its core, or has not woken yet, others do. The thread that runs the plan waits only for
chunks that were begun. So that these are over soon, a thread takes as many at a time as last for some hundred
microseconds, and a worker that has to share its core rests while it holds none (`resting_code.py`), before the system
takes the core away in the middle of one.

What is left of a share is a *ticket*: the number of its filling and how many chunks are left, in one word that is
changed by compare-and-exchange only. Whoever exchanges it successfully had a ticket of a step that is not over, so
what it read of the step before (the kernel, the cut) belonged to that step. Nothing else is locked, and records are
never freed, so threads that come late read valid memory and find nothing left.

A run hires free workers when its first step can use them and dismisses them at its end (`hiring_code.py`); several runs
have different workers. Where there are none, the calling thread does it all.
"""

from __future__ import annotations

import os

from burn.backend.cpu.hiring_code import HIRING
from burn.backend.cpu.resting_code import RECORD, resting_code, with_addresses
from burn.backend.cpu.waiting_code import clock, has_futex, pause, waiting_code

TEAM_SYMBOLS = ["work", "offer", "look"]
"""What `burn.backend.cpu.team` calls."""

CHUNKS = 16
"""Chunks of a share, where the grain allows it. A thread takes half of what is left at a time while that is quick."""

TYPES = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; One cache line for what changes, one for what does not while a run has the worker.
; A third one is the worker's own.
%Share = type { i64, i32, i32, [6 x i64], ptr, i64, ptr, i64, ptr, [3 x i64], RECORD, [4 x i64] }
;  0 ticket: filling << 16 | chunks left   1 whether its worker sleeps   4 job   5 number of the share   6 next share of
;  the run, in a ring   7 number of the worker   8 team   10 and on what `resting_code.py` remembers

%Job = type { ptr, ptr, i64, i64, i64, i32, [5 x i32], i32, i32, [7 x i64], %Share }
;  0 kernel   1 slots   2 extent   3 chunks   4 shares   5 the caller's core   7 chunks finished   8 whether the caller
;  sleeps   10 its share

%Place = type { %Share, %Job }  ; of one worker; a run uses the job of the first worker that it hires

%Team = type { [16 x i64], i64, ptr, ptr, i64, i64, i64, i64, i64, [8 x i64], [0 x %Place] }
;  0 free workers, a bit each   1 words of these in use   2 lock   3 condition   looks before sleeping: 4 of a worker
;  that has to rest   5 of one that has not   6 of a caller   on the clock: 7 how long chunks that are taken together
;  may last   8 how long a worker runs before it looks whether it lost its core   10 places

%Crew = type { ptr, i64, i64, ptr, ptr }  ; of a run: team, threads wanted, workers hired, job, last share of the ring
"""

SHARING = """
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.readcyclecounter()
declare i64 @llvm.umax.i64(i64, i64)

; Run chunks of a share until none is left, or the worker's stint is over. Gives how many, their job, and the chunks of
; its step. `self` is the share of the worker that does it, null for a caller.
define internal { i64, ptr, i64 } @drain(ptr %share, ptr %self, ptr %team) nounwind {
entry:
  %quickp = getelementptr %Team, ptr %team, i64 0, i32 7
  %quick = load i64, ptr %quickp
  AT %self: since stint
  %is.caller = icmp eq ptr %self, null
  %jobp = getelementptr %Share, ptr %share, i64 0, i32 4
  %numberp = getelementptr %Share, ptr %share, i64 0, i32 5
  br label %look
look:
  %count = phi i64 [ 0, %entry ], [ %count, %missed ], [ %more, %run ], [ %more, %keep ]
  %of = phi ptr [ null, %entry ], [ %of, %missed ], [ %job, %run ], [ %job, %keep ]
  %all = phi i64 [ 0, %entry ], [ %all, %missed ], [ %chunks, %run ], [ %chunks, %keep ]
  %most = phi i64 [ 65535, %entry ], [ %most, %missed ], [ %most.1, %run ], [ %most.1, %keep ]
  %ticket = load atomic i64, ptr %share acquire, align 8
  %left = and i64 %ticket, 65535
  %nothing = icmp eq i64 %left, 0
  br i1 %nothing, label %done, label %read
read:
  %job = load atomic ptr, ptr %jobp monotonic, align 8
  %number = load atomic i64, ptr %numberp monotonic, align 8
  %slotsp = getelementptr %Job, ptr %job, i64 0, i32 1
  %extentp = getelementptr %Job, ptr %job, i64 0, i32 2
  %chunksp = getelementptr %Job, ptr %job, i64 0, i32 3
  %sharesp = getelementptr %Job, ptr %job, i64 0, i32 4
  %kernel = load atomic ptr, ptr %job monotonic, align 8
  %slots = load atomic ptr, ptr %slotsp monotonic, align 8
  %extent = load atomic i64, ptr %extentp monotonic, align 8
  %chunks = load atomic i64, ptr %chunksp monotonic, align 8
  %shares = load atomic i64, ptr %sharesp monotonic, align 8
  %left.1 = add i64 %left, 1
  %half = lshr i64 %left.1, 1
  %taken = call i64 @llvm.smin.i64(i64 %half, i64 %most)
  %rest = sub i64 %ticket, %taken
  %exchange = cmpxchg ptr %share, i64 %ticket, i64 %rest acq_rel monotonic, align 8
  %took = extractvalue { i64, i1 } %exchange, 1
  br i1 %took, label %run, label %missed
missed:
  br label %look
run:
  %after = add i64 %number, 1
  %end.wide = mul i64 %chunks, %after
  %end = udiv i64 %end.wide, %shares
  %from = sub i64 %end, %left
  %to = add i64 %from, %taken
  %first.wide = mul i64 %extent, %from
  %first = udiv i64 %first.wide, %chunks
  %last.wide = mul i64 %extent, %to
  %last = udiv i64 %last.wide, %chunks
  %begun = CLOCK
  call void %kernel(ptr %slots, i64 %first, i64 %last)
  %now = CLOCK
  %more = add i64 %count, %taken
  %lasted = sub i64 %now, %begun
  %slow = icmp ugt i64 %lasted, %quick
  %fewer = lshr i64 %taken, 1
  %some = call i64 @llvm.umax.i64(i64 %fewer, i64 1)
  %most.1 = select i1 %slow, i64 %some, i64 65535
  br i1 %is.caller, label %look, label %keep
keep:
  %begin = load i64, ptr %since
  %limit = load i64, ptr %stint
  %kept = sub i64 %now, %begin
  %long = icmp ugt i64 %kept, %limit
  br i1 %long, label %done, label %look
done:
  %run.count = phi i64 [ %count, %look ], [ %more, %keep ]
  %run.of = phi ptr [ %of, %look ], [ %job, %keep ]
  %run.all = phi i64 [ %all, %look ], [ %chunks, %keep ]
  %a = insertvalue { i64, ptr, i64 } poison, i64 %run.count, 0
  %b = insertvalue { i64, ptr, i64 } %a, ptr %run.of, 1
  %c = insertvalue { i64, ptr, i64 } %b, i64 %run.all, 2
  ret { i64, ptr, i64 } %c
}

; Drain a share for its job; the last to finish wakes the caller if it sleeps. Who rests holds nothing.
define internal void @help(ptr %share, ptr %self, ptr %team) nounwind {
entry:
  AT %self: since stint
  br label %drain
drain:
  %drained = call { i64, ptr, i64 } @drain(ptr %share, ptr %self, ptr %team)
  %count = extractvalue { i64, ptr, i64 } %drained, 0
  %some = icmp ne i64 %count, 0
  br i1 %some, label %report, label %done
report:
  %job = extractvalue { i64, ptr, i64 } %drained, 1
  %chunks = extractvalue { i64, ptr, i64 } %drained, 2
  %finishedp = getelementptr %Job, ptr %job, i64 0, i32 7
  %sleepsp = getelementptr %Job, ptr %job, i64 0, i32 8
  %count.short = trunc i64 %count to i32
  %chunks.short = trunc i64 %chunks to i32
  %before = atomicrmw add ptr %finishedp, i32 %count.short seq_cst, align 8
  %now = add i32 %before, %count.short
  %last = icmp eq i32 %now, %chunks.short
  br i1 %last, label %tell, label %told
tell:
  %sleeps = load atomic i32, ptr %sleepsp seq_cst, align 4
  %caller.sleeps = icmp ne i32 %sleeps, 0
  br i1 %caller.sleeps, label %wake, label %told
wake:
  call void @rouse(ptr %finishedp, ptr %team)
  br label %told
told:
  %now.clock = CLOCK
  %begin = load i64, ptr %since
  %limit = load i64, ptr %stint
  %kept = sub i64 %now.clock, %begin
  %long = icmp ugt i64 %kept, %limit
  br i1 %long, label %pause, label %drain
pause:
  call void @rest(ptr %self, ptr %team)
  br label %drain
done:
  ret void
}

; The life of a worker.
define ptr @work(ptr %share) nounwind {
entry:
  %teamp = getelementptr %Share, ptr %share, i64 0, i32 8
  %team = load ptr, ptr %teamp
  call void @wake(ptr %share)
  %jobp = getelementptr %Share, ptr %share, i64 0, i32 4
  %nextp = getelementptr %Share, ptr %share, i64 0, i32 6
  br label %wait
wait:
  %seen = phi i64 [ 0, %entry ], [ %filling, %own ], [ %filling, %others ], [ %filling, %other ]
  %filling = call i64 @await_filling(ptr %share, i64 %seen, ptr %team)
  br label %own
own:
  call void @help(ptr %share, ptr %share, ptr %team)
  %job = load atomic ptr, ptr %jobp monotonic, align 8
  %sharesp = getelementptr %Job, ptr %job, i64 0, i32 4
  %shares = load atomic i64, ptr %sharesp monotonic, align 8
  %start = load atomic ptr, ptr %nextp monotonic, align 8
  %any = icmp ugt i64 %shares, 1
  br i1 %any, label %others, label %wait
others:
  %at = phi ptr [ %start, %own ], [ %next, %other ]
  %hops = phi i64 [ 1, %own ], [ %hops.1, %other ]
  %round = icmp eq ptr %at, %share
  br i1 %round, label %wait, label %other
other:
  call void @help(ptr %at, ptr %share, ptr %team)
  %at.nextp = getelementptr %Share, ptr %at, i64 0, i32 6
  %next = load atomic ptr, ptr %at.nextp monotonic, align 8
  %hops.1 = add i64 %hops, 1
  %go.on = icmp ult i64 %hops.1, %shares
  br i1 %go.on, label %others, label %wait
}

; The number of the next filling after `seen`.
define internal i64 @await_filling(ptr %share, i64 %seen, ptr %team) nounwind {
entry:
  %sleepsp = getelementptr %Share, ptr %share, i64 0, i32 1
  AT %share: ratio
  %sixteenths = load i64, ptr %ratio
  %rests = icmp ne i64 %sixteenths, 0
  %briefp = getelementptr %Team, ptr %team, i64 0, i32 4
  %brief = load i64, ptr %briefp
  %patientp = getelementptr %Team, ptr %team, i64 0, i32 5
  %patient = load i64, ptr %patientp
  %limit = select i1 %rests, i64 %brief, i64 %patient
  br label %look
look:
  %looks = phi i64 [ 0, %entry ], [ %looks.1, %again ]
  %ticket = load atomic i64, ptr %share acquire, align 8
  %filling = lshr i64 %ticket, 16
  %moved = icmp ne i64 %filling, %seen
  br i1 %moved, label %found, label %again
again:
  PAUSE
  %looks.1 = add i64 %looks, 1
  %go.on = icmp ult i64 %looks.1, %limit
  br i1 %go.on, label %look, label %tired
tired:
  call void @settle(ptr %share, ptr %team)
  br label %sleep
sleep:
  %armed = atomicrmw xchg ptr %sleepsp, i32 1 seq_cst, align 8
  %ticket.now = load atomic i64, ptr %share seq_cst, align 8
  %filling.now = lshr i64 %ticket.now, 16
  %moved.now = icmp ne i64 %filling.now, %seen
  br i1 %moved.now, label %disarm, label %doze
doze:
  call void @nap(ptr %sleepsp, i32 1, ptr %team)
  call void @wake(ptr %share)
  br label %sleep
disarm:
  store atomic i32 0, ptr %sleepsp monotonic, align 8
  br label %found
found:
  %result = phi i64 [ %filling, %look ], [ %filling.now, %disarm ]
  ret i64 %result
}

; Fill a share with its part of the chunks.
define internal void @fill(ptr %share, i64 %number, i64 %chunks, i64 %shares) nounwind alwaysinline {
  %begin.wide = mul i64 %number, %chunks
  %begin = udiv i64 %begin.wide, %shares
  %end.wide = add i64 %begin.wide, %chunks
  %end = udiv i64 %end.wide, %shares
  %size = sub i64 %end, %begin
  %old = load atomic i64, ptr %share monotonic, align 8
  %filling = lshr i64 %old, 16
  %filling.1 = add i64 %filling, 1
  %high = shl i64 %filling.1, 16
  %ticket = or i64 %high, %size
  %was = atomicrmw xchg ptr %share, i64 %ticket seq_cst, align 8
  ret void
}

; Run a kernel over its extent with the threads of a crew; more are hired while there are too few.
define internal void @spread(ptr %crew, ptr %kernel, ptr %slots, i64 %extent, i64 %grain) nounwind {
entry:
  %wantedp = getelementptr %Crew, ptr %crew, i64 0, i32 1
  %wanted = load i64, ptr %wantedp
  %hiredp = getelementptr %Crew, ptr %crew, i64 0, i32 2
  %small = icmp sle i64 %extent, %grain
  %single = icmp sle i64 %wanted, 1
  %alone = or i1 %small, %single
  br i1 %alone, label %little, label %several
little:
  %nothing = icmp sle i64 %extent, 0
  br i1 %nothing, label %leave, label %serial
serial:
  call void %kernel(ptr %slots, i64 0, i64 %extent)
  ret void
several:
  %less = sub i64 %extent, 1
  %full = udiv i64 %less, %grain
  %grains = add i64 %full, 1
  %useful = call i64 @llvm.smin.i64(i64 %grains, i64 %wanted)
  %helpers = sub i64 %useful, 1
  %had = load i64, ptr %hiredp
  %too.few = icmp slt i64 %had, %helpers
  br i1 %too.few, label %more, label %enough
more:
  call void @hire(ptr %crew, i64 %helpers)
  br label %enough
enough:
  %hired = load i64, ptr %hiredp
  %nobody = icmp eq i64 %hired, 0
  br i1 %nobody, label %serial, label %share
share:
  %team = load ptr, ptr %crew
  %jobpp = getelementptr %Crew, ptr %crew, i64 0, i32 3
  %job = load ptr, ptr %jobpp
  %threads = add i64 %hired, 1
  %shares = call i64 @llvm.smin.i64(i64 %grains, i64 %threads)
  %most = mul i64 %shares, CHUNKS
  %chunks = call i64 @llvm.smin.i64(i64 %grains, i64 %most)
  %slotsp = getelementptr %Job, ptr %job, i64 0, i32 1
  %extentp = getelementptr %Job, ptr %job, i64 0, i32 2
  %chunksp = getelementptr %Job, ptr %job, i64 0, i32 3
  %sharesp = getelementptr %Job, ptr %job, i64 0, i32 4
  %finishedp = getelementptr %Job, ptr %job, i64 0, i32 7
  store atomic ptr %kernel, ptr %job monotonic, align 8
  store atomic ptr %slots, ptr %slotsp monotonic, align 8
  store atomic i64 %extent, ptr %extentp monotonic, align 8
  store atomic i64 %chunks, ptr %chunksp monotonic, align 8
  store atomic i64 %shares, ptr %sharesp monotonic, align 8
  store atomic i32 0, ptr %finishedp monotonic, align 8
  %corep = getelementptr %Job, ptr %job, i64 0, i32 5
  %core = call i32 @sched_getcpu()
  store atomic i32 %core, ptr %corep monotonic, align 4
  %own = getelementptr %Job, ptr %job, i64 0, i32 10
  %own.nextp = getelementptr %Share, ptr %own, i64 0, i32 6
  %leader = load ptr, ptr %own.nextp
  call void @fill(ptr %own, i64 0, i64 %chunks, i64 %shares)
  br label %give
give:
  %member = phi ptr [ %leader, %share ], [ %member.next, %given ]
  %number = phi i64 [ 1, %share ], [ %number.1, %given ]
  call void @fill(ptr %member, i64 %number, i64 %chunks, i64 %shares)
  %sleepsp = getelementptr %Share, ptr %member, i64 0, i32 1
  %sleeps = load atomic i32, ptr %sleepsp seq_cst, align 4
  %asleep = icmp ne i32 %sleeps, 0
  br i1 %asleep, label %call, label %given
call:
  %slept = atomicrmw xchg ptr %sleepsp, i32 0 seq_cst, align 8
  call void @rouse(ptr %sleepsp, ptr %team)
  br label %given
given:
  %member.nextp = getelementptr %Share, ptr %member, i64 0, i32 6
  %member.next = load ptr, ptr %member.nextp
  %number.1 = add i64 %number, 1
  %more.shares = icmp slt i64 %number.1, %shares
  br i1 %more.shares, label %give, label %compute
compute:
  %at = phi ptr [ %own, %given ], [ %at.next, %compute ]
  %walked = phi i64 [ 0, %given ], [ %walked.1, %compute ]
  %mine = phi i64 [ 0, %given ], [ %mine.1, %compute ]
  %drained = call { i64, ptr, i64 } @drain(ptr %at, ptr null, ptr %team)
  %count = extractvalue { i64, ptr, i64 } %drained, 0
  %mine.1 = add i64 %mine, %count
  %at.nextp = getelementptr %Share, ptr %at, i64 0, i32 6
  %at.next = load ptr, ptr %at.nextp
  %walked.1 = add i64 %walked, 1
  %further = icmp slt i64 %walked.1, %shares
  br i1 %further, label %compute, label %finish
finish:
  %mine.short = trunc i64 %mine.1 to i32
  %others.finished = atomicrmw add ptr %finishedp, i32 %mine.short seq_cst, align 8
  %finished = add i32 %others.finished, %mine.short
  %total = trunc i64 %chunks to i32
  %all = icmp eq i32 %finished, %total
  br i1 %all, label %leave, label %wait
wait:
  call void @await_finish(ptr %job, i32 %total, ptr %team)
  br label %leave
leave:
  ret void
}

; Until every chunk that was begun is finished.
define internal void @await_finish(ptr %job, i32 %total, ptr %team) nounwind {
entry:
  %finishedp = getelementptr %Job, ptr %job, i64 0, i32 7
  %sleepsp = getelementptr %Job, ptr %job, i64 0, i32 8
  %briefp = getelementptr %Team, ptr %team, i64 0, i32 6
  %brief = load i64, ptr %briefp
  br label %look
look:
  %looks = phi i64 [ 0, %entry ], [ %looks.1, %again ]
  %finished = load atomic i32, ptr %finishedp acquire, align 8
  %all = icmp eq i32 %finished, %total
  br i1 %all, label %leave, label %again
again:
  PAUSE
  %looks.1 = add i64 %looks, 1
  %go.on = icmp ult i64 %looks.1, %brief
  br i1 %go.on, label %look, label %sleep
sleep:
  %armed = atomicrmw xchg ptr %sleepsp, i32 1 seq_cst, align 4
  %finished.now = load atomic i32, ptr %finishedp seq_cst, align 8
  %all.now = icmp eq i32 %finished.now, %total
  br i1 %all.now, label %disarm, label %doze
doze:
  call void @nap(ptr %finishedp, i32 %finished.now, ptr %team)
  br label %sleep
disarm:
  store atomic i32 0, ptr %sleepsp monotonic, align 4
  br label %leave
leave:
  ret void
}

; How long looks take, on the clock.
define i64 @look(i64 %times) nounwind {
entry:
  %before = CLOCK
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.1, %loop ]
  PAUSE
  %i.1 = add i64 %i, 1
  %go.on = icmp slt i64 %i.1, %times
  br i1 %go.on, label %loop, label %done
done:
  %after = CLOCK
  %time = sub i64 %after, %before
  ret i64 %time
}
"""

ALONE = """
define internal void @spread(ptr %crew, ptr %kernel, ptr %slots, i64 %extent, i64 %grain) nounwind {
entry:
  %nothing = icmp sle i64 %extent, 0
  br i1 %nothing, label %leave, label %serial
serial:
  call void %kernel(ptr %slots, i64 0, i64 %extent)
  br label %leave
leave:
  ret void
}

define internal void @dismiss(ptr %crew) nounwind {
  ret void
}
"""


def team_code(supported: bool, futex: bool | None = None) -> str:
    """`spread` and `dismiss` for this system; without threads one thread does it all."""
    types = TYPES.replace("RECORD", ", ".join("i64" for _ in RECORD))
    if not supported:
        return types + ALONE
    sleeping = waiting_code(has_futex() if futex is None else futex)
    sharing = SHARING.replace("CHUNKS", str(CHUNKS)).replace("PAUSE", pause()).replace("CLOCK", clock())
    return types + sleeping + resting_code() + with_addresses(sharing) + HIRING


def has_threads() -> bool:
    """Whether this system has POSIX threads."""
    return os.name == "posix"
