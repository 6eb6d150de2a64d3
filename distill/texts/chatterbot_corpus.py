"""chatterbot-corpus wheel (BSD-3): English conversations, one per passage. Simple YAML subset parser."""
from passages import *
import re
def unq(s):
    s = s.strip()
    if len(s) > 1 and s[0] == s[-1] and s[0] in '"\'':
        s = s[1:-1].replace("''", "'") if s[0] == "'" else s[1:-1].replace('\\"', '"')
    return s
def gen():
    for n, b in zip_members(pkg('chatterbot_corpus-*.whl'), lambda n: '/english/' in n and n.endswith('.yml')):
        conv, inconv = [], False
        convs = []
        for line in txt(b).splitlines():
            if re.match(r'conversations:', line): inconv = True; continue
            if not inconv: continue
            m = re.match(r'\s*- - (.*)', line)
            if m:
                conv = [unq(m.group(1))]; convs.append(conv); continue
            m = re.match(r'\s+- (.*)', line)
            if m and convs:
                conv.append(unq(m.group(1))); continue
            if line.strip() and convs and not line.lstrip().startswith('#'):
                conv[-1] = unq((conv[-1] + ' ' + line.strip()))
        for c in convs:
            yield from join_turns([x if x[-1:] in '.!?,;:' else x + '.' for x in map(str.strip, c) if x])
write('chatterbot_corpus', gen(), minwords=3)
