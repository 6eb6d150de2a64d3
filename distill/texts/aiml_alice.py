"""aiml wheel (ALICE / standard AIML set, GPL): question pattern + answer template pairs without recursion."""
from passages import *
import re
def low(p):
    return p[0] + p[1:].lower()
def gen():
    for n, b in zip_members(pkg('aiml-0*.whl'), lambda n: n.endswith('.aiml')):
        s = txt(b)
        if 'General Public' not in s[:1500] or re.search(r'sex|german|dev-|reduction\.names|pickup', n): continue  # only files with the GPL header
        for m in re.finditer(r'<category>(.*?)</category>', s, re.S):
            c = m.group(1)
            p = re.search(r'<pattern>(.*?)</pattern>', c, re.S); t = re.search(r'<template>(.*?)</template>', c, re.S)
            if not p or not t: continue
            p, t = clean(p.group(1)), t.group(1)
            that = re.search(r'<that>(.*?)</that>', c, re.S)
            t = re.sub(r'<think>.*?</think>', ' ', t, flags=re.S)
            t = re.sub(r'<set name="[^"]*">(.*?)</set>', r'\1', t, flags=re.S)
            t = re.sub(r'<srai>.*?</srai>|<sr\s*/>', ' ', t, flags=re.S)
            t = re.sub(r'<bot name="(\w+)"\s*/>', lambda k: {'name': 'Alice', 'master': 'my creator'}.get(k.group(1), 'it'), t)
            if re.search(r'<(condition|star|get|system|javascript|that|input|date|person|gossip)', t): continue
            lis = re.findall(r'<li>(.*?)</li>', t, re.S)
            opts = lis if lis else [t]
            q = '' if re.search(r'[*_<]', p) else low(p).strip()
            if that and not re.search(r'[*_<]', that.group(1)):
                q = low(clean(that.group(1))) + '. ' + q
            for o in opts:
                o = clean(re.sub(r'<[^>]+>', ' ', o))
                if len(o) < 15: continue
                yield (q + ('? ' if re.match(r'(?i)(what|who|how|why|where|when|do|are|is|can|did|does|will|would|should|have)\b', q) else '. ') if q else '') + o
write('aiml_alice', gen())
