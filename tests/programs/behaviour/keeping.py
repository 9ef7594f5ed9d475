"""What scopes, structures, files, queues and sessions keep: names in threads, devices of imports, parts of variables, timeouts."""
import numpy as np
from corpus import Row


def _refused(id, kind, word, code, **options):
    return Row(id, code, raises=(kind, word), **options)


ROWS = [
    # Scopes.
    Row("name scopes of slashes", """
result = []
with tf.name_scope('x/'):
    for name in ('/', '//', 'y//', 'z//w'):
        with tf.name_scope(name) as scope:
            result.append(scope)"""),
    Row("each thread has name scopes of its own", """
import threading
made, turns = [], [threading.Event() for _ in range(4)]
def build(i):
    with graph.as_default(), tf.name_scope('foo'):
        made.append(tf.no_op().name)
        turns[i].set()
        turns[i + 2].wait()
        made.append(tf.no_op().name)
with tf.name_scope('outside'):
    threads = [threading.Thread(target=build, args=(i,)) for i in range(2)]
    for thread, turn in zip(threads, turns):
        thread.start()
        turn.wait()
    made.append(tf.no_op().name)
    for thread, turn in zip(threads, turns[2:]):
        turn.set()
        thread.join()
    made.append(tf.no_op().name)
result = made"""),
    Row("blocks of one thread only", """
import threading
made = {}
graph.switch_to_thread_local()
def build():
    with graph.as_default():
        made['inside'] = tf.no_op()
x = tf.no_op(name='x')
with graph.device('/cpu:0'), graph.control_dependencies([x]):
    thread = threading.Thread(target=build)
    thread.start()
    thread.join()
    made['here'] = tf.no_op()
result = {k: [op.device, len(op.control_inputs)] for k, op in made.items()}"""),
    Row("where an operation was made", """
def layer():
    return tf.constant(1.0)
def model():
    return layer()
functions = [tuple(frame)[2] for frame in model().op.traceback]
result = functions.index('model') < functions.index('layer')"""),
    Row("lists among attributes", """
op = tf.nn.max_pool(tf.zeros([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], 'SAME').op
result = [type(op.get_attr(name)).__name__ for name in ('ksize', 'strides')]"""),
    # Structures.
    Row("mappings of unlike types are one structure", """
import collections
d = collections.defaultdict(int, {'b': 1, 'a': 2})
mapped = tf.nest.map_structure(lambda x, y: x + y, d, collections.OrderedDict([('a', 10), ('b', 20)]))
result = [type(mapped).__name__, dict(mapped), mapped['c']]"""),
    Row("a mapping that is no dict", """
import collections.abc
class Frozen(collections.abc.Mapping):
    def __init__(self, items):
        self.items_ = dict(items)
    def __getitem__(self, key):
        return self.items_[key]
    def __iter__(self):
        return iter(self.items_)
    def __len__(self):
        return len(self.items_)
packed = tf.nest.pack_sequence_as(Frozen({'z': 1, 'a': (2, 3)}), [4, 5, 6])
result = [tf.nest.flatten(Frozen({'z': 1, 'a': (2, 3)})), type(packed).__name__, packed['z'], packed['a']]"""),
    Row("sparse tensors within structures", """
sparse, slices = tf.SparseTensor([[0]], [1.0], [2]), tf.IndexedSlices(tf.zeros([1, 2]), tf.constant([0]))
doubled = tf.nest.map_structure(lambda x: x + x, {'a': sparse}, expand_composites=True)
result = [len(tf.nest.flatten([sparse, slices])), [t.dtype.name for t in tf.nest.flatten([sparse, slices], expand_composites=True)],
          run(doubled['a'].values)]"""),
    _refused("structures of unlike lengths", "ValueError", "don't have the same nested structure",
             "tf.nest.assert_same_structure((1, 2), (1, 2, 3))"),
    _refused("structures of unlike keys", "ValueError", "don't have the same set of keys",
             "tf.nest.assert_same_structure({'a': 1}, {'b': 1})"),
    _refused("an unknown argument of map_structure", "ValueError", "only valid keyword arg",
             "tf.nest.map_structure(lambda x: x, 1, check_type=False)"),
    # Graphs in files.
    Row("devices of what is imported", """
with tf.Graph().as_default() as other:
    with tf.device('/device:CPU:0'):
        tf.no_op(name='a')
    tf.no_op(name='b')
made = tf.import_graph_def(other.as_graph_def(), return_elements=['a', 'b'])
with tf.device('/job:w/device:GPU:1'):
    made += tf.import_graph_def(other.as_graph_def(), return_elements=['a', 'b'])
result = [op.device for op in made]"""),
    _refused("an import of two nodes of one name", "ValueError", "not unique", """
data = graph.as_graph_def()
for _ in range(2):
    node = data.node.add()
    node.name, node.op = 'a', 'NoOp'
tf.import_graph_def(data)"""),
    _refused("an import of an output that is not there", "ValueError", "", """
tf.identity(tf.constant(1.0), name='y')
data = graph.as_graph_def()
data.node[1].input[0] = 'Const:3'
tf.import_graph_def(data)"""),
    _refused("an import of too many inputs", "ValueError", "", """
tf.identity(tf.constant(1.0), name='y')
data = graph.as_graph_def()
data.node[1].input.append('Const')
tf.import_graph_def(data)"""),
    Row("a meta graph within a scope", """
v = tf.Variable(3.0, name='v')
tf.add_to_collection('kept', tf.identity(v, name='y'))
meta = tf.train.export_meta_graph()
with tf.Graph().as_default():
    with tf.name_scope('outer'):
        tf.train.import_meta_graph(meta)
        tf.train.import_meta_graph(meta, import_scope='inner')
    result = [v.name for v in tf.global_variables()] + [t.name for t in tf.get_collection('kept')]"""),
    # Variables in files, and their parts.
    Row("a partitioned variable starts from a checkpoint", """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), 'model')
v = tf.get_variable('a/v', initializer=tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
with tf.Session() as s:
    s.run(v.initializer)
    tf.train.Saver().save(s, path)
two = tf.fixed_size_partitioner(2)
with tf.Graph().as_default(), tf.Session() as s:
    x, y = tf.get_variable('x', [3, 2], partitioner=two), tf.get_variable('b/v', [3, 2], partitioner=two)
    tf.train.init_from_checkpoint(path, {'a/v': 'x', 'a/': 'b/'})
    s.run(tf.global_variables_initializer())
    result = s.run([x.as_tensor(), y.as_tensor()])"""),
    Row("slots of a partitioned variable are kept as wholes", """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), 'model')
v = tf.get_variable('v', initializer=tf.constant([1.0, 2.0, 3.0]), partitioner=tf.fixed_size_partitioner(2))
x = v.as_tensor()
optimizer = tf.train.AdamOptimizer(0.5)
pairs = optimizer.compute_gradients(tf.reduce_sum(x * x))
step = optimizer.apply_gradients(pairs[::-1])
saver = tf.train.Saver(tf.global_variables())
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    s.run(step)
    saver.save(s, path)
    held = tf.train.load_checkpoint(path)
    s.run(tf.global_variables_initializer())
    saver.restore(s, path)
    result = [sorted(held.get_variable_to_shape_map().items()), held.get_tensor('v/Adam'), held.get_tensor('v'),
              s.run([optimizer.get_slot(part, 'm') for part in v])]"""),
    Row("a second monitored session takes up the checkpoints of the first", """
import os, tempfile
folder, kept = tempfile.mkdtemp(), []
for _ in range(2):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        more = tf.assign_add(step, 1)
        hook = tf.train.CheckpointSaverHook(folder, save_steps=2, checkpoint_basename='c')
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=[hook], save_checkpoint_secs=None,
                                               save_summaries_steps=None, log_step_count_steps=None) as s:
            for _ in range(4):
                s.run(more)
    paths = tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths
    kept.append([os.path.basename(p) for p in paths])
result = kept"""),
    Row("paths in the state of checkpoints", """
import os, tempfile
folder = tempfile.mkdtemp()
tf.train.update_checkpoint_state(folder, 'b', ['a', os.path.join(folder, 'c')])
result = [[os.path.relpath(p, folder), os.path.isabs(p)]
          for p in tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths]"""),
    _refused("a hook without a saver", "RuntimeError", "provide a saver or scaffold", """
import tempfile
tf.train.get_or_create_global_step()
hook = tf.train.CheckpointSaverHook(tempfile.mkdtemp(), save_steps=1)
hook.begin()
s = tf.Session()
s.run(tf.global_variables_initializer())
hook.after_create_session(s, None)"""),
    _refused("a variable of another dtype starts from a checkpoint", "OpError", "does not equal original dtype", """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), 'model')
v, w = tf.Variable(1.0, name='v'), tf.Variable(1, name='w')
saver = tf.train.Saver([v])
with tf.Session() as s:
    s.run(v.initializer)
    saver.save(s, path)
    tf.train.init_from_checkpoint(path, {'v': w})
    s.run(w.initializer)""", asked=False),
    _refused("a saver that was not built", "RuntimeError", "build()", """
v = tf.Variable(1.0)
tf.train.Saver(defer_build=True).save(tf.Session(), '/tmp/model')"""),
    _refused("a saver's list of whole variables", "ValueError", "slices",
             "tf.train.Saver({'v': [tf.Variable(1.0, name='a'), tf.Variable(1.0, name='b')]})"),
    _refused("a saver's whole variable and a part of one of that name", "ValueError", "same name: v", """
v, part = tf.Variable([1.0], name='v'), tf.Variable([1.0], name='part')
part._set_save_slice_info(tf.Variable.SaveSliceInfo('v', [1], [0], [1]))
tf.train.Saver([v, part])"""),
    Row("all parts of a variable are assigned", """
v = tf.get_variable('v', [3], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(2))
run(v.assign_add([1.0, 2.0, 3.0]))
operations = v.assign_sub([0.5, 0.5, 0.5], read_value=False)
run(operations)
result = [run(v.as_tensor()), [hasattr(x, 'outputs') for x in operations]]""",
        expect=[np.float32([0.5, 1.5, 2.5]), [True, True]]),  # TensorFlow 2's sizes of the parts are not those of the variable
    Row("what an initializer knows of its part", """
seen = []
def start(shape, dtype, partition_info):
    seen.append([partition_info.single_slice_dim(shape), partition_info.single_offset(shape)])
    return tf.zeros(shape, dtype)
tf.get_variable('v', [4, 3], initializer=start, partitioner=tf.fixed_size_partitioner(2, axis=1))
tf.get_variable('w', [4, 3], initializer=start, partitioner=tf.fixed_size_partitioner(1))
result = seen"""),
    Row("a slice of a variable as a message", """
info = tf.Variable.SaveSliceInfo('s/v', [4, 3], [0, 1], [4, 2])
kept = tf.Variable.SaveSliceInfo(save_slice_info_def=info.to_proto(export_scope='s'), import_scope='t')
result = [kept.full_name, kept.spec]"""),
    _refused("a variable's synchronization", "ValueError", "synchronization", "tf.Variable(1.0, synchronization='x')"),
    _refused("a variable's aggregation", "ValueError", "aggregation", "tf.Variable(1.0, aggregation='x')"),
    # Queues.
    Row("batches of sparse tensors", """
n = tf.constant(1)
sparse = tf.SparseTensor([[tf.cast(n, tf.int64)]], [tf.cast(n, tf.float32)], [5])
one, plain = tf.train.batch([sparse, n], 3, allow_smaller_final_batch=True)
many = tf.train.batch([tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])], 2, enqueue_many=True)
some = tf.train.maybe_batch({'s': sparse}, tf.equal(n % 2, 1), 1)['s']
with tf.Session() as s:
    s.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(s, coord)
    out = [s.run(many) for _ in range(2)] + [s.run(one.dense_shape).dtype.name]
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=5)
result = [[list(x) if isinstance(x, tuple) else x for x in out], type(out[0]).__name__, one.dense_shape.shape.as_list(),
          many.indices.shape.as_list(), some.values.dtype.name]"""),
    Row("sparse tensors of a producer", """
n = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
batch = tf.train.batch([tf.SparseTensor([[tf.cast(n, tf.int64)]], [tf.cast(n, tf.float32)], [5]), n], 3)
with tf.Session() as s:
    s.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(s, coord)
    sparse, plain = s.run(batch)
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=5)
result = [sparse.indices, sparse.values, sparse.dense_shape, plain]"""),
    _refused("batches of nothing", "ValueError", "at least one", "tf.train.batch([], 2)"),
    _refused("one bool for each row while elements come singly", "ValueError", "cannot be a vector",
             "tf.train.maybe_batch([tf.constant(1)], [True, False], 2)"),
    _refused("a matrix of what to keep", "ValueError", "0 or 1 dimensions",
             "tf.train.maybe_batch([tf.constant([1])], [[True]], 2, enqueue_many=True)"),
    Row("attributes of queues", """
op = tf.RandomShuffleQueue(9, 4, [tf.int32, tf.float32], [[], [2]], seed=3, shared_name='q', name='r').queue_ref.op
result = [op.get_attr(n) for n in ('capacity', 'min_after_dequeue', 'seed2')] + [
    [t.name for t in op.get_attr('component_types')], [[d.size for d in s.dim] for s in op.get_attr('shapes')],
    op.get_attr('shared_name') == b'q', op.get_attr('container') == b'']"""),
    _refused("a file of no records", "DataLossError", "corrupted record at 20", """
import os, tempfile
path = os.path.join(tempfile.mkdtemp(), 'records')
with tf.python_io.TFRecordWriter(path) as writer:
    writer.write(b'text')
with open(path, 'ab') as file:
    file.write(b'x' * 40)
list(tf.python_io.tf_record_iterator(path))"""),
    # Monitored sessions.
    Row("a lost session is made again", """
import tempfile
folder = tempfile.mkdtemp()
step = tf.train.get_or_create_global_step()
up = tf.assign_add(step, 1)
seen = []
class Losing(tf.train.SessionRunHook):
    def after_create_session(self, session, coord):
        seen.append('made')
    def after_run(self, context, values):
        seen.append(int(values.results))
        if seen.count('made') == 1 and seen[-1] == 3:
            raise tf.errors.AbortedError(None, None, 'lost')
    def before_run(self, context):
        return tf.train.SessionRunArgs(up)
saver = tf.train.CheckpointSaverHook(folder, save_steps=1)
with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(checkpoint_dir=folder), [saver, Losing()]) as s:
    values = [int(s.run(up)) for _ in range(4)]
result = [values, seen]"""),
    Row("a lost session stays lost", """
tf.no_op()
class Losing(tf.train.SessionRunHook):
    def after_run(self, context, values):
        raise tf.errors.AbortedError(None, None, 'lost')
result = raised(lambda: tf.train.SingularMonitoredSession([Losing()]).run([]))[0]"""),
    Row("options of hooks and callers are joined", """
class Options(tf.train.SessionRunHook):
    def __init__(self, **options):
        self.options = tf.RunOptions(**options)
    def before_run(self, context):
        return tf.train.SessionRunArgs(None, options=self.options)
    def after_run(self, context, values):
        self.seen = [values.options.trace_level, values.options.timeout_in_ms]
hooks = [Options(trace_level=tf.RunOptions.SOFTWARE_TRACE), Options(timeout_in_ms=60000), Options(timeout_in_ms=50000)]
x = tf.constant(1.0)
with tf.train.MonitoredSession(hooks=hooks) as s:
    s.run(x)
    first = hooks[0].seen
    s.run(x, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=70000))
result = [first, hooks[2].seen]"""),
    Row("a scaffold knows what local initializers may read", """
v, local = tf.Variable(1.0, name='v'), tf.Variable(2.0, collections=['local_variables'], name='local')
scaffold = tf.train.Scaffold()
scaffold.finalize()
with tf.Session() as s:
    result = [s.run(scaffold.ready_for_local_init_op), s.run(scaffold.ready_op)]
    s.run(scaffold.init_op)
    result.append(len(s.run(scaffold.ready_for_local_init_op)))"""),
    _refused("a model that is not ready for its local initializers", "RuntimeError", "ready for local_init", """
tf.Variable(1.0, name='v')
tf.train.MonitoredSession(tf.train.ChiefSessionCreator(tf.train.Scaffold(init_op=tf.no_op())))"""),
    Row("what a checkpoint hook writes", """
import glob, os, tempfile
folder = tempfile.mkdtemp()
step = tf.train.get_or_create_global_step()
up = tf.assign_add(step, 1)
with tf.train.MonitoredSession(hooks=[tf.train.CheckpointSaverHook(folder, save_steps=2)]) as s:
    for _ in range(2):
        s.run(up)
events = [event for path in glob.glob(folder + '/events*') for event in tf.train.summary_iterator(path)]
logs = [event for event in events if event.HasField('session_log')][:1]  # TensorFlow may still be writing the next
with open(folder + '/graph.pbtxt') as file:
    text = file.read()
result = ['global_step' in text, any(event.HasField('graph_def') for event in events), [event.step for event in logs],
          [event.session_log.checkpoint_path == os.path.join(folder, 'model.ckpt') for event in logs]]"""),
    # Sessions.
    _refused("a session elsewhere", "NotFoundError", "No session factory registered", "tf.Session('nowhere')"),
    Row("runs that wait for too long", """
dequeue = tf.FIFOQueue(1, tf.float32, [[]]).dequeue()
timed = tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=5))
result = [raised(lambda: timed.run(dequeue))[0], raised(lambda: timed.make_callable(dequeue)())[0],
          raised(lambda: tf.Session().run(dequeue, options=tf.RunOptions(timeout_in_ms=5)))[0]]"""),
    Row("a callable records its steps", """
x = tf.placeholder(tf.float32, [])
metadata = tf.RunMetadata()
double = tf.Session().make_callable(x * 2.0, [x], accept_options=True)
value = double(3.0, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
result = [value, len(metadata.step_stats.dev_stats) > 0, raised(lambda: double(options=None))[0]]"""),
    Row("variables that take another shape", """
p = tf.placeholder(tf.float32, None)
v, n = tf.Variable(p, validate_shape=False), tf.Variable(np.zeros([0, 2], np.float32), validate_shape=False)
change, grow = tf.assign(v, p, validate_shape=False), tf.assign(n, tf.concat([n, [[1.0, 2.0]]], 0), validate_shape=False)
total = tf.reduce_sum(v * v)
step = tf.train.GradientDescentOptimizer(0.1).minimize(total, var_list=[v])
fetches = [total, tf.rank(v), tf.shape(v), tf.gradients(total, v)[0], tf.shape(n), tf.reduce_sum(n, 0)]
result = []
with tf.Session() as s:
    s.run([v.initializer, n.initializer], {p: [1.0, 2.0]})
    sole = s.make_callable(tf.shape(v))
    for value in ([3.0, 4.0], np.ones([2, 3]), 5.0, [[6.0]], [7.0, 8.0]):
        result.append(s.run(fetches))
        s.run([step, grow])
        result.append([s.run(v), sole()])
        s.run(change, {p: value})
    s.run(v.initializer, {p: np.ones([1, 1, 2])})
    result.append([s.run(fetches), sole()])"""),
    Row("the devices of variables, in turn", """
spec = tf.train.ClusterSpec({'ps': ['a:1', 'b:1'], 'worker': ['c:1']})
setters = [tf.train.replica_device_setter(cluster=spec), tf.train.replica_device_setter(2, ps_strategy=lambda op: 1),
           tf.train.replica_device_setter(1, merge_devices=False, worker_device='/job:worker/task:3')]
result = []
for setter in setters:
    with tf.device(setter):
        ops = [tf.Variable(1.0).op for _ in range(3)] + [tf.constant(1.0).op]
        with tf.device('/device:GPU:0'):
            ops.append(tf.constant(1.0).op)
    result.append([op.device for op in ops])"""),
    Row("what asks about a variable, and what takes a sparse tensor", """
v = tf.get_variable('v', [1], use_resource=True, initializer=tf.zeros_initializer())
known, given = v.is_initialized(), tf.SparseTensor([[0]], [1.0], [1])
use = [tf.sparse_tensor_to_dense(given), given.values * 2.0]
with tf.Session() as s:
    result = [s.run(known), s.run([v.initializer]), s.run(known), sorted(op.type for op in given.consumers())]"""),
    Row("a monitored session leaves the graph as it found it", """
v = tf.get_variable('v', initializer=1.0)
seen = []
for finalize in (False, True):
    if finalize:
        graph.finalize()
    with tf.train.MonitoredSession() as s:
        seen.append(graph.finalized)
    seen.append(graph.finalized)
result = seen"""),
    Row("a string that ends in zero bytes, saved", """
import tempfile
path = tempfile.mkdtemp() + '/m'
v = tf.Variable(b'a\\0', name='v')
with tf.Session() as s:
    s.run(v.initializer)
    tf.train.Saver().save(s, path)
    s.run(v.assign(b''))
    tf.train.Saver().restore(s, path)
    result = [list(s.run(v)), list(tf.train.load_variable(path, 'v'))]"""),
    Row("containers are recorded, and reset with their sessions", """
with tf.container('one'):
    v = tf.Variable(1.0)
s = tf.Session()
s.run(v.initializer)
tf.Session.reset('', ['one'])
result = [v.op.get_attr('container') == b'one', raised(lambda: s.run(v)) is not None]"""),
]
