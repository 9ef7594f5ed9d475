"""Accumulators: gradients that several runs add up until one run takes their mean. No gradient flows through them.

What they hold lives in the session. A run that takes waits until there are enough, before it does anything else, unless it
gives some itself; see `queues.py`.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.errors import CancelledError, InvalidArgumentError
from regrad.core.facts import Waiting
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Spec
from regrad.core.shapes import TensorShape, as_dims, compatible, text
from regrad.core.shown import Shown
from regrad.ops import math
from regrad.ops.queues import define_handle, kept_op, nothing


class AccumulatorSpec:
    """What an accumulator is; its Contents are in `session.resources`, those of one `shared_name` under that.

    Attributes:
      ends_with: the spec of a queue, after whose closing nobody waits for gradients any more; or None.
    """

    ends_with = None

    def __init__(self, kind, dtype, dims, shared_name, reduction):
        self.kind, self.dtype, self.dims, self.reduction = kind, dtype, dims, reduction
        self.shared_name, self.container = shared_name or "", get_default_graph()._container or ""

    def contents(self, session):
        """Returns what there is in a session."""
        key = (self.container, self.kind, self.shared_name) if self.shared_name else self
        if key not in session.resources:
            session.resources[key] = Contents(self)
        return session.resources[key]


class Contents:
    """What an accumulator holds in one session.

    Attributes:
      step: gradients of earlier steps are dropped.
      gradients: those since one was taken, arrays, or of a sparse accumulator (indices, values).
    """

    def __init__(self, spec):
        self.spec, self.step, self.gradients, self.taken = spec, 0, [], []

    def apply(self, session, step, gradient):
        """Adds a gradient, unless its step is past."""
        if step >= self.step:
            self.gradients.append(gradient)
            session.notify()

    def take(self, session, n):
        """Returns the gradients once there are `n`, and begins the next step.

        Raises:
          InvalidArgumentError: `n` is not positive.
          CancelledError: there are fewer, and the queue that the accumulator ends with is closed.
        """
        ends = self.spec.ends_with and self.spec.ends_with.contents(session)
        if n <= 0:
            raise InvalidArgumentError(f"Argument num_required must be positive, got {n}.")
        while len(self.gradients) < n:
            if ends and ends.closed:
                raise CancelledError(f"{self.spec.kind}: {ends.spec} was closed; there are {len(self.gradients)} gradients, "
                                     f"and {n} are asked for.")
            session.wait()
        found, self.gradients = self.gradients, []
        self.step += 1
        return found

    def given(self, session, n):
        """Returns what was taken before the run began, or takes now."""
        return self.taken.pop(0) if self.taken else self.take(session, n)


def _check(spec, shape):
    if not compatible(shape, spec.dims):
        raise InvalidArgumentError(f"Shape mismatch: expected {text(spec.dims)}, got {text(shape)}.")


def _apply_lower(b, session, handle, local_step, gradient):
    spec = handle.item()
    _check(spec, gradient.shape)
    spec.contents(session).apply(session, int(local_step), np.array(gradient))
    return ()


def _take_lower(b, session, handle, num_required, *, dtype, shape):
    spec = handle.item()
    found = spec.contents(session).given(session, int(num_required))
    if any(g.shape != found[0].shape for g in found):
        raise InvalidArgumentError(f"Shape mismatch: gradients have shapes {sorted({g.shape for g in found})}.")
    total = np.sum(found, axis=0, dtype=found[0].dtype)
    return np.asarray(total / len(found) if spec.reduction == "MEAN" else total, total.dtype)


def _sparse_apply_lower(b, session, handle, local_step, indices, values, shape):
    spec = handle.item()
    if indices.ndim != 1 or values.ndim < 1 or len(indices) != len(values):
        raise InvalidArgumentError("Input indices should be a vector as long as the first axis of values: got shapes "
                                   f"{text(indices.shape)} and {text(values.shape)}.")
    if len(shape):
        _check(spec, tuple(int(n) for n in shape))
    _check(spec, (spec.dims[0] if spec.dims else None, *values.shape[1:]))
    spec.contents(session).apply(session, int(local_step), (np.array(indices), np.array(values), tuple(shape)))
    return ()


def _sparse_take_lower(b, session, handle, num_required, *, dtype):
    spec = handle.item()
    found = spec.contents(session).given(session, int(num_required))
    rows, at = np.unique(np.concatenate([i for i, _, _ in found]), return_inverse=True)
    values = np.concatenate([v for _, v, _ in found])
    total = np.zeros((len(rows), *values.shape[1:]), values.dtype)
    np.add.at(total, at, values)
    if spec.reduction == "MEAN":  # over the gradients that have the row
        counts = np.zeros(len(rows), values.dtype)
        np.add.at(counts, at, values.dtype.type(1))
        total = (total / counts.reshape(-1, *[1] * (total.ndim - 1))).astype(values.dtype)
    known = [s for _, _, s in found if len(s)]
    dims = [-1 if d is None else d for d in spec.dims] if spec.dims is not None else known[0] if known else []
    return rows.astype(np.int64), total, np.asarray(dims, np.int64)


def _set_lower(b, session, handle, step):
    found = handle.item().contents(session)
    found.step = max(found.step, int(step))
    return ()


def _take_first(session, op):
    spec, n = op.inputs[0].op.attrs.get("spec"), op.inputs[1].value()
    if spec is not None and n is not None and n > 0:
        contents = spec.contents(session)
        contents.taken.append(contents.take(session, int(n)))


_GIVES = Waiting(gives=lambda op: 1)
resourceconditionalaccumulator_op = define_handle("ResourceConditionalAccumulator",
                                                  ("dtype", "shape", "shared_name", "reduction_type"))
sparseconditionalaccumulator_op = define_handle("SparseConditionalAccumulator",
                                                ("dtype", "shape", "shared_name", "reduction_type"))
resourceaccumulatorapplygradient_op = kept_op(
    "ResourceAccumulatorApplyGradient", "handle: resource, local_step: int64, gradient: T", nothing, _apply_lower,
    waiting=_GIVES)
resourceaccumulatortakegradient_op = kept_op(
    "ResourceAccumulatorTakeGradient", "handle: resource, num_required: int32",
    lambda handle, n, *, dtype, shape: [Spec(shape, dtype)], _take_lower, {"dtype": None, "shape": None},
    waiting=Waiting(take=_take_first))
sparseaccumulatorapplygradient_op = kept_op(
    "SparseAccumulatorApplyGradient",
    "handle: resource, local_step: int64, gradient_indices: int64, gradient_values: T, gradient_shape: int64", nothing,
    _sparse_apply_lower, waiting=_GIVES)
sparseaccumulatortakegradient_op = kept_op(
    "SparseAccumulatorTakeGradient", "handle: resource, num_required: int32",
    lambda handle, n, *, dtype: [Spec((None,), dtypes.int64), Spec(None, dtype), Spec((None,), dtypes.int64)],
    _sparse_take_lower, {"dtype": None}, waiting=Waiting(take=_take_first))


def _pair(prefix):
    """Returns the operations that say how many gradients there are, and that set the step."""
    return (kept_op(f"{prefix}AccumulatorNumAccumulated", "handle: resource", lambda handle: [Spec((), dtypes.int32)],
                    lambda b, session, handle: np.int32(len(handle.item().contents(session).gradients))),
            kept_op(f"{prefix}AccumulatorSetGlobalStep", "handle: resource, new_global_step: int64", nothing, _set_lower))


resourceaccumulatornumaccumulated_op, resourceaccumulatorsetglobalstep_op = _pair("Resource")
accumulatornumaccumulated_op, accumulatorsetglobalstep_op = _pair("")


# -- the classes -----------------------------------------------------------------------------------------------
def _made(make, kind, dtype, shape, shared_name, name, reduction_type):
    """Returns the handle of a new accumulator."""
    if reduction_type not in ("MEAN", "SUM"):
        raise ValueError(f"Attr 'reduction_type' passed string {reduction_type!r} not in: \"MEAN\", \"SUM\".")
    dtype, dims = as_dtype(dtype), None if shape is None else as_dims(shape)
    spec = AccumulatorSpec(kind, dtype, dims, shared_name, reduction_type)
    return make(spec=spec, dtype=dtype, shape=TensorShape(dims), shared_name=shared_name or "", reduction_type=reduction_type,
                name=name)[0]


class ConditionalAccumulatorBase(Shown):
    """What accumulators share.

    Attributes:
      accumulator_ref: the handle, a resource tensor.
      name, dtype: of the accumulator.
    """

    def __init__(self, dtype, shape, accumulator_ref):
        self._dtype, self._dims = as_dtype(dtype), None if shape is None else as_dims(shape)
        self._accumulator_ref = accumulator_ref
        self._spec = accumulator_ref.op.attrs["spec"]
        self._name = accumulator_ref.op.name.rpartition("/")[2]

    accumulator_ref = property(lambda self: self._accumulator_ref)
    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)

    def num_accumulated(self, name=None):
        """Returns how many gradients were added since one was taken, int32."""
        return self._count_op(self._accumulator_ref, name=name or f"{self._name}_num_accumulated")[0]

    def set_global_step(self, new_global_step, name=None):
        """Returns an operation after which gradients of earlier steps are dropped."""
        return self._step_op(self._accumulator_ref, math.cast(convert_to_tensor(new_global_step), dtypes.int64), name=name)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds gradients up, and gives their mean when there are enough.

    Args:
      dtype, shape: of the gradients; the shape may be unknown.
      shared_name: accumulators of one name are one.
      name: of the operation.
      reduction_type: "MEAN" or "SUM".
    """

    _count_op, _step_op = resourceaccumulatornumaccumulated_op, resourceaccumulatorsetglobalstep_op

    def __init__(self, dtype, shape=None, shared_name=None, name="conditional_accumulator", reduction_type="MEAN"):
        super().__init__(dtype, shape, _made(resourceconditionalaccumulator_op, "ConditionalAccumulator", dtype, shape,
                                             shared_name, name, reduction_type))

    def apply_grad(self, grad, local_step=0, name=None):
        """Returns an operation that adds a gradient, unless `local_step` is below the accumulator's step.

        Raises:
          ValueError: a gradient of another shape.
        """
        grad = convert_to_tensor(grad, self._dtype)
        grad.shape.assert_is_compatible_with(TensorShape(self._dims))
        step = math.cast(convert_to_tensor(local_step), dtypes.int64)
        return resourceaccumulatorapplygradient_op(self._accumulator_ref, step, grad, name=name)

    def take_grad(self, num_required, name=None):
        """Returns the mean of the gradients, waiting until there are `num_required`; the next step begins.

        Raises:
          InvalidArgumentError: (when run) `num_required` is not positive.
        """
        return resourceaccumulatortakegradient_op(self._accumulator_ref, num_required, dtype=self._dtype, shape=self._dims,
                                                  name=name)[0]


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """As ConditionalAccumulator for IndexedSlices; the mean of a row is over the gradients that have it."""

    _count_op, _step_op = accumulatornumaccumulated_op, accumulatorsetglobalstep_op

    def __init__(self, dtype, shape=None, shared_name=None, name="sparse_conditional_accumulator", reduction_type="MEAN"):
        super().__init__(dtype, shape, _made(sparseconditionalaccumulator_op, "SparseConditionalAccumulator", dtype, shape,
                                             shared_name, name, reduction_type))

    def apply_indexed_slices_grad(self, grad, local_step=0, name=None):
        """Returns an operation that adds IndexedSlices; see `apply_grad`."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(self, grad_indices, grad_values, grad_shape=None, local_step=0, name=None):
        """Returns an operation that adds rows of a gradient, unless `local_step` is below the accumulator's step."""
        whole = [math.cast(convert_to_tensor([] if x is None else x, preferred_dtype=dtypes.int64), dtypes.int64)
                 for x in (local_step, grad_indices, grad_shape)]
        return sparseaccumulatorapplygradient_op(self._accumulator_ref, whole[0], whole[1],
                                                 convert_to_tensor(grad_values, self._dtype), whole[2], name=name)

    def take_grad(self, num_required, name=None):
        """Returns (indices, values, shape) of the mean, waiting until there are `num_required`; the next step begins."""
        return sparseaccumulatortakegradient_op(self._accumulator_ref, num_required, dtype=self._dtype, name=name)

    def take_indexed_slices_grad(self, num_required, name=None):
        """Returns the mean as IndexedSlices; see `take_grad`."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)
