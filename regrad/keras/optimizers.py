"""`tf.keras.optimizers`: Keras's optimizers, whose settings are variables and which give their updates as operations.

Sparse gradients are made dense, which changes nothing but SGD's momentum; there rows without a gradient stay as they are.
"""

import inspect

import numpy as np

from regrad.autodiff.gradients import gradients
from regrad.core.arguments import unexpected
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import float32, int64
from regrad.core.graph import get_default_graph, is_tensor
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.shown import Shown
from regrad.framework import control_dependencies
from regrad.keras import backend
from regrad.keras.utils import custom_object
from regrad.ops import array, compare, math
from regrad.ops.clip import clip_by_norm, clip_by_value
from regrad.ops.control import group
from regrad.ops.indexing import scatter_nd
from regrad.train.optimizer import Optimizer as TrainOptimizer
from regrad.variables.assign import assign, assign_add
from regrad.variables.initializers import Constant
from regrad.variables.lifting import init_scope
from regrad.variables.listing import trainable_variables
from regrad.variables.variable import Variable


class Optimizer(Shown):
    """Base of Keras's optimizers. A subclass names its settings and slots, and gives `_step`.

    Args:
      name: name scope of the updates, and the beginning of the names of variables.
      decay: the learning rate is divided by 1 + decay * iterations.
      clipnorm, clipvalue: each gradient is shortened to that length, or its elements kept between -clipvalue and clipvalue.
      lr: older name of `learning_rate`.
      settings: {name: number or tensor} of the subclass, which are variables by these names.

    Attributes:
      iterations: the variable that counts updates.
      lr, learning_rate, and other settings by their names: variables; what is assigned to them is their next value.
    """

    _slots: dict = {}  # name: first value, or the name of the setting that gives it

    def __init__(self, name, settings=None, decay=0.0, clipnorm=None, clipvalue=None, lr=None, **unknown):
        if unknown:
            raise unexpected(type(self), unknown)
        settings = dict(settings or {}) if lr is None else {**(settings or {}), "learning_rate": lr}
        for key, value in (("clipnorm", clipnorm), ("clipvalue", clipvalue), ("decay", decay)):
            if value is not None and not is_tensor(value) and value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        self.__dict__.update(_name=name, clipnorm=clipnorm, clipvalue=clipvalue, _given=settings | {"decay": decay}, _made={},
                             _of_variables={}, _decays=is_tensor(decay) or bool(decay))

    def __getattr__(self, name):
        name = "learning_rate" if name == "lr" else name
        if name == "iterations":
            return self._setting(name, 0, int64)
        if name in self.__dict__.get("_given", ()):
            value = self._given[name]
            return value if is_tensor(value) else self._setting(name, value() if callable(value) else value, float32)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name)

    def __setattr__(self, name, value):
        name = "learning_rate" if name == "lr" else name
        if name in self._made:
            backend.set_value(self._made[name], value)
        elif name in self._given:
            self._given[name] = value
        else:
            super().__setattr__(name, value)

    def _said(self):
        return dict(self._given)

    def _setting(self, name, value, dtype):
        if name not in self._made:
            with init_scope(), get_default_graph().name_scope(""):
                self._made[name] = Variable(Constant(value)([], dtype=dtype), trainable=False, name=f"{self._name}/{name}")
        return self._made[name]

    # -- public ------------------------------------------------------------------------------------------------

    def get_gradients(self, loss, params):
        """Returns the gradients of a loss with respect to variables, clipped.

        Raises:
          ValueError: one of the variables has none.
        """
        params = list(params)
        found = gradients(loss, params)
        for g, v in zip(found, params):
            if g is None:
                raise ValueError(f"Variable {v.name} has `None` for gradient: no path leads from it to the loss {loss}, or one "
                                 "that is cut by an operation without gradient, such as K.argmax or K.round.")
        return [self._clipped(g) for g in found]

    def _clipped(self, g):
        if g is None or self.clipnorm is None and self.clipvalue is None:
            return g
        g = g if self.clipnorm is None else clip_by_norm(g, self.clipnorm)
        return g if self.clipvalue is None else clip_by_value(g, -self.clipvalue, self.clipvalue)

    def get_updates(self, loss, params):
        """Returns [operation that changes variables so that the loss falls]."""
        params = list(params)
        return [self._apply(zip(self.get_gradients(loss, params), params))]

    def minimize(self, loss, var_list=None, grad_loss=None, name=None, overrides=None, accumulate=None, view=None, order=None):
        """Returns the operation that changes variables, all trainable ones by default, so that a loss falls.

        Args:
          loss: a tensor, or a function that makes it.
          grad_loss: what arrives at the loss; ones by default.
          overrides, accumulate, view, order: how the gradients are taken, as of `tf.gradients`.
        """
        params = list(trainable_variables() if var_list is None else var_list() if callable(var_list) else var_list)
        grads = gradients(loss() if callable(loss) else loss, params, grad_loss, overrides=overrides, accumulate=accumulate,
                          view=view, order=order)
        return self.apply_gradients(zip(grads, params), name)

    def apply_gradients(self, grads_and_vars, name=None):
        """Returns the operation that changes variables by gradients, which it clips, and counts `iterations`.

        Raises:
          ValueError: there is no gradient at all.
        """
        return self._apply([(self._clipped(g), v) for g, v in grads_and_vars], name)

    def _apply(self, pairs, name=None):
        pairs = [(g, v) for g, v in pairs if g is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        slots = [self._slots_of(v) for _, v in pairs]
        with get_default_graph().name_scope(name or self._name):
            rate = self.learning_rate
            rate = rate / (1.0 + self.decay * math.cast(self.iterations, float32)) if self._decays else rate
            prepared = self._prepared(rate, math.cast(self.iterations + 1, float32))
            updates = []
            for (g, v), own in zip(pairs, slots):
                updates += self._updates_of(g, v, own, [math.cast(t, v.dtype) for t in prepared])
            with control_dependencies([getattr(u, "op", u) for u in updates]):
                return group(assign_add(self.iterations, 1))

    def _updates_of(self, g, v, slots, prepared):
        new, new_slots = self._step(v.value(), convert_to_tensor(g), {n: s.value() for n, s in slots.items()}, *prepared)
        if isinstance(g, IndexedSlices) and self._keeps_rows:
            rows = scatter_nd(array.expand_dims(g.indices, 1), array.ones_like(g.indices), array.shape(v)[:1]) > 0
            new_slots = {n: compare.where(rows, t, slots[n].value()) for n, t in new_slots.items()}
            new = compare.where(rows, new, v.value())
        new = v.constraint(new) if v.constraint is not None else new
        return [assign(v, new), *(assign(slots[n], t) for n, t in new_slots.items())]

    _keeps_rows = False  # whether rows without a gradient stay as they are, where the gradient is sparse

    def _slots_of(self, v):
        found = self._of_variables.get(v)
        if found is None:
            found = self._of_variables[v] = {}
            with init_scope(), get_default_graph().name_scope(""):
                for slot, first in self._slots.items():
                    value = self._given[first] if isinstance(first, str) else first
                    found[slot] = Variable(Constant(value)(v.shape.as_list(), dtype=v.dtype), trainable=False,
                                           name=f"{self._name}/{v.op.name}/{slot}")
        return found

    def _prepared(self, rate, step):
        """Returns the numbers that `_step` takes: the learning rate, `step` being 1 at the first update, and settings."""
        return [rate]

    def _step(self, w, g, slots, *prepared):
        """Returns (next value of a variable, {slot: next value})."""
        raise NotImplementedError(f"{type(self).__name__} must define _step.")

    @property
    def weights(self):
        """The variables: `iterations`, then the slots."""
        return [self.iterations, *(own[slot] for slot in self._slots for own in self._of_variables.values())]

    def get_config(self):
        """Returns the arguments that make such an optimizer, with the values that settings have now."""
        clips = {"clipnorm": self.clipnorm, "clipvalue": self.clipvalue}
        config = {"name": self._name, **{n: value for n, value in clips.items() if value is not None}}
        names = [n for n in inspect.signature(type(self).__init__).parameters if n not in ("self", "name", "kwargs")]
        for n in dict.fromkeys([*names, *self._given]):
            value = backend.get_value(self._made[n]) if n in self._made else self._given.get(n, self.__dict__.get(n))
            config[n] = float(value) if isinstance(value, np.generic) else value
        return config

    @classmethod
    def from_config(cls, config):
        """Returns an optimizer by what `get_config` gave."""
        return cls(**config)

    def get_weights(self):
        """Returns the values of `weights`."""
        return backend.batch_get_value(self.weights)

    def set_weights(self, weights):
        """Gives `weights` values; ValueError for another number of them."""
        if len(weights) != len(self.weights):
            raise ValueError(f"The optimizer has {len(self.weights)} weights, got {len(weights)} values.")
        backend.batch_set_value(list(zip(self.weights, weights)))


class SGD(Optimizer):
    """w <- w + v, v <- momentum v - rate g; with `nesterov`, w <- w + momentum v - rate g."""

    _keeps_rows = True

    def __init__(self, learning_rate=0.01, momentum=0.0, nesterov=False, name="SGD", **kwargs):
        super().__init__(name, {"learning_rate": learning_rate, "momentum": momentum}, **kwargs)
        if not is_tensor(momentum) and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        self.__dict__.update(nesterov=nesterov, _slots={"momentum": 0.0} if is_tensor(momentum) or momentum else {})

    def _prepared(self, rate, step):
        return [rate, self.momentum]

    def _step(self, w, g, slots, rate, momentum):
        if not slots:
            return w - rate * g, {}
        v = momentum * slots["momentum"] - rate * g
        return w + (momentum * v - rate * g if self.nesterov else v), {"momentum": v}


class RMSprop(Optimizer):
    """w <- w - rate g / (sqrt(s) + epsilon), s <- rho s + (1 - rho) g^2.

    Args:
      momentum: m <- momentum m + rate g / sqrt(s + epsilon) is subtracted instead.
      centered: the square of a running mean of gradients is subtracted from s.
    """

    def __init__(self, learning_rate=0.001, rho=0.9, momentum=0.0, epsilon=1e-7, centered=False, name="RMSprop", **kwargs):
        super().__init__(name, {"learning_rate": learning_rate, "rho": rho, "momentum": momentum}, **kwargs)
        moving = {"momentum": 0.0} if is_tensor(momentum) or momentum else {}
        self.__dict__.update(epsilon=epsilon, centered=centered,
                             _slots={"rms": 0.0, **moving, **({"mg": 0.0} if centered else {})})

    def _prepared(self, rate, step):
        return [rate, self.rho, self.momentum]

    def _step(self, w, g, slots, rate, rho, momentum):
        new = {"rms": rho * slots["rms"] + (1 - rho) * math.square(g)}
        spread = new["rms"]
        if "mg" in slots:
            new["mg"] = rho * slots["mg"] + (1 - rho) * g
            spread = spread - math.square(new["mg"])
        if "momentum" not in slots:
            return w - rate * g / (math.sqrt(spread) + self.epsilon), new
        new["momentum"] = momentum * slots["momentum"] + rate * g * math.rsqrt(spread + self.epsilon)
        return w - new["momentum"], new


class Adagrad(Optimizer):
    """w <- w - rate g / (sqrt(s) + epsilon), s <- s + g^2."""

    _slots = {"accumulator": "initial_accumulator_value"}

    def __init__(self, learning_rate=0.001, initial_accumulator_value=0.1, epsilon=1e-7, name="Adagrad", **kwargs):
        if initial_accumulator_value < 0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, {"learning_rate": learning_rate, "initial_accumulator_value": initial_accumulator_value},
                         **kwargs)
        self.__dict__.update(epsilon=epsilon)

    def _step(self, w, g, slots, rate):
        total = slots["accumulator"] + math.square(g)
        return w - rate * g / (math.sqrt(total) + self.epsilon), {"accumulator": total}


