"""RunConfig: where an Estimator keeps its checkpoints, and how often it saves, writes summaries and logs."""

import copy
import json
import numbers
import os

from regrad import logging
from regrad.core.shown import Shown
from regrad.runtime.trace import ConfigProto
from regrad.train.cluster import ClusterSpec

_UNSET = object()
_BOTH = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."


class RunConfig(Shown):
    """The settings of an Estimator; `replace()` returns a copy with others.

    Attributes:
      cluster_spec, task_type, task_id, is_chief, master, evaluation_master, num_ps_replicas, num_worker_replicas,
      global_id_in_cluster, service: of the one process that there is.
      The arguments, by their names.
    """

    _REPLACEABLE = ["model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
                    "session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps",
                    "train_distribute", "device_fn", "protocol", "eval_distribute", "experimental_distribute",
                    "experimental_max_worker_delay_secs", "session_creation_timeout_secs"]
    evaluation_master = ""
    global_id_in_cluster = num_ps_replicas = task_id = 0
    is_chief, num_worker_replicas, task_type = True, 1, "worker"

    def __init__(self, model_dir=None, tf_random_seed=None, save_summary_steps=100, save_checkpoints_steps=_UNSET,
                 save_checkpoints_secs=_UNSET, session_config=None, keep_checkpoint_max=5, keep_checkpoint_every_n_hours=10000,
                 log_step_count_steps=100, train_distribute=None, device_fn=None, protocol=None, eval_distribute=None,
                 experimental_distribute=None, experimental_max_worker_delay_secs=None, session_creation_timeout_secs=7200):
        """Args:
          model_dir: folder of the checkpoints and event files.
          tf_random_seed: the graph's seed.
          save_summary_steps: how often to write summaries; None or 0 for never.
          save_checkpoints_steps, save_checkpoints_secs: how often to save, one of them; every 600 seconds by default. Both
            None: never.
          session_config: a ConfigProto.
          keep_checkpoint_max: how many checkpoints stay; None or 0 keeps all.
          keep_checkpoint_every_n_hours: besides, one per so many hours stays for good.
          log_step_count_steps: how often to log the loss and the steps per second; None for never.
          The others: accepted; one process computes.

        Raises:
          ValueError: both intervals, an empty or a contradictory `model_dir`, a number out of its range, or an environment
            variable TF_CONFIG that names a cluster of several tasks.
        """
        if save_checkpoints_steps is _UNSET and save_checkpoints_secs is _UNSET:
            save_checkpoints_secs = 600
        found = {"save_checkpoints_steps": save_checkpoints_steps, "save_checkpoints_secs": save_checkpoints_secs}
        found = {name: None if value is _UNSET else value for name, value in found.items()}
        if None not in found.values():
            raise ValueError(_BOTH)
        environment = json.loads(os.environ.get("TF_CONFIG") or "{}")
        self.cluster_spec = ClusterSpec(environment.get("cluster", {}))
        self.service = environment.get("service")
        self.master = environment.get("session_master", "")
        self._take_task(environment.get("task", {}))
        self._set({
            "model_dir": _folder(model_dir, environment), "tf_random_seed": tf_random_seed,
            "save_summary_steps": save_summary_steps, **found, "session_config": session_config,
            "keep_checkpoint_max": keep_checkpoint_max, "keep_checkpoint_every_n_hours": keep_checkpoint_every_n_hours,
            "log_step_count_steps": log_step_count_steps, "train_distribute": train_distribute, "device_fn": device_fn,
            "protocol": protocol, "eval_distribute": eval_distribute, "experimental_distribute": experimental_distribute,
            "experimental_max_worker_delay_secs": experimental_max_worker_delay_secs,
            "session_creation_timeout_secs": session_creation_timeout_secs})

    def _take_task(self, task):
        jobs = self.cluster_spec.as_dict()
        if sum(len(tasks) for tasks in jobs.values()) > 1:
            raise ValueError(f"TF_CONFIG names a cluster of several tasks, {jobs}; Regrad runs in one process. Unset "
                             "TF_CONFIG, or give it a cluster of one task.")
        if jobs:
            self.task_type, self.task_id = next(iter(jobs)), int(task.get("index", 0))
            return
        if task.get("type", "worker") != "worker":
            raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
        if int(task.get("index", 0)) != 0:
            raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')

    def _set(self, values):
        for name, value in values.items():
            _check(name, value)
            setattr(self, name, value)

    def replace(self, **kwargs):
        """Returns a copy with other settings; one interval of checkpoints takes the place of the other.

        Raises:
          ValueError: a name that is no argument of the constructor, or both intervals.
        """
        for name in kwargs:
            if name not in self._REPLACEABLE:
                raise ValueError(f"Replacing {name} is not supported. Allowed properties are {self._REPLACEABLE}.")
        steps, secs = kwargs.get("save_checkpoints_steps"), kwargs.get("save_checkpoints_secs")
        if steps is not None and secs is not None:
            raise ValueError(_BOTH)
        if steps is not None:
            kwargs["save_checkpoints_secs"] = None
        elif secs is not None:
            kwargs["save_checkpoints_steps"] = None
        config = copy.deepcopy(self)
        config._set(kwargs)
        return config


def _folder(given, environment):
    """Returns the folder of the checkpoints, from the argument or the environment; None where neither names one."""
    given = os.fspath(given) if given is not None else None
    outside = environment.get("model_dir")
    if given == "":
        raise ValueError("model_dir should be non-empty.")
    if outside == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if given and outside and given != outside:
        raise ValueError("`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in "
                         f'TF_CONFIG. model_dir: {given}\nTF_CONFIG["model_dir"]: {outside}.\n')
    if outside:
        logging.info("Using model_dir in TF_CONFIG: %s", outside)
    return given or outside


# What a setting must be, unless it is None: (whether it is, in words).
_RULES = {
    **dict.fromkeys(["save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs", "keep_checkpoint_max"],
                    (lambda v: v >= 0, "should be >= 0")),
    **dict.fromkeys(["keep_checkpoint_every_n_hours", "log_step_count_steps", "session_creation_timeout_secs"],
                    (lambda v: v > 0, "should be > 0")),
    **dict.fromkeys(["tf_random_seed", "experimental_max_worker_delay_secs"],
                    (lambda v: isinstance(v, numbers.Integral), "must be integer")),
    "session_config": (lambda v: isinstance(v, ConfigProto), "must be instance of ConfigProto"),
    "device_fn": (callable, 'must be callable with exactly one argument "op"'),
    "protocol": (lambda v: v in ("grpc", "grpc+verbs"), "should be grpc or grpc+verbs"),
}


def _check(name, value):
    holds, words = _RULES.get(name, (None, ""))
    if holds is not None and value is not None and not holds(value):
        raise ValueError(f"{name} {words}, got {value!r}.")
