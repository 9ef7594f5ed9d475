"""The optimizers of TF1: gradient descent, Momentum, Adam, Adagrad, Adadelta, RMSProp, Ftrl and their relatives.

Each converts its numbers once, keeps its slots, and hands the rest to one op of `ops/train.py` per variable.
"""

import math as pymath

from regrad.core.dtypes import int64
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import find_op
from regrad.core.shapes import fully_known
from regrad.ops import array, control, math
from regrad.ops.state import assign_op, assignsub_op, scatteradd_op
from regrad.ops.train import OPS
from regrad.train.optimizer import Optimizer, methods_of, only_writes
from regrad.variables.initializers import Constant, Ones


class _OneOp:
    """What optimizers have that are one `Apply` op per variable.

    Such a class sets `op_type`, `slots` (slot name -> op name, in the op's order) and calls `_numbers`; the op's other
    operands are these numbers in the order of `operands`, in which "grad" stands for the gradient.
    """

    op_type = ""
    slots: tuple = ()
    operands = ""
    attributes: dict = {}  # name of a number's tensor -> the attribute that keeps its value; "_name" by default
    suffix = "_tensor"  # of the attribute that keeps the tensor

    def _numbers(self, **numbers):
        """Keeps hyperparameters: name of the operand -> (value, name of its tensor).

        They are kept as attributes of TensorFlow's names, for subclasses read them, and programs assign new ones.
        """
        self._given = {operand: (self.attributes.get(name, f"_{name}"), name) for operand, (_, name) in numbers.items()}
        for operand, (attribute, _) in self._given.items():
            setattr(self, attribute, numbers[operand][0])

    def _said(self):
        return {name: getattr(self, attribute) for attribute, name in self._given.values()}

    def _prepare(self):
        for attribute, name in self._given.values():
            setattr(self, attribute + self.suffix, self._hyper(getattr(self, attribute), name))

    @property
    def _tensors(self):
        return {operand: getattr(self, attribute + self.suffix) for operand, (attribute, _) in self._given.items()}

    def _create_slots(self, var_list):
        for v in var_list:
            for slot, op_name in self.slots:
                self._zeros_slot(v, slot, op_name.format(self._name))

    def _attrs(self):
        return {}

    def _operands(self, grad, var):
        values = {name: math.cast(t, var.dtype) for name, t in self._tensors.items()}
        return [grad if name == "grad" else values[name] for name in self.operands.split()]

    def _refs(self, var):
        return [var._variable, *(self.get_slot(var, slot)._variable for slot, _ in self.slots)]

    def _apply_dense(self, grad, var):
        return OPS[self.op_type](*self._refs(var), *self._operands(grad, var), use_locking=self._use_locking,
                                 **self._attrs()).op

    _resource_apply_dense = _apply_dense  # one does for all variables, whichever a subclass calls

    @only_writes
    def _apply_sparse(self, grad, var):
        op = find_op("Sparse" + self.op_type)
        operands = self._operands(grad.values, var)
        operands.insert(self.operands.split().index("grad") + 1, grad.indices)
        return op(*self._refs(var), *operands, use_locking=self._use_locking, **self._attrs()).op

    def _resource_apply_sparse(self, grad, handle, indices):
        return self._apply_sparse(IndexedSlices(grad, indices), handle)


_one_op = methods_of(_OneOp)


@only_writes
def _dense_only(optimizer, grad, var):
    raise NotImplementedError(f"{type(optimizer).__name__} takes no sparse gradients: tf.convert_to_tensor(gradient) makes "
                              "one dense.")


