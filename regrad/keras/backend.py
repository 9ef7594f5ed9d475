"""`tf.keras.backend`: Keras's settings and sessions; its names for operations are in `operations.py`."""

import numpy as np

from regrad.core import nest
from regrad.core.arguments import parameters, unexpected
from regrad.core.context import get_default_session
from regrad.core.graph import reset_default_graph
from regrad.core.lazy import names_of
from regrad.core.shown import Shown
from regrad.framework import control_dependencies
from regrad.ops.control import group
from regrad.runtime.session import Session
from regrad.variables.assign import assign
from regrad.variables.lifting import root_graph
from regrad.variables.listing import global_variables, is_variable_initialized, variables_initializer

_settings: dict = {"epsilon": 1e-7, "floatx": "float32", "image_data_format": "channels_last"}


def epsilon():
    """Returns the small number that keeps divisions finite, 1e-7 by default."""
    return _settings["epsilon"]


def set_epsilon(value):
    _settings["epsilon"] = value


def floatx():
    """Returns the name of the floating dtype in use, "float32" by default."""
    return _settings["floatx"]


def set_floatx(value):
    """Raises ValueError unless `value` is "float16", "float32" or "float64"."""
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _settings["floatx"] = str(value)


def cast_to_floatx(x):
    """Returns an array, or a tensor, in the floating dtype in use."""
    from regrad.core.graph import is_tensor
    from regrad.ops.math import cast

    return cast(x, floatx()) if is_tensor(x) else np.asarray(x, dtype=floatx())


def image_data_format():
    """Returns "channels_last" or "channels_first"."""
    return _settings["image_data_format"]


def set_image_data_format(data_format):
    """Raises ValueError unless it is "channels_last" or "channels_first"."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _settings["image_data_format"] = str(data_format)


# -- sessions ---------------------------------------------------------------------------------------------


def set_session(session):
    """Makes `session` the one of Keras where there is no default session."""
    _settings["session"] = session


def get_session():
    """Returns the default session, or that of `set_session`, or one that it makes; it gives new variables their first values.

    A variable that has a value keeps it; `manual_variable_initialization(True)` leaves all to the program.
    """
    session, graph = get_default_session() or _settings.get("session"), root_graph()
    if session is None or session.graph is not graph and get_default_session() is None:
        session = _settings["session"] = Session(graph=graph)
    if not _settings.get("manual"):
        _initialize(session)
    return session


def manual_variable_initialization(value):
    """Says whether the program initializes variables itself, True, or `get_session` those that have no value."""
    _settings["manual"] = value


def _initialize(session):
    known = session.__dict__.setdefault("_initialized_by_keras", set())
    with session.graph.as_default():
        there = global_variables() + session.graph.__dict__.get("_keras_variables", [])
        new = [v for v in there if v not in known] if len(there) != len(known) else []
        if new:
            valued = session.run([is_variable_initialized(v) for v in new])
            empty = [v for v, has in zip(new, valued) if not has]
            if empty:
                session.run(variables_initializer(empty))
            known.update(new)


def learning_phase():
    """Returns what Keras's layers take for `training` by default: a placeholder, False where it is not fed."""
    from regrad.keras import base

    return base.learning_phase()


def set_learning_phase(value):
    """Makes `value`, 0 or 1, what Keras's layers of the default graph take for `training` by default."""
    from regrad.keras import base

    base.set_learning_phase(value)


def clear_session():
    """Replaces the default graph by an empty one, and forgets the session."""
    _settings.pop("session", None)
    reset_default_graph()


def get_uid(prefix=""):
    """Returns 1, then 2 ... for each prefix in the default graph."""
    counts = root_graph().__dict__.setdefault("_keras_uids", {})
    counts[prefix] = counts.get(prefix, 0) + 1
    return counts[prefix]


def get_value(x):
    """Returns the value of a variable or tensor in the session of Keras; see `get_session`."""
    return get_session().run(x)


eval = get_value


def set_value(x, value):
    """Gives a variable a value in the session of Keras."""
    x.load(np.asarray(value, x.dtype.as_numpy_dtype), get_session())


def batch_set_value(tuples):
    """Gives variables values: [(variable, value)]."""
    for x, value in tuples:
        set_value(x, value)


