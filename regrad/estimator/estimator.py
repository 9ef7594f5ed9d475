"""Estimator: a model function, trained, evaluated and asked for predictions, each in a graph of its own.

Between the graphs nothing is kept but checkpoints: each call builds the model, and restores the latest one.
"""

import copy
import os
import shutil
import tempfile
import time

import numpy as np

from regrad import logging
from regrad.compat.decorators import fn_args
from regrad.core.errors import NotFoundError
from regrad.core.files import FolderPart, remove_left_overs, translated
from regrad.core.graph import Graph, get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.shown import Shown
from regrad.data.dataset import Dataset
from regrad.data.iterator import make_initializable_iterator
from regrad.estimator.export import outputs_of, signatures_of
from regrad.estimator.results import write_results
from regrad.estimator.run_config import RunConfig
from regrad.estimator.spec import EstimatorSpec, ModeKeys, checked
from regrad.metrics import mean
from regrad.ops.control import group
from regrad.ops.random import set_random_seed
from regrad.ops.summary import scalar
from regrad.saved_model import tag_constants
from regrad.saved_model.builder import SavedModelBuilder
from regrad.train.checkpoint import latest_checkpoint, list_variables, load_variable
from regrad.train.evaluation import StopAfterNEvalsHook, evaluate_once, get_or_create_eval_step
from regrad.train.hooks import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    LoggingTensorHook,
    NanTensorHook,
    SessionRunHook,
    StopAtStepHook,
)
from regrad.train.monitored import ChiefSessionCreator, MonitoredSession, MonitoredTrainingSession, Scaffold
from regrad.train.saver import Saver
from regrad.train.steps import create_global_step, get_global_step
from regrad.train.warm_starting import WarmStartSettings, warm_start

_GLOBAL_STEP = GraphKeys.GLOBAL_STEP