@_one_op
class GradientDescentOptimizer(Optimizer):
    """var -= learning_rate * grad.

    Example:
      w = tf.Variable(1.0)
      step = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w))
      with tf.Session() as sess:
          sess.run(tf.global_variables_initializer())
          sess.run(step)
          print(sess.run(w))
      #> 0.5
    """

    op_type = "ApplyGradientDescent"
    operands = "alpha grad"

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        """Args: learning_rate: number, scalar tensor, or function of no arguments."""
        super().__init__(use_locking, name)
        self._numbers(alpha=(learning_rate, "learning_rate"))

    def _apply_sparse_duplicate_indices(self, grad, var):
        # Subtraction does not mind repeated rows.
        step = grad.values * math.cast(self._tensors["alpha"], var.dtype)
        return var.scatter_sub(IndexedSlices(step, grad.indices, grad.dense_shape), use_locking=self._use_locking)


@_one_op
class MomentumOptimizer(Optimizer):
    """accum = momentum * accum + grad; var -= learning_rate * accum (with `use_nesterov`, of the gradient ahead).

    Example:
      w = tf.Variable(1.0)
      step = tf.train.MomentumOptimizer(0.25, momentum=0.5).minimize(tf.square(w))
      with tf.Session() as sess:
          sess.run(tf.global_variables_initializer())
          sess.run(step)
          print(sess.run(w))
      #> 0.5
    """

    op_type = "ApplyMomentum"
    slots = (("momentum", "{}"),)
    operands = "lr grad momentum"

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        """Args: learning_rate, momentum: numbers, scalar tensors, or functions; use_nesterov: Sutskever et al. 2013."""
        super().__init__(use_locking, name)
        self._use_nesterov = use_nesterov
        self._numbers(lr=(learning_rate, "learning_rate"), momentum=(momentum, "momentum"))

    def _attrs(self):
        return {"use_nesterov": self._use_nesterov}


@_one_op
class AdamOptimizer(Optimizer):
    """Adam, Kingma & Ba 2015, in the form before section 2.1: epsilon stands beside the uncorrected sqrt(v).

    lr_t = learning_rate sqrt(1 - beta2^t) / (1 - beta1^t); m and v are running means of g and g^2;
    var -= lr_t m / (sqrt(v) + epsilon). A sparse gradient counts as zero in the other rows: their m and v decay too, and
    they move by m, as in TensorFlow.

    Example:
      w = tf.Variable(1.0)
      step = tf.train.AdamOptimizer(0.25).minimize(tf.square(w))
      with tf.Session() as sess:
          sess.run(tf.global_variables_initializer())
          sess.run(step)
          print(round(float(sess.run(w)), 4))
      #> 0.75
    """

    op_type = "ApplyAdam"
    slots = (("m", "{}"), ("v", "{}"))
    operands = "beta1_power beta2_power lr beta1 beta2 epsilon grad"
    attributes, suffix = {"learning_rate": "_lr"}, "_t"
    _nesterov = False

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        """Args: learning_rate, beta1, beta2, epsilon: numbers, scalar tensors, or functions."""
        super().__init__(use_locking, name)
        self._numbers(lr=(learning_rate, "learning_rate"), beta1=(beta1, "beta1"), beta2=(beta2, "beta2"),
                      epsilon=(epsilon, "epsilon"))

    def _get_beta_accumulators(self, graph=None):
        graph = graph or self._graph
        return self._get_non_slot_variable("beta1_power", graph), self._get_non_slot_variable("beta2_power", graph)

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda v: v.name)
        self._graph = first.graph
        self._create_non_slot_variable(self._call_if_callable(self._beta1), "beta1_power", first)
        self._create_non_slot_variable(self._call_if_callable(self._beta2), "beta2_power", first)
        _OneOp._create_slots(self, var_list)

    def _attrs(self):
        return {"use_nesterov": self._nesterov}

    def _operands(self, grad, var):
        powers = [math.cast(p.value(), var.dtype) for p in self._get_beta_accumulators()]
        values = {name: math.cast(t, var.dtype) for name, t in self._tensors.items()}
        return [*powers, values["lr"], values["beta1"], values["beta2"], values["epsilon"], grad]

    @only_writes
    def _apply_sparse(self, grad, var):
        return self._apply_sparse_shared(grad.values, var, grad.indices, self._resource_scatter_add)

    def _resource_apply_sparse(self, grad, handle, indices):
        return self._apply_sparse_shared(grad, handle, indices, self._resource_scatter_add)

    def _resource_scatter_add(self, x, i, v):
        return scatteradd_op(x._variable, i, v)

    @only_writes
    def _apply_sparse_shared(self, grad, var, indices, scatter_add):
        # As TF does: the running means of all rows decay, then the given rows gain; all rows move.
        beta1_power, beta2_power, lr, beta1, beta2, epsilon, g = self._operands(grad, var)
        step = lr * math.sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        graph = get_default_graph()
        m_t = assign_op(m._variable, m.value() * beta1)
        with graph.control_dependencies([m_t]):
            m_t = scatter_add(m, indices, g * (1 - beta1))
        v_t = assign_op(v._variable, v.value() * beta2)
        with graph.control_dependencies([v_t]):
            v_t = scatter_add(v, indices, (g * g) * (1 - beta2))
        update = assignsub_op(var._variable, step * m_t / (math.sqrt(v_t) + epsilon))
        return control.group(update, m_t, v_t)

    def _finish(self, update_ops, name_scope):
        with get_default_graph().control_dependencies(update_ops):
            powers = []
            for power, beta in zip(self._get_beta_accumulators(), ("beta1", "beta2")):
                powers.append(assign_op(power._variable, power.value() * self._tensors[beta], use_locking=self._use_locking))
        return control.group(*update_ops, *powers, name=name_scope)


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's look-ahead in place of m: Dozat 2016."""

    _nesterov = True

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Nadam"):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    _apply_sparse = _dense_only


