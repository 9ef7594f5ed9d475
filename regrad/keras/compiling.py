"""What `Model.compile` makes: a loss and metrics for each output, and functions that train, test and predict.

Each function is one run of a session: outputs, losses, gradients, the optimizer's step, running statistics and metrics are
parts of one graph.
"""

import inspect
import itertools
import logging

from regrad.core import nest
from regrad.core.graph import get_default_graph, is_tensor
from regrad.core.operation import Tensor
from regrad.keras import backend, losses, metrics
from regrad.keras.base import learning_phase
from regrad.metrics import _squeezed
from regrad.ops import array, math
from regrad.train.optimizer import Optimizer as TrainOptimizer
from regrad.train.steps import get_global_step

_logger = logging.getLogger("tensorflow")
TRAIN, TEST, PREDICT = "train", "test", "predict"
_FEEDABLE = ("Placeholder", "PlaceholderWithDefault", "PlaceholderV2")
_ACCURACY = "acc", ("binary_accuracy", "sparse_categorical_accuracy", "categorical_accuracy")
_ENTROPY = "ce", ("binary_crossentropy", "sparse_categorical_crossentropy", "categorical_crossentropy")
_SHORT = {"acc": _ACCURACY, "accuracy": _ACCURACY, "ce": _ENTROPY, "crossentropy": _ENTROPY}
_SPARSE = losses.sparse_categorical_crossentropy


def warn(text):
    _logger.warning("%s", text)


def takes_training(layer):
    """True for a layer whose `call` has an argument `training`."""
    return "training" in inspect.signature(layer.call).parameters


def is_fed(tensor):
    """True for a placeholder."""
    return tensor.op.type in _FEEDABLE


def named(items):
    """Returns names with "_1", "_2" ... behind those that were there before."""
    seen, found = set(), []
    for name in items:
        made = next(n for n in itertools.chain([name], (f"{name}_{i}" for i in itertools.count(1))) if n not in seen)
        seen.add(made)
        found.append(made)
    return found


class FunctionLoss(losses.Loss):
    """A function of (y_true, y_pred) as a Loss."""

    def __init__(self, function):
        super().__init__(name=getattr(function, "__name__", type(function).__name__).strip("<>"))
        self.function = function

    def call(self, y_true, y_pred):
        if is_tensor(y_true) and is_tensor(y_pred):
            y_true, y_pred, _ = _squeezed(y_true, y_pred)
        return self.function(y_true, y_pred)


def check_names(loss, metrics_given, weighted_metrics):
    """Raises ValueError for a name that no loss, or no metric, has; a model without inputs can be told no more."""
    described = isinstance(loss, dict) and "class_name" in loss
    for one in [] if described else nest.flatten(loss):
        if isinstance(one, str):
            losses.get(one)
    for one in nest.flatten([metrics_given, weighted_metrics]):
        if isinstance(one, str) and one not in _SHORT:
            metrics.get(one)


def _loss_of(given):
    """Returns a Loss, or an object that is called as one is, for a name, function or object; None for None."""
    found = losses.get(given)
    return found if found is None or isinstance(found, losses.Loss) else FunctionLoss(found)


