"""No gradient flows through assignments: `state.py`."""

from regrad.core.gradient_registry import NotDifferentiable

for _op_type in ("VariableV2", "Assign", "AssignAdd", "AssignSub", "IsVariableInitialized", "ScatterUpdate", "ScatterAdd",
                 "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin", "NoOp"):
    NotDifferentiable(_op_type)
