"""make_template: a function that makes its variables at the first call and shares them from then on."""

import functools

from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.variables.scope import get_variable_scope, unique_scope_name, variable_scope, variable_scope_only


def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs):
    """Returns `func_` with its variables under the scope `name_` (made unique): made once, reused by every later call.

    Args:
      name_: the variable scope.
      func_: a function that uses `get_variable`.
      create_scope_now_: settle the scope's name now, not at the first call.
      unique_name_: the exact scope name instead.
      custom_getter_: a getter for the variables.
      kwargs: arguments given to `func_` in every call.
    """
    return Template(name_, functools.partial(func_, **kwargs), create_scope_now_, unique_name_, custom_getter_)


class Template:
    """What `make_template` returns: callable; `name`, `variable_scope`, `variables` tell about it."""

    def __init__(self, name, function, create_scope_now=False, unique_name=None, custom_getter=None):
        if name is None:
            raise ValueError("make_template: a name is needed, got None.")
        self._name, self._function = name, function
        self._unique_name, self._getter = unique_name, custom_getter
        self._scope = None
        self._called = False
        if create_scope_now:  # the scope of variables alone: each call opens a name scope for its operations
            name = unique_name or unique_scope_name(name)
            with variable_scope_only(name, None, None, custom_getter=custom_getter) as scope:
                self._scope = scope

    @property
    def name(self):
        return self._name

    @property
    def func(self):
        """The function, with the arguments that every call gives it."""
        return self._function

    @property
    def variable_scope(self):
        return self._scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self):
        """The scope's name with its slash, or None before the first call."""
        return None if self._scope is None else self._scope.name + "/"

    def _collected(self, key):
        return [] if self._scope is None else get_default_graph().get_collection(key, self.variable_scope_name)

    @property
    def global_variables(self):
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self):
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    @property
    def trainable_variables(self):
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    trainable_weights = trainable_variables

    @property
    def variables(self):
        """The variables made so far, global and local."""
        return self.global_variables + self.local_variables

    weights = variables

    @property
    def non_trainable_variables(self):
        return [v for v in self.variables if v not in self.trainable_variables]

    def __call__(self, *args, **kwargs):
        before = len(get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES))
        if self._scope is None:
            scope = variable_scope(self._unique_name, self._name, custom_getter=self._getter)
        else:
            scope = variable_scope(self._scope, reuse=self._called or get_variable_scope().reuse or None)
        with scope as entered:
            if self._scope is None:
                self._scope = entered
            result = self._function(*args, **kwargs)
        made = get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)[before:]
        if self._called and made:
            raise ValueError("Trainable variable created when calling a template after the first time, perhaps you used "
                             f"tf.Variable when you meant tf.get_variable: {[v.name for v in made]}")
        self._called = True
        return result
