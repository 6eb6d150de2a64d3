"""Reads packages without unpacking them, and writes clean passages, one a line, none twice."""
import io, os, re, sys, tarfile, zipfile, glob, html, unicodedata
ROOT = os.environ['TEXTS']
DL = ROOT + '/packages'

def pkg(pattern):
    g = sorted(glob.glob(DL + '/' + pattern))
    if not g:
        raise SystemExit('missing ' + pattern)
    return g[-1]

def deb_members(path, want):
    """yield (name, bytes) of files in data.tar of a .deb whose name satisfies want(name), sorted."""
    with open(path, 'rb') as f:
        assert f.read(8) == b'!<arch>\n'
        while True:
            h = f.read(60)
            if len(h) < 60:
                return
            name = h[:16].decode().strip().rstrip('/')
            size = int(h[48:58])
            if name.startswith('data.tar'):
                t = tarfile.open(fileobj=io.BytesIO(f.read(size)), mode='r:*')
                out = []
                for m in t:
                    if m.isfile() and want(m.name):
                        b = t.extractfile(m).read()
                        if m.name.endswith('.gz'):
                            import gzip
                            try:
                                b = gzip.decompress(b)
                            except Exception:
                                pass
                        out.append((m.name, b))
                out.sort(key=lambda x: x[0])
                yield from out
                return
            f.seek(size + (size & 1), 1)

def tar_members(path, want):
    t = tarfile.open(path, 'r:*')
    out = [(m.name, t.extractfile(m).read()) for m in t if m.isfile() and want(m.name)]
    out.sort(key=lambda x: x[0])
    return out

def zip_members(path, want):
    z = zipfile.ZipFile(path)
    return [(n, z.read(n)) for n in sorted(z.namelist()) if want(n)]

def members(path, want):
    if path.endswith('.deb'):
        return deb_members(path, want)
    if path.endswith(('.whl', '.zip')):
        return zip_members(path, want)
    return tar_members(path, want)

def txt(b):
    try:
        return b.decode('utf-8')
    except UnicodeDecodeError:
        return b.decode('latin-1')

_ws = re.compile(r'\s+')
_ctl = re.compile('[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ue000-\uf8ff\U000e0000-\U000fffff]')
_let = re.compile(r'[^\W\d_]+| +')
_non = re.compile('[^\x00-\u024f\u2010-\u2030]')
_q = str.maketrans({'\u2018': "'", '\u2019': "'", '\u201c': '"', '\u201d': '"', '\u00a0': ' ', '\u00ad': None, '\u200b': None, '\ufeff': None, '\u2028': ' '})
def clean(s):
    s = html.unescape(s).translate(_q)
    s = _ctl.sub('', s)
    return _ws.sub(' ', s).strip()

_boiler = re.compile(r'(?i)(permission is hereby granted|all rights reserved|without warranty|free documentation license|general public licen[sc]e|copyright \(c\)|copyright ©|licensed under|redistribution and use|creative commons attribution|©\s*\d{4})')
_word = re.compile(r"[A-Za-z][A-Za-z'-]*")
_sent = re.compile(r'(?<=[.!?…])["\')\]]*\s+(?=["\'(\[]?[A-Z0-9])')

def ok(s, minlen=20, minwords=4):
    if len(s) < minlen:
        return False
    w = _word.findall(s)
    if len(w) < minwords:
        return False
    letters = sum(map(len, _let.findall(s)))
    if letters < 0.78 * len(s):
        return False
    if len(_non.findall(s)) > 0.03 * len(s):
        return False
    if sum(map(len, w)) / len(w) > 11:
        return False
    if re.search(r'[{}\\]|::|->|=>|<[a-z/]|\$\(|\(\)|==|https?://\S{60,}', s):
        return False
    if _boiler.search(s):
        return False
    return True

def split(s, maxlen=1000):
    """cut a long passage at sentence ends into pieces of at most maxlen characters."""
    if len(s) <= maxlen:
        return [s]
    parts, cur = [], ''
    for x in _sent.split(s):
        while len(x) > maxlen:
            k = x.rfind(' ', 0, maxlen)
            if k < 200:
                k = maxlen
            if cur:
                parts.append(cur); cur = ''
            parts.append(x[:k].strip()); x = x[k:].strip()
        if cur and len(cur) + 1 + len(x) > maxlen:
            parts.append(cur); cur = x
        else:
            cur = (cur + ' ' + x).strip()
    if cur:
        parts.append(cur)
    return parts

def join_turns(turns, maxlen=1000):
    """greedily join consecutive turns into passages of at most maxlen characters."""
    out, cur = [], ''
    for t in turns:
        if not t:
            continue
        if cur and len(cur) + 1 + len(t) > maxlen:
            out.append(cur); cur = t
        else:
            cur = (cur + ' ' + t).strip()
    if cur:
        out.append(cur)
    return out

def write(source, passages, minlen=20, minwords=4, extra=None):
    seen, n, size = set(), 0, 0
    p = ROOT + '/' + source + '.txt'
    with open(p + '.tmp', 'w', encoding='utf-8') as f:
        for s in passages:
            for x in split(clean(s)):
                if not ok(x, minlen, minwords) or (extra and not extra(x)):
                    continue
                k = re.sub(r'[^a-z0-9]+', ' ', x.lower()).strip()
                if k in seen:
                    continue
                seen.add(k)
                f.write(x + '\n'); n += 1; size += len(x.encode()) + 1
    os.replace(p + '.tmp', p)
    print(source, n, 'passages', round(size / 1e6, 2), 'MB')