def batch_get_value(tensors):
    """Returns the values of several variables."""
    return get_session().run(list(tensors))


SESSION_ARGUMENTS = ("feed_dict", "fetches", "options", "run_metadata")


def check_session_arguments(of, given):
    """Raises TypeError for a keyword that neither `of` nor a run of Keras takes."""
    unknown = [name for name in given if name not in SESSION_ARGUMENTS]
    if unknown:
        raise unexpected(of, unknown, [*parameters(of), *SESSION_ARGUMENTS])


class Function(Shown):
    """What `function` returns: called with a list of values of the inputs, it gives those of the outputs."""

    def __init__(self, inputs, outputs, updates=None, name=None, feed_dict=None, fetches=None, **session_kwargs):
        check_session_arguments(function, session_kwargs)
        self.inputs, self.outputs, self.name = nest.flatten(inputs), outputs, name
        self.feed_dict, self.fetches, self.session_kwargs = dict(feed_dict or {}), list(fetches or ()), session_kwargs
        with control_dependencies([getattr(t, "op", t) for t in nest.flatten(outputs)[:1]]):
            self.updates_op = group(*[assign(*u) if isinstance(u, tuple) else u for u in updates or ()])

    def __call__(self, inputs=()):
        values = nest.flatten(inputs) if len(nest.flatten(inputs)) == len(self.inputs) else list(inputs)
        if len(values) != len(self.inputs):
            raise ValueError(f"function {self.name or ''} takes {len(self.inputs)} inputs, got {len(values)}.")
        feeds = self.feed_dict | dict(zip(self.inputs, values))
        return get_session().run([self.outputs, self.updates_op, self.fetches], feeds, **self.session_kwargs)[0]


def function(inputs, outputs, updates=None, name=None, **kwargs):
    """Returns a function of values: `f([value of each input])` gives the values of `outputs`, in the session of Keras.

        f = tf.keras.backend.function([x], [y])
        (y_value,) = f([x_value])

    Args:
      inputs: list of placeholders, or of other tensors that may be fed.
      outputs: list of tensors, or another structure of them.
      updates: operations to run after the first output, or (variable, new value) pairs.
      feed_dict, fetches, options, run_metadata: further feeds and fetches of each run, and what `Session.run` takes.
    """
    return Function(inputs, outputs, updates, name, **kwargs)


__getattr__, __dir__, _names = names_of(__name__, {
    "regrad.framework": "name_scope",
    "regrad.keras.recurrent": "rnn",
    "regrad.ops.array": "identity shape stack",
    "regrad.ops.compare": "equal greater greater_equal less less_equal not_equal",
    "regrad.ops.math": "abs cast cos exp log maximum minimum pow round sigmoid sign sin square tanh",
    "regrad.ops.nn": "softplus softsign",
    "regrad.keras.activations": "hard_sigmoid",
    "regrad.keras.operations": """
        all any arange argmax argmin batch_dot batch_flatten batch_normalization bias_add binary_crossentropy
        categorical_crossentropy clip concatenate constant conv1d conv2d conv2d_transpose conv3d count_params ctc_batch_cost
        ctc_decode ctc_label_dense_to_sparse cumprod cumsum depthwise_conv2d dot dropout dtype elu expand_dims eye flatten foldl
        foldr gather gradients in_test_phase in_top_k in_train_phase int_shape is_keras_tensor is_sparse
        l2_normalize logsumexp map_fn max mean min moving_average_update ndim one_hot ones ones_like permute_dimensions
        placeholder pool2d print_tensor prod random_binomial random_normal random_normal_variable random_uniform
        random_uniform_variable relu repeat repeat_elements reshape resize_images reverse separable_conv2d softmax
        sparse_categorical_crossentropy spatial_2d_padding spatial_3d_padding sqrt squeeze std stop_gradient sum switch
        temporal_padding tile to_dense transpose truncated_normal update update_add update_sub var variable zeros zeros_like""",
})
__all__ = ["Function", "batch_get_value", "batch_set_value", "cast_to_floatx", "clear_session", "epsilon", "eval", "floatx",
           "function", "get_session", "get_uid", "get_value", "image_data_format", "learning_phase",
           "manual_variable_initialization", "set_epsilon", "set_floatx", "set_image_data_format", "set_learning_phase",
           "set_session", "set_value", *_names]
