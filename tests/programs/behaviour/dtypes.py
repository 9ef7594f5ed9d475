"""Types: conversion of Python and NumPy values, promotion (there is none), casts, the DType objects."""
from corpus import Row

ROWS = [
    Row("python values", """
vs = [1, 1.0, True, 'a', b'a', 1j, [1, 2], [1.0, 2], [True], [[1], [2]], (1, 2), 2 ** 31, []]
result = [tf.constant(v).dtype.name for v in vs]"""),
    Row("numpy values", """
ds = [
    'float32',
    'float64',
    'float16',
    'int8',
    'uint8',
    'int16',
    'uint16',
    'int32',
    'int64',
    'bool',
    'complex64',
    'complex128',
    'uint32',
    'uint64',
]
result = [tf.convert_to_tensor(np.ones(2, d)).dtype.name for d in ds]"""),
    Row("numpy scalars", """
result = [
    tf.convert_to_tensor(v).dtype.name
    for v in (np.float64(1), np.float32(1), np.int64(1), np.int32(1), np.bool_(True))
]"""),
    Row("values and shapes of constants", """
result = run(
    [
        tf.constant([1, 2, 3]),
        tf.constant(7, shape=[2, 2]),
        tf.constant([1, 2, 3], shape=[3]),
        tf.constant(1.5, tf.float64),
        tf.constant([[1.0], [2.0]]),
    ]
)"""),
    Row("constant fills with its last value", "result = run(tf.constant([1, 2], shape=[2, 3]))"),
    Row("constant with a dtype", """
result = run(
    [
        tf.constant(1, tf.float32),
        tf.constant([1, 2], tf.uint8),
        tf.constant(1, tf.complex64),
        tf.constant(1.0, 'float64'),
        tf.constant(3, np.int64),
    ]
)"""),
    Row("strings", "result = run([tf.constant('abc'), tf.constant(['a', 'bc'])])"),
    Row("number with a tensor takes the tensor's type", """
out = []
for d in (tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8):
    x = tf.constant([1, 2], d)
    out.append(
        [(x + 1).dtype.name, (2 * x).dtype.name, (x - np.array(1)).dtype.name if d != tf.uint8 else '']
    )
result = out"""),
    Row("float number with a float64 tensor", """
x = tf.constant(1.0, tf.float64)
result = run([x + 0.1, 0.1 + x, x * np.float64(0.1)])"""),
    Row("numpy array before a tensor", """
x = tf.constant([1.0, 2.0])
y = np.array([3.0, 4.0], 'f') * x
result = [isinstance(y, tf.Tensor), run(y)]"""),
    Row("division", """
i, j, f = tf.constant([7, -7]), tf.constant([2, 2]), tf.constant([7.0, -7.0])
result = run(
    [
        i / j,
        i // j,
        i % j,
        f / 2.0,
        f // 2.0,
        f % 2.0,
        tf.div(i, j),
        tf.floordiv(i, j),
        tf.truncatediv(i, j),
        tf.truncatemod(i, j),
        tf.mod(f, 2.0),
        tf.div(f, 2.0),
        tf.realdiv(f, 2.0),
    ]
)"""),
    Row("types of division", """
i = tf.constant(7)
l = tf.constant(7, tf.int64)
h = tf.constant(7, tf.uint8)
result = [t.dtype.name for t in (i / 2, l / 2, h / 2, i // 2, tf.div(i, 2), tf.truediv(i, 2), i % 2)]"""),
    Row("division of numpy float64", "result = (np.float64(1.0) / tf.constant(2.0, tf.float64)).dtype.name"),
    Row("cast", """
x = tf.constant([-1.7, -0.2, 0.0, 0.6, 2.9])
types = tf.int32, tf.int64, tf.bool, tf.float64, tf.float16, tf.complex64
result = run([tf.cast(x, d) for d in types])"""),
    Row("cast from bool and int", """
result = run(
    [
        tf.cast([True, False], tf.float32),
        tf.cast([3, 0], tf.bool),
        tf.cast([300, -1], tf.uint8),
        tf.to_float(2),
        tf.to_int32(2.7),
        tf.to_double(1),
        tf.to_int64(3.9),
    ]
)"""),
    Row("cast to the same type is the tensor", """
x = tf.constant(1.0)
result = [tf.cast(x, tf.float32) is x, tf.cast(x, tf.float64) is x]"""),
    Row("saturate_cast", "result = run(tf.saturate_cast([300.0, -5.0, 7.0], tf.uint8))"),
    Row("dtypes of results", """
x = tf.constant([1.0, 2.0])
result = [
    t.dtype.name
    for t in (
        tf.argmax(x),
        tf.shape(x),
        tf.size(x),
        tf.rank(x),
        x > 0,
        tf.where(x > 0),
        tf.range(3),
        tf.range(3.0),
        tf.one_hot([1], 2),
        tf.zeros([1]),
        tf.ones([1]),
        tf.fill([1], 1),
        tf.eye(2),
        tf.is_nan(x),
        tf.round(x),
        tf.argmax(x, output_type=tf.int32),
        tf.count_nonzero(x),
        tf.unique(x)[1],
        tf.invert_permutation([0]),
        tf.random_normal([1]),
        tf.random_uniform([1], maxval=3, dtype=tf.int32),
        tf.complex(x, x),
        tf.abs(tf.complex(x, x)),
        tf.real(tf.complex(x, x)),
        tf.nn.top_k(x)[1],
        tf.size(x, out_type=tf.int64),
        tf.linspace(0.0, 1.0, 3),
    )
]"""),
    Row("mean of integers", """
result = run(
    [
        tf.reduce_mean([1, 2, 4]),
        tf.reduce_mean([1.0, 2.0, 4.0]),
        tf.reduce_sum([1, 2]),
        tf.reduce_mean(tf.constant([-1, -2])),
    ]
)"""),
    Row("integer arithmetic wraps", """
result = run(
    [tf.constant(2**31 - 1) + 1, tf.constant(250, tf.uint8) + 10, -tf.constant(3), tf.constant(3) ** 2]
)"""),
    Row("tensor types from lists with tensors", """
x = tf.constant(1.0, tf.float64)
t = tf.stack([x, 2.0])
result = [t.dtype.name, run(t), tf.convert_to_tensor([x, 3.0]).dtype.name]"""),
    Row("convert_to_tensor", """
x = tf.constant(1.0)
v = tf.Variable(1.0)
result = [
    tf.convert_to_tensor(x) is x,
    tf.convert_to_tensor(v).dtype.name,
    tf.convert_to_tensor(1, preferred_dtype=tf.float64).dtype.name,
    tf.convert_to_tensor('a', preferred_dtype=tf.float64).dtype.name,
]"""),
    Row("feeding converts", """
x, i = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
result = run([x, i], {x: np.arange(3), i: [1, 2]}) + [run(x, {x: True}), run(x, {x: np.float64(0.1)})]"""),
    Row("dtype objects", """
f = tf.float32
result = [
    f.name,
    f.size,
    f.is_floating,
    f.is_integer,
    f.is_bool,
    f.is_complex,
    float(f.max),
    float(f.min),
    f.as_numpy_dtype.__name__,
    repr(f),
    str(f),
    tf.as_dtype('int64').name,
    tf.as_dtype(np.float16).name,
    tf.as_dtype(np.dtype('uint8')).name,
    tf.int8.min,
    tf.int8.max,
    tf.uint8.max,
    tf.int32.is_integer,
    tf.uint8.is_unsigned,
    tf.bool.is_bool,
    tf.complex64.real_dtype.name,
    tf.qint8.is_quantized,
    tf.string.name,
    tf.bfloat16.size,
]"""),
    Row("dtype equality", """
result = [
    tf.float32 == np.float32,
    tf.float32 == 'float32',
    tf.float32 == tf.float64,
    hash(tf.float32) == hash(tf.as_dtype('float32')),
    tf.float32 != 'int32',
    tf.float32.is_compatible_with(np.float32),
]"""),
    Row("dtype of a variable", """
v = tf.Variable(1.0)
result = [
    v.dtype.base_dtype.name,
    v.dtype.is_floating,
    v.value().dtype.name,
]"""),
    Row("variables from values", """
result = [tf.Variable(v).dtype.base_dtype.name for v in (1, 1.0, np.ones(2), [1.0], True)] + [
    tf.Variable(1, dtype=tf.float64).dtype.base_dtype.name
]"""),
    Row("get_variable's types", """
result = [
    tf.get_variable('a', [1]).dtype.base_dtype.name,
    tf.get_variable('b', initializer=np.ones(1)).dtype.base_dtype.name,
    tf.get_variable('c', [1], tf.float64).dtype.base_dtype.name,
]"""),
    Row("bool is not a number's sum", """
result = run(
    [
        tf.reduce_sum(tf.cast([True, True], tf.int32)),
        tf.reduce_any([True, False]),
        tf.reduce_all([True, False]),
    ]
)"""),
    Row("comparison of types in where", "result = run(tf.where([True, False], [1, 2], [3, 4]))"),
    Row("range of types", """
result = [
    run(t)
    for t in (
        tf.range(3, 9, 2),
        tf.range(1.0, 2.0, 0.25),
        tf.range(5, 0, -2),
        tf.range(3, dtype=tf.float64),
        tf.range(tf.constant(3, tf.int64)),
    )
]"""),
    Row("complex", """
z = tf.complex([1.0, -1.0], [2.0, 0.5])
result = run([z, z * z, tf.conj(z), tf.abs(z), tf.angle(z), tf.exp(z)])"""),
    Row("bitcast", """
result = run([tf.bitcast(tf.constant(1.0), tf.int32), tf.bitcast(tf.constant([1, 0]), tf.float32)])"""),
    Row("fetched types", """
result = [
    type(run(t)).__name__
    for t in (
        tf.constant(1.0),
        tf.constant([1.0]),
        tf.constant(1),
        tf.constant(True),
        tf.constant('a'),
        tf.constant(1.0, tf.float64),
    )
]"""),
    Row("quantised tensors", """
x = tf.constant([-1., 0., .5, 1.])
q, low, high = tf.quantize(x, -1., 1., tf.qint8, mode='SCALED')
p, v = tf.placeholder(tf.quint8, [2]), tf.Variable(q)
same = tf.identity(p)
back = tf.dequantize(q, low, high, mode='SCALED')
run(tf.global_variables_initializer())
result = [run([q, low, high, tf.reshape(q, [2, 2]), tf.concat([q, q], 0), q[1:3], tf.cast(q, tf.int32), tf.zeros_like(q),
               tf.bitcast(q, tf.uint8), tf.stack([q, q]), tf.gather(q, [1]), tf.equal(q, q), v, back]),
          run(same, {p: [1, 200]}), run(same, {p: np.array([1, 200], np.uint8)}),
          q.dtype.name, v.dtype.base_dtype.name, tf.gradients(tf.dequantize(q, -1., 1.), [x])]"""),
    Row("what a quantised tensor loses", """
x = tf.ones([2])
tf.gradients(tf.dequantize(*tf.quantize(x, -1., 1., tf.qint8)), x)""", raises=("LookupError", "No gradient defined")),
    Row("a number is no quantised integer", "tf.constant(1.5, tf.qint8)", raises=("TypeError", "qint8")),
    Row("sums of quantised tensors", "tf.zeros([2], tf.qint8) + tf.zeros([2], tf.qint8)", raises=("TypeError", "qint8")),
]
