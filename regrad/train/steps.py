"""The global step: the one variable that counts training steps."""

from regrad.core import source
from regrad.core.dtypes import int64
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.operation import Tensor
from regrad.variables.initializers import Zeros
from regrad.variables.lifting import root_graph
from regrad.variables.scope import get_variable, variable_scope
from regrad.variables.variable import Variable


def global_step(sess, global_step_tensor):
    """Returns the value of the global step in a session, as an int."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph=None):
    """Returns the graph's global step, or None when there is none.

    Raises:
      TypeError: what the graph has under that name is no integer scalar.
    """
    graph = root_graph(graph or get_default_graph())
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) == 1:
        step = found[0]
    elif not found:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    else:
        return None
    assert_global_step(step)
    return step


def create_global_step(graph=None):
    """Returns a new global step variable: int64, zero, not trainable, in the collection GLOBAL_STEP.

    Raises:
      ValueError: the graph has one already.
    """
    graph = root_graph(graph or get_default_graph())
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None), graph.control_dependencies(None):
        with variable_scope("", reuse=False):
            return get_variable("global_step", shape=[], dtype=int64, initializer=Zeros(), trainable=False,
                                collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP])


def get_or_create_global_step(graph=None):
    """Returns the graph's global step, made now if there is none.

    Example:
      step = tf.train.get_or_create_global_step()
      print(step.name, step is tf.train.get_or_create_global_step())
      #> global_step:0 True
    """
    graph = root_graph(graph or get_default_graph())
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def scheduled(schedule):
    """Returns what a schedule, a function of the global step, gives. A run that trains by it while nothing ever advances the
    step says so."""
    step = get_or_create_global_step()
    storage = step._gradient_handle().op if isinstance(step, Variable) else step.op
    step.graph.schedules.setdefault(storage, f"{getattr(schedule, '__name__', schedule)} at {source.of_function(schedule)}")
    return schedule(step)


def assert_global_step(global_step_tensor):
    """Raises TypeError unless the argument is a variable or tensor that can be a global step: an integer scalar."""
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError('Existing "global_step" must be a Variable or Tensor: '
                        f"{type(global_step_tensor).__name__}.")
    if not global_step_tensor.dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    if global_step_tensor.dims not in ((), None):
        raise TypeError(f'Existing "global_step" is not scalar: {global_step_tensor.shape}')
