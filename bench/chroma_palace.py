"""Writes a Chroma folder like MemPalace's, with the real chromadb package, for measuring.

    python bench/chroma_palace.py FOLDER [DRAWERS] [DIMENSION]
"""

import random
import sys

import chromadb

WORDS = (
    "index palace drawer search memory decision release parser thread vector queue meeting budget garden "
    "recipe train letter planet music river window table plan review merge deploy error retry lock cache"
).split()


def text(rng: random.Random) -> str:
    """About 700 characters, the size of MemPalace's chunks."""
    return " ".join(rng.choice(WORDS) + str(rng.randrange(400)) for _ in range(75))


def main() -> None:
    folder = sys.argv[1]
    drawers = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    dimension = int(sys.argv[3]) if len(sys.argv) > 3 else 384
    rng = random.Random(7)
    client = chromadb.PersistentClient(folder)
    collection = client.get_or_create_collection("mempalace_drawers", metadata={"hnsw:space": "cosine"})
    for start in range(0, drawers, 1000):
        numbers = range(start, min(start + 1000, drawers))
        collection.add(
            ids=[f"drawer_w{n % 12}_r{n % 40}_{n:024x}" for n in numbers],
            documents=[text(rng) for _ in numbers],
            embeddings=[[rng.gauss(0, 1) for _ in range(dimension)] for _ in numbers],
            metadatas=[
                {
                    "wing": f"wing_{n % 12}",
                    "room": f"room_{n % 40}",
                    "source_file": f"/home/me/project/file_{n // 20}.md",
                    "chunk_index": n % 20,
                    "added_by": "mempalace",
                    "filed_at": f"2026-0{1 + n % 9}-1{n % 10}T10:00:00.123456",
                    "source_mtime": 1_760_000_000.5 + n,
                }
                for n in numbers
            ],
        )
    print(collection.count())


if __name__ == "__main__":
    main()
