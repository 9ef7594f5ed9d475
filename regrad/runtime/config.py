"""Settings of the runtime; `regrad.config` is this module.

Attributes:
  segment_ops: device operations per compiled segment, where a graph is so large that it must be cut.
  host_runs: how often a cold, small segment is executed with NumPy before it is compiled; 0 compiles at once.
  host_cost: estimated cost (element operations) up to which a segment counts as small.
  tiny_ops, tiny_cost: a segment of so few operations and so little work is always executed with NumPy, which has its
    result before a compiled program would have been called.

NumPy and XLA may differ in the last bits of transcendental functions. Which of them runs depends on the program and on the
number of the run alone, never on time, so a program repeated is repeated bit for bit; with `host_runs = tiny_ops = 0`
everything is compiled, and every run of a session agrees bit for bit with every other.
"""

segment_ops = 256
host_runs = 3
host_cost = 200_000
tiny_ops = 12
tiny_cost = 4_000
