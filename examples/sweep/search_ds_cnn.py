"""Searches the DS-CNN space with Optuna: 200 trials under a budget of RAM and time on a Cortex-M4, and a Pareto plot.

python examples/sweep/search_ds_cnn.py search.html search.png
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import optuna
from tflmgen.report import sweep_html
from tflmgen.sweep import objective, pareto_rows

SPACE = Path(__file__).with_name("ds_cnn_space.py")
RAM_BYTES, MILLISECONDS, TRIALS = 8000, 200.0, 200


def suggest(trial: optuna.Trial) -> dict[str, int]:
    return {
        "width": trial.suggest_int("width", 4, 96),
        "depth": trial.suggest_int("depth", 1, 8),
        "kernel": trial.suggest_categorical("kernel", [3, 5]),
    }


def main(page: Path, picture: Path, trials: int = TRIALS) -> None:
    budgets = {"ram_bytes": RAM_BYTES, "milliseconds_estimated": MILLISECONDS}
    aim = objective(SPACE, suggest, "nucleo_f446re", budgets=budgets)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.NSGAIISampler(seed=0, population_size=20)
    study = optuna.create_study(directions=aim.directions, sampler=sampler)
    study.optimize(aim, n_trials=trials)

    rows = list({row["task"]: row for row in aim.rows}.values())
    kept = [row for row in rows if row["ram_bytes"] <= RAM_BYTES and row["milliseconds_estimated"] <= MILLISECONDS]
    front = pareto_rows(kept)
    page.write_text(sweep_html(rows, [row["task"] for row in front], {}), encoding="utf-8")
    figure, axes = plt.subplots(figsize=(8, 5))
    times, scores = ([row[name] for row in rows] for name in ("milliseconds_estimated", "score"))
    points = axes.scatter([row["ram_bytes"] for row in rows], times, c=scores, s=18)
    edges = {"s": 60, "facecolors": "none", "edgecolors": "tab:red", "label": "Pareto front within the budget"}
    axes.scatter([row["ram_bytes"] for row in front], [row["milliseconds_estimated"] for row in front], **edges)
    axes.axvline(RAM_BYTES, color="gray", linestyle=":")
    axes.axhline(MILLISECONDS, color="gray", linestyle=":")
    axes.set(xlabel="RAM: arena and state, bytes", ylabel="ms per invoke, estimated, nucleo_f446re")
    figure.colorbar(points, label="score: log10 of weights")
    axes.legend()
    figure.savefig(picture, dpi=120)
    best = max(front, key=lambda row: float(row["score"]))
    print(f"{trials} trials, {len(rows)} networks, {len(kept)} within the budget, {len(front)} on the front.")
    print(f"Best: {best['model']}: {best['ram_bytes']} bytes, {best['milliseconds_estimated']} ms")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
