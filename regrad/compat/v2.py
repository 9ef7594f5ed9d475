"""`tensorflow.compat.v2` for libraries that build TensorFlow 1.15's graphs with version 2's names.

Names are those of `tf`, but for these, whose arguments or meaning version 2 changed. Nothing runs eagerly.
"""

import functools
import re

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor as _converted
from regrad.core.graph import get_default_graph
from regrad.core.shown import Shown
from regrad.ops import array, indexing, layout, random, reduce
from regrad.ops.compare import where_v2 as where  # noqa: F401 - part of this namespace
from regrad.ops.flow import cond as _cond
from regrad.variables.variable import Variable


def __getattr__(name):
    import regrad

    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(regrad, name)


def argmax(input, axis=None, output_type=dtypes.int64, name=None):
    """`tf.argmax`."""
    return reduce.argmax(input, axis, name=name, output_type=output_type)


def argmin(input, axis=None, output_type=dtypes.int64, name=None):
    """`tf.argmin`."""
    return reduce.argmin(input, axis, name=name, output_type=output_type)


def cond(pred, true_fn=None, false_fn=None, name=None):
    """`tf.cond`, which leaves lists of one tensor as they are."""
    return _cond(pred, true_fn, false_fn, strict=True, name=name)


def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None):
    """`tf.convert_to_tensor`."""
    return _converted(value, dtype, name, dtype_hint=dtype_hint)


def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """`tf.gather`, whose axis is `batch_dims` by default."""
    return indexing.gather(params, indices, validate_indices, name, batch_dims if axis is None else axis, batch_dims)


def ones_like(input, dtype=None, name=None):
    """`tf.ones_like`."""
    return array.ones_like(input, dtype, name)


def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """`tf.pad`."""
    return layout.pad(tensor, paddings, mode, name, constant_values)


def poisson(shape, lam, dtype=dtypes.float32, seed=None, name=None):
    """`tf.random.poisson`."""
    return random.random_poisson(lam, shape, dtype, seed, name)


def shape(input, out_type=dtypes.int32, name=None):
    """`tf.shape`."""
    return array.shape(input, name, out_type)


def size(input, out_type=dtypes.int32, name=None):
    """`tf.size`."""
    return array.size(input, name, out_type)


def zeros_like(input, dtype=None, name=None):
    """`tf.zeros_like`."""
    return array.zeros_like(input, dtype, name)


def concat(values, axis, name="concat"):
    """`tf.concat`."""
    return array.concat(values, axis, name)


def _reduction(function):
    def reduction(input_tensor, axis=None, keepdims=False, name=None):
        return function(input_tensor, axis, keepdims, name)

    reduction.__name__ = function.__name__
    reduction.__doc__ = f"`tf.{function.__name__}`."
    return reduction


reduce_all, reduce_any = _reduction(reduce.reduce_all), _reduction(reduce.reduce_any)
reduce_sum, reduce_prod = _reduction(reduce.reduce_sum), _reduction(reduce.reduce_prod)
reduce_max, reduce_min = _reduction(reduce.reduce_max), _reduction(reduce.reduce_min)
reduce_mean, reduce_logsumexp = _reduction(reduce.reduce_mean), _reduction(reduce.reduce_logsumexp)


class Module(Shown):
    """Base class of objects that hold variables, and other modules, in attributes, lists and dictionaries.

    Args:
      name: by default the class's name in snake case.
    """

    _TF_MODULE_IGNORED_PROPERTIES = frozenset(["_name", "_name_scope"])

    def __init__(self, name=None):
        self._name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(self).__name__).lower()
        with get_default_graph().name_scope(self._name) as scope:
            self._name_scope = scope

    name = property(lambda self: self._name)

    def _no_dependency(self, value):
        """Returns `value`: which attributes are saved in checkpoints does not follow from objects here."""
        return value

    @property
    def name_scope(self):
        """Context manager of the module's name scope."""
        return get_default_graph().name_scope(self._name_scope)

    @property
    def variables(self):
        """Tuple of all variables of it and its modules, each once."""
        return tuple(self._found(lambda x: isinstance(x, Variable)))

    @property
    def trainable_variables(self):
        """Tuple of those that are trainable."""
        return tuple(self._found(lambda x: isinstance(x, Variable) and x.trainable))

    @property
    def submodules(self):
        """Tuple of all modules in it."""
        return tuple(self._found(lambda x: isinstance(x, Module)))

    def _found(self, fits):
        found, seen, stack = [], {id(self)}, [self]
        while stack:
            x = stack.pop()
            if x is not self and fits(x):
                found.append(x)
            if isinstance(x, Module):
                parts = [v for k, v in sorted(vars(x).items()) if k not in x._TF_MODULE_IGNORED_PROPERTIES]
            else:
                parts = list(x.values()) if isinstance(x, dict) else list(x) if isinstance(x, (list, tuple)) else []
            for part in reversed(parts):
                if id(part) not in seen and isinstance(part, (Module, Variable, dict, list, tuple)):
                    seen.add(id(part))
                    stack.append(part)
        return found

    @classmethod
    def with_name_scope(cls, method):
        """Decorator of methods that run in the module's name scope."""
        @functools.wraps(method)
        def scoped(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped
