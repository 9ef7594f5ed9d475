"""What TensorFlow's distributions answer: statistics, densities, draws and their gradients (see `tests/recorded.py`)."""
import numpy as np

A = np.array([[0.3, 1.2, 2.5], [4.0, 0.8, 1.0]])
B = np.array([0.5, 2.0, 3.5])
X = np.array([[0.2, 0.7, 3.0], [1e-3, 0.999, 1.0]])
UNIT = np.array([[0.2, 0.7, 0.5], [1e-3, 0.999, 0.6]])
SIMPLEX = np.array([[0.2, 0.7, 0.1], [0.3, 0.3, 0.4]])
COUNTS = np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 4.0]])

#: name: (parameters, values at which to ask)
CASES = {
    "Normal": ({"loc": A, "scale": B}, np.array([[-50.0, 0.1, 30.0], [3.0, -1.5, 0.0]])),
    "Laplace": ({"loc": A, "scale": B}, np.array([[-50.0, 0.1, 30.0], [3.0, -1.5, 0.0]])),
    "Uniform": ({"low": -B, "high": A}, np.array([[-50.0, 0.1, 2.5], [3.0, -1.5, 0.0]])),
    "Exponential": ({"rate": A}, X),
    "Gamma": ({"concentration": A, "rate": B}, X),
    "Beta": ({"concentration1": A, "concentration0": np.tile(B, (2, 1))}, UNIT),
    "StudentT": ({"df": A.astype("f"), "loc": -B.astype("f"), "scale": B.astype("f")},  # TensorFlow's mean knows no other
                 np.array([[-50.0, 0.1, 30.0], [3.0, -1.5, 0.0]], "f")),
    "Bernoulli/logits": ({"logits": A - 1.0}, np.array([[0, 1, 1], [1, 0, 0]])),
    "Bernoulli/probs": ({"probs": UNIT}, np.array([1, 0, 1])),
    "Categorical/logits": ({"logits": A}, np.array([2, 0])),
    "Categorical/probs": ({"probs": SIMPLEX}, np.array([[1], [2], [0]])),
    "Dirichlet": ({"concentration": A}, SIMPLEX),
    "Multinomial/logits": ({"total_count": np.array([3.0, 4.0]), "logits": A}, COUNTS),
    "Multinomial/probs": ({"total_count": np.array(3.0), "probs": SIMPLEX}, COUNTS[0]),
    "DirichletMultinomial": ({"total_count": np.array(4.0), "concentration": A}, COUNTS),
}
STATISTICS = ("mean", "variance", "stddev", "mode", "entropy", "covariance", "batch_shape_tensor", "event_shape_tensor")
FUNCTIONS = ("log_prob", "prob", "log_cdf", "cdf", "log_survival_function", "survival_function")
DIVERGENCES = ("Normal", "Gamma", "Exponential", "Beta", "Bernoulli/logits", "Bernoulli/probs", "Categorical/logits",
               "Categorical/probs", "Dirichlet")
REPARAMETERIZED = ("Normal", "Laplace", "Uniform", "Exponential", "Gamma", "Beta", "StudentT", "Dirichlet")


def results(tf):
    found = {}
    for case, (parameters, values) in CASES.items():
        with tf.Graph().as_default(), tf.Session() as sess:
            given = {k: tf.constant(v) for k, v in parameters.items()}
            make = getattr(tf.distributions, case.partition("/")[0])
            d = make(**given)
            found[f"{case} names"] = [d.name, str(d.dtype), str(d.batch_shape.as_list()), str(d.event_shape.as_list()),
                                      str(d.reparameterization_type), ",".join(sorted(d.parameters)),
                                      d.log_prob(values).name.partition("/")[0]]
            statistics = [s for s in STATISTICS if (case, s) != ("Dirichlet", "mode")]  # TensorFlow's fails
            asked = {**dict.fromkeys(statistics, ()), **dict.fromkeys(FUNCTIONS, (values,))}
            if case == "Normal":
                asked["quantile"] = (UNIT,)
            missing, wanted = [], {}
            for name, arguments in asked.items():
                try:
                    value = getattr(d, name)(*arguments)
                except NotImplementedError:
                    missing.append(name)
                    continue
                wanted[name] = value
                if name.endswith("cdf") and case in ("Beta", "StudentT"):  # TensorFlow knows the integral's slope by x only
                    continue
                if name in ("mean", "entropy", "log_prob", "cdf", "log_cdf"):
                    grads = tf.gradients(value, list(given.values()))
                    for key, grad in zip(given, grads):
                        if grad is not None:
                            wanted[f"d {name} / d {key}"] = grad
            found[f"{case} missing"] = missing
            if case in DIVERGENCES:
                other = make(**{k: tf.constant(v[..., ::-1].copy()) for k, v in parameters.items()})
                kl = tf.distributions.kl_divergence(d, other)
                wanted["kl"] = tf.stack([kl, d.kl_divergence(d), d.cross_entropy(other)])
                for key, grad in zip(given, tf.gradients(kl, list(given.values()))):
                    wanted[f"d kl / d {key}"] = grad
            if "Multinomial" not in case:  # TensorFlow draws no float64 counts
                wanted["draws"] = draws = d.sample([4], seed=7)
                if case in REPARAMETERIZED:
                    grads = tf.gradients(draws ** 2, list(given.values()))
                    wanted["d draws"] = tf.concat([tf.reshape(g, [-1]) for g in grads], 0)
            found.update({f"{case} {name}": value for name, value in sess.run(wanted).items()})
    return found
