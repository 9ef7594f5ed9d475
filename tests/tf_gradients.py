"""The op types that TensorFlow 1.15 differentiates, or declares not differentiable, and that a dense graph library is asked
for: a list of facts, from its gradient registry. Not here: readers, queues, tables, collectives, TPU, cuDNN.

What Regrad has not, or has otherwise, stands in ABSENT and OTHERWISE with its reason; `docs/ops.md` shows both.
"""

# With a gradient function in TensorFlow 1.15.
DIFFERENTIABLE = frozenset("""
    Abs AccumulateNV2 Acos Acosh Add AddN Angle ArgMax ArgMin Asin Asinh Atan Atan2 Atanh AvgPool AvgPool3D
    BatchMatMulV2 BatchNormWithGlobalNormalization BatchToSpaceND BesselI0e BesselI1e Betainc BiasAdd BlockLSTMV2
    BroadcastTo CTCLoss Case Cast Ceil CheckNumerics Cholesky Complex ComplexAbs ConcatV2 Conj ConjugateTranspose Conv2D
    Conv2DBackpropInput Conv3D Conv3DBackpropInputV2 Cos Cosh CropAndResize Cross Cumprod Cumsum CumulativeLogsumexp
    DebugGradientIdentity DepthToSpace DepthwiseConv2dNative Diag DiagPart Digamma Dilation2D Div DivNoNan
    DynamicPartition DynamicStitch EagerPyFunc Elu EnsureShape Erf Erfc Exp ExpandDims Expm1 ExtractImagePatches
    ExtractVolumePatches FFT FFT2D FFT3D FakeQuantWithMinMaxArgs FakeQuantWithMinMaxVars
    FakeQuantWithMinMaxVarsPerChannel Fill Floor FloorDiv FloorMod FractionalAvgPool FractionalMaxPool FusedBatchNormV3
    GDNLowerBound GatherNd GatherV2 IFFT IFFT2D IFFT3D IRFFT IRFFT2D Identity IdentityN If Igamma Igammac Imag
    ImageProjectiveTransformV2 L2Loss LRN LeakyRelu Lgamma Log Log1p LogMatrixDeterminant LogSoftmax MatMul
    MatrixBandPart MatrixDeterminant MatrixDiagPartV2 MatrixDiagV2 MatrixInverse MatrixSetDiagV2 MatrixSolve
    MatrixSolveLs MatrixSquareRoot MatrixTriangularSolve Max MaxPool3D MaxPoolV2 MaxPoolWithArgmax Maximum Mean Min
    Minimum MirrorPad Mul MulNoNan Neg NextAfter NthElement Pack Pad PadV2 PlaceholderWithDefault Polygamma Pow
    PreventGradient Print Prod Qr QuantizeAndDequantizeV3 RFFT RFFT2D RGBToHSV RaggedGather RaggedTensorToSparse
    RandomGamma ReadVariableOp Real RealDiv Reciprocal Relu Relu6 Resampler Reshape ResizeBicubic ResizeBilinear
    ResizeNearestNeighbor ResourceGather ResourceGatherNd ReverseSequence ReverseV2 Rint Roll Round Rsqrt
    ScaleAndTranslate ScatterNd SegmentMax SegmentMean SegmentMin SegmentSum Select SelectV2 SelfAdjointEigV2 Selu
    Sigmoid Sign Sin Sinh Slice Softmax SoftmaxCrossEntropyWithLogits Softplus Softsign SpaceToBatchND SpaceToDepth
    SparseAdd SparseDenseCwiseDiv SparseDenseCwiseMul SparseFillEmptyRows SparseReduceSum SparseReorder
    SparseSegmentMean SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments
    SparseSegmentSum SparseSegmentSumWithNumSegments SparseSlice SparseSoftmax SparseSoftmaxCrossEntropyWithLogits
    SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense Split SplitV Sqrt Square SquaredDifference Squeeze
    StridedSlice Sub Sum Svd Tan Tanh TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3 TensorArrayScatterV3
    TensorArraySplitV3 TensorArrayWriteV3 TensorListConcat TensorListConcatV2 TensorListFromTensor TensorListGather
    TensorListGetItem TensorListPopBack TensorListPushBack TensorListResize TensorListScatter
    TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack
    TensorScatterAdd TensorScatterSub TensorScatterUpdate Tile TopKV2 Transpose TridiagonalMatMul TridiagonalSolve
    TruncateDiv Unpack UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum While Xdivy
    XlaEinsum Xlogy Zeta
""".split())

