"""tf.train: optimizers, learning rates, checkpoints, and what runs a training loop."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.train.checkpoint": """
        CheckpointReader CheckpointState NewCheckpointReader checkpoint_exists checkpoints_iterator
        get_checkpoint_mtimes get_checkpoint_state latest_checkpoint list_variables load_checkpoint
        load_variable remove_checkpoint update_checkpoint_state""",
    "regrad.core.graph_proto": "SaverDef",
    "regrad.core.messages": """
        BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample""",
    "regrad.train.cluster": "ClusterSpec Server replica_device_setter",
    "regrad.train.coordinator": "Coordinator LooperThread QueueRunner add_queue_runner start_queue_runners",
    "regrad.train.event_files": "SummaryWriter=FileWriter SummaryWriterCache=FileWriterCache summary_iterator",
    "regrad.train.steps": """
        assert_global_step create_global_step get_global_step get_or_create_global_step global_step""",
    "regrad.train.graph_files": "export_meta_graph import_meta_graph write_graph",
    "regrad.train.hooks": """
        CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook
        NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer SessionRunArgs SessionRunContext SessionRunHook
        SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook""",
    "regrad.train.input": """
        batch batch_join input_producer limit_epochs match_filenames_once maybe_batch maybe_batch_join maybe_shuffle_batch
        maybe_shuffle_batch_join range_input_producer shuffle_batch shuffle_batch_join slice_input_producer
        string_input_producer""",
    "regrad.train.learning_rates": """
        cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay
        natural_exp_decay noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay
        polynomial_decay""",
    "regrad.train.monitored": """
        ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold SessionCreator
        SingularMonitoredSession WorkerSessionCreator""",
    "regrad.train.moving_averages": "ExponentialMovingAverage",
    "regrad.train.optimizer": "Optimizer",
    "regrad.train.optimizers": """
        AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer FtrlOptimizer GradientDescentOptimizer
        MomentumOptimizer ProximalAdagradOptimizer ProximalGradientDescentOptimizer RMSPropOptimizer""",
    "regrad.train.supervisor": "SessionManager Supervisor basic_train_loop",
    "regrad.train.sync_replicas": "SyncReplicasOptimizer",
    "regrad.train.queue_runner": "queue_runner",
    "regrad.train.saver": "Saver init_from_checkpoint",
    "regrad.train.warm_starting": "VocabInfo warm_start",
})
