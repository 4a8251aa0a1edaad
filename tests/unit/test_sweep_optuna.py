"""Objectives in a study of Optuna: ask and tell, budgets as constraints, models without figures pruned."""

from __future__ import annotations

import json
import subprocess

import pytest
from support.repository import ROOT
from support.sweep_environment import interpreter, requires_dask

pytestmark = requires_dask

STUDY = f"""
import json, warnings
import optuna
from tflmgen.sweep import evaluate_task, objective

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("error")
aim = objective(
    {str(ROOT / "examples" / "sweep" / "ds_cnn_space.py")!r},
    lambda trial: {{"width": trial.suggest_int("width", 4, 96), "depth": 1, "kernel": 3}},
    board="nucleo_f446re",
    values=("ram_bytes", "score"),
    budgets={{"ram_bytes": 2000}},
)
study = optuna.create_study(directions=aim.directions, sampler=optuna.samplers.NSGAIISampler(seed=0))
for width in (8, 64):
    study.enqueue_trial({{"width": width}})
for _ in range(2):
    trial = study.ask()
    study.tell(trial, aim.values(trial, evaluate_task(aim.task(trial))))
trial = study.ask()
row = {{**aim.rows[0], "status": "invalid", "problem": "no such operator"}}
try:
    study.tell(trial, aim.values(trial, row))
except optuna.TrialPruned as pruned:
    study.tell(trial, state=optuna.trial.TrialState.PRUNED)
    reason = str(pruned)
trials = [(trial.state.name, trial.params.get("width"), trial.values, aim.constraints(trial)) for trial in study.trials]
native = [list(getattr(trial, "constraints", {{}}).values()) for trial in study.trials]
feasible = [trial.params["width"] for trial in study.best_trials]
version = int(optuna.__version__.partition(".")[0])
print(json.dumps({{"trials": trials, "native": native, "best": feasible, "reason": reason, "version": version}}))
"""


def test_ask_and_tell() -> None:
    optuna = subprocess.run([str(interpreter()), "-c", "import optuna"], capture_output=True, check=False)
    if optuna.returncode:
        pytest.skip("needs Optuna in the environment of sweeps")
    done = subprocess.run([str(interpreter()), "-c", STUDY], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    small, large, pruned = result["trials"]
    assert (small[:2], large[:2], pruned[0]) == (["COMPLETE", 8], ["COMPLETE", 64], "PRUNED")
    for _, _, (ram, score), (excess,) in (small, large):
        assert excess == ram - 2000
        assert score > 0
    assert small[3][0] <= 0 < large[3][0]
    assert result["reason"] == "no such operator"
    if result["version"] >= 5:
        assert result["native"][:2] == [small[3], large[3]]
        assert result["best"] == [8], "a trial over its budget is not among the best"
