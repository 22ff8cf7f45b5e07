"""How a run gets its workers and lets them go, as LLVM IR.

    hire(crew, helpers)   have up to so many workers, as far as there are free ones
    dismiss(crew)         let all of them go
    offer(team, share)    a worker is free

Free workers are bits of a few words; whoever takes a bit down has the worker. The shares of a run are a ring that
starts with the caller's own, which lies in the place of the first worker: so that one goes last.
"""

from __future__ import annotations

HIRING = """
; Have up to `helpers` workers, as far as there are free ones.
define internal void @hire(ptr %crew, i64 %helpers) nounwind {
entry:
  %team = load ptr, ptr %crew
  %hiredp = getelementptr %Crew, ptr %crew, i64 0, i32 2
  %jobpp = getelementptr %Crew, ptr %crew, i64 0, i32 3
  %tailp = getelementptr %Crew, ptr %crew, i64 0, i32 4
  %wordsp = getelementptr %Team, ptr %team, i64 0, i32 1
  %words = load atomic i64, ptr %wordsp acquire, align 8
  br label %word
word:
  %w = phi i64 [ 0, %entry ], [ %w.1, %empty ]
  %left = icmp ult i64 %w, %words
  br i1 %left, label %try, label %done
try:
  %freep = getelementptr %Team, ptr %team, i64 0, i32 0, i64 %w
  %free = load atomic i64, ptr %freep acquire, align 8
  %none = icmp eq i64 %free, 0
  br i1 %none, label %empty, label %claim
empty:
  %w.1 = add i64 %w, 1
  br label %word
claim:
  %minus = sub i64 %free, 1
  %rest = and i64 %free, %minus
  %exchange = cmpxchg ptr %freep, i64 %free, i64 %rest acq_rel monotonic, align 8
  %got = extractvalue { i64, i1 } %exchange, 1
  br i1 %got, label %join, label %try
join:
  %bit = call i64 @llvm.cttz.i64(i64 %free, i1 true)
  %base = shl i64 %w, 6
  %index = or i64 %base, %bit
  %share = getelementptr %Team, ptr %team, i64 0, i32 10, i64 %index, i32 0
  %hired = load i64, ptr %hiredp
  %is.first = icmp eq i64 %hired, 0
  br i1 %is.first, label %first, label %append
first:
  %job.new = getelementptr %Team, ptr %team, i64 0, i32 10, i64 %index, i32 1
  store ptr %job.new, ptr %jobpp
  %own.new = getelementptr %Job, ptr %job.new, i64 0, i32 10
  %own.jobp = getelementptr %Share, ptr %own.new, i64 0, i32 4
  store atomic ptr %job.new, ptr %own.jobp monotonic, align 8
  store ptr %own.new, ptr %tailp
  br label %append
append:
  %job = load ptr, ptr %jobpp
  %own = getelementptr %Job, ptr %job, i64 0, i32 10
  %tail = load ptr, ptr %tailp
  %hired.1 = add i64 %hired, 1
  %share.jobp = getelementptr %Share, ptr %share, i64 0, i32 4
  %share.numberp = getelementptr %Share, ptr %share, i64 0, i32 5
  %share.nextp = getelementptr %Share, ptr %share, i64 0, i32 6
  %tail.nextp = getelementptr %Share, ptr %tail, i64 0, i32 6
  store atomic ptr %job, ptr %share.jobp monotonic, align 8
  store atomic i64 %hired.1, ptr %share.numberp monotonic, align 8
  store atomic ptr %own, ptr %share.nextp monotonic, align 8
  store atomic ptr %share, ptr %tail.nextp monotonic, align 8
  store ptr %share, ptr %tailp
  store i64 %hired.1, ptr %hiredp
  %enough = icmp sge i64 %hired.1, %helpers
  br i1 %enough, label %done, label %try
done:
  ret void
}

; Let the workers of a run go. The first one goes last: its place has the job.
define internal void @dismiss(ptr %crew) nounwind {
entry:
  %hiredp = getelementptr %Crew, ptr %crew, i64 0, i32 2
  %hired = load i64, ptr %hiredp
  %nobody = icmp eq i64 %hired, 0
  br i1 %nobody, label %done, label %some
some:
  %team = load ptr, ptr %crew
  %jobpp = getelementptr %Crew, ptr %crew, i64 0, i32 3
  %job = load ptr, ptr %jobpp
  %own.nextp = getelementptr %Job, ptr %job, i64 0, i32 10, i32 6
  %leader = load ptr, ptr %own.nextp
  %leader.nextp = getelementptr %Share, ptr %leader, i64 0, i32 6
  %second = load ptr, ptr %leader.nextp
  br label %others
others:
  %at = phi ptr [ %second, %some ], [ %next, %other ]
  %count = phi i64 [ 1, %some ], [ %count.1, %other ]
  %go.on = icmp slt i64 %count, %hired
  br i1 %go.on, label %other, label %first
other:
  %at.nextp = getelementptr %Share, ptr %at, i64 0, i32 6
  %next = load ptr, ptr %at.nextp
  call void @offer(ptr %team, ptr %at)
  %count.1 = add i64 %count, 1
  br label %others
first:
  call void @offer(ptr %team, ptr %leader)
  br label %done
done:
  ret void
}

; A worker is free.
define void @offer(ptr %team, ptr %share) nounwind {
  %indexp = getelementptr %Share, ptr %share, i64 0, i32 7
  %index = load i64, ptr %indexp
  %word = lshr i64 %index, 6
  %bit = and i64 %index, 63
  %mask = shl i64 1, %bit
  %freep = getelementptr %Team, ptr %team, i64 0, i32 0, i64 %word
  %before = atomicrmw or ptr %freep, i64 %mask release, align 8
  ret void
}
"""
