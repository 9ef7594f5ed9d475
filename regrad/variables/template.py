"""make_template: a function that makes its variables at the first call and shares them from then on."""

import functools

from regrad.core.graph import get_default_graph
from regrad.variables.scope import get_variable_scope, variable_scope


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
        self._name, self._function = name, function
        self._unique_name, self._getter = unique_name, custom_getter
        self._scope = None
        self._called = False
        if create_scope_now:
            self._open()

    def _open(self):
        if self._unique_name is not None:
            with variable_scope(self._unique_name, custom_getter=self._getter) as scope:
                self._scope = scope
        else:
            with variable_scope(None, default_name=self._name, custom_getter=self._getter) as scope:
                self._scope = scope

    @property
    def name(self):
        return self._name

    @property
    def variable_scope(self):
        return self._scope

    @property
    def variables(self):
        """The variables made so far."""
        from regrad.core.graph_keys import GraphKeys

        if self._scope is None:
            return []
        return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, self._scope.name + "/")

    def __call__(self, *args, **kwargs):
        if self._scope is None:
            self._open()
        reuse = self._called or get_variable_scope().reuse
        with variable_scope(self._scope, reuse=reuse or None):
            result = self._function(*args, **kwargs)
        self._called = True
        return result
