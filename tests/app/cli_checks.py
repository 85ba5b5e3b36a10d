#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the `lamina` command as its users meet it. Standard library only.

    cli_checks.py LAMINA DEMO_MODEL.gguf TESTS_DATA
"""
import itertools
import json
import math
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

LAMINA, MODEL, DATA = sys.argv[1:4]


def run(*arguments, stdin=None):
    return subprocess.run([LAMINA, *map(str, arguments)], capture_output=True, text=True, timeout=300, input=stdin)


def oracle(name):
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        return json.load(file)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="lamina-cli-")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def json(self, *arguments):
        done = run(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)  # fails on anything but exactly one document

    def refused(self, code, *arguments, says=()):
        done = run(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        lines = [line for line in done.stderr.splitlines() if line.startswith("lamina: error: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        # WHAT (WHERE): WHAT TO DO
        self.assertRegex(lines[0], r"^lamina: error: .+ \(.+\): .+$")
        for part in says if isinstance(says, (list, tuple)) else [says]:
            self.assertIn(part, lines[0])
        return lines[0]


class Model(Case):
    def test_info(self):
        info = self.json("info", MODEL)
        self.assertEqual(info["architecture"], "llama")
        self.assertEqual(info["layers"], 30)
        self.assertEqual(info["kv_heads"], [3] * 30)
        self.assertEqual(info["head_dim"], [64] * 30)
        self.assertEqual(info["kv_bytes_per_token"], 30 * 3 * 64 * 2 * 2)
        self.assertTrue(info["complete"])
        # Frozen: projects, tables and plans name their checkpoint by it.
        self.assertEqual(info["fingerprint"], "5376cd145f1d4d55864c7d39e382ef8307486a52c3a29cb5b71169e77de44689")
        self.assertIsNone(self.json("info", MODEL, "--no-fingerprint")["fingerprint"])

    def test_tokenize(self):
        cases = oracle("smol_tokenizer.json")
        for case in cases[:3] + cases[-2:]:
            with open(self.path("text"), "w", encoding="utf-8", newline="") as file:
                file.write(case["text"])
            self.assertEqual(self.json("tokenize", MODEL, "--file", self.path("text"))["ids"], case["ids_plain"])
            self.assertEqual(
                self.json("tokenize", MODEL, "--file", self.path("text"), "--special")["ids"], case["ids_special"])

    def test_tokenize_is_cancelled(self):
        with open(self.path("words"), "w", encoding="utf-8") as file:
            file.write("the river " * (3 << 20))
        process = subprocess.Popen([LAMINA, "tokenize", MODEL, "--file", self.path("words")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (130, "lamina: error: cancelled\n"))
        with open(self.path("words"), "a", encoding="utf-8") as file:
            file.write("the river " * (1 << 19))
        self.refused(3, "tokenize", MODEL, "--file", self.path("words"), says=["words", "33554432 bytes"])

    def test_forward(self):
        prompt = oracle("smol_forward.json")["prompts"][0]
        ids = ",".join(map(str, prompt["ids"]))
        with open(self.path("ids.json"), "w", encoding="utf-8") as file:
            json.dump(prompt["ids"], file)
        for source in (ids, "@" + self.path("ids.json")):
            result = self.json("forward", MODEL, "--ids", source, "--top", 10)
            self.assertEqual(result["tokens"], len(prompt["ids"]))
            self.assertEqual([t["id"] for t in result["top"]], prompt["float32"]["top10_ids"])
            for got, expected in zip(result["top"], prompt["float32"]["top10_logits"]):
                self.assertAlmostEqual(got["logit"], expected, delta=1e-3)

    def test_generate(self):
        prompt = oracle("smol_forward.json")["prompts"][0]
        result = self.json("generate", MODEL, "--ids", ",".join(map(str, prompt["ids"])), "--max-new", 8, "--ignore-eos")
        self.assertEqual(result["ids"], prompt["float32"]["greedy40"][:8])
        self.assertEqual(len(result["decode_ms"]), 7)
        self.assertEqual(len(result["cache"]["layers"]), 30)
        text = run("generate", MODEL, "--prompt", prompt["text"], "--max-new", 8)
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertTrue(text.stdout.startswith(prompt["text"] + result["text"]))

    def test_bad_prompts(self):
        self.refused(3, "forward", MODEL, "--ids", "1,49152", says="49152")
        self.refused(3, "forward", MODEL, "--ids", "-1", says="-1")
        self.refused(3, "generate", MODEL, "--prompt", "", "--max-new", 1, says="empty")
        self.refused(3, "generate", MODEL, "--ids", "", "--max-new", 1, says="empty")
        self.refused(3, "forward", MODEL, "--ids", "", says="empty")
        with open(self.path("long.json"), "w", encoding="utf-8") as file:
            json.dump([1] * 9000, file)
        self.refused(3, "forward", MODEL, "--ids", "@" + self.path("long.json"), says=["9000", "8192"])
        with open(self.path("notlist.json"), "w", encoding="utf-8") as file:
            file.write('{"ids": [1]}')
        self.refused(3, "forward", MODEL, "--ids", "@" + self.path("notlist.json"))
        self.refused(2, "forward", MODEL, "--ids", "1,two")
        self.refused(2, "generate", MODEL, "--prompt", "x", "--max-new", 0)
        self.refused(2, "generate", MODEL, "--max-new", 1)
        self.refused(2, "generate", MODEL, "--prompt", "x", "--max-new", 1, "--seed", "-1")
        self.refused(4, "forward", MODEL, "--ids", "1", "--device", "cuda", says="CUDA")
        self.refused(2, "forward", MODEL, "--ids", "1", "--device", "abacus")

    def test_truncated_file(self):
        size = os.path.getsize(MODEL)
        with open(MODEL, "rb") as file:
            head = file.read(size // 2)
        with open(self.path("half.gguf"), "wb") as file:
            file.write(head)
        info = self.json("info", self.path("half.gguf"))
        self.assertFalse(info["complete"])
        self.assertEqual(info["layers"], 30)
        self.assertIsNone(info["fingerprint"])
        half = self.path("half.gguf")
        for arguments in (["tokenize", half, "--text", "x"], ["forward", half, "--ids", "1"],
                          ["generate", half, "--ids", "1", "--max-new", 1],
                          ["calibrate", half, "--project", self.path("half.lamina")]):
            self.refused(3, *arguments, says=["truncated", "half.gguf"])
        self.assertFalse(os.path.exists(self.path("half.lamina")))

    def test_file_cut_inside_its_header(self):
        with open(MODEL, "rb") as file:
            head = file.read(1 << 20)
        cut = self.path("cut.gguf")
        # 4: only the magic; 4096: among the tokens; 1 MiB: later in the tokens or merges.
        for size in (4, 23, 24, 4096, 1 << 20):
            with open(cut, "wb") as file:
                file.write(head[:size])
            info = self.json("info", cut)
            self.assertIs(info["complete"], False)
            self.assertIsNone(info["parameters"])
            self.assertEqual(info["layers"], 30 if size >= 4096 else None)
            self.assertEqual(info["kv_heads"], [3] * 30 if size >= 4096 else None)
            text = run("info", cut)
            self.assertEqual(text.returncode, 0, text.stderr)
            self.assertIn("INCOMPLETE", text.stdout)
            for arguments in (["tokenize", cut, "--text", "x"], ["forward", cut, "--ids", "1"],
                              ["generate", cut, "--ids", "1", "--max-new", 1],
                              ["calibrate", cut, "--project", self.path("cut.lamina")]):
                self.refused(3, *arguments, says=["truncated", "cut.gguf"])
        for size in (1, 3):
            with open(cut, "wb") as file:
                file.write(head[:size])
            self.refused(3, "info", cut, says=["not a GGUF file", "cut.gguf"])

    def test_file_cut_short_while_it_is_read(self):
        copy = self.path("shrinking.gguf")
        shutil.copy(MODEL, copy)
        process = subprocess.Popen([LAMINA, "generate", copy, "--prompt", "a", "--max-new", "2", "--threads", "1"],
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        process.stderr.readline()  # "loading tensors 0/272"
        os.truncate(copy, 1 << 16)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 4, errors)
        self.assertIn("lamina: error: a file that is being read was cut short", errors)

    def test_bad_files(self):
        with open(MODEL, "rb") as file:
            head = bytearray(file.read(1 << 16))
        bad = {
            "magic": b"GGUX" + head[4:],
            "version": head[:4] + struct.pack("<I", 99) + head[8:],
            "count": head[:8] + struct.pack("<Q", 1 << 62) + head[16:],
        }
        for name, content in bad.items():
            path = self.path(name + ".gguf")
            with open(path, "wb") as file:
                file.write(content)
            self.refused(3, "info", path, says=name + ".gguf")
        self.refused(3, "info", self.path("missing.gguf"), says="missing.gguf")
        self.refused(3, "info", self.dir, says=self.dir)
        with open(self.path("pytorch_model.bin"), "wb") as file:
            file.write(b"\x80\x02pickle")
        self.refused(3, "info", self.path("pytorch_model.bin"), says="safetensors")


class Plan(Case):
    def seed_table(self):
        seed = oracle("seed_table.json")
        table = {
            "format": "lamina-table", "version": 1, "layers": seed["layers"],
            "geometry": {"t_cache": seed["T"], "kv_heads": seed["Hkv"], "head_dim": seed["d"]},
            "grid": {"keep": seed["keeps"], "k_bits": seed["bits"], "v_bits": seed["bits"]},
            "values": seed["S"],
        }
        return seed, table

    def write(self, name, document):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(document, file)
        return self.path(name)

    def test_seed_table(self):
        seed, table = self.seed_table()
        path = self.write("seed.json", table)
        greedy = self.json("solve", "--table", path, "--budget", "14x", "--bytes", "nominal")
        self.assertEqual(greedy["configs"], seed["greedy"]["plan"])
        self.assertAlmostEqual(greedy["predicted"], seed["greedy"]["total"], places=9)
        self.assertEqual(greedy["bytes"], seed["greedy"]["bytes"])
        self.assertEqual(greedy["distinct"], seed["greedy"]["distinct"])
        uniform = self.json("solve", "--table", path, "--budget", "14x", "--bytes", "nominal", "--method", "2d_uniform")
        self.assertEqual(set(uniform["configs"]), {seed["uniform"]["config"]})
        self.assertAlmostEqual(uniform["predicted"], seed["uniform"]["total"], places=9)
        full = self.json("solve", "--table", path, "--budget", "1x", "--bytes", "nominal")
        self.assertEqual(full["predicted"], 0)
        for budget, total in zip(seed["budget_curve"]["budgets"], seed["budget_curve"]["greedy_total"]):
            got = self.json("solve", "--table", path, "--budget", int(budget), "--bytes", "nominal")
            self.assertAlmostEqual(got["predicted"], total, places=9)

    def test_refusals(self):
        _, table = self.seed_table()
        path = self.write("seed.json", table)
        self.refused(1, "solve", "--table", path, "--budget", "1MB", "--bytes", "nominal", says="45.9 MB")
        for tiny in ("0.5", "1e-3MB", "1e19x"):
            self.refused(1, "solve", "--table", path, "--budget", tiny, "--bytes", "nominal", says="45.9 MB")
        self.json("solve", "--table", path, "--budget", "9223372036854775807")
        for nonsense in ("", "x", "-3MB", "0", "nan", "inf", "12 parsecs", "1e400"):
            self.refused(2, "solve", "--table", path, "--budget", nonsense)
        self.refused(2, "solve", "--table", path)
        self.refused(2, "solve", "--table", path, "--budget", "14x", "--method", "magic")
        self.refused(2, "solve", "--table", path, "--budget", "14x", "--objective", "luck")
        self.refused(3, "solve", "--table", self.path("none.json"), "--budget", "14x")
        self.refused(3, "solve", "--project", self.path("none.lamina"), "--budget", "14x")
        self.assertFalse(os.path.exists(self.path("none.lamina")))
        for key, value in (("version", 2), ("format", "other"), ("layers", 27)):
            self.refused(3, "solve", "--table", self.write("bad.json", {**table, key: value}), "--budget", "14x",
                         says="bad.json")
        values = [list(row) for row in table["values"]]
        values[3][7] = -1.0
        self.refused(3, "solve", "--table", self.write("bad.json", {**table, "values": values}), "--budget", "14x",
                     says="layer 3")
        self.refused(4, "solve", "--table", path, "--budget", "14x", "--plan-out", self.path("no/such/folder/p.json"))
        self.refused(4, "solve", "--table", path, "--budget", "14x", "--plan-out", "/dev/full", says="/dev/full")
        os.mkfifo(self.path("pipe"))  # without a reader
        self.refused(4, "solve", "--table", path, "--budget", "14x", "--plan-out", self.path("pipe"), says="nobody reads")

    def test_outputs_replace_nothing_else(self):
        _, table = self.seed_table()
        path = self.write("seed.json", table)
        with open(self.path("weights"), "wb") as file:
            file.write(b"GGUF weights")
        for output in (path, self.path("weights"), ""):
            self.refused(2, "solve", "--table", path, "--budget", "14x", "--plan-out", output, says="--plan-out")
        with open(self.path("weights"), "rb") as file:
            self.assertEqual(file.read(), b"GGUF weights")
        plan = self.path("again.json")
        for _ in range(2):
            self.json("solve", "--table", path, "--budget", "14x", "--plan-out", plan)

    def test_sums_beyond_doubles(self):
        _, table = self.seed_table()
        table["values"] = [[1.7e308] * 54 for _ in table["values"]]
        self.refused(3, "solve", "--table", self.write("huge.json", table), "--budget", "14x")

    def test_calibrate_solve_export(self):
        prompt = oracle("smol_prompt27_S.json")
        ids = ",".join(map(str, prompt["ids"]))
        statistics = self.write("statistics.json", prompt["calibration_ids"])
        project = self.path("smol.lamina")
        done = self.json("calibrate", MODEL, "--project", project, "--ids", ids, "--scorer", "triattention",
                         "--stats-ids", "@" + statistics, "--table-out", self.path("table.json"))
        self.assertEqual((done["layers"], done["configs"]), (30, 54))
        with open(self.path("table.json"), encoding="utf-8") as file:
            values = json.load(file)["values"]
        self.assertEqual(done["values"], values)
        cells = [(got, want) for row, expected in zip(values, prompt["S"]["triattention"])
                 for got, want in zip(row, expected)]
        close = sum(abs(got - want) <= 0.01 * want + 1e-4 for got, want in cells)
        self.assertGreaterEqual(close / len(cells), 0.99)
        self.assertTrue(all(row[53] == 0 for row in values))
        plan = self.path("plan.json")
        solved = self.json("solve", "--project", project, "--budget", "14x", "--plan-out", plan)
        self.assertLessEqual(solved["bytes"], solved["budget"])
        with open(plan, encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual(document["format"], "lamina-plan")
        self.assertEqual(len(document["layers"]), 30)
        self.assertEqual(document["cache"]["t_cache"], 8192)
        self.assertEqual(document["calibration"]["table_sha256"], done["table_sha256"])
        from_table = self.json("solve", "--table", self.path("table.json"), "--budget", "14x")
        self.assertEqual(from_table["configs"], solved["configs"])
        # The project knows the model's sizes: SmolLM2-135M, 576 wide, 9 heads and 3 KV heads of 64, MLP of 1536.
        memory = self.json("solve", "--project", project, "--gpu-memory", "1GB", "--context", 4096, "--concurrency",
                           10)["memory"]
        self.assertEqual(memory["weights"], json.loads(run("info", MODEL, "--json").stdout)["tensor_bytes"])
        self.assertEqual(memory["activations"], 2 * 4096 * (2 * 576 + 2 * 576 + 2 * 192) + 4 * 1536 * 2048 + 40 * 49152)
        self.assertEqual(memory["per_request"], (10**9 - memory["weights"] - memory["activations"]) // 10)
        self.assertGreaterEqual(memory["most_requests"], 10)
        self.assertGreaterEqual(memory["longest_context"], 4096)
        named = self.json("solve", "--table", self.path("table.json"), "--gpu-memory", "1GB", "--context", 4096,
                          "--concurrency", 10, "--model", MODEL)["memory"]
        self.assertEqual(named, memory)

    def test_calibrate_usage(self):
        for option, value in (("--quantizer", "magic"), ("--quantizer", "q=asym-g32"), ("--scorer", "luck"),
                              ("--probe", "guess"), ("--survivors", "per_head")):
            self.refused(2, "calibrate", MODEL, "--project", self.path("usage.lamina"), option, value)
        for option, value, says in (("--ids", "1,99999", "99999"), ("--ids", "", "empty"),
                                    ("--stats-ids", "", "empty")):
            self.refused(3, "calibrate", MODEL, "--project", self.path("usage.lamina"), option, value, says=says)
        self.assertFalse(os.path.exists(self.path("usage.lamina")))
        self.refused(4, "calibrate", MODEL, "--project", self.path("no/such/folder/x.lamina"))

    def test_not_a_project(self):
        with open(self.path("fake.lamina"), "w", encoding="utf-8") as file:
            file.write("not a database" * 100)
        self.refused(3, "solve", "--project", self.path("fake.lamina"), "--budget", "14x", says="fake.lamina")
        self.refused(3, "calibrate", MODEL, "--project", self.path("fake.lamina"), says="fake.lamina")

    def test_waiting_for_a_lock_is_cancelled(self):
        project = self.path("locked.lamina")
        lock = sqlite3.connect(project)
        lock.execute("CREATE TABLE t (a)")
        lock.commit()
        lock.isolation_level = None
        lock.execute("BEGIN EXCLUSIVE")
        try:
            process = subprocess.Popen([LAMINA, "calibrate", MODEL, "--project", project, "--ids", "1,2,3"],
                                       stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
            time.sleep(1.5)  # of the ten seconds that it waits
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, errors), (130, "lamina: error: cancelled\n"))
        finally:
            lock.close()

    def test_cancel_and_resume(self):
        project = self.path("cancel.lamina")
        arguments = [LAMINA, "calibrate", MODEL, "--project", project, "--scorer", "keydiff"]
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in process.stderr:
            if line.startswith("calibrating"):
                break
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(self.json(*arguments[1:])["layers"], 30)


class Solve(Case):
    """Small tables, so that every plan can be tried. 1000 tokens of 8 values: keep * 1000 * (K + V bits) nominal
    bytes a layer."""
    KEEPS, K_BITS, V_BITS = (0.5, 1.0), (4, 16), (8, 16)
    CONFIGS = list(itertools.product(KEEPS, K_BITS, V_BITS))
    BYTES = [int(keep * 1000 * (k + v)) for keep, k, v in CONFIGS]

    def document(self, values=None, **more):
        if values is None:
            rng = random.Random(7)
            values = [[round(rng.random(), 3) for _ in self.CONFIGS[:-1]] + [0.0] for _ in range(4)]
        return {
            "format": "lamina-table", "version": 1, "layers": len(values),
            "geometry": {"t_cache": 1000, "kv_heads": 1, "head_dim": 8},
            "grid": {"keep": list(self.KEEPS), "k_bits": list(self.K_BITS), "v_bits": list(self.V_BITS)},
            "values": values, **more,
        }

    def table(self, name="small.json", values=None, **more):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(self.document(values, **more), file)
        return self.path(name)

    def plans(self, accept=lambda plan: True):
        return [plan for plan in itertools.product(range(len(self.CONFIGS)), repeat=4) if accept(plan)]

    def best(self, cells, budget, plans):
        """The least predicted error of the plans that fit, and None where none does."""
        fitting = [plan for plan in plans if sum(self.BYTES[c] for c in plan) <= budget]
        return min((sum(row[c] for row, c in zip(cells, plan)) for plan in fitting), default=None)

    def solve(self, path, budget, *more):
        return self.json("solve", "--table", path, "--budget", budget, "--bytes", "nominal", *more)

    def same(self, plan, *axes):
        return all(len({self.CONFIGS[c][axis] for c in plan}) == 1 for axis in axes)

    def test_exact_gap_and_baselines(self):
        path, cells = self.table(), self.document()["values"]
        families = {
            "exact": self.plans(),
            "2d_uniform": self.plans(lambda plan: self.same(plan, 0, 1, 2)),
            "1d": self.plans(lambda plan: self.same(plan, 0) and all(self.CONFIGS[c][1:] == (16, 16) for c in plan)),
            "2d:exact": self.plans(lambda plan: self.same(plan, 0)),
            "evict_hetero:exact": self.plans(lambda plan: self.same(plan, 1, 2)),
        }
        seen_infeasible = False
        for budget in (24000, 24001, 31999, 45000, 60000, 77777, 100000, 128000):
            got = self.solve(path, budget, "--method", "exact")
            self.assertTrue(got["proven"])
            self.assertEqual(got["bytes"], sum(self.BYTES[c] for c in got["configs"]))
            self.assertLessEqual(got["bytes"], budget)
            self.assertAlmostEqual(got["predicted"], sum(row[c] for row, c in zip(cells, got["configs"])), places=12)
            self.assertAlmostEqual(got["share"], got["bytes"] / budget, places=12)
            self.assertLessEqual(got["lower_bound"], got["predicted"] + 1e-12)
            if got["lower_bound"] > 0:
                self.assertAlmostEqual(got["gap"], got["predicted"] / got["lower_bound"] - 1, places=12)
            rows = {row["method"]: row for row in got["baselines"]}
            for method, plans in families.items():
                expected = self.best(cells, budget, plans)
                self.assertEqual(rows[method]["feasible"], expected is not None, (budget, method))
                if expected is None:
                    seen_infeasible = True
                    self.assertIsNone(rows[method]["predicted"])
                    self.refused(1, "solve", "--table", path, "--budget", budget, "--bytes", "nominal", "--method",
                                 method)
                else:
                    self.assertAlmostEqual(rows[method]["predicted"], expected, places=12)
                    self.assertAlmostEqual(rows[method]["share"], rows[method]["bytes"] / budget, places=12)
            self.assertAlmostEqual(got["predicted"], rows["exact"]["predicted"], places=12)
            self.assertGreaterEqual(rows["greedy"]["predicted"], got["predicted"] - 1e-12)
        self.assertTrue(seen_infeasible)
        self.refused(1, "solve", "--table", path, "--budget", 23999, "--bytes", "nominal", "--method", "exact",
                     says="24000 bytes")

    def test_limits(self):
        path, cells = self.table(), self.document()["values"]
        full = self.CONFIGS.index((1.0, 16, 16))
        cases = [
            (["--pin", "1=5"], lambda l, c: l != 1 or c == 5),
            (["--pin", "0,2-3=1/16/16"], lambda l, c: l == 1 or c == full),
            (["--pin", "0=full", "--pin", "3=0"], lambda l, c: c == {0: full, 3: 0}.get(l, c)),
            (["--forbid", "k=4"], lambda l, c: self.CONFIGS[c][1] != 4),
            (["--forbid", "0:keep<1", "--forbid", "1-2:v<=8"],
             lambda l, c: (l != 0 or self.CONFIGS[c][0] == 1) and (l not in (1, 2) or self.CONFIGS[c][2] == 16)),
            (["--target", "kvpress"], lambda l, c: self.CONFIGS[c][1:] == (16, 16)),
            (["--target", "kvpress", "--pin", "2=full"],
             lambda l, c: c == full if l == 2 else self.CONFIGS[c][1:] == (16, 16)),
        ]
        self.refused(3, "solve", "--table", path, "--budget", 128000, "--target", "kvpress", "--pin", "2=0",
                     says=["layer 2 is pinned", "(target kvpress)"])
        for options, allowed in cases:
            plans = self.plans(lambda plan: all(allowed(l, c) for l, c in enumerate(plan)))
            for budget in (90000, 110000, 128000):
                expected = self.best(cells, budget, plans)
                if expected is None:
                    self.refused(1, "solve", "--table", path, "--budget", budget, "--bytes", "nominal", "--method",
                                 "exact", *options)
                    continue
                got = self.solve(path, budget, "--method", "exact", *options)
                self.assertIn(tuple(got["configs"]), plans)
                self.assertAlmostEqual(got["predicted"], expected, places=12)
                greedy = self.solve(path, budget, *options)
                self.assertIn(tuple(greedy["configs"]), plans)

    def test_targets_of_one_recipe(self):
        path = self.table()
        got = self.solve(path, 128000, "--target", "llama.cpp")
        self.assertEqual(got["method"], "2d_uniform")
        self.assertEqual(got["predicted"], 0)
        self.refused(1, "solve", "--table", path, "--budget", 128000, "--bytes", "nominal", "--target", "llama.cpp",
                     "--method", "greedy")
        edges = self.json("solve", "--table", path, "--budget", "1x", "--target", "ik_llama.cpp")
        self.assertEqual(edges["method"], "edges:2")

    def test_own_targets(self):
        path = self.table()
        own = self.path("targets.json")
        with open(own, "w", encoding="utf-8") as file:
            json.dump({"targets": [{"name": "mine", "title": "Mine", "shape": "per_layer", "bits": [[16, 8]]}]}, file)
        got = self.solve(path, 128000, "--target", "mine", "--targets-file", own)
        self.assertTrue(all(self.CONFIGS[c][1:] == (16, 8) for c in got["configs"]))
        self.refused(2, "solve", "--table", path, "--budget", "1x", "--target", "llama.cpp", "--targets-file", own,
                     says="mine")
        self.refused(2, "solve", "--table", path, "--budget", "1x", "--targets-file", own)
        self.refused(2, "solve", "--table", path, "--budget", "1x", "--target", "abacus",
                     says=["abacus", "llama.cpp", "vllm-fp8"])
        self.assertIn("vllm-fp8", run("solve", "--help").stdout)
        for text in ("", "[]", '{"targets": []}', '{"targets": [{"name": "mine", "title": "M", "shape": "star"}]}'):
            with open(own, "w", encoding="utf-8") as file:
                file.write(text)
            self.refused(3, "solve", "--table", path, "--budget", "1x", "--target", "mine", "--targets-file", own,
                         says="targets.json")

    def test_objectives(self):
        cells = self.document()["values"]
        error = [[0.01 * (c + 1) for c in range(8)] for _ in range(4)]
        weights = [1.0, 0.5, 2.0, 0.0]
        other = [[abs(1 - x) for x in row] for row in cells]
        path = self.table("rich.json", stderr=error, weights=weights, propagated=other, kl=other)
        squares = [[x * x for x in row] for row in cells]
        expected = {
            ("S",): cells,
            ("S2",): squares,
            ("weighted",): [[w * x for x in row] for w, row in zip(weights, squares)],
            ("propagated",): other,
            ("kl",): other,
            ("S", "--robust", "2"): [[x + 2 * e for x, e in zip(*rows)] for rows in zip(cells, error)],
            ("S2", "--robust", "0.5"): [[(x + 0.5 * e) ** 2 for x, e in zip(*rows)] for rows in zip(cells, error)],
        }
        for (objective, *robust), table in expected.items():
            got = self.solve(path, 60000, "--method", "exact", "--objective", objective, *robust)
            self.assertEqual(got["objective"], objective)
            self.assertAlmostEqual(got["predicted"], self.best(table, 60000, self.plans()), places=12)
            text = run("solve", "--table", path, "--budget", "2x", "--objective", objective, *robust).stdout
            self.assertRegex(text, rf"objective +{objective},")
            self.assertRegex(text, rf"predicted +{objective} ")
        plain = self.table()
        for objective in ("weighted", "propagated", "kl"):
            self.refused(3, "solve", "--table", plain, "--budget", "2x", "--objective", objective)
        self.refused(3, "solve", "--table", plain, "--budget", "2x", "--robust", "1")
        for z in ("-1", "nan", "inf", "much"):
            self.refused(2, "solve", "--table", path, "--budget", "2x", "--robust", z)

    def test_explanation(self):
        # K4 V8 costs 6000 or 12000, K16 V16 16000 or 32000: layer 0 is stuck, layer 1 has its best.
        values = [[1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.5], [0.0] * 8]
        path = self.table(values=values)
        got = self.solve(path, 64000, "--explain")
        self.assertEqual([layer["reason"] for layer in got["explanation"]], ["missed", "none"])
        stuck = got["explanation"][0]
        self.assertEqual(stuck["upgrade"], {"keep": 1.0, "k_bits": 16, "v_bits": 16})
        self.assertAlmostEqual(stuck["gain"], 0.5)
        self.assertEqual(stuck["extra_bytes"], 32000 - 6000)
        self.assertAlmostEqual(stuck["gain_per_mb"], 0.5 / 0.026)
        pinned = self.solve(path, 64000, "--explain", "--method", "exact", "--pin", "0=0")
        self.assertEqual(pinned["explanation"][0]["reason"], "pinned")
        self.assertNotIn("explanation", self.solve(path, 64000))
        self.assertIn("stopped short", run("solve", "--table", path, "--budget", "1x", "--explain").stdout)
        # A keep between two of the grid has no upgrade to name.
        free = self.solve(self.table("other.json"), 50000, "--method", "2d_uniform_free")
        if not free["configs"]:
            self.assertEqual(len(free["layers"]), 4)
            self.refused(2, "solve", "--table", self.table("other.json"), "--budget", 50000, "--bytes", "nominal",
                         "--method", "2d_uniform_free", "--explain")

    def test_no_headroom(self):
        path = self.table(values=[[0.4, 0.35, 0.3, 0.2, 0.2, 0.15, 0.1, 0.0]] * 4)
        full = self.solve(path, 128000, "--method", "exact")["headroom"]
        self.assertFalse(full["worth_routing"])
        self.assertIn("4 of 4 layers", full["reason"])
        self.assertEqual(full["simpler"]["predicted"], 0)
        short = self.solve(path, 64000, "--method", "exact", "--forbid", "keep=1", "--context", 500)["headroom"]
        self.assertIn("500 tokens", short["reason"])
        text = run("solve", "--table", path, "--budget", "1x", "--bytes", "nominal", "--method", "exact")
        self.assertIn("no headroom: 4 of 4 layers", text.stdout)
        self.assertIsNone(self.solve(path, 128000, "--method", "2d_uniform")["headroom"])
        # Two layers suffer from eviction and two from 4-bit K: only routing serves both.
        evicts, quantises = [1.02, 1.01, 1.01, 1.0, 0.02, 0.01, 0.01, 0.0], [1.1, 1.1, 0.02, 0.01, 1.0, 1.0, 0.01, 0.0]
        routed = self.solve(self.table("routed.json", [evicts, evicts, quantises, quantises]), 48000, "--method", "exact")
        self.assertEqual([self.CONFIGS[c] for c in routed["configs"]],
                         [(1.0, 4, 8)] * 2 + [(0.5, 16, 8)] * 2)
        self.assertTrue(routed["headroom"]["worth_routing"], routed["headroom"])
        self.assertIsNone(routed["headroom"]["simpler"])

    def test_text(self):
        path = self.table()
        done = run("solve", "--table", path, "--budget", 40000, "--bytes", "nominal", "--explain")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\n1d +infeasible")
        self.assertRegex(done.stdout, r"\ngap +")
        self.assertRegex(done.stdout, r"\npredicted +S [0-9.]+")
        for method in ("2d_uniform_free", "edges:2", "evict_hetero:exact", "2d:greedy"):
            self.assertIn("\n" + method, done.stdout)

    # Peak of a layer of one KV head of 8 values: n_keep and up to 128 tokens of slack, never more than t.
    @staticmethod
    def peak(config, t):
        keep, k, v = config
        held = min(max(1, math.ceil(keep * t - 1e-9)) + 128, t)

        def up(size):
            return -(-size // 64) * 64

        planes = [up(held * bits) for bits in (k, v)] + [up(held * 4) for bits in (k, v) if bits < 16]
        return sum(planes) + (up(4 * held) if keep < 1 else 0)

    def test_gpu_memory(self):
        path = self.table()
        gpu, weights, context, requests = 20 << 20, 15_000_000, 3000, 8
        options = ["solve", "--table", path, "--gpu-memory", "20MiB", "--weights-bytes", "15MB", "--context", context,
                   "--concurrency", requests]
        got = self.json(*options, "--method", "exact")
        memory = got["memory"]
        self.assertEqual(memory["gpu"], gpu)
        self.assertEqual(memory["weights"], weights)
        self.assertIsNone(memory["activations"])
        self.assertEqual(memory["per_request"], (gpu - weights) // requests)
        plan = [self.CONFIGS[c] for c in got["configs"]]
        self.assertEqual(got["peak"], sum(self.peak(c, context) for c in plan))
        self.assertLessEqual(got["peak"], memory["per_request"])
        self.assertEqual(memory["most_requests"], (gpu - weights) // got["peak"])

        def fits(t):
            return requests * sum(self.peak(c, t) for c in plan) <= gpu - weights

        self.assertTrue(fits(memory["longest_context"]))
        self.assertFalse(fits(memory["longest_context"] + 1))
        text = run(*options).stdout
        self.assertRegex(text, r"weights 15.0 MB \(estimate\)")
        self.assertIn("tokens (estimate)", text)
        # Too little for any plan, for the weights, and what is not told.
        self.refused(1, *options[:4], "15001kB", *options[5:], says=["peak", "bytes"])
        self.refused(1, *options[:4], "15MB", *options[5:], says="weights")
        self.refused(2, *options[:5], *options[7:], says="--weights-bytes")
        self.refused(2, *options[:7])
        self.refused(2, *options, "--budget", "2x")
        self.refused(2, *options, "--t-cache", "4000")
        self.refused(2, *options, "--model", MODEL)
        self.refused(2, "solve", "--table", path)
        self.refused(2, "solve", "--table", path, "--budget", "2x", "--concurrency", 2)
        for nonsense in ("14x", "25%", "-1GB", "nan", "0", "a lot", ""):
            self.refused(2, *options[:4], nonsense, *options[5:], says="--gpu-memory")
            self.refused(2, *options[:6], nonsense, *options[7:], says="--weights-bytes")
        for nonsense in ("0", "-5", "many", "1.5"):
            self.refused(2, *options[:8], nonsense, *options[9:])
            self.refused(2, *options[:10], nonsense)

    def test_model_must_be_the_tables(self):
        path = self.table()
        self.refused(3, "solve", "--table", path, "--gpu-memory", "1GB", "--context", 100, "--model", MODEL,
                     says="layers")
        other = self.table("other.json", model={"name": "Other", "architecture": "llama", "fingerprint": "a" * 64})
        self.refused(3, "solve", "--table", other, "--gpu-memory", "1GB", "--context", 100, "--model", MODEL,
                     says="Other")

    def test_bad_limits(self):
        path = self.table()
        bad = {
            2: [("--pin", "0"), ("--pin", "x=0"), ("--pin", "0=much"), ("--pin", ""), ("--forbid", "k"),
                ("--forbid", "bits=4"), ("--forbid", "keep<nan"), ("--forbid", ""), ("--method", "edges:0"),
                ("--method", "edges:3"), ("--method", "edges:x"), ("--method", "2d:lp")],
            3: [("--pin", "0=8", "0 to 7"), ("--pin", "4=0", "no layer 4"), ("--pin", "0=0.3/4/8", "keep 0.3, K4 V8"),
                ("--pin", "3-0=0", "reversed"), ("--pin", "0-2,1=0", "overlap"), ("--forbid", "3-1:k=4", "reversed"),
                ("--forbid", "0-1,1-2:k=4", "overlap"), ("--forbid", "9:k=4", "no layer 9"),
                ("--forbid", "k>=4", "layer 0"), ("--forbid", "2:keep<=1", "layer 2")],
        }
        for command in ("solve", "frontier"):
            budget = ["--budget", "2x"] if command == "solve" else []
            for code, cases in bad.items():
                for option, value, *says in cases:
                    if command == "frontier" and option == "--method":
                        option = "--methods"
                    self.refused(code, command, "--table", path, *budget, option, value, says=says)
        self.refused(3, "solve", "--table", path, "--budget", "2x", "--pin", "0=1", "--pin", "0=2",
                     says="layer 0 is pinned twice")
        self.refused(3, "solve", "--table", path, "--budget", "2x", "--target", "vllm-fp8", "--forbid", "1:k=16",
                     says=["layer 1", "vllm-fp8", "forbid 1:k=16"])

    def test_bad_tables(self):
        values = self.document()["values"]
        for bad in (float("nan"), float("inf"), -0.5, None, "x"):
            broken = [list(row) for row in values]
            broken[2][3] = bad
            for command in (["solve", "--budget", "2x"], ["frontier"]):
                self.refused(3, *command, "--table", self.table("bad.json", broken), says="bad.json")
        for bad in (0, -4096, 1.5, "x"):
            costs = [[1000] * 8 for _ in values]
            costs[1][2] = bad
            for command in (["solve", "--budget", "2x"], ["frontier"]):
                self.refused(3, *command, "--table", self.table("bad.json", bytes=costs), says=["bad.json", "1"])
        empty = self.document([])
        with open(self.path("empty.json"), "w", encoding="utf-8") as file:
            json.dump(empty, file)
        for command in (["solve", "--budget", "2x"], ["frontier"]):
            self.refused(3, *command, "--table", self.path("empty.json"), says="empty.json")

    def test_bytes_of_another_cache(self):
        values = self.document()["values"]
        costs = [[1000 * (l + 1) + 100 * c for c in range(8)] for l in range(4)]
        got = self.json("solve", "--table", self.table("costs.json", bytes=costs), "--budget", 12000, "--method",
                        "exact")
        self.assertEqual(got["bytes"], sum(costs[l][c] for l, c in enumerate(got["configs"])))
        expected = min(
            sum(row[c] for row, c in zip(values, plan)) for plan in self.plans()
            if sum(costs[l][c] for l, c in enumerate(plan)) <= 12000)
        self.assertAlmostEqual(got["predicted"], expected, places=12)

    def test_frontier(self):
        path, cells = self.table(), self.document()["values"]
        everything = self.plans()
        document = self.json("frontier", "--table", path, "--bytes", "nominal", "--methods", "exact,2d_uniform")
        self.assertEqual(document["full"], 128000)
        self.assertEqual({point["method"] for point in document["points"]}, {"exact", "2d_uniform"})
        for method in ("exact", "2d_uniform"):
            points = [point for point in document["points"] if point["method"] == method]
            self.assertGreaterEqual(len(points), 2)
            self.assertEqual(points, sorted(points, key=lambda point: point["bytes"]))
            for point in points:
                self.assertEqual(point["bytes"], sum(self.BYTES[c] for c in point["configs"]))
                self.assertAlmostEqual(point["predicted"], sum(row[c] for row, c in zip(cells, point["configs"])),
                                       places=12)
            for left, right in zip(points, points[1:]):
                self.assertLess(left["bytes"], right["bytes"])
                self.assertGreater(left["predicted"], right["predicted"])
        exact = [point for point in document["points"] if point["method"] == "exact"]
        self.assertEqual((exact[0]["bytes"], exact[-1]["predicted"]), (24000, 0))
        # One recipe for all: of the eight, those that no cheaper one beats.
        steps = []
        for size, total in sorted((4 * size, sum(row[c] for row in cells)) for c, size in enumerate(self.BYTES)):
            if not steps or total < steps[-1][1]:
                steps.append((size, total))
        uniform = [point for point in document["points"] if point["method"] == "2d_uniform"]
        self.assertEqual([point["bytes"] for point in uniform], [size for size, _ in steps])
        for point, (_, total) in zip(uniform, steps):
            self.assertAlmostEqual(point["predicted"], total, places=12)
        for point in exact:
            self.assertAlmostEqual(point["predicted"], self.best(cells, point["bytes"], everything), places=12)
        few = self.json("frontier", "--table", path, "--methods", "exact", "--points", 3)["points"]
        self.assertLessEqual(len(few), 3)
        pinned = self.json("frontier", "--table", path, "--methods", "exact,greedy", "--pin", "1=3")["points"]
        self.assertTrue(pinned and all(point["configs"][1] == 3 for point in pinned))
        methods = {point["method"] for point in self.json("frontier", "--table", path)["points"]}
        self.assertEqual(methods, {"greedy", "exact", "2d:exact", "2d_uniform", "2d_uniform_free", "edges:2"})
        uniform = self.json("frontier", "--table", path, "--target", "llama.cpp")["points"]
        self.assertNotIn("exact", {point["method"] for point in uniform})
        squares = self.json("frontier", "--table", path, "--objective", "S2", "--methods", "exact")
        self.assertEqual(squares["objective"], "S2")
        text = run("frontier", "--table", path, "--methods", "exact").stdout
        self.assertIn("predicted", text)
        self.assertEqual(text.count("\nexact "), len(self.json("frontier", "--table", path, "--methods", "exact")["points"]))
        self.refused(2, "frontier", "--table", path, "--methods", "magic")
        self.refused(2, "frontier", "--table", path, "--points", 1)
        self.refused(2, "frontier", "--table", path, "--objective", "luck")
        self.refused(2, "frontier")
        self.refused(3, "frontier", "--table", self.path("none.json"))
        two = self.table("two.json", values=cells[:2])
        self.assertNotIn("edges:2", {point["method"] for point in self.json("frontier", "--table", two)["points"]})


class Usage(Case):
    def test_usage(self):
        self.assertEqual(run("--version").returncode, 0)
        self.assertIn("calibrate", run("--help").stdout)
        for arguments in (["--version"], ["--help"], ["solve", "--help"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([LAMINA, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 4)
            self.assertEqual(done.stderr.splitlines(), [
                "lamina: error: cannot write the output (standard output): check the pipe or the disk"])
        self.assertIn("--budget", run("solve", "--help").stdout)
        self.refused(2)
        self.refused(2, "dance", says="dance")
        self.refused(2, "info")
        for arguments, line in (
                (["info", MODEL, "--frobnicate"], "not expected there (--frobnicate): run lamina info --help"),
                (["info"], "is required (model): run lamina info --help"),
                (["tokenize", MODEL], "exactly one of these is required (--text,--file): run lamina tokenize --help"),
                (["forward", MODEL, "--ids", "1", "--top", "0"],
                 "value 0 not in range 1 to 1000000 (--top): run lamina forward --help"),
                (["calibrate", MODEL, "--project", "p", "--ids", "1", "--text-file", "f"],
                 "excludes --text-file (--ids): run lamina calibrate --help")):
            self.assertEqual(self.refused(2, *arguments), "lamina: error: " + line)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
