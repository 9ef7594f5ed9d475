"""tf.train: optimizers, learning rates, checkpoints, and what runs a training loop."""

from regrad.train.checkpoint import (
    CheckpointReader,
    CheckpointState,
    NewCheckpointReader,
    checkpoint_exists,
    checkpoints_iterator,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
    remove_checkpoint,
    update_checkpoint_state,
)
from regrad.train.coordinator import (
    Coordinator,
    LooperThread,
    QueueRunner,
    add_queue_runner,
    start_queue_runners,
)
from regrad.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from regrad.train.learning_rates import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from regrad.train.moving_averages import ExponentialMovingAverage
from regrad.train.optimizer import Optimizer
from regrad.train.optimizers import (
    AdadeltaOptimizer,
    AdagradDAOptimizer,
    AdagradOptimizer,
    AdaMaxOptimizer,
    AdamOptimizer,
    AdamWOptimizer,
    AddSignOptimizer,
    DecoupledWeightDecayExtension,
    FtrlOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    MomentumWOptimizer,
    NadamOptimizer,
    PowerSignOptimizer,
    ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer,
    RMSPropOptimizer,
    extend_with_decoupled_weight_decay,
)
from regrad.train.saver import Saver, init_from_checkpoint

__all__ = [
    "AdaMaxOptimizer", "AdadeltaOptimizer", "AdagradDAOptimizer", "AdagradOptimizer", "AdamOptimizer",
    "AdamWOptimizer", "AddSignOptimizer", "CheckpointReader", "CheckpointState", "Coordinator",
    "DecoupledWeightDecayExtension", "ExponentialMovingAverage", "FtrlOptimizer", "GradientDescentOptimizer",
    "LooperThread", "MomentumOptimizer", "MomentumWOptimizer", "NadamOptimizer", "NewCheckpointReader",
    "Optimizer", "PowerSignOptimizer", "ProximalAdagradOptimizer", "ProximalGradientDescentOptimizer",
    "QueueRunner", "RMSPropOptimizer", "Saver", "add_queue_runner", "assert_global_step", "checkpoint_exists",
    "checkpoints_iterator", "cosine_decay", "cosine_decay_restarts", "create_global_step",
    "exponential_decay", "extend_with_decoupled_weight_decay", "get_checkpoint_mtimes",
    "get_checkpoint_state", "get_global_step", "get_or_create_global_step", "global_step",
    "init_from_checkpoint", "inverse_time_decay", "latest_checkpoint", "linear_cosine_decay",
    "list_variables", "load_checkpoint", "load_variable", "natural_exp_decay", "noisy_linear_cosine_decay",
    "piecewise_constant", "piecewise_constant_decay", "polynomial_decay", "remove_checkpoint",
    "start_queue_runners", "update_checkpoint_state",
]
