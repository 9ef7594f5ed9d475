"""`tf.contrib.estimator`: what `tf.estimator.experimental` was called before, and what extends estimators."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.estimator.early_stopping": """
        make_early_stopping_hook read_eval_metrics stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook
        stop_if_no_increase_hook""",
    "regrad.estimator.extending": "add_metrics clip_gradients_by_norm",
    "regrad.estimator.in_memory": "InMemoryEvaluatorHook",
})
