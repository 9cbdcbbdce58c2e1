"""The steps of a pipeline, as methods: which samples and in which order, operations, execution."""

from unstarve.steps.execution import ExecutionSteps
from unstarve.steps.operations import OperationSteps
from unstarve.steps.selection import SelectionSteps


class PipelineSteps(SelectionSteps, OperationSteps, ExecutionSteps):
    """All steps that may precede batch()."""
