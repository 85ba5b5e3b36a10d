#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lamina solve --method exact` against HiGHS, a general mixed-integer solver, on the same instances.

  exact_vs_highs.py LAMINA TESTDATA [--layers N] [--instances N] [--seed N]

Fails unless both find the same optimum everywhere and HiGHS' plan fits the budget by the byte formulas
written out here. Prints the ratio of the two solving times (HiGHS on one thread, its model already
built; Lamina's own clock), which is not checked. Needs the Python packages highspy and numpy.
"""
import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from fractions import Fraction

import highspy
import numpy as np

KEEP = [0.1, 0.25, 0.5, 0.75, 0.9, 1.0]
BITS = [4, 8, 16]
GRID = [(keep, k, v) for keep in KEEP for k in BITS for v in BITS]


def pad(n):
    return -(-n // 64) * 64


def cell_bytes(kind, t_cache, layer, config):
    """Bytes of one layer under one recipe, the contract's section 2 (asym-g32, shared survivors)."""
    heads, dim, window = layer
    tokens = min(t_cache, window) if window else t_cache
    keep, k_bits, v_bits = config
    if kind == "nominal":
        return Fraction(str(keep)) * tokens * heads * dim * (k_bits + v_bits) / 8
    n = max(1, math.ceil(keep * tokens - 1e-9))
    total = 0
    for bits in (k_bits, v_bits):
        total += pad(-(-n * heads * dim * bits // 8))
        if bits < 16:
            total += pad(n * heads * -(-dim // 32) * 4)
    return total + (pad(4 * n) if keep < 1 else 0)


def rows_of(kind, layers, rng, real):
    f, g = [.81, .5625, .25, .0625, .01, 0], [1, .15, 0]

    def row(scales, noise=0.0, joint=0.0):
        out = []
        for i in range(54):
            a, b, c = (s * w[j] for s, w, j in zip(scales, (f, g, g), (i // 9, i // 3 % 3, i % 3)))
            cell = a + b + c + joint * (a * b + b * c + a * c)
            out.append(max(0.0, cell * (1 + noise * rng.uniform(-1, 1))))
        return out

    def scales():
        return [math.exp(rng.uniform(-2, 2)) for _ in range(3)]

    if kind == "additive":
        return [row(scales()) for _ in range(layers)]
    if kind == "synergistic":
        return [row(scales(), joint=1.0) for _ in range(layers)]
    if kind == "noisy":
        return [row(scales(), noise=0.3) for _ in range(layers)]
    if kind == "real":
        return [real[l % len(real)] for l in range(layers)]
    if kind == "flat":
        return [row([1, 1, 1])] * layers
    if kind == "two kinds":
        two = [row(scales()), row(scales())]
        return [two[l % 2] for l in range(layers)]
    assert kind == "random"
    return [[rng.random() for _ in range(54)] for _ in range(layers)]


def highs_optimum(values, costs, budget):
    """(value, plan, seconds) of the multiple-choice knapsack; costs and budget are integers."""
    layers = len(values)
    n = layers * 54
    divisor = math.gcd(*[c for row in costs for c in row])
    model = highspy.HighsLp()
    model.num_col_ = n
    model.num_row_ = layers + 1
    model.col_cost_ = np.array([v for row in values for v in row])
    model.col_lower_ = np.zeros(n)
    model.col_upper_ = np.ones(n)
    model.row_lower_ = np.array([1.0] * layers + [-highspy.kHighsInf])
    model.row_upper_ = np.array([1.0] * layers + [float(budget // divisor)])
    start, index, value = [0], [], []
    for l in range(layers):
        for c in range(54):
            index += [l, layers]
            value += [1.0, float(costs[l][c] // divisor)]
            start.append(len(index))
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.array(start)
    model.a_matrix_.index_ = np.array(index)
    model.a_matrix_.value_ = np.array(value)
    model.integrality_ = [highspy.HighsVarType.kInteger] * n
    solver = highspy.Highs()
    for option, setting in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0),
                            ("mip_abs_gap", 0.0), ("mip_feasibility_tolerance", 1e-9)):
        solver.setOptionValue(option, setting)
    solver.passModel(model)
    begin = time.perf_counter()
    solver.run()
    seconds = time.perf_counter() - begin
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal, solver.getModelStatus()
    x = np.array(solver.getSolution().col_value).reshape(layers, 54)
    plan = x.argmax(axis=1).tolist()
    return sum(values[l][c] for l, c in enumerate(plan)), plan, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lamina")
    parser.add_argument("testdata", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--instances", type=int, default=28)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    smol = json.loads((options.testdata / "smol_prompt27_S.json").read_text())
    real = next(v for v in find_tables(smol) if len(v) == 30)
    kinds = ["additive", "synergistic", "noisy", "real", "flat", "two kinds", "random"]
    ratios, failures = [], 0
    with tempfile.TemporaryDirectory() as folder:
        table_path = pathlib.Path(folder) / "table.json"
        for i in range(options.instances):
            kind = kinds[i % len(kinds)]
            bytes_kind = "nominal" if i // len(kinds) % 2 else "actual"
            t_cache = rng.choice([480, 1000, 8192, 16000])
            layer_shapes = [(rng.choice([1, 3, 8]), rng.choice([64, 80, 128]), rng.choice([0, 0, 512]))
                            for _ in range(options.layers)]
            if i % 3 == 0:
                layer_shapes = [(8, 128, 0)] * options.layers
            values = rows_of(kind, options.layers, rng, real)
            table_path.write_text(json.dumps({
                "format": "lamina-table", "version": 1, "layers": options.layers,
                "geometry": {"t_cache": t_cache, "kv_heads": [s[0] for s in layer_shapes],
                             "head_dim": [s[1] for s in layer_shapes],
                             "window": [s[2] for s in layer_shapes]},
                "grid": {"keep": KEEP, "k_bits": BITS, "v_bits": BITS}, "values": values}))
            costs = [[cell_bytes(bytes_kind, t_cache, s, c) for c in GRID] for s in layer_shapes]
            least, most = sum(min(row) for row in costs), sum(max(row) for row in costs)
            budget = math.ceil(least + (most - least) * rng.random() ** 2)
            unit = math.lcm(*[Fraction(c).denominator for row in costs for c in row])
            whole = [[int(c * unit) for c in row] for row in costs]
            run = subprocess.run([options.lamina, "solve", "--table", str(table_path), "--budget",
                                  str(budget), "--method", "exact", "--bytes", bytes_kind, "--json"],
                                 capture_output=True, text=True, check=True)
            ours = json.loads(run.stdout)
            value, plan, seconds = highs_optimum(values, whole, budget * unit)
            spent = sum(costs[l][c] for l, c in enumerate(plan))
            own = sum(values[l][c] for l, c in enumerate(ours["configs"]))
            own_spent = sum(costs[l][c] for l, c in enumerate(ours["configs"]))
            same = math.isclose(own, value, rel_tol=1e-9, abs_tol=1e-12)
            good = (same and spent <= budget and own_spent <= budget and ours["proven"]
                    and math.isclose(own, ours["predicted"], rel_tol=1e-12)
                    and math.isclose(float(own_spent), ours["bytes"], rel_tol=1e-12)
                    and ours["lower_bound"] <= own * (1 + 1e-12))
            if not good:
                failures += 1
                print(f"FAIL {i} {kind} {bytes_kind}: lamina {own} in {float(own_spent)} B, "
                      f"HiGHS {value} in {float(spent)} B, budget {budget} B")
            ratios.append(seconds / ours["seconds"])
            print(f"{i:3} {kind:12} {bytes_kind:8} {own:12.6g}  HiGHS {1e3 * seconds:9.2f} ms  "
                  f"lamina {1e3 * ours['seconds']:7.3f} ms  ratio {ratios[-1]:8.0f}")
    ratios.sort()
    print(f"{options.instances} instances of {options.layers} x 54: {failures} differ; HiGHS takes "
          f"{statistics.median(ratios):.0f} times as long (median; least {ratios[0]:.0f})")
    return 1 if failures else 0


def find_tables(value):
    """Every list of rows of 54 numbers inside a JSON value."""
    if isinstance(value, dict):
        for item in value.values():
            yield from find_tables(item)
    elif isinstance(value, list):
        if value and isinstance(value[0], list) and len(value[0]) == 54 and not isinstance(
                value[0][0], list):
            yield value
        else:
            for item in value:
                yield from find_tables(item)


if __name__ == "__main__":
    sys.exit(main())
