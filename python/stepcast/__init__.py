"""Predicts the time of one LLM training step.

>>> import stepcast
>>> stepcast.forecast("telechat3-36b-2048.yaml", parallel__tp=4).step_time_s

Forecasts are made by ``stepcast worker``, a program that this package starts when it is first
needed; see docs/python.md.
"""

from ._errors import (EngineError, ForecastTimeout, Problem, ScenarioError, StepcastError,
                      WorkerDied)
from ._forecast import Forecast, forecast
from ._results import (Campaign, Choices, CollectiveTime, Comparison, Imported, ModelSize,
                       OperatorTime, Plan, Result, ScheduleOrder, Topology, Verdict)
from ._studies import (campaign, choices, collective, compare, forecasts, frameworks, import_launch,
                       judge, model, operator, plan, presets, scale, schedule, sweep, topology)
from ._version import __version__

__all__ = ["Campaign", "Choices", "CollectiveTime", "Comparison", "EngineError", "Forecast",
           "ForecastTimeout", "Imported", "ModelSize", "OperatorTime", "Plan", "Problem", "Result",
           "ScenarioError", "ScheduleOrder", "StepcastError", "Topology", "Verdict", "WorkerDied",
           "__version__", "campaign", "choices", "collective", "compare", "forecast", "forecasts",
           "frameworks", "import_launch", "judge", "model", "operator", "plan", "presets", "scale",
           "schedule", "sweep", "topology"]
