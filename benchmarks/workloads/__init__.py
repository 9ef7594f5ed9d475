"""The workloads, one file each, in the order of the tables.

A workload has `ROWS` (label -> sizes), perhaps `QUICK` (the same for a quick run), `data(**sizes)` for NumPy
inputs from a fixed seed, and a function for each kind of system: `tf1_program(tf, data, **sizes)`, which
Regrad and TensorFlow share, `torch_program` and `jax_program`. Each returns a step, a function that runs once
and returns numbers to compare across the systems; or a dictionary of named steps, or of figures it measured
itself. A workload with `script(system)` gives the text of a whole program instead.

Optional: `METRICS` (which figures the tables show), `PEERS` (which systems count in the ratio), `REPEATS`,
`TIMEOUT` in seconds, `summary(rows)` (lines printed below the tables).
"""

ORDER = (
    "script",
    "five_ops",
    "host_functions",
    "reversal",
    "elementwise",
    "chain",
    "mlp",
    "dann",
    "lstm",
    "embedding",
    "maml",
    "separable",
    "vgg16_train",
    "vgg16_guided",
    "graph_build",
    "op_families",
    "overriding",
    "recomputing",
    "checks",
)
