"""wordnet-base deb: glosses and examples from data.{noun,verb,adj,adv}."""
from passages import *
import re
def gen():
    for name, b in deb_members(pkg('wordnet-base_*.deb'), lambda n: re.search(r'/data\.(noun|verb|adj|adv)$', n)):
        for line in txt(b).splitlines():
            if line.startswith('  ') or '|' not in line:
                continue
            head, gloss = line.split('|', 1)
            f = head.split()
            n = int(f[3], 16)
            words = []
            for i in range(n):
                w = re.sub(r'\([a-z]+\)$', '', f[4 + 2 * i]).replace('_', ' ')
                if w not in words: words.append(w)
            gloss = gloss.strip()
            ex = re.findall(r'"([^"]+)"', gloss)
            d = re.sub(r'\s*;?\s*"[^"]*"[^;]*', '', gloss).strip(' ;')
            s = ', '.join(words[:6]) + ': ' + d + '.'
            for e in ex:
                e = e.strip()
                if len(e) > 5:
                    e = e[0].upper() + e[1:]
                    s += ' ' + e + ('' if e[-1] in '.!?' else '.')
            yield s
write('wordnet', gen(), minwords=3)
