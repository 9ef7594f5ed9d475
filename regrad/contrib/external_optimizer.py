"""Optimizers outside the graph, SciPy's for one, that minimise a loss over variables: `tf.contrib.opt`."""

import numpy as np

from regrad.autodiff.gradients import gradients
from regrad.core.context import get_default_session
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.shown import Shown
from regrad.ops.array import concat, placeholder, reshape, zeros_like
from regrad.ops.control import group

_INFINITE = (-np.inf, np.inf)


class ExternalOptimizerInterface(Shown):
    """What optimizers that work on one vector of numbers need: subclasses write `_minimize`.

    Args:
      loss: the scalar to minimise.
      var_list: the variables, by default all trainable ones.
      equalities, inequalities: lists of tensors that shall be 0, or at least 0.
      var_to_bounds: {variable: (lower, upper)}, numbers or arrays that broadcast to the variable.
      **optimizer_kwargs: for the optimizer.

    Raises:
      ValueError: no variables, or bounds for one that is not among them.
    """

    def __init__(self, loss, var_list=None, equalities=None, inequalities=None, var_to_bounds=None, **optimizer_kwargs):
        self._loss = loss
        self._equalities, self._inequalities = list(equalities or ()), list(inequalities or ())
        self._vars = list(get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES) if var_list is None else var_list)
        if not self._vars:
            raise ValueError("No variables to optimize: var_list is empty, and no variable is trainable.")
        sizes = [v.shape.num_elements() for v in self._vars]
        ends = np.cumsum(sizes)
        self._packing_slices = [slice(end - n, end) for end, n in zip(ends.tolist(), sizes)]
        self._packed_bounds = self._pack_bounds(var_to_bounds, sizes) if var_to_bounds is not None else None
        self._feeds = [placeholder(v.dtype, v.shape) for v in self._vars]
        self._set_vars = group(*[v.assign(feed) for v, feed in zip(self._vars, self._feeds)])
        self._packed_var = self._pack(self._vars)
        self._packed_loss_grad = self._packed_gradient(loss)
        self._packed_equality_grads = [self._packed_gradient(e) for e in self._equalities]
        self._packed_inequality_grads = [self._packed_gradient(e) for e in self._inequalities]
        self.optimizer_kwargs = optimizer_kwargs

    def _pack_bounds(self, var_to_bounds, sizes):
        unknown = [v.name for v in var_to_bounds if not any(v is own for own in self._vars)]
        if unknown:
            raise ValueError(f"var_to_bounds: {', '.join(unknown)} is not among the variables to optimize.")
        packed = []
        for v, n in zip(self._vars, sizes):
            lower, upper = next((b for k, b in var_to_bounds.items() if k is v), _INFINITE)
            shape = v.shape.as_list()
            packed += zip(*(np.broadcast_to(np.asarray(b, np.float64), shape).reshape(n).tolist() for b in (lower, upper)))
        return packed

    @staticmethod
    def _pack(tensors):
        return concat([reshape(convert_to_tensor(t), [-1]) for t in tensors], 0)

    def _packed_gradient(self, y):
        found = gradients(y, self._vars)
        return self._pack([zeros_like(v) if g is None else g for g, v in zip(found, self._vars)])

    def minimize(self, session=None, feed_dict=None, fetches=None, step_callback=None, loss_callback=None, **run_kwargs):
        """Minimises the loss, and gives the variables the values that were found.

        Args:
          session: by default the default session.
          feed_dict: what is fed each time the loss is computed.
          fetches: tensors that are computed with the loss and given to `loss_callback`.
          step_callback: called after each step of the optimizer with the vector of all variables.
          loss_callback: called with the values of `fetches` each time the loss is computed.
          **run_kwargs: for `Session.run`.

        Raises:
          ValueError: there is no session.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError("minimize needs a session: pass one, or call it in a `with tf.Session()` block.")
        fetches = list(fetches or ())
        loss_callback = loss_callback or (lambda *values: None)

        def evaluation(tensors, callback=None):
            def compute(x):
                self._assign(session, x)
                values = session.run([*tensors, *(fetches if callback else ())], feed_dict, **run_kwargs)
                if callback:
                    callback(*values[len(tensors):])
                return [np.asarray(v, np.float64) for v in values[:len(tensors)]]
            return compute

        result = self._minimize(
            initial_val=session.run(self._packed_var), loss_grad_func=evaluation([self._loss, self._packed_loss_grad],
                                                                                 loss_callback),
            equality_funcs=[evaluation([e]) for e in self._equalities],
            equality_grad_funcs=[evaluation([g]) for g in self._packed_equality_grads],
            inequality_funcs=[evaluation([e]) for e in self._inequalities],
            inequality_grad_funcs=[evaluation([g]) for g in self._packed_inequality_grads],
            packed_bounds=self._packed_bounds, step_callback=step_callback or (lambda x: None),
            optimizer_kwargs=self.optimizer_kwargs)
        self._assign(session, result)

    def _assign(self, session, packed):
        values = [np.reshape(packed[s], v.shape.as_list()) for s, v in zip(self._packing_slices, self._vars)]
        session.run(self._set_vars, dict(zip(self._feeds, values)))

    def _minimize(self, initial_val, loss_grad_func, equality_funcs, equality_grad_funcs, inequality_funcs,
                  inequality_grad_funcs, packed_bounds, step_callback, optimizer_kwargs):
        """Returns the vector at which the loss is least; for subclasses.

        `loss_grad_func(x)` returns [loss, its gradient], the other functions a list of one array.
        """
        raise NotImplementedError("To use ExternalOptimizerInterface, subclass from it and implement the _minimize() method.")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimises with `scipy.optimize.minimize`; `method` ("L-BFGS-B" by default), `options`, `tol` ... are its arguments."""

    def _minimize(self, initial_val, loss_grad_func, equality_funcs, equality_grad_funcs, inequality_funcs,
                  inequality_grad_funcs, packed_bounds, step_callback, optimizer_kwargs):
        import scipy.optimize

        constraints = [{"type": kind, "fun": lambda x, f=f: f(x)[0], "jac": lambda x, g=g: g(x)[0]}
                       for kind, functions, slopes in (("eq", equality_funcs, equality_grad_funcs),
                                                       ("ineq", inequality_funcs, inequality_grad_funcs))
                       for f, g in zip(functions, slopes)]
        given = {"method": "L-BFGS-B", **optimizer_kwargs}
        if constraints and "method" not in optimizer_kwargs:
            given["method"] = "SLSQP"  # L-BFGS-B knows no constraints

        def step(x, *_):
            step_callback(x)

        result = scipy.optimize.minimize(lambda x: tuple(loss_grad_func(x)), np.asarray(initial_val, np.float64), jac=True,
                                         callback=step, constraints=constraints, bounds=packed_bounds, **given)
        return result["x"]
