"""`tf.initializers`: initializers under their short names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.variables.initializers": """
        Initializer constant=Constant delta_orthogonal=ConvolutionDeltaOrthogonal glorot_normal=GlorotNormal
        glorot_uniform=GlorotUniform he_normal he_uniform identity=Identity lecun_normal lecun_uniform
        ones=Ones
        orthogonal=Orthogonal random_normal=RandomNormal random_uniform=RandomUniform
        truncated_normal=TruncatedNormal uniform_unit_scaling=UniformUnitScaling
        variance_scaling=VarianceScaling zeros=Zeros""",
    "regrad.variables.listing": """
        global_variables=global_variables_initializer local_variables=local_variables_initializer
        tables_initializer variables=variables_initializer""",
})
