"""Adam for embeddings: rows that a sparse gradient does not name stay as they are."""

from regrad.ops import control, math
from regrad.ops.indexing import gather
from regrad.train.optimizers import AdamOptimizer
from regrad.variables.assign import scatter_sub, scatter_update


class LazyAdamOptimizer(AdamOptimizer):
    """AdamOptimizer, but a sparse gradient's other rows neither move nor forget: their m and v do not decay."""

    def _apply_sparse(self, grad, var):
        beta1_power, beta2_power, lr, beta1, beta2, epsilon, g = self._operands(grad.values, var)
        step = lr * math.sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = beta1 * gather(m, grad.indices) + (1 - beta1) * g
        v_rows = beta2 * gather(v, grad.indices) + (1 - beta2) * math.square(g)
        return control.group(scatter_update(m, grad.indices, m_rows), scatter_update(v, grad.indices, v_rows),
                             scatter_sub(var, grad.indices, step * m_rows / (math.sqrt(v_rows) + epsilon)))
