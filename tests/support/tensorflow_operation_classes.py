"""Classes of TensorFlow's operations that stay out of models for microcontrollers, or that are read as structure."""

from __future__ import annotations

import re

CLASSES: tuple[tuple[str, str, str], ...] = (
    (
        "Structure",
        "What holds a graph together is read as such: inputs, calls, variables as the model's state and stores into"
        " them, control flow and arrays of version 1 as If, While and stores of rows; tables of numbers as searches."
        " What a graph of a model does not need, such as assertions, is dropped.",
        r"Placeholder(V2)?|Arg|NoOp|ControlTrigger|Assert|VarHandleOp|VariableV2|Variable|ReadVariableOp"
        r"|Assign(Add|Sub)?(VariableOp)?|VarIsInitializedOp|IsVariableInitialized|VariableShape|ResourceGather(Nd)?"
        r"|ResourceScatter(Nd)?(Add|Sub|Update)|ResourceStridedSliceAssign"
        r"|Switch|Merge|Enter|Exit|NextIteration|LoopCond|For|TensorArray(Write|Read|Gather|Scatter|Size|Close)?(V3)?"
        r"|LookupTable(Find|Size|Import)V2|HashTableV2|InitializeTableV2|DisableCopyOnRead|Print(V2)?|MergeV2Checkpoints",
    ),
    (
        "Removed",
        "TensorFlow itself has removed them from graphs that it makes today, and runs none of them.",
        r"Batch(Cholesky|Matrix|SelfAdjoint|Svd|I?FFT)\w*|BatchNormWithGlobalNormalization|MatrixExponential"
        r"|SelfAdjointEig|TopK|AdjustContrast|RandomCrop|ResourceStridedSliceAssignV1|Placeholder\w+V1",
    ),
    (
        "Data pipelines",
        "They read and shuffle examples for training, on the computer.",
        r"\w*Dataset\w*|\w*Iterator\w*|Optional\w+|\w*MemoryCache|\w*SeedGenerator|\w*CompressElement"
        r"|UncompressElement|\w*StatsAggregator\w*|ThreadPoolHandle|ExperimentalThreadPoolHandle|ComputeBatchSize"
        r"|WindowOp|GetOptions|GetElementAtIndex|DummyIterationCounter",
    ),
    (
        "Files and formats",
        "A microcontroller has neither files nor their formats: decode pictures and records before the model.",
        r"Decode\w+|Encode\w+|ReadFile|WriteFile|Parse\w+|\w*Reader\w*|WriteRaw\w+|MatchingFiles|Save\w*|Restore\w*"
        r"|ShardedFile\w+|FileSystem\w+|ImmutableConst|LoadAndRemapMatrix|GenerateVocabRemapping|ExtractJpegShape"
        r"|DistributedSave|InitializeTableFrom\w+|SerializeTensor|Serialize\w+|Deserialize\w+|LMDB\w+|RecordInput"
        r"|TFRecord\w+|AudioSpectrogram|Mfcc",
    ),
    (
        "Strings",
        "Texts have lengths that no plan of memory bounds.",
        r"\w*String\w*|Substr|Regex\w+|StaticRegex\w+|Unicode\w+|AsString|ReduceJoin|UnsortedSegmentJoin"
        r"|Fingerprint|\w*Hashed|EditDistance|SdcaFprint",
    ),
    (
        "Training",
        "Steps of optimisers and losses: dense ones convert in [training steps](convert.md#training-steps).",
        r"(Resource|Sparse)*Apply\w+|\w*Accumulator\w*|Sdca\w+|BoostedTrees\w+|\w*CandidateSampler|CTCLoss\w*"
        r"|ComputeAccidentalHits|CTCBeamSearchDecoder|KMC2\w+|Kmeans\w+|NearestNeighbors|\w*TreesEnsemble\w*"
        r"|IsBoostedTrees\w+|ApproxTopKGrad|CountUpTo|ResourceCountUpTo|TensorForest\w+|SymbolicGradient",
    ),
    (
        "Gradients",
        "`tflmgen train` derives them; those of layers convert, too, in [training steps](convert.md#training-steps).",
        r"\w*Grad(V2|V3|Image|Boxes|WithShape|GradV2|GradWithArgmax|WithArgmax|Grad)?|\w+Backprop\w*|\w*Gradient",
    ),
    (
        "Other devices and machines",
        "They move tensors between processes, accelerators and machines.",
        r"Collective\w+|Nccl\w+|\w*TPU\w*|Xla\w+|Infeed\w+|Outfeed\w+|_?(Host)?(Send|Recv)|Cudnn\w+|CrossReplicaSum"
        r"|AllToAll|RemoteCall|Prelinearize\w*|\w*CooTensor\w*|\w*Minibatch\w*|\w*XlaSplitND|\w*XlaConcatND|SyncDevice"
        r"|WorkerHeartbeat|DeviceIndex|GlobalIterId|CheckPinned|Copy(Host)?|AssignVariableXlaConcatND|Batch(Function)?"
        r"|Unbatch|ReadVariableXlaSplitND|DynamicEnqueue\w+|GetStats\w+|SortListOf\w+|CollectiveGather\w*",
    ),
    (
        "Sparse and ragged tensors",
        "Their sizes change with their contents; sparse constants of a .tflite file are read in dense form.",
        r"Sparse\w+|Ragged\w+|CSR\w+|DenseTo\w+|DenseCountSparse\w+|\w*SparseTensors?Map|TakeManySparse\w+|SetSize"
        r"|AddManySparse\w+|AddSparse\w+|Convert\w+",
    ),
    (
        "Queues, sessions and locks",
        "They belong to programs around a model.",
        r"\w*Queue\w*|Barrier\w*|(Ordered)?Map(Clear|IncompleteSize|Peek|Size|Stage|Unstage\w*)|Stage\w*|Unstage"
        r"|Mutex\w*|ConsumeMutexLock|GetSession\w+|DeleteSessionTensor|TemporaryVariable|Destroy\w+|Abort|MapDefun",
    ),
    (
        "Tables and lists that grow",
        "Tables that a program changes, maps of tensors, lists of lists and operations on lists that TFLite's"
        " converter refuses have no memory of a known size.",
        r"\w*HashTable\w*|LookupTable\w+|InitializeTable|TensorMap\w+|EmptyTensorMap|TensorList\w+|Stack(Close|Pop|Push)?(V2)?"
        r"|TensorArray\w+|CompositeTensor\w+",
    ),
    (
        "Reference variables",
        "TensorFlow 1's variables by reference: freeze the graph, or give the SavedModel.",
        r"Ref\w+|Scatter(Add|Div|Max|Min|Mul|Sub|Update)|ScatterNd(Add|Max|Min|Sub|Update)|StridedSliceAssign"
        r"|ResourceScatter(Nd)?(Div|Max|Min|Mul)",
    ),
    (
        "Records of a run",
        "Summaries and debugging write to files on the computer.",
        r"\w*Summary\w*|Debug\w+|Timestamp|ImportEvent|StoreMinibatch\w+",
    ),
    (
        "Python",
        "They call Python.",
        r"\w*PyFunc\w*",
    ),
    (
        "Quantised types of TensorFlow",
        "quint8 and its like are not TFLite's int8: `tflmgen quantize` quantises a float model.",
        r"Quantize\w*|Quantized\w+|Requant\w+|UniformQuant\w+|UniformDequantize|UniformRequantize|Dequantize"
        r"|QuantizeV2|MklQ\w+",
    ),
    (
        "Random numbers with a state of TensorFlow's",
        "TensorFlow's generator goes on from one comparison to the next, so that a conversion cannot be compared; in a"
        " .tflite file RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL and MULTINOMIAL compile. Use `tf.random.stateless_*`.",
        r"Random\w+|Multinomial|ParameterizedTruncatedNormal|TruncatedNormal|Stateful\w+|Rng\w+|NonDeterministicInts"
        r"|SampleDistortedBoundingBox\w*",
    ),
    (
        "Functions of statistics and physics",
        "No layer has them, and their approximations are longer than a model.",
        r"Bessel[JKY]\w*|Dawsn|Expint|Fresnel\w+|Spence|Igamma\w*|Polygamma|Zeta|Betainc|Digamma|NextAfter",
    ),
    (
        "Decompositions of matrices",
        "Singular values, eigenvalues of matrices that are not symmetric, and what rests on them: the results are"
        " unique but for signs or complex, and the loops are long.",
        r"Svd|Eig|Lu|MatrixSquareRoot|MatrixLogarithm",
    ),
    (
        "Augmentation and layers of training's time",
        "They vary pictures at random places, or are fused layers of graphics cards' training; their inference is"
        " written with other layers.",
        r"ExtractGlimpse\w*|ImageProjectiveTransform\w*|DrawBoundingBoxes\w*|FractionalMaxPool|FractionalAvgPool"
        r"|BlockLSTM(V2)?|GenerateBoundingBoxProposals|NonMaxSuppressionWithOverlaps|IsotonicRegression|SobolSample",
    ),
    (
        "Transforms of any number of dimensions, and others",
        "They have a form that converts beside them: transforms of one to three dimensions, solvers of whole matrices.",
        r"I?R?FFTND|BandedTriangularSolve|Fact|FakeParam",
    ),
)


def class_of(name: str) -> int | None:
    """Number of the first class that an operation belongs to."""
    return next((i for i, (_, _, names) in enumerate(CLASSES) if re.fullmatch(names, name)), None)