class Adadelta(Optimizer):
    """w <- w - rate u, u = g sqrt(d + epsilon) / sqrt(s + epsilon), with running means s of g^2 and d of u^2."""

    _slots = {"accum_grad": 0.0, "accum_var": 0.0}

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-7, name="Adadelta", **kwargs):
        super().__init__(name, {"learning_rate": learning_rate, "rho": rho}, **kwargs)
        self.__dict__.update(epsilon=epsilon)

    def _prepared(self, rate, step):
        return [rate, self.rho]

    def _step(self, w, g, slots, rate, rho):
        s = rho * slots["accum_grad"] + (1 - rho) * math.square(g)
        u = g * math.sqrt(slots["accum_var"] + self.epsilon) * math.rsqrt(s + self.epsilon)
        return w - rate * u, {"accum_grad": s, "accum_var": rho * slots["accum_var"] + (1 - rho) * math.square(u)}


class Adam(Optimizer):
    """w <- w - rate sqrt(1 - beta_2^t) / (1 - beta_1^t) m / (sqrt(v) + epsilon), with running means m of g and v of g^2.

    Args:
      amsgrad: divide by the largest v there was.
    """

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, name="Adam", **kwargs):
        super().__init__(name, {"learning_rate": learning_rate, "beta_1": beta_1, "beta_2": beta_2}, **kwargs)
        self.__dict__.update(epsilon=1e-7 if epsilon is None else epsilon, amsgrad=amsgrad,
                             _slots={"m": 0.0, "v": 0.0, **({"vhat": 0.0} if amsgrad else {})})

    def _prepared(self, rate, step):
        scale = math.sqrt(1 - math.pow(self.beta_2, step)) / (1 - math.pow(self.beta_1, step))
        return [rate * scale, self.beta_1, self.beta_2]

    def _step(self, w, g, slots, rate, beta_1, beta_2):
        new = {"m": beta_1 * slots["m"] + (1 - beta_1) * g, "v": beta_2 * slots["v"] + (1 - beta_2) * math.square(g)}
        spread = new["v"]
        if self.amsgrad:
            spread = new["vhat"] = math.maximum(slots["vhat"], spread)
        return w - rate * new["m"] / (math.sqrt(spread) + self.epsilon), new


