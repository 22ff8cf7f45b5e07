"""How a plan runs again and again in one native call, as LLVM IR.

    repeat(turns, count)   run up to so many steps; how many were run to their end

Before a step, addresses are written to where the binding of the plan finds them: each is a row that knows its address
of this step and of the next. A linear one (an element along the first dim) moves on by `add`; one of two buffers that
take turns changes over by exclusive or with `flip`. After the step, what a body only hands on is copied.

A condition, if there is one, is another plan that runs before each step; the byte that it makes says whether to go on.
Steps end early where the condition says so (`state` 1), and where a kernel met an index outside its dim, in the body
(2) or in the condition (3).
"""

from __future__ import annotations

import ctypes

DONE, STOPPED, BODY_FAULT, CONDITION_FAULT = range(4)
"""Why steps ended."""

REPEATING = """
%Row = type { ptr, i64, i64, i64, i64 }   ; cell, address now, address of the next step, flip, add
%Copy = type { ptr, ptr, i64 }            ; cells of the source and of the destination, bytes
%Turns = type { ptr, i64, ptr, i64, ptr, ptr, i64, ptr, ptr, i64, ptr, i64 }  ; see Turns below

; Whether a kernel has left a fault: each one's words are 0 and -1 where it has not.
define internal i1 @faulty(ptr %status, i64 %count) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.1, %one ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %clean
one:
  %at = shl i64 %i, 1
  %lowp = getelementptr i64, ptr %status, i64 %at
  %low = load i64, ptr %lowp
  %highp = getelementptr i64, ptr %lowp, i64 1
  %high = load i64, ptr %highp
  %high.1 = add i64 %high, 1
  %both = or i64 %low, %high.1
  %bad = icmp ne i64 %both, 0
  %i.1 = add nuw i64 %i, 1
  br i1 %bad, label %fault, label %look
fault:
  ret i1 true
clean:
  ret i1 false
}

define i64 @repeat(ptr %turns, i64 %count) nounwind {
entry:
  %rows = load ptr, ptr %turns
  %row.countp = getelementptr %Turns, ptr %turns, i64 0, i32 1
  %row.count = load i64, ptr %row.countp
  %copiesp = getelementptr %Turns, ptr %turns, i64 0, i32 2
  %copies = load ptr, ptr %copiesp
  %copy.countp = getelementptr %Turns, ptr %turns, i64 0, i32 3
  %copy.count = load i64, ptr %copy.countp
  %bodyp = getelementptr %Turns, ptr %turns, i64 0, i32 4
  %body = load ptr, ptr %bodyp
  %body.statusp = getelementptr %Turns, ptr %turns, i64 0, i32 5
  %body.status = load ptr, ptr %body.statusp
  %body.checksp = getelementptr %Turns, ptr %turns, i64 0, i32 6
  %body.checks = load i64, ptr %body.checksp
  %askp = getelementptr %Turns, ptr %turns, i64 0, i32 7
  %ask = load ptr, ptr %askp
  %ask.statusp = getelementptr %Turns, ptr %turns, i64 0, i32 8
  %ask.status = load ptr, ptr %ask.statusp
  %ask.checksp = getelementptr %Turns, ptr %turns, i64 0, i32 9
  %ask.checks = load i64, ptr %ask.checksp
  %truthp = getelementptr %Turns, ptr %turns, i64 0, i32 10
  %truth.cell = load ptr, ptr %truthp
  %statep = getelementptr %Turns, ptr %turns, i64 0, i32 11
  %asks = icmp ne ptr %truth.cell, null
  br label %step
step:
  %done = phi i64 [ 0, %entry ], [ %done.1, %next ]
  %go.on = icmp slt i64 %done, %count
  br i1 %go.on, label %row, label %finish
row:
  %r = phi i64 [ 0, %step ], [ %r.1, %row.one ]
  %more.rows = icmp slt i64 %r, %row.count
  br i1 %more.rows, label %row.one, label %placed
row.one:
  %row.at = getelementptr %Row, ptr %rows, i64 %r
  %cell = load ptr, ptr %row.at
  %nowp = getelementptr %Row, ptr %row.at, i64 0, i32 1
  %now = load i64, ptr %nowp
  %thenp = getelementptr %Row, ptr %row.at, i64 0, i32 2
  %then = load i64, ptr %thenp
  %flipp = getelementptr %Row, ptr %row.at, i64 0, i32 3
  %flip = load i64, ptr %flipp
  %addp = getelementptr %Row, ptr %row.at, i64 0, i32 4
  %add = load i64, ptr %addp
  store i64 %now, ptr %cell
  store i64 %then, ptr %nowp
  %flipped = xor i64 %then, %flip
  %moved = add i64 %flipped, %add
  store i64 %moved, ptr %thenp
  %r.1 = add nuw i64 %r, 1
  br label %row
placed:
  br i1 %asks, label %condition, label %run
condition:
  %nothing.asked = icmp eq ptr %ask, null
  br i1 %nothing.asked, label %answer, label %question
question:
  call void @run_record(ptr %ask)
  %ask.bad = call i1 @faulty(ptr %ask.status, i64 %ask.checks)
  br i1 %ask.bad, label %finish, label %answer
answer:
  %truth = load ptr, ptr %truth.cell
  %byte = load i8, ptr %truth
  %holds = icmp ne i8 %byte, 0
  br i1 %holds, label %run, label %finish
run:
  %nothing = icmp eq ptr %body, null
  br i1 %nothing, label %copy, label %compute
compute:
  call void @run_record(ptr %body)
  %bad = call i1 @faulty(ptr %body.status, i64 %body.checks)
  br i1 %bad, label %finish, label %copy
copy:
  %c = phi i64 [ 0, %run ], [ 0, %compute ], [ %c.1, %copy.one ]
  %more.copies = icmp slt i64 %c, %copy.count
  br i1 %more.copies, label %copy.one, label %next
copy.one:
  %copy.at = getelementptr %Copy, ptr %copies, i64 %c
  %source.cell = load ptr, ptr %copy.at
  %target.cellp = getelementptr %Copy, ptr %copy.at, i64 0, i32 1
  %target.cell = load ptr, ptr %target.cellp
  %bytesp = getelementptr %Copy, ptr %copy.at, i64 0, i32 2
  %bytes = load i64, ptr %bytesp
  %source = load ptr, ptr %source.cell
  %target = load ptr, ptr %target.cell
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  %c.1 = add nuw i64 %c, 1
  br label %copy
next:
  %done.1 = add nuw i64 %done, 1
  br label %step
finish:
  %state = phi i64 [ 0, %step ], [ 1, %answer ], [ 2, %compute ], [ 3, %question ]
  store i64 %state, ptr %statep
  ret i64 %done
}
"""


class Turns(ctypes.Structure):
    """The arguments of `repeat`: rows and copies, the records of the two plans and where their kernels leave faults,
    the cell with the address of the condition's byte (null where there is no condition), and why the steps ended."""

    _fields_ = (
        ("rows", ctypes.c_void_p),
        ("row_count", ctypes.c_int64),
        ("copies", ctypes.c_void_p),
        ("copy_count", ctypes.c_int64),
        ("body", ctypes.c_void_p),
        ("body_status", ctypes.c_void_p),
        ("body_checks", ctypes.c_int64),
        ("condition", ctypes.c_void_p),
        ("condition_status", ctypes.c_void_p),
        ("condition_checks", ctypes.c_int64),
        ("truth", ctypes.c_void_p),
        ("state", ctypes.c_int64),
    )
