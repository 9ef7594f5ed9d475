"""Evaluates while training, with the values that the variables have then."""

from regrad.core.graph import Graph
from regrad.core.graph_keys import GraphKeys
from regrad.estimator.results import write_results
from regrad.train.evaluation import StopAfterNEvalsHook, evaluate_once
from regrad.train.hooks import SecondOrStepTimer, SessionRunHook
from regrad.train.monitored import Scaffold
from regrad.train.steps import get_global_step
from regrad.variables.listing import global_variables


class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates an Estimator's model every so many runs and at the end of training, without a checkpoint."""

    def __init__(self, estimator, input_fn, steps=None, hooks=None, name=None, every_n_iter=100):
        """Args:
          estimator: the Estimator that is trained.
          input_fn, steps, hooks, name: as for `Estimator.evaluate`.
          every_n_iter: how many runs there are between two evaluations; there is one after the first.

        Raises:
          ValueError: `every_n_iter` below 1.
        """
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._estimator, self._input_fn, self._steps, self._name = estimator, input_fn, steps, name
        self._hooks = list(hooks or [])
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self):
        self._timer.reset()
        self._runs = 0
        self._step = get_global_step()
        self._variables = {v.name: v for v in global_variables()}

    def after_create_session(self, session, coord):
        self._evaluate(session)

    def after_run(self, run_context, run_values):
        self._runs += 1
        if self._timer.should_trigger_for_step(self._runs):
            self._evaluate(run_context.session)

    def end(self, session):
        self._evaluate(session)

    def _evaluate(self, session):
        self._timer.update_last_triggered_step(self._runs)
        values = session.run(self._variables)
        with Graph().as_default():
            scaffold, update, results, hooks = self._estimator._evaluation(self._input_fn, None)
            missing = [v.name for v in global_variables() if v.name not in values]

            def take(_, sess):
                for v in global_variables():
                    v.load(values[v.name], sess)

            if missing:
                raise ValueError(f"The model has variables when it is evaluated that it has not when it is trained: {missing}.")
            stop = [StopAfterNEvalsHook(self._steps)] if self._steps is not None else []
            found = evaluate_once(None, scaffold=Scaffold(init_fn=take, copy_from_scaffold=scaffold), eval_ops=update,
                                  final_ops=results, hooks=[*hooks[0], *self._hooks, *hooks[1], *stop])
        write_results(self._estimator.eval_dir(self._name), found | {GraphKeys.GLOBAL_STEP: session.run(self._step)}, None)
