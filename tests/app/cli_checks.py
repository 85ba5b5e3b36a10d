#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the `lamina` command as its users meet it. Standard library only.

    cli_checks.py LAMINA DEMO_MODEL.gguf TESTS_DATA
"""
import json
import os
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
        if arguments[0:1] != ("solve",):
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
