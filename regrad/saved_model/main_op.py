"""`tf.saved_model.main_op`: what runs when a SavedModel is loaded."""

from regrad.core.graph import get_default_graph
from regrad.ops.control import group
from regrad.variables.listing import global_variables_initializer, local_variables_initializer, tables_initializer

__all__ = ["main_op", "main_op_with_restore"]


def main_op():
    """Returns an operation that initialises variables, those of the collection of local ones too, and fills tables."""
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


def main_op_with_restore(restore_op_name):
    """Returns an operation that initialises variables and tables, and runs the operation of that name, which restores them."""
    with get_default_graph().control_dependencies([main_op()]):
        return group(get_default_graph().get_operation_by_name(restore_op_name))
