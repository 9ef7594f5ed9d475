"""`tf.contrib.tpu`: the estimator and the settings of programs for TPUs, as they compute with `use_tpu=False`.

There is one shard, on the devices that XLA has: `use_tpu=True` says so in the log, and computes the same.
"""

import collections
import contextlib

from regrad import logging
from regrad.compat.decorators import fn_args
from regrad.core.dtypes import bfloat16, float32
from regrad.core.shown import Shown
from regrad.estimator.estimator import Estimator
from regrad.estimator.run_config import RunConfig as _RunConfig
from regrad.estimator.spec import EstimatorSpec, ModeKeys
from regrad.ops.math import cast
from regrad.train.hooks import SessionRunArgs, SessionRunHook, StepCounterHook
from regrad.train.wrapping import WrappingOptimizer
from regrad.variables.scope import variable_scope

__all__ = ["CrossShardOptimizer", "InputPipelineConfig", "RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec",
           "bfloat16_scope"]
_BATCH_SIZE, _RESERVED = "batch_size", ("batch_size", "context")


class InputPipelineConfig(Shown):
    """Where input functions run; there is one place."""

    PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST, SLICED = 1, 2, 3, 4, 5


class TPUConfig(collections.namedtuple("TPUConfig", [
        "iterations_per_loop", "num_shards", "num_cores_per_replica", "per_host_input_for_training", "tpu_job_name",
        "initial_infeed_sleep_secs", "input_partition_dims", "eval_training_input_configuration",
        "experimental_host_call_every_n_steps"])):
    """The settings of a TPU: accepted, and kept.

    Raises:
      ValueError: a number below 1.
    """

    __slots__ = ()

    def __new__(cls, iterations_per_loop=2, num_shards=None, num_cores_per_replica=None, per_host_input_for_training=True,
                tpu_job_name=None, initial_infeed_sleep_secs=None, input_partition_dims=None,
                eval_training_input_configuration=InputPipelineConfig.PER_HOST_V1, experimental_host_call_every_n_steps=1):
        for name, value in ("iterations_per_loop", iterations_per_loop), ("num_shards", num_shards):
            if value is not None and value <= 0:
                raise ValueError(f"TPUConfig {name} must be positive, got {value}.")
        if isinstance(per_host_input_for_training, bool):
            per_host_input_for_training = (
                InputPipelineConfig.PER_HOST_V1 if per_host_input_for_training else InputPipelineConfig.PER_SHARD_V1)
        return super().__new__(cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host_input_for_training,
                               tpu_job_name, initial_infeed_sleep_secs, input_partition_dims,
                               eval_training_input_configuration, experimental_host_call_every_n_steps)


class RunConfig(_RunConfig):
    """`tf.estimator.RunConfig` with a TPUConfig.

    Attributes:
      tpu_config: the TPUConfig.
      cluster: what finds TPUs: accepted.
    """

    def __init__(self, tpu_config=None, evaluation_master=None, master=None, cluster=None, **kwargs):
        super().__init__(**kwargs)
        if master is not None and cluster is not None:
            raise ValueError("Both master and cluster are set.")
        self.tpu_config, self.cluster = tpu_config or TPUConfig(), cluster
        self.master = self.master if master is None else master
        self.evaluation_master = self.master if evaluation_master is None else evaluation_master


class TPUEstimatorSpec(collections.namedtuple("TPUEstimatorSpec", [
        "mode", "predictions", "loss", "train_op", "eval_metrics", "export_outputs", "scaffold_fn", "host_call",
        "training_hooks", "evaluation_hooks", "prediction_hooks"])):
    """What a TPUEstimator's model function returns.

    Args:
      eval_metrics: (function, tensors): of a list, or a dictionary by the names of arguments, of tensors the function makes
        {name: (value, update)}.
      scaffold_fn: function that returns a `tf.train.Scaffold`.
      host_call: (function, tensors), or {name: such}: what the functions return runs with every step.
      The others: see `tf.estimator.EstimatorSpec`.

    Raises:
      ValueError: `eval_metrics` or `host_call` is no such pair.
    """

    __slots__ = ()

    def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metrics=None, export_outputs=None,
                scaffold_fn=None, host_call=None, training_hooks=None, evaluation_hooks=None, prediction_hooks=None):
        for name, call in {**_calls(host_call), "eval_metrics": eval_metrics}.items():
            if call is not None:
                _check_call(name, call)
        return super().__new__(cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn, host_call,
                               tuple(training_hooks or ()), tuple(evaluation_hooks or ()), tuple(prediction_hooks or ()))

    def as_estimator_spec(self):
        """Returns the EstimatorSpec that means the same."""
        hooks = []
        if self.host_call is not None:
            hooks.append(_AlongHook({name: _called(call) for name, call in _calls(self.host_call).items()}))
        return EstimatorSpec(
            self.mode, self.predictions, self.loss, self.train_op, _called(self.eval_metrics) if self.eval_metrics else None,
            self.export_outputs, training_hooks=[*self.training_hooks, *hooks],
            scaffold=self.scaffold_fn() if self.scaffold_fn else None, evaluation_hooks=[*self.evaluation_hooks, *hooks],
            prediction_hooks=[*self.prediction_hooks, *hooks])


def _calls(host_call):
    """Returns {name: (function, tensors)} of a `host_call`, which may be one such pair, or None."""
    return host_call if isinstance(host_call, dict) else {"host_call": host_call}


