"""`tf.contrib.opt`: further optimizers."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.contrib.bounded_optimizers": "LARSOptimizer VariableClippingOptimizer",
    "regrad.contrib.external_optimizer": "ExternalOptimizerInterface ScipyOptimizerInterface",
    "regrad.contrib.lazy_adam": "LazyAdamOptimizer",
    "regrad.contrib.moving_average_optimizer": "MovingAverageOptimizer",
    "regrad.train.optimizers": """
        AdaMaxOptimizer AdamWOptimizer AddSignOptimizer DecoupledWeightDecayExtension MomentumWOptimizer
        NadamOptimizer PowerSignOptimizer extend_with_decoupled_weight_decay""",
})
