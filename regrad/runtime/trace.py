"""What a run did, and how long each step took: `RunOptions`, `RunMetadata`, and the settings TF1 programs pass.

    metadata = tf.RunMetadata()
    session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    print(metadata)                                  # a table of steps
    open("trace.json", "w").write(metadata.to_chrome_trace())     # for chrome://tracing or Perfetto
"""

import time

from regrad.core.errors import nearest
from regrad.core.shapes import as_int
from regrad.core.shown import Shown
from regrad.core.tabular import Record, Table


class Options:
    """Named settings, kept as attributes; nested ones (`config.gpu_options.allow_growth = True`) appear when used.

    Attributes:
      FIELDS: TF's names of the settings, for a class that knows them; any other name is refused then, as TF does.
    """

    FIELDS: frozenset[str] = frozenset()

    def __init__(self, **settings):
        for name, value in settings.items():
            self._check(name, ValueError)
            self.__dict__[name] = value

    def _check(self, name, error):
        if self.FIELDS and name not in self.FIELDS:
            raise error(f'Protocol message {type(self).__name__} has no "{name}" field{nearest(name, self.FIELDS)}')

    def __setattr__(self, name, value):
        self._check(name, AttributeError)
        self.__dict__[name] = value

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._check(name, AttributeError)
        value = self.__dict__[name] = Options()
        return value

    def __bool__(self):
        return bool(self.__dict__)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


class ConfigProto(Options):
    """Settings of a session. Accepted: XLA decides on devices, threads and memory."""

    FIELDS = frozenset((
        "allow_soft_placement", "cluster_def", "device_count", "device_filters", "experimental", "gpu_options",
        "graph_options", "inter_op_parallelism_threads", "intra_op_parallelism_threads", "isolate_session_state",
        "log_device_placement", "operation_timeout_in_ms", "placement_period", "rpc_options",
        "session_inter_op_thread_pool", "share_cluster_devices_in_session", "use_per_session_threads"))


class GPUOptions(Options):
    """Accepted."""

    FIELDS = frozenset((
        "allocator_type", "allow_growth", "deferred_deletion_bytes", "experimental", "force_gpu_compatible",
        "per_process_gpu_memory_fraction", "polling_active_delay_usecs", "polling_inactive_delay_msecs",
        "visible_device_list"))


class OptimizerOptions(Options):
    """Accepted."""

    OFF, ON_1, ON_2 = 0, 1, 2
    L0, L1 = -1, 0


class GraphOptions(Options):
    """Accepted."""


class RunOptions(Options):
    """How to run: `RunOptions(trace_level=RunOptions.FULL_TRACE)` records every step in a RunMetadata.

    Raises ValueError for a level that is none, and for a setting that is not TF's, with the nearest.
    """

    LEVELS = ("NO_TRACE", "SOFTWARE_TRACE", "HARDWARE_TRACE", "FULL_TRACE")
    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)
    FIELDS = frozenset(("debug_options", "experimental", "inter_op_thread_pool", "output_partition_graphs",
                        "report_tensor_allocations_upon_oom", "timeout_in_ms", "trace_level"))

    def __init__(self, trace_level=0, timeout_in_ms=0, report_tensor_allocations_upon_oom=False, **settings):
        if trace_level in self.LEVELS:  # a message takes an enum's name, too
            trace_level = self.LEVELS.index(trace_level)
        if trace_level not in range(4):
            raise ValueError(f"RunOptions: trace_level is one of RunOptions.{', '.join(self.LEVELS)}; got {trace_level!r}.")
        super().__init__(trace_level=trace_level, timeout_in_ms=as_int(timeout_in_ms or 0, "RunOptions: timeout_in_ms"),
                         report_tensor_allocations_upon_oom=report_tensor_allocations_upon_oom, **settings)


class Step(Record):
    """One step of a run.

    Attributes:
      name: what it was.
      kind: "segment (XLA)", "segment (NumPy)", "host", or "compiler": waiting for a segment to be compiled.
      start, seconds: since the run began, and how long it took, in seconds.
      ops: number of operations.
      compiled: True when something was compiled in this step: elsewhere than in one of "compiler", by a host function.
    """

    def __init__(self, name, kind, start, seconds, ops, compiled):
        self.name, self.kind, self.start, self.seconds = name, kind, start, seconds
        self.ops, self.compiled = ops, compiled

    def data(self):
        return dict(vars(self))

    def __str__(self):
        return f"{self.name}: {self.kind}, {self.ops} operations, {1e3 * self.seconds:.3f} ms"


