"""Lists of a graph's variables, and the operations that give them their first values."""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant
from regrad.core.errors import FailedPreconditionError
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.opdef import Spec, define_op
from regrad.ops import state
from regrad.ops.control import group, no_op


def global_variables(scope=None):
    """Returns the variables shared by all users of the graph; with `scope`, those whose names match that prefix.

    Example:
      w, steps = tf.Variable(1.0, name="w"), tf.Variable(0, trainable=False, name="steps")
      print([v.name for v in tf.global_variables()])
      #> ['w:0', 'steps:0']
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope=None):
    """Returns the variables in the collection LOCAL_VARIABLES."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope=None):
    """Returns the variables in the collection MODEL_VARIABLES."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope=None):
    """Returns the variables that optimizers change by default.

    Example:
      w, steps = tf.Variable(1.0, name="w"), tf.Variable(0, trainable=False, name="steps")
      print([v.name for v in tf.trainable_variables()])
      #> ['w:0']
    """
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope=None):
    """Returns the variables that an ExponentialMovingAverage follows."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list, name="init"):
    """Returns an operation that gives each variable of the list its initial value."""
    if hasattr(var_list, "initializer"):
        raise TypeError(f"variables_initializer takes a list of variables, got {var_list!r}; put it in brackets.")
    if not var_list:
        return no_op(name=name)
    return group(*[v.initializer for v in _flat(var_list)], name=name)


def _flat(var_list):
    """The parts of partitioned variables stand for them."""
    return [part for v in var_list for part in (v if hasattr(v, "as_tensor") else (v,))]


def global_variables_initializer():
    """Returns an operation that initialises all global variables.

    Example:
      v = tf.Variable(3.0)
      with tf.Session() as sess:
          sess.run(tf.global_variables_initializer())
          print(sess.run(v))
      #> 3.0
    """
    return variables_initializer(global_variables())


def local_variables_initializer():
    """Returns an operation that initialises all local variables."""
    return variables_initializer(local_variables())


def local_state_initializer():
    """Returns an operation that initialises all local variables and all tables."""
    tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(local_variables_initializer(), *(tables or [no_op()]))


def all_variables():
    """Returns the global variables, by their oldest name."""
    return global_variables()


def initialize_variables(var_list, name="init"):
    """Does what `variables_initializer` does, by its oldest name."""
    return variables_initializer(var_list, name)


def initialize_all_variables():
    """Does what `global_variables_initializer` does, by its oldest name."""
    return global_variables_initializer()


def initialize_local_variables():
    """Does what `local_variables_initializer` does, by its oldest name."""
    return local_variables_initializer()


def tables_initializer(name="init_all_tables"):
    """Returns an operation that initialises the tables of the collection TABLE_INITIALIZERS; nothing without any."""
    tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*tables, name=name) if tables else no_op(name=name)


def initialize_all_tables(name="init_all_tables"):
    """Does what `tables_initializer` does, by its oldest name."""
    return tables_initializer(name)


def is_variable_initialized(variable):
    """Returns a bool scalar tensor: whether the variable has a value."""
    return state.isinitialized_op(getattr(variable, "_variable", variable))


reportuninitialized_op = define_op(
    "ReportUninitializedVariables", "refs: [T]", attrs={"names": ()}, stateful=True, host=True,
    infer=lambda refs, *, names: Spec((None,), dtypes.string),
    lower=lambda b, refs, *, names: np.array([n for n, r in zip(names, refs) if r is None], object))
reportuninitialized_op.declare(uninitialized_ok=True)


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """Returns a string vector: the names of the variables (by default all global and local ones) without a value."""
    report = _about(reportuninitialized_op, var_list, name)
    return constant([], dtype=dtypes.string, name=name) if report is None else report


def _assert_initialized(b, refs, *, names):
    for name, value in zip(names, refs):
        if value is None:
            raise FailedPreconditionError(None, None, f"Attempting to use uninitialized value {name.decode()}")
    return ()


assertinitialized_op = define_op("AssertVariablesInitialized", "refs: [T]", attrs={"names": ()}, stateful=True, host=True,
                                 infer=lambda refs, *, names: [], lower=_assert_initialized)
assertinitialized_op.declare(uninitialized_ok=True)


def assert_variables_initialized(var_list=None):
    """Returns an operation that fails when a variable of the list (by default any) has no value; None without variables.

    Raises:
      FailedPreconditionError: (when run) a variable has no value.
    """
    return _about(assertinitialized_op, var_list, "assert_variables_initialized")


def _about(op, var_list, name):
    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        return None
    var_list = _flat(var_list)
    return op([v._variable for v in var_list], names=tuple(v.op.name.encode() for v in var_list), name=name)


NotDifferentiable("ReportUninitializedVariables")
NotDifferentiable("AssertVariablesInitialized")
