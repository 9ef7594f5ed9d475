"""`tf.estimator`: models as functions, trained, evaluated and asked for predictions from checkpoints."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.estimator.spec": "EstimatorSpec ModeKeys",
    "regrad.estimator.run_config": "RunConfig",
    "regrad.estimator.estimator": "Estimator",
    "regrad.estimator.canned": """
        DNNClassifier DNNLinearCombinedClassifier DNNLinearCombinedRegressor DNNRegressor LinearClassifier LinearRegressor""",
    "regrad.estimator.extending": "add_metrics",
    "regrad.estimator.exporters": "BestExporter Exporter FinalExporter LatestExporter",
    "regrad.estimator.training": "EvalSpec TrainSpec train_and_evaluate",
    "regrad.train.warm_starting": "VocabInfo WarmStartSettings",
    "regrad.train.hooks": """
        CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook
        NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook
        SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook""",
}, modules="experimental export inputs tpu=regrad.contrib.tpu")
