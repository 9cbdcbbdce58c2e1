// The batch operations, one row each, in the order of the documentation: BATCH_OPERATION(NAME, HELP). make_NAME() is
// the factory, defined in a file of this folder.

BATCH_OPERATION(one_hot, "labels as rows of probabilities, without other changes")
BATCH_OPERATION(label_smoothing, "distributes a part of every label over all classes: epsilon 0.1")
BATCH_OPERATION(mixup, "blends each sample with the one before it: alpha 0.2, probability 1")
BATCH_OPERATION(cutmix, "replaces a box of each sample by that of the one before it: alpha 1, probability 1")
