"""`tf.distributions`: probability distributions as objects, whose methods add operations to the graph.

    normal = tf.distributions.Normal(loc=mean, scale=deviation)
    action = normal.sample()
    loss = -normal.log_prob(action) * advantage

A distribution stands for a batch of distributions: `batch_shape` is the broadcast shape of its parameters, `event_shape` that
of one draw. `sample(n)` has shape n + batch_shape + event_shape, `log_prob(value)` the broadcast shape of the value, without
its event axes, and batch_shape.
"""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.distributions.base": """
        Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED RegisterKL ReparameterizationType kl_divergence""",
    "regrad.distributions.continuous": "Beta Exponential Gamma Laplace Normal StudentT Uniform",
    "regrad.distributions.discrete": "Bernoulli Categorical Dirichlet DirichletMultinomial Multinomial",
})
