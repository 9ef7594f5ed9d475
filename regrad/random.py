"""`tf.random`: random numbers under their later names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.candidates": """
        all_candidate_sampler fixed_unigram_candidate_sampler log_uniform_candidate_sampler
        uniform_candidate_sampler""",
    "regrad.ops.random": """
        categorical gamma=random_gamma get_seed multinomial normal=random_normal poisson=random_poisson
        set_random_seed shuffle=random_shuffle stateless_categorical stateless_multinomial
        stateless_normal=stateless_random_normal stateless_truncated_normal
        stateless_uniform=stateless_random_uniform truncated_normal uniform=random_uniform""",
})
