"""`tf.contrib.integrate`: ordinary differential equations solved inside the graph; gradients go through the steps."""

import numpy as np

import regrad as tf

# Dormand and Prince 1980: times of the stages, their weights, and the error: the difference from a solution of order 4.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = ((1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
           (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
           (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
           (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84))
_ERROR = (35 / 384 - 5179 / 57600, 0.0, 500 / 1113 - 7571 / 16695, 125 / 192 - 393 / 640, -2187 / 6784 + 92097 / 339200,
          11 / 84 - 187 / 2100, -1 / 40)
_SETTINGS = {"first_step": 1.0, "safety": 0.9, "ifactor": 10.0, "dfactor": 0.2, "max_num_steps": 1000}


def _weighted(weights, ks, dt):
    """Returns dt times the weighted sum of the stages."""
    total = sum(tf.cast(w, k.dtype) * k for w, k in zip(weights, ks) if w)
    return tf.cast(dt, total.dtype) * total


def _step(func, y, f, t, dt):
    """Returns (y at t + dt, f there, estimate of the error)."""
    ks = [f]
    for time, weights in zip(_TIMES, _STAGES):
        there = y + _weighted(weights, ks, dt)
        ks.append(func(there, t + tf.cast(time, t.dtype) * dt))
    return there, ks[-1], _weighted(_ERROR, ks, dt)


def _start(y0, t):
    """Returns the first value and the times as tensors."""
    y0 = tf.convert_to_tensor(y0, name="y0")
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise TypeError(f"`y0` must have a floating point or complex floating point dtype, got {y0.dtype.name}")
    t = tf.convert_to_tensor(t, preferred_dtype=tf.float64, name="t")
    if not t.dtype.is_floating:
        raise TypeError(f"t must have a floating point dtype, got {t.dtype.name}")
    if t.shape.ndims not in (None, 1):
        raise ValueError(f"t must be a vector of times, got {t.shape}")
    return y0, t


def odeint(func, y0, t, rtol=1e-6, atol=1e-12, method=None, options=None, full_output=False, name=None):
    """Returns the solution of dy/dt = func(y, t) at the times `t`: [times, *shape of y0].

    Dormand and Prince's method of order 5, whose steps are as long as the tolerances allow and end at the times asked for.

    Args:
      func: function of (y, t), t being a scalar, that gives dy/dt in the shape and dtype of y.
      y0: floating or complex tensor, the value at t[0].
      t: vector of increasing times.
      rtol, atol: the root mean square of error / (atol + rtol max|y|) of a step is at most 1.
      method: None or "dopri5".
      options: with `method`: first_step (1), safety (0.9), ifactor (10) and dfactor (0.2), the most and least by which the next
        step may differ, max_num_steps (1000) between two times.
      full_output: give (solution, {"num_func_evals": int scalar}).

    Raises:
      ValueError: another method; options without a method, or unknown ones.
      TypeError: `y0` is not floating or complex, `t` not floating.
      InvalidArgumentError: when running, the times do not increase, or max_num_steps is not enough.
    """
    if method not in (None, "dopri5"):
        raise ValueError(f"method not supported: {method!r}; it is 'dopri5'")
    if options is not None and method is None:
        raise ValueError("cannot supply `options` without specifying `method`")
    unknown = sorted(set(options or {}) - set(_SETTINGS))
    if unknown:
        raise ValueError(f"odeint: unknown options {unknown}; there are {', '.join(_SETTINGS)}")
    settings = {**_SETTINGS, **(options or {})}
    with tf.name_scope(name, "odeint", [y0, t]):
        y0, t = _start(y0, t)
        with tf.control_dependencies([tf.assert_greater(t[1:], t[:-1], message="`t` must be monotonic increasing")]):
            t = tf.identity(t)
        solution, evaluations = _adaptive(func, y0, t, rtol, atol, settings)
        return (solution, {"num_func_evals": evaluations}) if full_output else solution


def _adaptive(func, y0, t, rtol, atol, settings):
    real = y0.dtype.real_dtype
    rtol, atol = (tf.cast(v, real) for v in (rtol, atol))

    def kept(fits, new, old):
        return tf.where(tf.fill(tf.shape(new), fits), new, old)

    def to(i, y, f, dt, ys, evaluations):
        """Takes steps from time i - 1 to time i."""
        def before(n, now, *_):
            return tf.logical_and(now < t[i], n < settings["max_num_steps"])

        def step(n, now, y, f, dt):
            reaches = now + dt >= t[i]
            taken = tf.where(reaches, t[i] - now, dt)
            y1, f1, error = _step(func, y, f, now, taken)
            scale = atol + rtol * tf.maximum(tf.abs(y), tf.abs(y1))
            ratio = tf.stop_gradient(tf.sqrt(tf.reduce_mean(tf.square(tf.abs(error) / scale))))
            fits = ratio <= 1
            factor = settings["safety"] * tf.pow(tf.cast(tf.maximum(ratio, tf.cast(1e-30, real)), t.dtype), -0.2)
            least = tf.where(fits, tf.ones_like(factor), tf.fill([], tf.cast(settings["dfactor"], t.dtype)))
            following = taken * tf.clip_by_value(factor, least, tf.cast(settings["ifactor"], t.dtype))
            # A step that was shortened to end at a time says nothing against longer ones.
            following = tf.where(tf.logical_and(reaches, fits), tf.maximum(following, dt), following)
            ends = tf.where(reaches, t[i], now + taken)
            return n + 1, tf.where(fits, ends, now), kept(fits, y1, y), kept(fits, f1, f), following

        n, now, y, f, dt = tf.while_loop(before, step, (0, t[i - 1], y, f, dt))
        with tf.control_dependencies([tf.Assert(now >= t[i], ["max_num_steps exceeded, at time", now])]):
            y = tf.identity(y)
        return i + 1, y, f, dt, ys.write(i, y), evaluations + 6 * n

    ys = tf.TensorArray(y0.dtype, tf.size(t), element_shape=y0.shape, clear_after_read=False).write(0, y0)
    start = (1, y0, func(y0, t[0]), tf.cast(settings["first_step"], t.dtype), ys, 1)
    *_, ys, evaluations = tf.while_loop(lambda i, *_: i < tf.size(t), to, start)
    return ys.stack(), evaluations


def _midpoint(func, y, t, dt):
    half = tf.cast(dt / 2, y.dtype)
    return tf.cast(dt, y.dtype) * func(y + half * func(y, t), t + dt / 2)


def _rk4(func, y, t, dt):
    """The rule of 3/8."""
    step = tf.cast(dt, y.dtype)
    k1 = func(y, t)
    k2 = func(y + step * k1 / 3, t + dt / 3)
    k3 = func(y + step * (k2 - k1 / 3), t + dt * 2 / 3)
    k4 = func(y + step * (k1 - k2 + k3), t + dt)
    return step * (k1 + 3 * k2 + 3 * k3 + k4) / 8


def odeint_fixed(func, y0, t, dt=None, method="rk4", name=None):
    """Returns the solution of dy/dt = func(y, t) at the times `t` in steps of given lengths: [times, *shape of y0].

    Args:
      func, y0: as for `odeint`.
      t: vector of times, increasing or decreasing.
      dt: length of the steps, a number or scalar tensor, the last before each time being shorter; or a vector with one length
        for each interval; None: one step from each time to the next.
      method: "rk4" or "midpoint".

    Raises:
      ValueError: another method, or a `dt` of another shape.
      TypeError: `y0` is not floating or complex, `t` not floating.
    """
    methods = {"rk4": _rk4, "midpoint": _midpoint}
    if method not in methods:
        raise ValueError(f"method not supported: {method!r}; there are {', '.join(methods)}")
    change = methods[method]
    with tf.name_scope(name, "odeint_fixed", [y0, t, dt]):
        y0, t = _start(y0, t)
        intervals = t[1:] - t[:-1]
        if dt is None:
            steps = tf.ones(tf.shape(intervals), tf.int32)
            lengths = intervals
        else:
            lengths = tf.convert_to_tensor(dt, t.dtype, name="dt")
            if lengths.shape.ndims not in (0, 1):
                raise ValueError(f"dt must be a scalar or a vector, got {lengths.shape}")
            lengths += tf.zeros_like(intervals)
            least = np.finfo(t.dtype.as_numpy_dtype).eps * 8  # an interval of whole steps has no rest
            steps = tf.cast(tf.ceil(intervals / lengths * (1 - least)), tf.int32)

        def to(i, y, ys):
            def step(n, y):
                now = t[i] + tf.cast(n, t.dtype) * lengths[i]
                length = tf.where(n + 1 < steps[i], lengths[i], t[i + 1] - now)
                return n + 1, y + change(func, y, now, length)

            _, y = tf.while_loop(lambda n, _: n < steps[i], step, (0, y))
            return i + 1, y, ys.write(i + 1, y)

        ys = tf.TensorArray(y0.dtype, tf.size(t), element_shape=y0.shape, clear_after_read=False).write(0, y0)
        return tf.while_loop(lambda i, *_: i < tf.size(t) - 1, to, (0, y0, ys))[2].stack()


__all__ = ["odeint", "odeint_fixed"]