class Adamax(Optimizer):
    """w <- w - rate / (1 - beta_1^t) m / (v + epsilon), with a running mean m of g, and v <- max(beta_2 v, abs(g))."""

    _slots = {"m": 0.0, "v": 0.0}

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, name="Adamax", **kwargs):
        super().__init__(name, {"learning_rate": learning_rate, "beta_1": beta_1, "beta_2": beta_2}, **kwargs)
        self.__dict__.update(epsilon=epsilon)

    def _prepared(self, rate, step):
        return [rate / (1 - math.pow(self.beta_1, step)), self.beta_1, self.beta_2]

    def _step(self, w, g, slots, rate, beta_1, beta_2):
        m, v = beta_1 * slots["m"] + (1 - beta_1) * g, math.maximum(beta_2 * slots["v"], math.abs(g))
        return w - rate * m / (v + self.epsilon), {"m": m, "v": v}


def serialize(optimizer):
    """Returns {"class_name": ..., "config": ...} of an optimizer of Keras."""
    return {"class_name": type(optimizer).__name__, "config": optimizer.get_config()}


def deserialize(config, custom_objects=None):
    """Returns the optimizer that `serialize` described; ValueError for an unknown class."""
    found = (custom_objects or {}).get(config["class_name"]) or custom_object(config["class_name"]) or _BY_NAME.get(
        config["class_name"].lower())
    if found is None:
        raise ValueError(f"Unknown optimizer: {config['class_name']}; there are {', '.join(_BY_NAME)}.")
    return found.from_config(config["config"])


def get(identifier):
    """Returns an optimizer for a name ("adam"), or an optimizer itself, of Keras or of tf.train.

    Raises:
      ValueError: it is neither.
    """
    if isinstance(identifier, (Optimizer, TrainOptimizer)):
        return identifier
    if isinstance(identifier, str) and identifier.lower() in _BY_NAME:
        return _BY_NAME[identifier.lower()]()
    if isinstance(identifier, dict):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret optimizer identifier: {identifier!r}; there are {', '.join(_BY_NAME)}.")


_BY_NAME = {c.__name__.lower(): c for c in (Adadelta, Adagrad, Adam, Adamax, RMSprop, SGD)}
__all__ = ["Adadelta", "Adagrad", "Adam", "Adamax", "Optimizer", "RMSprop", "SGD", "deserialize", "get", "serialize"]
