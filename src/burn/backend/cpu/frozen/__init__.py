"""Frozen plans: what is left of a plan whose weights never change, as plain data, and what runs it.

A plan decides at every run which of its steps to skip. A frozen one has decided: what follows from constants alone has
been computed, and the rest is a table of steps and slots that needs neither program nor lowering to run, and that a
file can hold. Its numbers may depend on named sizes, so that one table serves inputs of many shapes.

- `form`: the data; `expressions`: numbers that depend on sizes, and functions of them;
- `making`: the form of a plan, and `constants`, which runs what depends on them alone; `rooms`: where values lie;
- `binding`: a form on memory, for some sizes; `running`: what is called; `owner`: who gives it memory;
- `fixed`: the runner of a program in this process, made again when its plan would be another one;
- `stored`: frozen plans in files, with forms as in `encoding` and `sums` of what they hold.
"""