class RunMetadata(Shown):
    """What `session.run(..., options=RunOptions(trace_level=...), run_metadata=this)` filled in.

    It prints as two tables, of the steps in order and by time. A second run has no row for waiting for the compiler.

    Attributes:
      steps: list of Steps, in order.
      plan: the Plan, printable.
      seconds: the whole run.
    """

    def __init__(self):
        self.steps = []
        self.plan = None
        self.seconds = 0.0

    def HasField(self, name):
        """True for "step_stats" when steps were recorded."""
        return name == "step_stats" and self.plan is not None

    def to_chrome_trace(self):
        """Returns the steps as JSON for chrome://tracing."""
        import json

        events = [{"name": s.name, "cat": s.kind, "ph": "X", "ts": s.start * 1e6, "dur": s.seconds * 1e6, "pid": 0, "tid": 0,
                   "args": {"ops": s.ops, "compiled": s.compiled}} for s in self.steps]
        return json.dumps({"traceEvents": events})

    def SerializeToString(self):
        """Returns the steps as TensorFlow's RunMetadata bytes, for `FileWriter.add_run_metadata`."""
        return self._message().SerializeToString()

    @property
    def step_stats(self):
        """The steps as TensorFlow's StepStats: `dev_stats[0].node_stats`, a node a step."""
        return self._message().step_stats

    def _message(self):
        from regrad.core.messages import RunMetadataProto

        nodes = [{"node_name": s.name, "all_start_micros": int(s.start * 1e6), "all_end_rel_micros": int(s.seconds * 1e6),
                  "timeline_label": f"{s.kind}, {s.ops} operations"} for s in self.steps]
        device = {"device": "/device:CPU:0", "node_stats": nodes}
        return RunMetadataProto(step_stats={"dev_stats": [device]} if self.plan is not None else {})

    def tables(self):
        """Returns [the steps in order, the steps by time, longest first] as tables."""
        if self.plan is None:
            return [Table("No run was recorded: pass options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) to run, too.",
                          [], [])]
        whole = max(self.seconds, 1e-12)

        def rows(steps):
            return [(s.name, s.kind, s.ops, f"{1e3 * s.seconds:.3f}", f"{s.seconds / whole:.0%}") for s in steps]

        columns, rest = ["step", "kind", "ops", "ms", "share"], self.seconds - sum(s.seconds for s in self.steps)
        between = Step("between the steps", "", 0.0, max(rest, 0.0), "", False)
        by_time = sorted([*self.steps, between], key=lambda s: -s.seconds)
        return [Table(f"Run of {1e3 * self.seconds:.3f} ms, {len(self.steps)} steps", columns, rows(self.steps)),
                Table("By time", columns, rows(by_time))]

    def __str__(self):
        return "\n\n".join(map(str, self.tables()))

    __repr__ = __str__

    def _repr_html_(self):
        return "".join(t.html() for t in self.tables())


class Timeline:
    """The steps of `RunMetadata.step_stats` as JSON for chrome://tracing, under TensorFlow's name.

    Args:
      step_stats: StepStats, TensorFlow's too.
      graph: accepted.
    """

    def __init__(self, step_stats, graph=None):
        self._stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow=True, show_memory=False, op_time="schedule"):
        """Returns the text of the trace; there are no memory counters and no arrows between steps to show."""
        import json

        events = []
        for pid, device in enumerate(self._stats.dev_stats):
            events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": f"{device.device} Compute"}})
            events += [{"name": node.node_name, "cat": "Op", "ph": "X", "pid": pid, "tid": 0, "ts": node.all_start_micros,
                        "dur": node.all_end_rel_micros, "args": {"name": node.node_name, "label": node.timeline_label}}
                       for node in device.node_stats]
        return json.dumps({"traceEvents": events}, indent=4)


class Recorder:
    """Times the steps of one run for a RunMetadata."""

    def __init__(self, metadata):
        self.metadata = metadata
        metadata.steps = []  # those of an earlier run are gone, as in TensorFlow
        self.began = time.perf_counter()

    def step(self, name, kind, ops, action):
        """Returns `action()`, timed until its results are there."""
        from regrad.runtime import segment

        before, start = segment.compile_count, time.perf_counter()
        results = action()
        for r in results or ():
            if hasattr(r, "block_until_ready"):
                r.block_until_ready()
        end = time.perf_counter()
        self.metadata.steps.append(Step(name, kind, start - self.began, end - start, ops,
                                        segment.compile_count > before))
        return results

    def done(self, plan):
        self.metadata.plan = plan
        self.metadata.seconds = time.perf_counter() - self.began
