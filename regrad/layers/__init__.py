"""tf.layers: layers as classes and as functions, with TF1's arguments and names of variables."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.layers.base": "InputSpec Layer",
    "regrad.layers.convolutional": """
        Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose Convolution1D Convolution2D
        Convolution2DTranspose Convolution3D Convolution3DTranspose Deconv2D Deconv3D Deconvolution2D
        Deconvolution3D SeparableConv1D SeparableConv2D SeparableConvolution2D conv1d conv2d conv2d_transpose
        conv3d conv3d_transpose convolution1d convolution2d convolution2d_transpose convolution3d
        convolution3d_transpose deconv2d deconv3d deconvolution2d deconvolution3d separable_conv1d
        separable_conv2d separable_convolution2d""",
    "regrad.layers.core": "Dense Dropout Flatten dense dropout flatten",
    "regrad.layers.normalization": "BatchNorm BatchNormalization batch_normalization",
    "regrad.layers.pooling": """
        AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D MaxPool1D MaxPool2D
        MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D average_pool1d average_pool2d average_pool3d
        average_pooling1d average_pooling2d average_pooling3d avg_pool1d avg_pool2d avg_pool3d max_pool1d
        max_pool2d max_pool3d max_pooling1d max_pooling2d max_pooling3d""",
})
