"""Training in steps of several replicas' gradients: threads of one process that run the same operation."""

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import int64
from regrad.core.errors import CancelledError, OutOfRangeError
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.indexed_slices import IndexedSlices
from regrad.framework import control_dependencies
from regrad.ops import array, math
from regrad.ops.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from regrad.ops.control import group, no_op
from regrad.ops.queues import FIFOQueue
from regrad.train.coordinator import QueueRunner
from regrad.train.hooks import SessionRunHook
from regrad.train.optimizer import Optimizer, methods_of
from regrad.train.wrapping import WrappingOptimizer
from regrad.variables.assign import assign
from regrad.variables.listing import global_variables, report_uninitialized_variables, variables_initializer
from regrad.variables.variable import Variable


@methods_of(WrappingOptimizer)
class SyncReplicasOptimizer(Optimizer):
    """Trains as another optimizer does, by the mean of the gradients of several runs, which threads make.

    A run of the operation gives its gradients, unless they are of a step that is over, and waits for a token, which says that
    a step was made. The chief's thread, which the hook starts, takes the gradients, trains, and gives as many tokens.

        opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=4)
        train_op = opt.minimize(loss, global_step=global_step)
        with tf.train.MonitoredTrainingSession(hooks=[opt.make_session_run_hook(is_chief=True)]) as session: ...

    Args:
      opt: the optimizer.
      replicas_to_aggregate: how many gradients a step takes.
      total_num_replicas: how many threads give them; as many by default.
      variable_averages, variables_to_average: an ExponentialMovingAverage to apply after each step, and to what.
    """

    def __init__(self, opt, replicas_to_aggregate, total_num_replicas=None, variable_averages=None, variables_to_average=None,
                 use_locking=False, name="sync_replicas"):
        super().__init__(use_locking, name)
        self._opt, self._replicas_to_aggregate = opt, replicas_to_aggregate
        self._total_num_replicas = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._tokens_per_step = max(self._total_num_replicas, replicas_to_aggregate)
        self._variable_averages, self._variables_to_average = variable_averages, variables_to_average
        self._applied = False
        self.local_step_init_op = self.chief_init_op = self.ready_for_local_init_op = None

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns the operation that gives gradients and waits for a token.

        Raises:
          ValueError: no gradients, or no `global_step`.
        """
        grads_and_vars = list(grads_and_vars)
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        self._local_step = Variable(0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], dtype=int64,
                                    name="sync_rep_local_step")
        self.local_step_init_op = assign(self._local_step, math.cast(global_step, int64))
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        self._tokens = FIFOQueue(-1, [int64], shapes=[()], name="sync_token_q", shared_name="sync_token_q")
        given, steps, mean = [], [self.local_step_init_op], []
        with get_default_graph().name_scope(name or self._name):
            for grad, v in grads_and_vars:
                if grad is None:
                    mean.append((None, v))
                    continue
                sparse = isinstance(grad, IndexedSlices)
                kind = SparseConditionalAccumulator if sparse else ConditionalAccumulator
                kept = kind(grad.dtype, v.shape, shared_name=f"{v.name}/grad_accum")
                kept._spec.ends_with = self._tokens.queue_ref.op.attrs["spec"]  # which the coordinator closes
                give, take = ((kept.apply_indexed_slices_grad, kept.take_indexed_slices_grad) if sparse else
                              (kept.apply_grad, kept.take_grad))
                given.append(give(grad, local_step=self._local_step))
                mean.append((take(self._replicas_to_aggregate), v))
                steps.append(kept.set_global_step(global_step))
            update = self._opt.apply_gradients(mean, global_step)
            with control_dependencies([update]):
                sync = self._tokens.enqueue_many(self._of_step(self._tokens_per_step))
            if self._variable_averages is not None:
                with control_dependencies([sync]):
                    sync = self._variable_averages.apply(self._variables_to_average)
            self._runner = QueueRunner(self._tokens, [sync], queue_closed_exception_types=(OutOfRangeError, CancelledError))
            with control_dependencies(given):
                token = self._tokens.dequeue()
            self.chief_init_op, self._applied = group(*steps), True
            return assign(self._local_step, token).op

    def _of_step(self, n):
        """Returns `n` tokens of the global step, a vector."""
        return array.fill([n], math.cast(convert_to_tensor(self._global_step), int64))

    def _must_have_applied(self, what):
        if not self._applied:
            raise ValueError(f"{what} should be called after apply_gradients().")

    def get_chief_queue_runner(self):
        """Returns the QueueRunner whose thread makes the steps; ValueError before `apply_gradients`."""
        self._must_have_applied("get_chief_queue_runner")
        return self._runner

    def get_init_tokens_op(self, num_tokens=-1):
        """Returns the operation that gives the first tokens: `num_tokens`, as many as a step's gradients for -1.

        Raises:
          ValueError: before `apply_gradients`, or fewer tokens than replicas that lack to a step.
        """
        self._must_have_applied("get_init_tokens_op")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        return self._tokens.enqueue_many(self._of_step(num_tokens)) if num_tokens > 0 else no_op("no_init_tokens")

    def make_session_run_hook(self, is_chief, num_tokens=-1):
        """Returns the hook that sets the steps, gives the first tokens and, of the chief, starts its thread."""
        return _Hook(self, is_chief, num_tokens)


class _Hook(SessionRunHook):
    def __init__(self, optimizer, is_chief, num_tokens):
        self._optimizer, self._is_chief, self._num_tokens = optimizer, is_chief, num_tokens

    def begin(self):
        self._optimizer._must_have_applied("SyncReplicasOptimizer's hook")
        self._local = variables_initializer([self._optimizer._local_step])
        self._tokens = self._optimizer.get_init_tokens_op(self._num_tokens) if self._is_chief else None

    def after_create_session(self, session, coord):
        session.run(self._local)
        session.run(self._optimizer.chief_init_op if self._is_chief else self._optimizer.local_step_init_op)
        if self._is_chief:
            session.run(self._tokens)
            self._optimizer.get_chief_queue_runner().create_threads(session, coord=coord, daemon=True, start=True)
