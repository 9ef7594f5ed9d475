"""Pooling as layers: the maximum or mean over windows of one to three spatial axes."""

from regrad.core.shapes import TensorShape
from regrad.layers.base import InputSpec, Layer, functional, normalize
from regrad.layers.convolutional import FORMATS, checked_data_format, checked_padding, output_length
from regrad.ops import array, pool


class _Pooling(Layer):
    """{what} over windows of {axes}.

    Args:
      pool_size: size of the window, an int or one per spatial axis.
      strides: steps of the window.
      padding: "valid" or "same".
      data_format: "channels_last" ([batch, ..., channels]) or "channels_first" ([batch, channels, ...]).
      name: the layer's name.
    """

    rank = 2
    function = None

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        self.pool_size = normalize(pool_size, self.rank, "pool_size")
        self.strides = normalize(strides, self.rank, "strides")
        self.padding = checked_padding(padding)
        self.data_format = checked_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs):
        first = self.data_format == "channels_first"
        size, strides, axis = self.pool_size, self.strides, 3 if first else 2
        if self.rank == 1:
            inputs, size, strides = array.expand_dims(inputs, axis), (*size, 1), (*strides, 1)
        full = [[1, 1, *s] if first else [1, *s, 1] for s in (size, strides)]
        outputs = type(self).function(inputs, *full, self.padding.upper(),
                                      data_format=FORMATS[self.data_format][max(self.rank, 2) - 1])
        return array.squeeze(outputs, [axis]) if self.rank == 1 else outputs

    def compute_output_shape(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        first = self.data_format == "channels_first"
        space = [output_length(*a) for a in zip(sizes[2:] if first else sizes[1:-1], self.pool_size,
                                                [self.padding] * self.rank, self.strides)]
        return TensorShape([*sizes[:2], *space] if first else [sizes[0], *space, sizes[-1]])


def _layer(name, rank, function, what):
    doc = _Pooling.__doc__.format(what=what, axes=("one spatial axis", "two spatial axes", "three spatial axes")[rank - 1])
    return type(name, (_Pooling,), {"rank": rank, "function": staticmethod(function), "__doc__": doc})


MaxPooling1D = _layer("MaxPooling1D", 1, pool.max_pool, "The maximum")
MaxPooling2D = _layer("MaxPooling2D", 2, pool.max_pool, "The maximum")
MaxPooling3D = _layer("MaxPooling3D", 3, pool.max_pool3d, "The maximum")
AveragePooling1D = _layer("AveragePooling1D", 1, pool.avg_pool, "The mean")
AveragePooling2D = _layer("AveragePooling2D", 2, pool.avg_pool, "The mean")
AveragePooling3D = _layer("AveragePooling3D", 3, pool.avg_pool3d, "The mean")
MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D

max_pooling1d = functional(MaxPooling1D, "max_pooling1d", reuse=False)
max_pooling2d = functional(MaxPooling2D, "max_pooling2d", reuse=False)
max_pooling3d = functional(MaxPooling3D, "max_pooling3d", reuse=False)
average_pooling1d = functional(AveragePooling1D, "average_pooling1d", reuse=False)
average_pooling2d = functional(AveragePooling2D, "average_pooling2d", reuse=False)
average_pooling3d = functional(AveragePooling3D, "average_pooling3d", reuse=False)
max_pool1d, max_pool2d, max_pool3d = max_pooling1d, max_pooling2d, max_pooling3d
average_pool1d, average_pool2d, average_pool3d = average_pooling1d, average_pooling2d, average_pooling3d
avg_pool1d, avg_pool2d, avg_pool3d = average_pooling1d, average_pooling2d, average_pooling3d
