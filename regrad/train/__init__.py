"""tf.train: optimizers, learning rates, checkpoints, and what runs a training loop."""

from regrad.train.optimizer import Optimizer
from regrad.train.optimizers import (AdadeltaOptimizer, AdagradDAOptimizer, AdagradOptimizer, AdaMaxOptimizer,
                                     AdamOptimizer, AdamWOptimizer, AddSignOptimizer, DecoupledWeightDecayExtension,
                                     FtrlOptimizer, GradientDescentOptimizer, MomentumOptimizer, MomentumWOptimizer,
                                     NadamOptimizer, PowerSignOptimizer, ProximalAdagradOptimizer,
                                     ProximalGradientDescentOptimizer, RMSPropOptimizer,
                                     extend_with_decoupled_weight_decay)  # fmt: skip

__all__ = ["AdaMaxOptimizer", "AdadeltaOptimizer", "AdagradDAOptimizer", "AdagradOptimizer", "AdamOptimizer",
           "AdamWOptimizer", "AddSignOptimizer", "DecoupledWeightDecayExtension", "FtrlOptimizer",
           "GradientDescentOptimizer", "MomentumOptimizer", "MomentumWOptimizer", "NadamOptimizer", "Optimizer",
           "PowerSignOptimizer", "ProximalAdagradOptimizer", "ProximalGradientDescentOptimizer", "RMSPropOptimizer",
           "extend_with_decoupled_weight_decay"]  # fmt: skip
