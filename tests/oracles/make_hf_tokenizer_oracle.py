# SPDX-License-Identifier: Apache-2.0
r"""Writes tests/data/hf_tokenizers/*.json: small tokenizer.json files of the shapes that models use, and the ids
that PyPI tokenizers gives for many texts.

Needs PyPI tokenizers. Run: python tests/oracles/make_hf_tokenizer_oracle.py
Each file: {"name", "gguf_pre": the names under which GGUF files describe the same tokenizer, "tokenizer": the
tokenizer.json, "texts", "plain": ids with special tokens read as text, "special": ids with special tokens parsed (null
where they are the same), "decoded": the text of "plain", null where tokenizers
itself gives the added token "<N\u00f6>" back with a letter taken for a byte}. No tokens of a post-processor are in them.
"""
import json
import pathlib
import random
import sys

from make_spm_oracle import SENTENCES
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "hf_tokenizers"

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTIONS + (r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = CONTRACTIONS + (r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTIONS + "?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTIONS + "?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

TEXTS = [
    "", " ", "  ", "   x", "x   ", "\n", "\r\n", "\r", "\n\n\n", " \n \n ", "\t\tx", "a\r\n\r\nb", "a \n b", "  \r\n  x",
    "Hello, world!", "The year 2026 has 365 days, not 366.", "12345678901234567890", "1 22 333 4444 55555", "3.14159e-10",
    "don't I'll we've they're it's I'm he'd", "DON'T I'LL WE'VE THEY'RE IT'S I'M HE'D", "don'\u017f I'\u017f", "'s's 't't '", "x'S 'Tis",
    "na\u00efve caf\u00e9", "nai\u0308ve cafe\u0301", "\u0301leading mark", "a\u0301\u0327\u0323b", "\u1e9b\u0323", "\uac00\u1100\u1161\u11a8",
    "\ufb01ne \ufdfa \u2460\u2461 \u00bd \u2167 \u216b", "\u0661\u0662\u0663\u0664 \u0967\u0968 \uff11\uff12", "\u4e00\u4e8c\u4e09 \u6cb3\u6d41\u5728\u8001\u78e8\u574a\u524d",
    "\u5ddd\u306f\u53e4\u3044 \u6c34\u8eca\u5c0f\u5c4b\u3002", "\ud55c\uad6d\uc5b4\ub294 \uc5c6\ub2e4", "\u0905\u0928\u0941\u092d\u0935 \u0939\u093f\u0928\u094d\u0926\u0940",
    "\u05e2\u05d1\u05e8\u05d9\u05ea \u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\U0001f642\U0001f680", "\U0001f469\u200d\U0001f469\u200d\U0001f467 fam", "\U0001f1e9\U0001f1ea flag \u2764\ufe0f", "\U0001f44d\U0001f3fd",
    "\u00a0nbsp\u00a0\u00a0x", "\u3000wide\u3000", "\u2028line\u2029para\u0085nel", "\u200bzw\u200b", "\ufeffbom", "\u180emvs x", "\x0b\x0cvt ff", "\x00\x01\x1f\x7f\x1c",
    "def f(x):\n    return x**2 + 3.14  # note", "\tif (a && b) { c[i++] = '\\n'; }", "https://example.org/a?b=c&d=%20#frag", "snake_case camelCase ALLCAPS MixedCase",
    "!?!?...---___***", "\u2019curly\u2019 \u201cquotes\u201d \u2013 dashes\u2026", "$100 + \u20ac50 = \u00a3?", "a+b=c<d>e|f~g^h`i", "@user #tag 50%",
    "<|begin|>Hello<|end|>", "<|begin|><|end|>", " <|end|> ", "a<|end|>b", "<|begin", "<|begin|", "<|begin|>|>", "<|<|begin|>", "<tool>", "a<tool>b", "a <tool> b", "<tool><tool>",
    "<toolbox> <tool>box", "x <mask> y", "x  <mask>  y", "x \n<mask>\t y", "<mask><mask>", "<mask> <mask>", "<mask>", " <mask> ", "a<right>   b", "a   <right>b", "<N\u00f6>", "<No\u0308>", "x<N\u00f6>y",
    "<unk>", "<0x41><0x0A>", "\u2581", "\u2581a\u2581", " \u2581 ", "\u2581\u2581", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "the the the thethethe", "ABABABABABABA",
    "A-B--C - D", "one--two", "-", "--", "a,b;c:d.e", "1a2b3c", "a1b22c333", "\u00b2\u00b3 x\u00b2", "\U00020000\U0002a6d6 rare", "\U0010ffff\ue000",
    "Memory is cheap until you need a little more of it than you have.", "If the lamp is lit, the keeper is home;\nif the lamp is out, knock anyway.\n",
]

PARTS = ["the", "river", "a", "A", "Z", " ", "  ", "\n", "\r\n", "\t", "7", "42", "2026", "'s", "'LL", "\u00e9", "e\u0301", "\u0301", "\u4e2d", "\u6587", "\U0001f642", "\u200d", "\u00a0",
         "\u3000", ".", ",", "--", "-", "<|end|>", "<tool>", "<mask>", "<", "|>", "_", "\u0939", "\u0663", "\u00bd", "\u2581", "\u0130", "\u01c5", "\u02b0", "$", "\u3002", "\u0085", "x"]


def texts():
    rng = random.Random(7)
    return TEXTS + ["".join(rng.choice(PARTS) for _ in range(rng.randrange(2, 16))) for _ in range(90)]


def train(tokenizer, size=460, alphabet=None, **options):
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=alphabet or [], **options)
    tokenizer.train_from_iterator([line for line in SENTENCES.splitlines() if line], trainer)
    return tokenizer


def add_tokens(tokenizer, strips=False):
    tokenizer.add_special_tokens(["<|begin|>", "<|end|>"])
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("<toolbox>", normalized=False)])
    if strips:
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False, special=True)])
        tokenizer.add_tokens([AddedToken("<right>", rstrip=True, normalized=False), AddedToken("<N\u00f6>", normalized=True)])
    return tokenizer