def _check_call(name, call):
    if not isinstance(call, (tuple, list)):
        raise ValueError(f"{name} should be tuple or list, got {call!r}.")
    if len(call) != 2:
        raise ValueError(f"{name} should be tuple with two elements: (fn, tensors), got {call!r}.")
    if not callable(call[0]):
        raise TypeError(f"{name}[0] should be callable, got {call[0]!r}.")
    if not isinstance(call[1], (tuple, list, dict)):
        raise ValueError(f"{name}[1] should be tuple or list, or dict, got {call[1]!r}.")


def _called(call):
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class _AlongHook(SessionRunHook):
    """Runs operations with every step."""

    def __init__(self, fetches):
        self._fetches = {name: fetch for name, fetch in fetches.items() if fetch is not None}

    def before_run(self, run_context):
        return SessionRunArgs(self._fetches)


class ExamplesPerSecondHook(StepCounterHook):
    """Logs how many steps, and how many examples, are made per second."""

    def __init__(self, batch_size, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
        super().__init__(every_n_steps, every_n_secs, output_dir, summary_writer)
        self._batch_size = batch_size

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
        super()._log_and_record(elapsed_steps, elapsed_time, global_step)
        self._record("examples/sec", self._batch_size * self.steps_per_sec, global_step)


class TPUEstimator(Estimator):
    """An Estimator whose functions find the size of a batch in `params["batch_size"]`."""

    def __init__(self, model_fn=None, model_dir=None, config=None, params=None, use_tpu=True, train_batch_size=None,
                 eval_batch_size=None, predict_batch_size=None, batch_axis=None, eval_on_tpu=True, export_to_tpu=True,
                 export_to_cpu=True, warm_start_from=None, embedding_config_spec=None):
        """Args:
          model_fn: function of (features, labels, mode, params, config) that returns a TPUEstimatorSpec or an EstimatorSpec;
            `params` is one of its arguments, and of those of input functions.
          config: a `tf.contrib.tpu.RunConfig`.
          params: dictionary or HParams, without "batch_size".
          use_tpu, batch_axis, eval_on_tpu, export_to_tpu, export_to_cpu, embedding_config_spec: accepted.
          train_batch_size, eval_batch_size, predict_batch_size: sizes of batches.
          model_dir, warm_start_from: as for `tf.estimator.Estimator`.

        Raises:
          ValueError: another kind of `config`, a reserved name in `params`, or no `train_batch_size` though `use_tpu`.
        """
        if not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if params is not None and any(name in params for name in _RESERVED):
            raise ValueError(f"{list(_RESERVED)} are reserved keys but existed in params {params}.")
        if use_tpu:
            if train_batch_size is None:
                raise ValueError("`train_batch_size` cannot be `None`")
            logging.warning("TPUEstimator: there is no TPU here; the model is computed as with use_tpu=False.")
        self._batch_sizes = {ModeKeys.TRAIN: train_batch_size, ModeKeys.EVAL: eval_batch_size,
                             ModeKeys.PREDICT: predict_batch_size}
        for size in self._batch_sizes.values():
            if size is not None and size <= 0:
                raise ValueError(f"Sizes of batches must be positive, got {size}.")
        self._log_every = config.log_step_count_steps
        if self._log_every is not None:  # in runs, of which each made so many steps on a TPU
            self._log_every = -(-self._log_every // config.tpu_config.iterations_per_loop)
        super().__init__(model_fn, model_dir, config.replace(log_step_count_steps=None), params or {}, warm_start_from)

    def _call_input_fn(self, input_fn, mode):
        _check_takes_params(input_fn, "input_fn")
        return super()._call_input_fn(input_fn, mode)

    def _call_model_fn(self, features, labels, mode, config):
        _check_takes_params(self._model_fn, "model_fn")
        return super()._call_model_fn(features, labels, mode, config)

    def _params_for(self, mode, of_model=False):
        params = self.params
        if self._batch_sizes[mode] is not None:
            _set(params, _BATCH_SIZE, self._batch_sizes[mode])
        if of_model:
            _set(params, "use_tpu", False)
        return params

    def _as_spec(self, result, mode):
        spec = super()._as_spec(result.as_estimator_spec() if isinstance(result, TPUEstimatorSpec) else result, mode)
        if self._log_every is not None and self._batch_sizes[ModeKeys.TRAIN] is not None:
            hook = ExamplesPerSecondHook(self._batch_sizes[ModeKeys.TRAIN], self._log_every,
                                         output_dir=self.model_dir if self._config.save_summary_steps else None)
            spec = spec._replace(training_hooks=(*spec.training_hooks, hook))
        return spec


def _check_takes_params(function, what):
    if "params" not in fn_args(function):
        raise ValueError(f"{what} ({function}) does not include params argument, required by TPUEstimator to pass batch size "
                         'as params["batch_size"]')


def _set(params, name, value):
    if not hasattr(params, "set_hparam"):
        params[name] = value
    elif name in params:
        params.set_hparam(name, value)
    else:
        params.add_hparam(name, value)


class CrossShardOptimizer(WrappingOptimizer):
    """Another optimizer, which applies the sums of the shards' gradients: of one shard, these are its own."""

    def __init__(self, opt, reduction="weighted_mean", name="CrossShardOptimizer", group_assignment=None):
        super().__init__(opt, False, name)


@contextlib.contextmanager
def bfloat16_scope():
    """A variable scope in which variables of bfloat16 are kept in float32, and cast when they are read."""
    def custom_getter(getter, name, *args, dtype=None, **kwargs):
        if dtype is not bfloat16:
            return getter(name, *args, dtype=dtype, **kwargs)
        return cast(getter(name, *args, dtype=float32, **kwargs), bfloat16)

    with variable_scope("", custom_getter=custom_getter) as scope:
        yield scope