class Estimator(Shown):
    """Trains, evaluates and uses the model that `model_fn` describes; its variables live in the checkpoints of `model_dir`.

        def model_fn(features, labels, mode, params):
            logits = tf.layers.dense(features["x"], params["classes"])
            if mode == tf.estimator.ModeKeys.PREDICT:
                return tf.estimator.EstimatorSpec(mode, predictions={"class": tf.argmax(logits, 1)})
            loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
            train_op = tf.train.AdamOptimizer().minimize(loss, tf.train.get_global_step())
            metrics = {"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)

        estimator = tf.estimator.Estimator(model_fn, "run", params={"classes": 10})
        estimator.train(input_fn, steps=1000)
        estimator.evaluate(input_fn)

    Attributes:
      model_dir: folder of the checkpoints and event files.
      config: the RunConfig.
      params: a copy of the parameters.
    """

    def __init__(self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None):
        """Args:
          model_fn: function of (features, labels, mode, params, config), of which it may leave out all but the first, that
            returns an EstimatorSpec.
          model_dir: folder, made when it is needed; that of `config` by default, or else a temporary one.
          config: a RunConfig.
          params: dictionary or other object that `model_fn` and input functions receive.
          warm_start_from: a checkpoint, or WarmStartSettings, from which variables begin where there is no checkpoint yet.

        Raises:
          ValueError: `model_fn` has arguments that are not expected, or does not take the `params` that are given; the folders
            of `model_dir` and `config` differ; another kind of `config` or `warm_start_from`.
        """
        self._config = _with_folder(config, model_dir)
        self._model_dir = self._config.model_dir
        logging.info("Using config: %s", vars(self._config))
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        if not callable(model_fn):
            raise TypeError(f"model_fn must be a function of (features, labels, mode ...), got {model_fn!r}.")
        _check_arguments(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start = _settings(warm_start_from)

    model_dir = property(lambda self: self._model_dir)
    config = property(lambda self: copy.deepcopy(self._config))
    params = property(lambda self: copy.deepcopy(self._params))

    @property
    def model_fn(self):
        """The model function, as a function of (features, labels, mode, config)."""
        return lambda features, labels, mode, config: self._call_model_fn(features, labels, mode, config)

    # -- what was trained -------------------------------------------------------------------------------
    def latest_checkpoint(self):
        """Returns the prefix of the latest checkpoint, or None."""
        return latest_checkpoint(self._model_dir)

    def get_variable_names(self):
        """Returns the names of the latest checkpoint's variables."""
        self._check_trained()
        return [name for name, _ in list_variables(self._model_dir)]

    def get_variable_value(self, name):
        """Returns a variable's value in the latest checkpoint."""
        self._check_trained()
        return load_variable(self._model_dir, name)

    def _check_trained(self):
        if self.latest_checkpoint() is None:
            raise ValueError(f"Could not find trained model in model_dir: {self._model_dir}.")

    def eval_dir(self, name=None):
        """Returns the folder for the event files of evaluations: "eval", or "eval_<name>", in `model_dir`."""
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    # -- training ---------------------------------------------------------------------------------------
    def train(self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
        """Trains on from the latest checkpoint; returns the estimator.

        Args:
          input_fn: function, of any of (params, config, mode), that returns a Dataset of (features, labels), or these two.
          hooks: further hooks.
          steps: how many steps more; until the data end by default.
          max_steps: the global step to stop at; nothing is done where a checkpoint has come there.
          saving_listeners: CheckpointSaverListeners.

        Raises:
          ValueError: both `steps` and `max_steps`, or one below 1; the model function returns something else than an
            EstimatorSpec.
          NanLossDuringTrainingError: the loss became NaN.
        """
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, count in ("steps", steps), ("max_steps", max_steps):
            if count is not None and count <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {count}")
        hooks, listeners = [*checked(hooks)], checked(saving_listeners, CheckpointSaverListener)
        if max_steps is not None and self._trained_steps() >= max_steps:
            logging.info("Skipping training since max_steps has already saved.")
            return self
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        with Graph().as_default():
            loss = self._train(input_fn, hooks, listeners)
        logging.info("Loss for final step: %s.", loss)
        return self

    def _trained_steps(self):
        """Returns the global step of the latest checkpoint, or 0."""
        path = self.latest_checkpoint()
        return 0 if path is None else int(load_variable(path, _GLOBAL_STEP))

    def _train(self, input_fn, hooks, listeners):
        """Builds the model in the default graph and trains it; returns the last loss."""
        config = self._config
        features, labels, input_hooks = self._begin_graph(input_fn, ModeKeys.TRAIN)
        spec = self._call_model_fn(features, labels, ModeKeys.TRAIN, config)
        graph = get_default_graph()
        if self._warm_start is not None:
            warm_start(*self._warm_start)
        if not any(summary.op.name == "loss" for summary in graph.get_collection(GraphKeys.SUMMARIES)):
            scalar("loss", spec.loss)
        graph.add_to_collection(GraphKeys.LOSSES, spec.loss)
        every = [*input_hooks, *hooks, NanTensorHook(spec.loss)]
        if config.log_step_count_steps is not None:
            every.append(LoggingTensorHook({"loss": spec.loss, "step": get_global_step()},
                                           every_n_iter=config.log_step_count_steps))
        every += spec.training_hooks
        self._add_saver(spec.scaffold)
        chief = self._savers([*every, *spec.training_chief_hooks], spec.scaffold, listeners)
        loss, steps_made = None, False
        with MonitoredTrainingSession(
                checkpoint_dir=self._model_dir, scaffold=spec.scaffold, hooks=every,
                chief_only_hooks=[*chief, *spec.training_chief_hooks], save_checkpoint_secs=None,
                save_summaries_steps=config.save_summary_steps, config=config.session_config,
                log_step_count_steps=config.log_step_count_steps) as session:
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
                steps_made = True
        if not steps_made:
            logging.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
        return loss

    def _add_saver(self, scaffold):
        graph = get_default_graph()
        if scaffold.saver is None and not graph.get_collection(GraphKeys.SAVERS):
            graph.add_to_collection(GraphKeys.SAVERS, Saver(
                sharded=True, max_to_keep=self._config.keep_checkpoint_max, defer_build=True, save_relative_paths=True,
                keep_checkpoint_every_n_hours=self._config.keep_checkpoint_every_n_hours))

    def _savers(self, hooks, scaffold, listeners):
        """Returns the hooks that save, where the model brought none; gives the first of all the listeners."""
        config, made = self._config, []
        found = [hook for hook in hooks if isinstance(hook, CheckpointSaverHook)]
        if not found and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            made = found = [CheckpointSaverHook(self._model_dir, config.save_checkpoints_secs, config.save_checkpoints_steps,
                                                scaffold=scaffold)]
        if listeners:
            if not found:
                raise ValueError("There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                                 "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs.")
            found[0].add_listeners(listeners)
        return made

    # -- evaluation -------------------------------------------------------------------------------------
    def evaluate(self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None):
        """Returns {name: value} of the model's metrics, of the mean "loss" and of "global_step", and writes an event file.

        Args:
          input_fn: as for `train`.
          steps: how many batches; until the data end by default.
          hooks: further hooks.
          checkpoint_path: prefix of a checkpoint; the latest by default, or what initializers give where there is none.
          name: of this evaluation, where there are several; its events are in a folder of their own.

        Raises:
          ValueError: `steps` below 1, or a metric is called "loss" or "global_step".
        """
        hooks = [*checked(hooks)]
        if steps is not None:
            if steps <= 0:
                raise ValueError(f"Must specify steps > 0, given: {steps}")
            hooks.append(StopAfterNEvalsHook(num_evals=steps))
        checkpoint_path = self._to_use(checkpoint_path, "evaluate")
        with Graph().as_default():
            scaffold, update, values, more = self._evaluation(input_fn, checkpoint_path)
            results = evaluate_once(checkpoint_path, scaffold=scaffold, eval_ops=update, final_ops=values,
                                    hooks=[*more[0], *hooks, *more[1]], config=self._config.session_config)
        write_results(self.eval_dir(name), results, checkpoint_path)
        return results

    def _evaluation(self, input_fn, checkpoint_path):
        """Builds the model in the default graph; returns (scaffold, operation of a batch, {name: value}, hooks of the input and
        of the model)."""
        features, labels, input_hooks = self._begin_graph(input_fn, ModeKeys.EVAL)
        spec = self._call_model_fn(features, labels, ModeKeys.EVAL, self._config)
        if self._warm_start is not None and checkpoint_path is None:
            warm_start(*self._warm_start)
        metrics = dict(spec.eval_metric_ops)
        for taken in "loss", _GLOBAL_STEP:
            if taken in metrics:
                raise ValueError(f"Metric with name `{taken}` is not allowed, because Estimator already defines a default "
                                 "metric with the same name.")
        metrics["loss"] = mean(spec.loss)
        values = {name: value for name, (value, _) in sorted(metrics.items())}
        values[_GLOBAL_STEP] = get_global_step()
        update = group(*(update for _, (_, update) in sorted(metrics.items())))
        scaffold = spec.scaffold
        if scaffold.local_init_op is not None:  # the metrics' variables are new
            get_or_create_eval_step()
            scaffold = Scaffold(local_init_op=group(scaffold.local_init_op, Scaffold.default_local_init_op()),
                                copy_from_scaffold=scaffold)
        return scaffold, update, values, (input_hooks, spec.evaluation_hooks)

    def _to_use(self, checkpoint_path, what):
        """Returns the checkpoint to take: the given one, the latest, or None."""
        path = checkpoint_path or self.latest_checkpoint()
        if path is None:
            logging.info("Could not find trained model in model_dir: %s, running initialization to %s.", self._model_dir, what)
        return path

    # -- prediction -------------------------------------------------------------------------------------
    def predict(self, input_fn, predict_keys=None, hooks=None, checkpoint_path=None, yield_single_examples=True):
        """Yields the model's predictions: for each example {name: value}, or a value where the predictions are one tensor.

        Args:
          input_fn: as for `train`; labels are ignored.
          predict_keys: list of the predictions that are wanted; all by default.
          hooks: further hooks.
          checkpoint_path: as for `evaluate`.
          yield_single_examples: whether to take batches apart.

        Raises:
          ValueError: unknown keys, or predictions whose batches have different lengths.
        """
        hooks = [*checked(hooks)]
        checkpoint_path = self._to_use(checkpoint_path, "predict")
        graph = Graph()
        with graph.as_default():
            features, _, input_hooks = self._begin_graph(input_fn, ModeKeys.PREDICT)
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self._config)
            if self._warm_start is not None and checkpoint_path is None:
                warm_start(*self._warm_start)
            predictions = _wanted(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(spec.scaffold, config=self._config.session_config,
                                          checkpoint_filename_with_path=checkpoint_path)
            session = MonitoredSession(creator, [*input_hooks, *hooks, *spec.prediction_hooks])
        with session:  # the caller's graph is the default one whenever something is yielded
            while not session.should_stop():
                with graph.as_default():
                    values = session.run(predictions)
                if not yield_single_examples:
                    yield values
                elif not isinstance(values, dict):
                    yield from values
                else:
                    for i in range(_batch_length(values)):
                        yield {name: value[i] for name, value in values.items()}

    # -- export -----------------------------------------------------------------------------------------
    def export_saved_model(self, export_dir_base, serving_input_receiver_fn, assets_extra=None, as_text=False,
                           checkpoint_path=None, experimental_mode=ModeKeys.PREDICT):
        """Writes the model for predictions as a SavedModel, in a folder called by the time; returns its path, bytes.

        Args:
          export_dir_base: folder in which that folder is made.
          serving_input_receiver_fn: function that returns a `tf.estimator.export.ServingInputReceiver`.
          assets_extra: {path below "assets.extra": file to be copied there}.
          as_text: whether the file of the graph is text.
          checkpoint_path: as for `evaluate`; there must be a checkpoint.
          experimental_mode: PREDICT.

        Raises:
          ValueError: no function, no checkpoint, one without a variable of the model, or outputs that cannot be exported.
        """
        if serving_input_receiver_fn is None:
            raise ValueError("An input_receiver_fn must be defined.")
        if experimental_mode != ModeKeys.PREDICT:
            raise ValueError(f"export_saved_model writes graphs of predictions (experimental_mode='infer'), not of "
                             f"{experimental_mode!r}.")
        path = checkpoint_path or self.latest_checkpoint()
        if path is None and self._warm_start is not None:
            path = self._warm_start.ckpt_to_initialize_from
            path = latest_checkpoint(path) if os.path.isdir(path) else path
        if path is None:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")
        folder = _by_time(export_dir_base)
        remove_left_overs(os.path.join(os.path.dirname(folder), ""), and_longer=True)
        with FolderPart(folder) as part:
            with Graph().as_default():
                self._write_saved_model(part.name, serving_input_receiver_fn, path, as_text)
            for name, source in (assets_extra or {}).items():
                target = os.path.join(part.name, "assets.extra", name)
                with translated(target):
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copyfile(source, target)
            part.take_place()
        return folder.encode()

    def export_savedmodel(self, export_dir_base, serving_input_receiver_fn, assets_extra=None, as_text=False,
                          checkpoint_path=None, strip_default_attrs=False):
        """The same by its older name; strip_default_attrs: accepted."""
        return self.export_saved_model(export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path)

    def _write_saved_model(self, folder, receive, checkpoint_path, as_text):
        from regrad.runtime.session import Session

        graph = get_default_graph()
        set_random_seed(self._config.tf_random_seed)
        self._create_global_step(graph)
        receiver = receive()
        spec = self._call_model_fn(receiver.features, None, ModeKeys.PREDICT, self._config)
        signatures = signatures_of(receiver, outputs_of(spec))
        saver = spec.scaffold.saver or Saver(sharded=True)
        saver.build()
        start = spec.scaffold.local_init_op
        if start is None:
            start = Scaffold.default_local_init_op()
        with Session(config=self._config.session_config) as session:
            try:
                saver.restore(session, checkpoint_path)
            except NotFoundError as error:
                raise ValueError("Could not load all requested variables from checkpoint. Please make sure your model_fn does "
                                 f"not expect variables that were not saved in the checkpoint.\n\n{error}") from error
            builder = SavedModelBuilder(folder)
            builder.add_meta_graph_and_variables(
                session, [tag_constants.SERVING], signatures, graph.get_collection(GraphKeys.ASSET_FILEPATHS), main_op=start,
                saver=saver)
        builder.save(as_text)

    # -- the two functions ------------------------------------------------------------------------------
    def _begin_graph(self, input_fn, mode):
        """Sets the seed, makes the global step and the inputs; returns (features, labels, hooks)."""
        set_random_seed(self._config.tf_random_seed)
        self._create_global_step(get_default_graph())
        result = self._call_input_fn(input_fn, mode)
        hooks = []
        if isinstance(result, Dataset):
            iterator = make_initializable_iterator(result)
            hooks.append(_InitializerHook(iterator.initializer))
            result = iterator.get_next()
        elif mode == ModeKeys.PREDICT and not _ends(get_default_graph()):
            logging.warning("Input graph does not use tf.data.Dataset or contain a QueueRunner. That means predict yields "
                            "forever. This is probably a mistake.")
        if not isinstance(result, (list, tuple)):
            return result, None, hooks
        if mode != ModeKeys.PREDICT and len(result) != 2:
            raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
        return result[0], result[1] if len(result) == 2 else None, hooks

    def _create_global_step(self, graph):
        """Returns the variable that counts steps; subclasses make another one."""
        return create_global_step(graph)

    def _call_input_fn(self, input_fn, mode):
        """Returns what the input function gives, called with those of mode, params and config that it takes."""
        if not callable(input_fn):
            raise TypeError("input_fn must be a function that returns (features, labels) or a Dataset, so that they are made "
                            f"in the estimator's graph; got {input_fn!r}.")
        return input_fn(**taken(input_fn, mode=mode, params=self._params_for(mode), config=self.config))

    def _params_for(self, mode, of_model=False):
        """Returns the parameters that input functions, or the model function, receive."""
        return self.params

    def _call_model_fn(self, features, labels, mode, config):
        """Returns the model function's EstimatorSpec, called with those arguments that it takes."""
        takes = fn_args(self._model_fn)
        if labels is not None and "labels" not in takes:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        logging.info("Calling model_fn.")
        spec = self._model_fn(features=features, **taken(self._model_fn, labels=labels, mode=mode, config=config,
                                                          params=self._params_for(mode, of_model=True)))
        logging.info("Done calling model_fn.")
        return self._as_spec(spec, mode)

    def _as_spec(self, result, mode):
        """Returns the EstimatorSpec of what the model function has returned."""
        if not isinstance(result, EstimatorSpec):
            raise ValueError(f"model_fn should return an EstimatorSpec, got {result!r}.")
        return result


class _InitializerHook(SessionRunHook):
    """Begins a dataset when the session is made."""

    def __init__(self, initializer):
        self._initializer = initializer

    def after_create_session(self, session, coord):
        session.run(self._initializer)


def _with_folder(config, model_dir):
    """Returns a RunConfig with a `model_dir`."""
    if config is None:
        config = RunConfig()
        logging.info("Using default config.")
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    given = os.fspath(model_dir) if model_dir is not None else None
    if given and config.model_dir and given != config.model_dir:
        raise ValueError("`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
                         f"'{given}', in `RunConfig`: '{config.model_dir}'")
    folder = given or config.model_dir
    if not folder:
        folder = tempfile.mkdtemp()
        logging.warning("Using temporary folder as model directory: %s", folder)
    return config.replace(model_dir=folder)


def _settings(warm_start_from):
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if isinstance(warm_start_from, (str, os.PathLike)):
        return WarmStartSettings(os.fspath(warm_start_from))
    raise ValueError("warm_start_from must be a string or a WarmStartSettings, instead got "
                     f"{type(warm_start_from).__name__}")


def _check_arguments(model_fn, params):
    takes = fn_args(model_fn)
    if "features" not in takes:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in takes:
        raise ValueError(f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to "
                         "Estimator.")
    if params is None and "params" in takes:
        logging.warning("Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.", model_fn)
    unknown = sorted(set(takes) - {"features", "labels", "mode", "params", "config", "self"})
    if unknown:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {unknown}")


def taken(function, **arguments):
    """Returns those of the arguments that a function takes."""
    takes = fn_args(function)
    return {name: value for name, value in arguments.items() if name in takes}


def _by_time(base):
    """Returns the path of a folder in `base` that is called by the seconds since 1970, and is not there yet."""
    while True:
        path = os.path.join(os.fspath(base), str(int(time.time())))
        if not os.path.exists(path):
            return path
        time.sleep(0.1)


def _ends(graph):
    """Returns whether the graph reads from queues or iterators, which may end."""
    return bool(graph.get_collection(GraphKeys.QUEUE_RUNNERS)) or any(
        op.type == "IteratorGetNext" for op in graph.get_operations())


def _wanted(predictions, keys):
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    found = {name: value for name, value in predictions.items() if name in keys}
    if not found:
        raise ValueError(f"Expected to run at least one output from {list(predictions)}, provided {keys}.")
    return found


def _batch_length(values):
    lengths = {name: np.shape(value)[0] for name, value in values.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Batch length of predictions should be same. Their lengths are {lengths}.")
    return next(iter(lengths.values()))
