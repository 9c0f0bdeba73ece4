"""Fuzzing of the public interface: `python -m tests.fuzz --calls N --seed S`.

`surface` finds every public constructor, function, method and property; `worlds` and `objects` make what they are
called on, `valid` valid arguments, `wrong` values that no argument is to take in silence; `call` makes call number i of
a seed and judges what came of it; `worker` runs calls in a process of its own, `runs` watches such processes.

A call is one of: fine; refused, by an error of `trajopt.errors`; python, an error that Python itself gives a wrong
signature; or a fault: raw, another error; nonsense, a result that is not finite from finite arguments, or something
taken for a number that is none; assigned, an attribute set that is fixed; long, a message of pages; crash; hang.
"""