@_one_op
class AdaMaxOptimizer(Optimizer):
    """Adam with the largest recent |gradient| in place of sqrt(v): Kingma & Ba 2015, section 7.1."""

    op_type = "ApplyAdaMax"
    slots = (("m", "{}"), ("v", "{}"))
    operands = "beta1_power lr beta1 beta2 epsilon grad"
    attributes, suffix = {"learning_rate": "_lr"}, "_t"

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="AdaMax"):
        super().__init__(use_locking, name)
        self._numbers(lr=(learning_rate, "learning_rate"), beta1=(beta1, "beta1"), beta2=(beta2, "beta2"),
                      epsilon=(epsilon, "epsilon"))

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda v: v.name)
        self._power = self._create_non_slot_variable(self._call_if_callable(self._beta1), "beta1_power", first)
        _OneOp._create_slots(self, var_list)

    def _operands(self, grad, var):
        values = {name: math.cast(t, var.dtype) for name, t in self._tensors.items()}
        power = math.cast(self._power.value(), var.dtype)
        return [power, values["lr"], values["beta1"], values["beta2"], values["epsilon"], grad]

    _apply_sparse = _dense_only

    def _finish(self, update_ops, name_scope):
        power = self._power
        with get_default_graph().control_dependencies(update_ops):
            update = assign_op(power._variable, power.value() * self._tensors["beta1"], use_locking=self._use_locking)
        return control.group(*update_ops, update, name=name_scope)


def _filled_slots(optimizer, var_list, value, slots):
    """Makes slots that start at `value`."""
    for v in var_list:
        for slot, op_name in slots:
            if fully_known(v.dims):
                optimizer._get_or_make_slot_with_initializer(v, Constant(value, dtype=v.dtype), v.shape, v.dtype, slot,
                                                             op_name.format(optimizer._name))
            else:
                full = math.cast(array.fill(array.shape(v.initialized_value()), value), v.dtype)
                optimizer._get_or_make_slot(v, full, slot, op_name.format(optimizer._name))