def of_outputs(given, names, what):
    """Returns what is given for each output: by name, in a list, or one for a single output.

    Raises:
      ValueError: a name of no output, or another number of them.
    """
    if isinstance(given, dict):
        unknown = given.keys() - set(names)
        if unknown:
            raise ValueError(f"Unknown entries in {what} dictionary: {sorted(unknown)}. Only expected following keys: {names}")
        return [given.get(name) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ValueError(f"When passing a list as {what}, it should have one entry per model output. The model has "
                             f"{len(names)} outputs, {names}, but you passed {what}={given}")
        return list(given)
    return [given] * len(names) if len(names) == 1 or given is None else None


class Endpoint:
    """One output: its loss, target, weights of samples and metrics.

    Attributes:
      loss: a Loss, or None for an output that is not trained.
      target: the tensor of what the output should be; `feeds_target` says whether it is fed.
      sample_weight: a placeholder [batch], or [batch, time] where `mode` is "temporal".
      metrics, weighted_metrics: lists of metrics.
    """

    def __init__(self, name, output, loss, weight, mode, target):
        self.name, self.output, self.loss, self.weight, self.mode = name, output, loss, 1.0 if weight is None else weight, mode
        self.mask = getattr(output, "_keras_mask", None)
        self.metrics, self.weighted_metrics, self.target, self.sample_weight = [], [], None, None
        if loss is None:
            self.feeds_target = False
            return
        self.feeds_target = target is None or is_tensor(target) and is_fed(target)
        with get_default_graph().name_scope(""):
            if target is None:
                rank = output.rank
                target = array.placeholder(output.dtype, None if rank is None else [None] * rank, name=f"{name}_target")
            self.sample_weight = array.placeholder(backend.floatx(), [None] * (2 if mode == "temporal" else 1),
                                                   name=f"{name}_sample_weights")
        self.target = target
        self.total = metrics.Mean(name=f"{name}_loss")

    @property
    def target_shape(self):
        """The shape that arrays of targets must have; None where a function of the program's own compares what it likes."""
        function = getattr(self.loss, "function", None)
        own = not isinstance(self.loss, losses.Loss) or function and getattr(losses, function.__name__, None) is not function
        if own or self.output.rank is None:
            return None
        dims = self.output.shape.as_list()
        return (*dims[:-1], 1) if function is _SPARSE else tuple(dims)

    def loss_of_batch(self, weighted):
        """Returns the loss, a scalar."""
        weights = self.sample_weight if weighted else None
        if self.mask is not None:
            weights = _masked(weights, self.mask, self.output)
        with get_default_graph().name_scope(f"{self.name}_loss"):
            return self.loss(self.target, self.output, sample_weight=weights)

    def results(self, weighted):
        """Returns the values of the metrics after a batch."""
        found = []
        for of, counts in ((self.metrics, False), (self.weighted_metrics, weighted)):
            for metric in of:
                weights = self.sample_weight if counts else None
                if self.mask is not None:
                    weights = _masked(weights, self.mask, self.output)
                found.append(metric(self.target, self.output, sample_weight=weights))
        return found


def _masked(weights, mask, output):
    mask = math.cast(mask, output.dtype)
    if weights is None:
        return mask
    if weights.rank is not None and mask.rank is not None and weights.rank < mask.rank:
        weights = array.reshape(weights, array.concat([array.shape(weights), [1] * (mask.rank - weights.rank)], 0))
    return mask * weights


class Compiled:
    """A model with an optimizer, losses and metrics.

    Args:
      as `Model.compile`; the model has inputs and outputs.
    """

    def __init__(self, model, optimizer, loss, metrics_given, loss_weights, modes, weighted_metrics, target_tensors,
                 session_kwargs):
        self.model, self.optimizer, self.session_kwargs = model, optimizer, session_kwargs
        names, outputs = model.output_names, model.outputs
        loss = losses.get(loss) if isinstance(loss, dict) and "class_name" in loss else loss
        given = of_outputs(loss, names, "loss")
        if given is None:
            given = [loss] * len(names)
        if isinstance(loss, dict):
            for name, one in zip(names, given):
                if one is None:
                    warn(f"Output {name!r} missing from loss dictionary: it is not trained, and takes no data.")
        weights = of_outputs(loss_weights, names, "loss_weights")
        if weights is None:
            raise TypeError(f"loss_weights must be a list or dict with one entry per output, {names}, got {loss_weights!r}.")
        modes = of_outputs(modes, names, "sample_weight_mode") or [modes] * len(names)
        targets = of_outputs(target_tensors, names, "target_tensors")
        if targets is None:
            raise TypeError(f"target_tensors must be a list or dict with one entry per output, {names}.")
        self.endpoints = [Endpoint(name, output, _loss_of(one), weight, mode, target)
                          for name, output, one, weight, mode, target in zip(names, outputs, given, weights, modes, targets)]
        self._give_metrics(metrics_given, "metrics")
        self._give_metrics(weighted_metrics, "weighted_metrics")
        self._name_metrics()
        self._parts, self._functions = {}, {}
        self.trainable = list(model.trainable_weights)

    # -- metrics -----------------------------------------------------------------------------------------------
    def _give_metrics(self, given, attribute):
        names, n = [e.name for e in self.endpoints], len(self.endpoints)
        if not given:
            return
        if isinstance(given, dict):
            listed = [_listed(one) for one in of_outputs(given, names, attribute)]
        elif not isinstance(given, (list, tuple)):
            raise TypeError(f"Type of `{attribute}` argument not understood. Expected a list or dictionary, found: {given!r}")
        elif any(isinstance(one, (list, tuple)) for one in given):
            if len(given) != n:
                raise ValueError(f"When passing a list of lists as `{attribute}`, it should have one entry per model output. "
                                 f"The model has {n} outputs, but you passed {attribute}={given}")
            listed = [_listed(one) for one in given]
        else:
            listed = [given, *([metrics.clone_metric(one) for one in given] for _ in range(n - 1))]
        for endpoint, some in zip(self.endpoints, listed):
            if endpoint.loss is not None:
                prefix = "weighted_" if attribute == "weighted_metrics" else ""
                setattr(endpoint, attribute, [_metric_of(one, endpoint, prefix) for one in some if one is not None])

    def _name_metrics(self):
        """Gives metrics the names of their outputs where there are several, and each a name of its own."""
        several, seen = len(self.endpoints) > 1, {"loss", *(e.name + "_loss" for e in self.endpoints)}
        for e in self.endpoints:
            for metric in [*e.metrics, *e.weighted_metrics]:
                base = f"{e.name}_{metric.name}" if several else metric.name
                metric._name = next(n for n in itertools.chain([base], (f"{base}_{i}" for i in itertools.count(1)))
                                    if n not in seen)
                seen.add(metric._name)

    @property
    def trained(self):
        return [e for e in self.endpoints if e.loss is not None]

    @property
    def metrics(self):
        """The metrics, of outputs and of layers, in the order of their values; losses of outputs are not among them."""
        own = [m for e in self.endpoints for m in (*e.metrics, *e.weighted_metrics)]
        return [*own, *(metric for metric, _ in added_metrics(self.model))]

    @property
    def metrics_names(self):
        each = [e.total.name for e in self.trained] if len(self.endpoints) > 1 else []
        return ["loss", *each, *(m.name for m in self.metrics)]

    def reset_metrics(self):
        several = [e.total for e in self.trained] if len(self.endpoints) > 1 else []
        for metric in dict.fromkeys([*several, *self.metrics]):
            metric.reset_states()

    # -- graphs --------------------------------------------------------------------------------------------------
    def parts(self, weighted):
        """Returns (total loss, values of losses of outputs and of metrics), with or without weights of samples."""
        if weighted not in self._parts:
            with self.model.graph_of_inputs.as_default():
                self._parts[weighted] = self._made(weighted)
        return self._parts[weighted]

    def _made(self, weighted):
        terms, values = [], []
        with get_default_graph().name_scope("loss"):
            for e in self.trained:
                loss = e.loss_of_batch(weighted)
                if len(self.endpoints) > 1:
                    values.append(e.total(loss))
                terms.append(e.weight * loss)
            extra = relevant(self.model, self.model.losses)
            if not terms and not extra:
                raise ValueError("The model cannot be compiled because it has no loss to optimize: give `compile` a loss, or "
                                 "call `model.add_loss`.")
            total = sum(terms[1:], terms[0]) if terms else 0.0
            if extra:
                total = total + math.add_n([math.cast(t, extra[0].dtype) for t in extra])
        with get_default_graph().name_scope("metrics"):
            for e in self.trained:
                values += e.results(weighted)
        return total, values + [result for _, result in added_metrics(self.model)]

    def function(self, mode, weighted):
        """Returns the function of arrays for inputs, targets and, if `weighted`, weights of samples."""
        key = mode, weighted
        if key not in self._functions:
            with self.model.graph_of_inputs.as_default():
                self._functions[key] = self._function(mode, weighted)
        return self._functions[key]

    def _function(self, mode, weighted):
        total, values = self.parts(weighted)
        inputs = [*self.model.fed_inputs, *(e.target for e in self.fed_targets)]
        inputs += [e.sample_weight for e in self.trained] if weighted else []
        updates = state_updates(self.model)
        if mode == TRAIN:
            if [id(v) for v in self.trainable] != [id(v) for v in self.model.trainable_weights]:
                warn("Discrepancy between trainable weights and collected trainable weights: `trainable` was changed after "
                     "`compile`. Training goes on with what was trainable then; call `compile` again.")
            with get_default_graph().name_scope("training"):
                updates = [*_steps(self.optimizer, total, self.trainable), *relevant(self.model, self.model.updates)]
        return run_function(inputs, [total, *values], updates, mode, self.session_kwargs)

    @property
    def fed_targets(self):
        return [e for e in self.trained if e.feeds_target]


def run_function(inputs, outputs, updates, mode, session_kwargs):
    """Returns a function of arrays: one run, in which layers learn that this is training, or that it is not."""
    phase, kwargs = learning_phase(), dict(session_kwargs)
    if is_tensor(phase):
        kwargs["feed_dict"] = {**kwargs.get("feed_dict", {}), phase: mode == TRAIN}
    return backend.Function(inputs, outputs, updates, name=f"{mode}_function", **kwargs)


def _steps(optimizer, loss, variables):
    """Returns the operations of one step of an optimizer, of Keras or of tf.train."""
    if not variables:
        return []
    if not isinstance(optimizer, TrainOptimizer):
        return optimizer.get_updates(loss, variables)
    pairs = optimizer.compute_gradients(loss, var_list=variables)
    if all(g is None for g, _ in pairs):
        raise ValueError(f"No gradients provided for any variable: none of {[v.name for v in variables]} leads to the loss.")
    return [optimizer.apply_gradients([p for p in pairs if p[0] is not None], global_step=get_global_step())]


def _listed(one):
    return [] if one is None else list(one) if isinstance(one, (list, tuple)) else [one]


def _metric_of(given, endpoint, prefix):
    """Returns a metric for what `compile` takes: a metric, a function of (y_true, y_pred), or a name."""
    if isinstance(given, str) and given in _SHORT:
        short, (binary, sparse, plain) = _SHORT[given]
        loss, last = getattr(endpoint.loss, "function", None), endpoint.output.dims[-1] if endpoint.output.rank else None
        name = binary if last == 1 or loss is losses.binary_crossentropy else sparse if loss is _SPARSE else plain
        return metrics.MeanMetricWrapper(getattr(metrics, name), name=prefix + short)
    found = metrics.get(given)
    found = found() if isinstance(found, type) else found
    if isinstance(found, metrics.Metric):
        return found
    name = getattr(found, "name", None) or getattr(found, "__name__", type(found).__name__.lower()).strip("<>")
    return metrics.MeanMetricWrapper(found.call if isinstance(found, losses.Loss) else found, name=prefix + name)


# -- what belongs to a model ---------------------------------------------------------------------------------------
def added_metrics(model):
    """Returns [(metric, value after a batch)] of `add_metric`, of the model's layers and its own, each once."""
    there = [entry for layer in _within(model) for entry in getattr(layer, "_metric_values", ())]
    ours = set(relevant(model, [source for *_, source in there]))
    return sorted({m: value for m, value, source in there if source in ours}.items(), key=lambda pair: pair[1].op.id)


def _within(model):
    """Returns a model and all layers within it, each once."""
    found, stack = {}, [model]
    while stack:
        layer = stack.pop()
        if layer not in found:
            found[layer] = None
            stack += layer._layers_within()
    return list(found)


def state_updates(model):
    """Returns the updates that are run outside of training too: those that keep the states of stateful layers."""
    kept = [layer for layer in _within(model) if getattr(layer, "stateful", False) and not hasattr(layer, "fit")]
    return relevant(model, list(dict.fromkeys(op for layer in kept for op in layer.updates)))


def relevant(model, parts):
    """Returns those of losses and updates that a run of the model calls for: they depend on its inputs, or on no inputs.

    A layer has those of all its calls; the others belong to other models.
    """
    if not parts:
        return []
    ours, others = set(model.inputs), set()
    for op in model.graph_of_inputs.get_operations():
        if op.type in _FEEDABLE:
            if not any(t in ours for t in op.outputs) and op.outputs[0] is not learning_phase():
                others.update(op.outputs)
        elif any(t in ours for t in op.inputs):
            ours.update(op.outputs)
        elif any(t in others for t in op.inputs):
            others.update(op.outputs)

    def counts(part):
        tensors = [part] if isinstance(part, Tensor) else part.inputs
        return any(t in ours for t in tensors) or not any(t in others for t in tensors)

    return [part for part in parts if counts(part)]


__all__ = ["Compiled", "PREDICT", "TEST", "TRAIN", "named", "run_function"]
