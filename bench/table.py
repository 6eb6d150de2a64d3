"""Prints reports of `loci bench --json` side by side: python3 bench/table.py REPORT..."""
import json
import sys

NAMES = {"load": "bulk, batches of 1,000", "write": "one write", "query": "query, plain", "hybrid": "whole search",
         "get": "50 drawers by id", "list": "a page of 50", "facets": "drawers by room", "words": "words, plain",
         "recall": "recall of ten, plain", "size": "size", "memory": "peak memory of Loci", "memory plug-in": "peak memory of the plug-in"}
ORDER = ["load", "write", "query", "recall", "words", "hybrid", "get", "list", "facets", "size", "memory"]


def digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def main(paths):
    reports = [json.load(open(path, encoding="utf-8")) for path in paths]
    # The state that a palace in use is in; only the load was measured before.
    settled = [{**report["phases"][0]["figures"], **report["phases"][1]["figures"]} for report in reports]
    names = dict.fromkeys(name for figures in settled for name in figures)
    place = lambda name: next((at for at, stem in enumerate(ORDER) if name.split(" ")[0] == stem), len(ORDER))
    first = reports[0]
    print(f"{first['rows']:,} drawers of {first['dimension']} values, seed {first['seed']}, {first['workload']['rounds']} rounds, "
          f"{first['machine']['processor']} with {first['machine']['cores']} cores\n")
    print("| | " + " | ".join(report["backend"] for report in reports) + " |")
    print("|---" * (len(reports) + 1) + "|")
    for name in sorted(names, key=lambda name: (place(name), list(names).index(name))):
        stem, _, share = name.partition(" ")
        words = NAMES.get(name) or f"{stem}, filter keeps {share}"
        found = [figures.get(name) for figures in settled]
        unit = next(figure["unit"] for figure in found if figure)
        cells = ["–" if figure is None else digits(figure["median"]) if figure["low"] == figure["high"] else
                 f"{digits(figure['median'])} ({digits(figure['low'])}–{digits(figure['high'])})" for figure in found]
        print(f"| {words}{'' if unit == 'share' else ', ' + unit} | " + " | ".join(cells) + " |")


main(sys.argv[1:])