@_one_op
class AdagradOptimizer(Optimizer):
    """accum += grad^2; var -= learning_rate * grad / sqrt(accum): Duchi et al. 2011."""

    op_type = "ApplyAdagrad"
    slots = (("accumulator", "{}"),)
    operands = "lr grad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        """Args: learning_rate: number or scalar tensor; initial_accumulator_value: positive number."""
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._initial = initial_accumulator_value
        self._numbers(lr=(learning_rate, "learning_rate"))

    def _create_slots(self, var_list):
        _filled_slots(self, var_list, self._initial, self.slots)


@_one_op
class AdagradDAOptimizer(Optimizer):
    """Adagrad with dual averaging, for sparse linear models: Duchi et al. 2011.

    Args:
      learning_rate, l1_regularization_strength, l2_regularization_strength: numbers or scalar tensors.
      global_step: int64 variable that counts the steps.
      initial_gradient_squared_accumulator_value: positive number.
    """

    op_type = "ApplyAdagradDA"
    slots = (("gradient_accumulator", "{}"), ("gradient_squared_accumulator", "{}"))
    operands = "grad lr l1 l2 global_step"
    attributes = {"l1": "_l1_regularization_strength", "l2": "_l2_regularization_strength"}

    def __init__(self, learning_rate, global_step, initial_gradient_squared_accumulator_value=0.1,
                 l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
                 name="AdagradDA"):
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError("initial_gradient_squared_accumulator_value must be positive: "
                             f"{initial_gradient_squared_accumulator_value}")
        super().__init__(use_locking, name)
        self._global_step = global_step
        self._initial = initial_gradient_squared_accumulator_value
        self._numbers(lr=(learning_rate, "learning_rate"), l1=(l1_regularization_strength, "l1"),
                      l2=(l2_regularization_strength, "l2"))

    def _create_slots(self, var_list):
        # TF names both after the optimizer, the second made unique.
        for v in var_list:
            self._zeros_slot(v, "gradient_accumulator", self._name)
            _filled_slots(self, [v], self._initial, self.slots[1:])

    def _operands(self, grad, var):
        values = {name: math.cast(t, var.dtype) for name, t in self._tensors.items()}
        step = math.cast(array.identity(self._global_step) + 1, int64)
        return [grad, values["lr"], values["l1"], values["l2"], step]


@_one_op
class ProximalGradientDescentOptimizer(Optimizer):
    """A step of gradient descent, then the proximal point of the l1 and l2 terms: Duchi & Singer 2009."""

    op_type = "ApplyProximalGradientDescent"
    operands = "alpha l1 l2 grad"

    def __init__(self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
                 name="ProximalGradientDescent"):
        super().__init__(use_locking, name)
        self._numbers(alpha=(learning_rate, "learning_rate"), l1=(l1_regularization_strength, "l1_regularization_strength"),
                      l2=(l2_regularization_strength, "l2_regularization_strength"))


@_one_op
class ProximalAdagradOptimizer(Optimizer):
    """A step of Adagrad, then the proximal point of the l1 and l2 terms: Duchi & Singer 2009."""

    op_type = "ApplyProximalAdagrad"
    slots = (("accumulator", "{}"),)
    operands = "lr l1 l2 grad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="ProximalAdagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._initial = initial_accumulator_value
        self._numbers(lr=(learning_rate, "learning_rate"), l1=(l1_regularization_strength, "l1_regularization_strength"),
                      l2=(l2_regularization_strength, "l2_regularization_strength"))

    def _create_slots(self, var_list):
        _filled_slots(self, var_list, self._initial, self.slots)


@_one_op
class AdadeltaOptimizer(Optimizer):
    """Steps of the size of recent steps over the size of recent gradients: Zeiler 2012."""

    op_type = "ApplyAdadelta"
    slots = (("accum", "{}"), ("accum_update", "{}"))
    operands = "lr rho epsilon grad"
    suffix = "_t"

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        super().__init__(use_locking, name)
        self._numbers(lr=(learning_rate, "lr"), rho=(rho, "rho"), epsilon=(epsilon, "epsilon"))


@_one_op
class RMSPropOptimizer(Optimizer):
    """Gradients over the root of their running mean square, with momentum: Hinton 2012.

    Args:
      learning_rate, decay, momentum, epsilon: numbers or scalar tensors.
      centered: divide by the running standard deviation instead.
    """

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False,
                 name="RMSProp"):
        super().__init__(use_locking, name)
        self._centered = centered
        if centered:
            self.op_type = "ApplyCenteredRMSProp"
            self.slots = (("mg", "{}"), ("rms", "{}"), ("momentum", "{}"))
        else:
            self.op_type = "ApplyRMSProp"
            self.slots = (("rms", "{}"), ("momentum", "{}"))
        self._numbers(lr=(learning_rate, "learning_rate"), rho=(decay, "decay"), momentum=(momentum, "momentum"),
                      epsilon=(epsilon, "epsilon"))

    operands = "lr rho momentum epsilon grad"

    def _create_slots(self, var_list):
        for v in var_list:
            # The mean square starts at one, so that the first steps are not enormous.
            if fully_known(v.dims):
                self._get_or_make_slot_with_initializer(v, Ones(v.dtype), v.shape, v.dtype, "rms", self._name)
            else:
                self._get_or_make_slot(v, array.ones_like(v.initialized_value()), "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)


@_one_op
class FtrlOptimizer(Optimizer):
    """Follow the regularised leader, for sparse linear models: McMahan et al. 2013.

    Args:
      learning_rate: number or scalar tensor.
      learning_rate_power: at most 0; -0.5 is the paper's.
      initial_accumulator_value: at least 0.
      l1_regularization_strength, l2_regularization_strength: at least 0.
      accum_name, linear_name: names of the slots; the optimizer's by default.
      l2_shrinkage_regularization_strength: at least 0; a penalty on the weights' size, added to the gradient.

    Raises:
      ValueError: a number out of range.
    """

    def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1,
                 l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, name="Ftrl",
                 accum_name=None, linear_name=None, l2_shrinkage_regularization_strength=0.0):
        super().__init__(use_locking, name)
        for what, value in (("initial_accumulator_value", initial_accumulator_value),
                            ("l1_regularization_strength", l1_regularization_strength),
                            ("l2_regularization_strength", l2_regularization_strength),
                            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength)):
            if value < 0.0:
                raise ValueError(f"{what} {value:f} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power:f} needs to be negative or zero")
        self._initial = initial_accumulator_value
        self.slots = (("accum", accum_name or "{}"), ("linear", linear_name or "{}"))
        numbers = {"lr": (learning_rate, "learning_rate"), "l1": (l1_regularization_strength, "l1_regularization_strength"),
                   "l2": (l2_regularization_strength, "l2_regularization_strength"),
                   "lr_power": (learning_rate_power, "learning_rate_power")}
        if l2_shrinkage_regularization_strength > 0:
            self.op_type, self.operands = "ApplyFtrlV2", "grad lr l1 l2 l2_shrinkage lr_power"
            numbers["l2_shrinkage"] = l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength"
        else:
            self.op_type, self.operands = "ApplyFtrl", "grad lr l1 l2 lr_power"
        self._numbers(**numbers)

    def _create_slots(self, var_list):
        for v in var_list:
            _filled_slots(self, [v], self._initial, self.slots[:1])
            self._zeros_slot(v, "linear", self.slots[1][1].format(self._name))


@_one_op
class AddSignOptimizer(Optimizer):
    """Gradients scaled up where they agree in sign with their running mean: Bello et al. 2017."""

    op_type = "ApplyAddSign"
    slots = (("m", "{}"),)
    operands = "lr alpha sign_decay beta grad"
    attributes, suffix = {"learning_rate": "_lr"}, "_t"

    def __init__(self, learning_rate=0.1, alpha=1.0, beta=0.9, sign_decay_fn=None, use_locking=False,
                 name="AddSignOptimizer"):
        super().__init__(use_locking, name)
        self._numbers(lr=(learning_rate, "learning_rate"), alpha=(alpha, "alpha"),
                      sign_decay=(1.0 if sign_decay_fn is None else sign_decay_fn, "sign_decay"),
                      beta=(beta, "beta"))

    _apply_sparse = _dense_only


@_one_op
class PowerSignOptimizer(Optimizer):
    """Gradients times base ** (sign(g) sign(m)), m being their running mean: Bello et al. 2017."""

    op_type = "ApplyPowerSign"
    slots = (("m", "{}"),)
    operands = "lr logbase sign_decay beta grad"
    attributes, suffix = {"learning_rate": "_lr"}, "_t"

    def __init__(self, learning_rate=0.1, base=2.718281828459045, beta=0.9, sign_decay_fn=None, use_locking=False,
                 name="PowerSignOptimizer"):
        super().__init__(use_locking, name)
        self._numbers(lr=(learning_rate, "learning_rate"), logbase=(pymath.log(base), "logbase"),
                      sign_decay=(1.0 if sign_decay_fn is None else sign_decay_fn, "sign_decay"),
                      beta=(beta, "beta"))

    _apply_sparse = _dense_only


class DecoupledWeightDecayExtension:
    """Mixed in before an optimizer class: each variable also shrinks by `weight_decay` times itself, outside the
    gradient's statistics: Loshchilov & Hutter 2019.

        class MomentumW(DecoupledWeightDecayExtension, tf.train.MomentumOptimizer): ...
    """

    def __init__(self, weight_decay, *args, **kwargs):
        """Args: weight_decay: number or scalar tensor; the rest goes to the optimizer."""
        self._weight_decay = weight_decay
        self._decay_var_list = None
        super().__init__(*args, **kwargs)

    def minimize(self, loss, *args, decay_var_list=None, **kwargs):
        """`minimize` of the optimizer; `decay_var_list`: variables that decay, all by default."""
        self._decay_var_list = None if decay_var_list is None else {v.op for v in decay_var_list}
        return super().minimize(loss, *args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None, decay_var_list=None):
        """`apply_gradients` of the optimizer; `decay_var_list`: variables that decay, all by default."""
        if decay_var_list is not None:
            self._decay_var_list = {v.op for v in decay_var_list}
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _prepare(self):
        super()._prepare()
        self._weight_decay_tensor = self._hyper(self._weight_decay, "weight_decay")

    def _decayed(self, var):
        """Returns control inputs under which the update must stand: the decay, if `var` decays."""
        if self._decay_var_list is not None and var.op not in self._decay_var_list:
            return []
        return [var.assign_sub(math.cast(self._weight_decay_tensor, var.dtype) * var.value())]

    def _apply_dense(self, grad, var):
        with get_default_graph().control_dependencies(self._decayed(var)):
            return super()._apply_dense(grad, var)

    @only_writes
    def _apply_sparse(self, grad, var):
        with get_default_graph().control_dependencies(self._decayed(var)):
            return super()._apply_sparse(grad, var)


def extend_with_decoupled_weight_decay(base_optimizer):
    """Returns a subclass of an optimizer class whose first argument is `weight_decay`."""
    return type("OptimizerWithDecoupledWeightDecay", (DecoupledWeightDecayExtension, base_optimizer), {})


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decoupled weight decay: Loshchilov & Hutter 2019."""

    def __init__(self, weight_decay, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False,
                 name="AdamW"):
        super().__init__(weight_decay, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon,
                         use_locking=use_locking, name=name)


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decoupled weight decay: Loshchilov & Hutter 2019."""

    def __init__(self, weight_decay, learning_rate, momentum, use_locking=False, name="MomentumW",
                 use_nesterov=False):
        super().__init__(weight_decay, learning_rate=learning_rate, momentum=momentum, use_locking=use_locking, name=name,
                         use_nesterov=use_nesterov)