# Older names of the same, and the ops that gradients are made of, which have gradients too.
OLDER = frozenset("""
    AddV2 BatchMatMul BatchToSpace BiasAddV1 BlockLSTM Concat DebugGradientRefIdentity Enter Exit FusedBatchNorm
    FusedBatchNormV2 Gather Inv LoopCond MatrixDiag MatrixDiagPart MatrixSetDiag MaxPool Merge NextIteration
    ParallelDynamicStitch QuantizeAndDequantize QuantizeAndDequantizeV2 RefEnter RefExit RefIdentity RefMerge
    RefNextIteration RefSwitch Reverse ScatterNdNonAliasingAdd SpaceToBatch SparseMatMul StatelessIf StatelessWhile
    Switch TensorArrayConcat TensorArrayConcatV2 TensorArrayGather TensorArrayGatherV2 TensorArrayRead TensorArrayReadV2
    TensorArrayScatter TensorArrayScatterV2 TensorArraySplit TensorArraySplitV2 TensorArrayWrite TensorArrayWriteV2 TopK
""".split())
HELPERS = frozenset("""
    AvgPool3DGrad AvgPoolGrad BiasAddGrad Conv2DBackpropFilter Conv3DBackpropFilterV2
    DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput EluGrad FusedBatchNormGrad
    FusedBatchNormGradV2 FusedBatchNormGradV3 InvGrad LeakyReluGrad MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad
    MaxPoolGradGrad MaxPoolGradV2 MirrorPadGrad ReciprocalGrad Relu6Grad ReluGrad RsqrtGrad SeluGrad SigmoidGrad
    SoftplusGrad SqrtGrad StridedSliceGrad TanhGrad
""".split())

# Declared not differentiable.
NOT_DIFFERENTIABLE = frozenset("""
    ApproximateEqual Assert Assign AssignAdd AssignSub BitwiseAnd BitwiseOr BitwiseXor BroadcastGradientArgs
    CTCBeamSearchDecoder CTCGreedyDecoder ConcatOffset Const DrawBoundingBoxes EditDistance Equal EuclideanNorm
    ExtractGlimpse Greater GreaterEqual HSVToRGB Invert InvertPermutation LeftShift Less LessEqual LinSpace LogicalAnd
    LogicalNot LogicalOr Multinomial NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionWithOverlaps NotEqual OneHot
    OnesLike ParameterizedTruncatedNormal PopulationCount PyFunc PyFuncStateless RandomCrop RandomStandardNormal
    RandomUniform Range Rank RightShift ScatterAdd ScatterDiv ScatterMul ScatterNdAdd ScatterNdSub ScatterNdUpdate
    ScatterSub Shape ShapeN Size StatelessMultinomial StatelessRandomNormal StatelessRandomUniform
    StatelessRandomUniformInt StatelessTruncatedNormal StopGradient TensorArrayCloseV3 TensorArrayGradV3
    TensorArrayGradWithShape TensorArraySizeV3 TensorArrayV3 TruncatedNormal VarIsInitializedOp VariableShape ZerosLike
""".split())

_FRAMES = "a loop or branch is one operation, While, If or Case: there are no frames to enter and leave"
_LISTS = "TensorFlow's second form of TensorArray, below its second control flow; no function of TensorFlow 1 makes one"
_RESOURCE = "variables are of one kind: storage is VariableV2, and a read an Identity, as TensorFlow 1's default is"

ABSENT = {
    **dict.fromkeys("""Enter Exit LoopCond Merge NextIteration Switch RefEnter RefExit RefMerge RefNextIteration
                    RefSwitch""".split(), _FRAMES),
    **{t: _LISTS for t in DIFFERENTIABLE if t.startswith("TensorList")},
    **dict.fromkeys("ReadVariableOp ResourceGather ResourceGatherNd VarIsInitializedOp VariableShape".split(), _RESOURCE),
    "GDNLowerBound": "no op type but a rule, that tf.contrib.layers.gdn gives its maxima",
    "BatchNormWithGlobalNormalization": "tf.nn.batch_norm_with_global_normalization is composed, as in TensorFlow 1.15",
    **dict.fromkeys("QuantizeAndDequantize QuantizeAndDequantizeV3".split(), "tf.quantize_and_dequantize makes "
                    "QuantizeAndDequantizeV2, whose range is given beforehand"),
    **dict.fromkeys("NonMaxSuppression NonMaxSuppressionV2".split(), "tf.image.non_max_suppression makes NonMaxSuppressionV3"),
    "ExtractGlimpse": "tf.image.extract_glimpse is composed, and differentiable",
    "RandomCrop": "tf.random_crop is composed of a slice, as in TensorFlow 1.15",
    "TensorArrayCloseV3": "a TensorArray is a tensor: closing it makes a NoOp",
    "TensorArrayGradV3": "a TensorArray is a tensor, and so is its gradient",
    "TensorArrayGradWithShape": "a TensorArray is a tensor, and so is its gradient",
}

# Regrad says otherwise than TensorFlow whether there is a gradient.
_FLAT = "TensorFlow's gradient function gives None, which is what declaring it not differentiable means"
_BETTER = "differentiable, though TensorFlow 1.15 says not"
OTHERWISE = {
    **dict.fromkeys("ArgMax ArgMin Ceil Floor FloorDiv Rint Round TruncateDiv".split(), _FLAT),
    **dict.fromkeys("EuclideanNorm HSVToRGB LinSpace".split(), _BETTER),
    "EagerPyFunc": "its function computes with arrays, so there is nothing to differentiate: give it a rule",
}
