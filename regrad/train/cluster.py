"""Clusters: Regrad runs in one process. A cluster of one task is that process; more are refused."""

import itertools

from regrad.core.device import DeviceSpec
from regrad.core.shown import Shown

_ONE = "Regrad runs in one process; start one copy per machine, or run the program with a cluster of one task."


class ClusterSpec:
    """The tasks of each job: {job: [addresses]}, or {job: {number: address}}."""

    def __init__(self, cluster):
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
            return
        if not isinstance(cluster, dict):
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a "
                            "`ClusterDef` protocol buffer")
        self._jobs = {job: dict(tasks) if isinstance(tasks, dict) else dict(enumerate(tasks))
                      for job, tasks in sorted(cluster.items())}

    @property
    def jobs(self):
        """The names of the jobs."""
        return list(self._jobs)

    def as_dict(self):
        """Returns {job: list of addresses, or dict where numbers are missing}."""
        return {job: list(tasks.values()) if sorted(tasks) == list(range(len(tasks))) else dict(tasks)
                for job, tasks in self._jobs.items()}

    def _job(self, name):
        if name not in self._jobs:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._jobs[name]

    def num_tasks(self, job_name):
        """Returns how many tasks a job has."""
        return len(self._job(job_name))

    def task_indices(self, job_name):
        """Returns the numbers of a job's tasks."""
        return sorted(self._job(job_name))

    def task_address(self, job_name, task_index):
        """Returns the address of a task."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name):
        """Returns the addresses of a job's tasks, None where a number is missing."""
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def __bool__(self):
        return bool(self._jobs)

    def __repr__(self):
        return f"ClusterSpec({self.as_dict()})"

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = None  # type: ignore[assignment]


class Server(Shown):
    """The one task of a cluster: `tf.Session(server.target)`.

    Raises:
      NotImplementedError: the cluster has more than one task.
    """

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
        spec = ClusterSpec(server_or_cluster_def)
        if sum(len(tasks) for tasks in spec._jobs.values()) > 1:
            raise NotImplementedError("tf.train.Server: the cluster has more than one task. " + _ONE)
        self.server_def = spec
        self.target = ""

    @staticmethod
    def create_local_server(config=None, start=True):
        """Returns a server of this process alone."""
        return Server({"local": ["localhost:0"]})

    def start(self):
        """Does nothing: there is nobody to wait for."""

    def join(self):
        """Refused: it would wait for ever."""
        raise NotImplementedError("tf.train.Server.join: a parameter server would wait here for other processes. " + _ONE)


_HELD = ("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
         "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "VarHandleOp",
         "BoostedTreesEnsembleResourceHandleOp")


def replica_device_setter(ps_tasks=0, ps_device="/job:ps", worker_device="/job:worker", merge_devices=True, cluster=None,
                          ps_ops=None, ps_strategy=None):
    """Returns a function for `tf.device` that names tasks of the parameter servers for variables in turn; None without any.

    Args:
      ps_tasks: how many tasks hold variables; `cluster` tells too.
      ps_device, worker_device: what is named for operations of types in `ps_ops`, and for all others.
      merge_devices: whether operations that have a device get what it lacks.
      ps_ops: op types, those of variables and tables by default.
      ps_strategy: function of an operation that returns the number of its task.

    Raises:
      TypeError: `ps_strategy` is no function.
    """
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        ps_tasks = len(jobs.get(DeviceSpec.from_string(ps_device).job, ()))
    if not ps_tasks:
        return None
    if ps_strategy is None:
        numbers = itertools.cycle(range(ps_tasks))
        ps_strategy = lambda op: next(numbers)  # noqa: E731
    elif not callable(ps_strategy):
        raise TypeError(f"ps_strategy must be callable, got {ps_strategy!r}.")
    held = _HELD if ps_ops is None else ps_ops

    def chosen(op):
        if not merge_devices and op.device:
            return op.device
        own = DeviceSpec.from_string(op.device or "")
        device = DeviceSpec.from_string((ps_device if op.type in held else worker_device) or "")
        if op.type in held and device.job and own.job in (None, device.job):
            device.task = ps_strategy(op)
        device.merge_from(own)
        return device.to_string()

    return chosen
