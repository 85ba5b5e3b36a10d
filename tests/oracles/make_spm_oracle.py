# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/spm_tokenizer.json: small SentencePiece BPE models and the ids they give.

Needs PyPI sentencepiece. Run: python tests/oracles/make_spm_oracle.py
Each model is listed as GGUF files list one (tokens, scores, types, add_space_prefix) with the ids that
sentencepiece gives for every text. Training is deterministic, so the file can be made again.
"""
import io
import json
import pathlib
import sys

import sentencepiece

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "spm_tokenizer.json"

SENTENCES = """
The river bends twice before it reaches the old mill, and nobody remembers why.
She counted 17 geese, 42 ducks and one very angry swan on the far shore.
A cache keeps what was read lately, because what was read lately is read again.
If the lamp is lit, the keeper is home; if the lamp is out, knock anyway.
Memory is cheap until you need a little more of it than you have.
It doesn't matter, they've said, but it's what we're here for, isn't it?
def area(width, height): return width * height  # square metres
for row in table: print(row["name"], row["value"] + 1)
The naïve café owner's résumé listed three languages and a déjà vu.
Der Müller mahlt das Korn, und die Kinder hören die Mühle über den Fluß hinweg.
El niño comió piñas mañana y tarde; la señora se rió.
Большая река течёт медленно, а маленький ручей шумит.
河流在老磨坊前转了两个弯。人们说这里的水很清。
川は古い水車小屋の前で二度曲がる。
Numbers: 0 1 2 3 4 5 6 7 8 9 10 11 12 100 1000 2024 3.14159 2.71828 1e-9.
Brackets (round), [square], {curly} and <pointed>; slashes / and \\ too.
Once the water was low enough, the stones of the ford could be seen again.
They walked along the water, talking of the weather, the harvest and the war.
A token is a piece of text; a text is a list of tokens; the list is what the model reads.
When the engineer moved the slider, the plan was solved again before the next frame was drawn.
The quick repair held for years, which is to say that it was not a quick repair at all.
Every layer has its own length and its own precision, and every byte is counted once.
"""

TEXTS = [
    "", " ", "  ", "   ", "a", " a", "a ", "  two  spaces  inside  ", "The river bends twice.",
    "the the the thethethe", "Memory is cheap until you need more", "don't can't it's they've",
    "naïve café résumé", "Größe über Fluß", "mañana piñata", "Большая река", "河流在老磨坊", "川は古い",
    "한국어는 없다", "emoji 🙂🚀 and 👩‍👩‍👧‍👦 families", "e\u0301 combining n\u0303", "tab\there", "line\nbreak\r\nand\n\nmore",
    "\n", "\t", "1234567890", "3.14159e-10", "x = y * (z + 1)  # note", "<unk>", "<s>hello</s>", "a<s>b", "</s>",
    "<tool>", "a<tool>b", "a <tool> b", "<tool><tool>", "<tool>the river", "<tool", "<<tool>>", "<toolbox>", "a<toolbox>b",
    "\u2581", "\u2581the\u2581river", "<0x41>", "<0x0A>", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\u00a0nbsp\u2003em\u200bzero", "\ufeffbom", "\U0010ffff\U000e0001", "\x01\x02\x7f", "…—–“”’", "ſtraße ﬁ ①②③ Ⅷ ½",
    "ﷺ", "क्षेत्र में", "העולם שלום", "ABC abc AbC", "the\u0301", " the", "the ", "   the", "the   ", "?!?!...---",
    "Zażółć gęślą jaźń", "\u3000full width\uff01", "A token is a piece of text; a text is a list of tokens.",
]


def train(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for line in SENTENCES.splitlines() if line), model_writer=model,
        model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False,
        split_digits=True, minloglevel=2, num_threads=1, **options)
    return model.getvalue()


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def to_varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def mark_unused(model, wanted):
    """Gives the pieces whose index satisfies `wanted` the type UNUSED (field 3 of field 1 of the model)."""
    out, at, index = b"", 0, 0
    while at < len(model):
        begin = at
        key, at = varint(model, at)
        assert key & 7 == 2, "the model's fields are messages"
        size, at = varint(model, at)
        body = model[at:at + size]
        at += size
        if key >> 3 != 1:
            out += model[begin:at]
            continue
        if wanted(index):
            body += b"\x18\x05"
        out += to_varint(key) + to_varint(len(body)) + body
        index += 1
    return out


def describe(name, proto, user, add_space_prefix):
    model = sentencepiece.SentencePieceProcessor(model_proto=proto)

    def kind(i):
        if model.is_unknown(i):
            return 2
        if model.is_control(i):
            return 3
        if model.id_to_piece(i) in user:
            return 4
        if model.is_unused(i):
            return 5
        return 6 if model.is_byte(i) else 1

    size = model.get_piece_size()
    ids = [model.encode(text) for text in TEXTS]
    return {
        "name": name,
        "add_space_prefix": add_space_prefix,
        "tokens": [model.id_to_piece(i) for i in range(size)],
        "scores": [model.get_score(i) for i in range(size)],
        "types": [kind(i) for i in range(size)],
        "unknown_id": model.unk_id(),
        "ids": ids,
        "decoded": [model.decode(one) for one in ids],
    }


def main():
    user = ["<tool>", "<toolbox>", "\u2581\u2581"]
    models = []
    for prefix in (True, False):
        model = train(vocab_size=640, byte_fallback=True, character_coverage=0.98, add_dummy_prefix=prefix,
                      user_defined_symbols=user)
        models.append(describe(f"bytes, prefix {prefix}", model, user, prefix))
    model = train(vocab_size=400, byte_fallback=False, character_coverage=0.98, add_dummy_prefix=True)
    models.append(describe("no bytes", model, [], True))
    # Of the merged pieces, which come after the bytes, every third may not be given out.
    model = mark_unused(train(vocab_size=640, byte_fallback=True, character_coverage=0.98, add_dummy_prefix=True),
                        lambda index: 259 <= index < 480 and index % 3 == 0)
    models.append(describe("unused pieces", model, [], True))
    OUT.write_text(json.dumps({
        "about": "sentencepiece BPE models (see tests/oracles/make_spm_oracle.py) and their ids; decoded is what "
                 "sentencepiece makes of the ids, where an unknown token is ' \u2047 '",
        "texts": TEXTS, "models": models}, ensure_ascii=True, indent=None, separators=(",", ":")) + "\n")
    print(f"{OUT}: {len(models)} models, {len(TEXTS)} texts, {OUT.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
