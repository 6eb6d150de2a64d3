"""The records the folders hold: every vector, text and metadata value follows from a number."""

import hashlib
import struct

DIMENSION = 8

WORDS = (
    "harbour ledger anchor tar barrel bell winter ferry engine attic notebook captain storm roof paint spring "
    "vote soup crossing sound frozen painter chess magazine brass evening crew boathouse"
).split()


def vector(number, version=0, dimension=DIMENSION):
    """Floats between -1 and 1 that are exact as 32-bit floats, so that nothing is rounded on the way in."""
    digest = hashlib.shake_128(f"{number}/{version}".encode()).digest(dimension * 2)
    return [half / 32768 for half in struct.unpack(f"<{dimension}h", digest)]


def packed(floats):
    return struct.pack(f"<{len(floats)}f", *[float(number) for number in floats])


def text(number, version=0):
    digest = hashlib.shake_128(f"text {number}/{version}".encode()).digest(9)
    return f"Record {number}, version {version}: " + " ".join(WORDS[byte % len(WORDS)] for byte in digest)


def metadata(number, version=0):
    return {"number": number, "half": number / 2, "even": number % 2 == 0, "version": f"v{version}"}


def identifier(number):
    return f"record-{number:05}"


ODD_IDS = [
    "it's \"quoted\" `id`",
    "two\nlines\tand a tab",
    "引き出し-抽屉",
    "🏛️👩‍👩‍👧",
    "\u202bמגירה عربية\u202c",
    "e\u0301 is not \u00e9",
    "x" * 500,
    "%s; DROP TABLE embeddings; --",
    " spaces around ",
    "nul\0inside",
]

ODD_DOCUMENTS = [
    None,
    "",
    " ",
    "línea uno\r\nlínea dos\n",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 — ∑ 🏛️ ع",
    "nul\0inside",
    "a" * 20_000,
]

ODD_METADATA = [
    None,
    {"int": 3, "float": 3.0, "yes": True, "no": False},
    {"past": 2**53 + 1, "below": -(2**53) - 1, "most": 2**63 - 1, "least": -(2**63)},
    {"tenth": 0.1, "tiny": 5e-324, "large": 1.7e308, "minus": -0.0},
    {"empty": "", "space": " ", "lines": "a\nb", "nul": "a\0b"},
    {"$dollar": "d"},
    {"a.b": 1, "ключ": "значение", "鍵": 2, "with space": True, 'quo"te': "'"},
    {"one": "1", "two": "true", "three": "3.0", "four": "null"},
    {"kept": 1, "nothing": None},
    {"words": ["a", "b"], "numbers": [1, 2, 3], "floats": [0.5, 3.0], "truths": [True, False]},
]


def odd():
    """(id, document, metadata) of the odd records, one oddity each."""
    for number, identifier_ in enumerate(ODD_IDS):
        yield identifier_, text(number), metadata(number)
    for number, document in enumerate(ODD_DOCUMENTS):
        yield f"document-{number}", document, {"number": number}
    for number, values in enumerate(ODD_METADATA):
        yield f"metadata-{number}", text(number), values
    yield "bare", None, None
