"""Settings of the runtime; `regrad.config` is this module.

Attributes:
  segment_ops: device operations per compiled segment, where a graph is so large that it must be cut.
  host_runs: how often a cold, small segment is executed with NumPy before it is compiled; 0 compiles at once.
  host_cost: estimated cost (element operations) up to which a segment counts as small.
"""

segment_ops = 256
host_runs = 3
host_cost = 200_000