def byte_level(steps, normalizer=None, **options):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = steps[0] if len(steps) == 1 else pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    return add_tokens(train(tokenizer, alphabet=pre_tokenizers.ByteLevel.alphabet()), **options)


def bytes_only():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def rebuilt(tokenizer, change):
    """The tokenizer after its JSON has been changed."""
    data = json.loads(tokenizer.to_str())
    change(data)
    return Tokenizer.from_str(json.dumps(data))


def llama3():
    def ignore_merges(data):
        # Tokens that no merge leads to are reached as whole words only.
        data["model"]["ignore_merges"] = True
        del data["model"]["merges"][-25:]
    split = pre_tokenizers.Split(Regex(LLAMA3), "isolated")
    return rebuilt(byte_level([split, bytes_only()]), ignore_merges)


def add_bytes(data):
    vocab = data["model"]["vocab"]
    first = 1 + max(vocab.values())
    vocab.update({f"<0x{byte:02X}>": first + byte for byte in range(256)})
    data["model"].update(byte_fallback=True, fuse_unk=True, unk_token="<unk>")


def spaced(normalizer, pre_tokenizer, strip, strips=False):
    """SentencePiece's way: U+2581 for spaces, bytes for characters that are no token."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    steps = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))
    train(tokenizer, size=420, limit_alphabet=90, special_tokens=["<unk>"])
    return add_tokens(rebuilt(tokenizer, add_bytes), strips)


def mixed():
    normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"[\r\n]+"), "\n"), normalizers.Strip()])
    return byte_level([pre_tokenizers.Split("--", "removed"), pre_tokenizers.Split(Regex(r"\p{Lu}"), "merged_with_next"),
                       pre_tokenizers.Split(",", "merged_with_previous"), pre_tokenizers.Punctuation("contiguous"),
                       pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.ByteLevel(add_prefix_space=True)],
                      normalizer, strips=True)


def unknown():
    """Neither bytes nor byte fallback: characters outside the alphabet are the unknown token, one each."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True), pre_tokenizers.CharDelimiterSplit("x"),
        pre_tokenizers.Metaspace(prepend_scheme="always")])
    tokenizer.decoder = decoders.Metaspace()
    return add_tokens(train(tokenizer, size=300, limit_alphabet=60, special_tokens=["<unk>"]))


def decoded(tokenizer, ids):
    text = tokenizer.decode(ids, skip_special_tokens=True)
    return None if tokenizer.token_to_id("<N\u00f6>") in ids and "\ufffd" in text else text


SHAPES = {
    "llama3": (["llama-bpe"], llama3),
    "qwen2": (["qwen2", "deepseek-r1-qwen"],
              lambda: byte_level([pre_tokenizers.Split(Regex(QWEN2), "isolated"), bytes_only()], normalizers.NFC())),
    "gpt2": (["gpt-2", "default"], lambda: byte_level([pre_tokenizers.ByteLevel(add_prefix_space=False)])),
    "smollm": (["smollm"], lambda: byte_level([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False)])),
    "gpt4o": ([], lambda: byte_level([pre_tokenizers.Split(Regex(GPT4O), "removed", invert=True), bytes_only()], strips=True)),
    "llama2": ([], lambda: spaced(normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]),
                                  None, strip=True, strips=True)),
    "metaspace_first": ([], lambda: spaced(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), strip=True)),
    "metaspace_split": ([], lambda: spaced(None, pre_tokenizers.Metaspace(prepend_scheme="always", split=True), strip=True)),
    "gemma": ([], lambda: spaced(normalizers.Replace(" ", "\u2581"), pre_tokenizers.Split(" ", "merged_with_previous"), strip=False)),
    "mixed": ([], mixed),
    "unknown": ([], unknown),
}


def main():
    OUT.mkdir(exist_ok=True)
    for name, (gguf_pre, make) in SHAPES.items():
        tokenizer = make()
        rows = texts()

        def ids(special):
            tokenizer.encode_special_tokens = not special
            return [tokenizer.encode(text, add_special_tokens=False).ids for text in rows]

        plain, special = ids(False), ids(True)
        document = {
            "name": name, "gguf_pre": gguf_pre, "tokenizer": json.loads(tokenizer.to_str()), "texts": rows, "plain": plain,
            "special": [b if a != b else None for a, b in zip(plain, special)],
            "decoded": [decoded(tokenizer, one) for one in plain],
        }
        path = OUT / f"{name}.json"
        path.write_text(json.dumps(document, ensure_ascii=True, separators=(",", ":")) + "\n")
        print(f"{path}: {len(rows)} texts, {path.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
