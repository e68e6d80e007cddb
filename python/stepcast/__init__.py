"""Predicts the time of one LLM training step.

>>> import stepcast
>>> stepcast.forecast("telechat3-36b-2048.yaml", parallel__tp=4).step_time_s

Forecasts are made by ``stepcast worker``, a program that this package starts when it is first
needed; see docs/python.md.
"""

from ._errors import (EngineError, ForecastTimeout, Problem, ScenarioError, StepcastError,
                      WorkerDied)
from ._forecast import Forecast, forecast
from ._studies import (collective, compare, forecasts, model, operator, plan, scale, schedule,
                       sweep)
from ._version import __version__

__all__ = ["EngineError", "Forecast", "ForecastTimeout", "Problem", "ScenarioError",
           "StepcastError", "WorkerDied", "__version__", "collective", "compare", "forecast",
           "forecasts", "model", "operator", "plan", "scale", "schedule", "sweep"]
