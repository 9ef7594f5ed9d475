"""What programs ask and set about TensorFlow's version and modes: graphs and sessions are all there is, and need no switch."""

from regrad.core.graph_def import GraphVersions
from regrad.core.shapes import TensorShape

__version__ = VERSION = "1.15.0"
GIT_VERSION = "regrad"
COMPILER_VERSION = "none"
CXX_VERSION = 0
CXX11_ABI_FLAG = 0
MONOLITHIC_BUILD = 0
GRAPH_DEF_VERSION = GraphVersions.producer
GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def _switch(name, words):
    def switch():
        return None

    switch.__name__, switch.__doc__ = name, words
    return switch


for _name in ("disable_v2_behavior", "disable_eager_execution", "disable_resource_variables", "disable_control_flow_v2",
              "disable_tensor_equality", "enable_resource_variables", "enable_control_flow_v2"):
    globals()[_name] = _switch(_name, "Does nothing: one behaviour is all there is.")


def _refused(name):
    def switch(*args, **kwargs):
        """Raises NotImplementedError: Regrad has graphs and sessions only."""
        raise NotImplementedError(f"tf.{name}: Regrad builds graphs that sessions run, and has no other behaviour.")

    switch.__name__ = name
    return switch


for _name in ("enable_eager_execution", "enable_v2_behavior", "enable_tensor_equality"):
    globals()[_name] = _refused(_name)


def enable_v2_tensorshape():
    """Makes `shape[i]` and `for size in shape` give ints, and None for what is unknown, in place of Dimensions."""
    TensorShape._plain = True


def disable_v2_tensorshape():
    """Makes `shape[i]` and `for size in shape` give Dimensions, as they do from the start."""
    TensorShape._plain = False


def executing_eagerly():
    """Returns False."""
    return False


def executing_eagerly_outside_functions():
    """Returns False."""
    return False


def control_flow_v2_enabled():
    """Returns True: loops and branches are operations with bodies."""
    return True


def resource_variables_enabled():
    """Returns False: variables are of version 1."""
    return False


def is_symbolic_tensor(tensor):
    """Returns True for a Tensor of a graph, and for what stands for one."""
    from regrad.core.operation import Tensor

    return isinstance(tensor, Tensor) or hasattr(tensor, "_as_graph_element")
