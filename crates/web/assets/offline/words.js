// Words of texts and questions: folded for case, accents and plurals, and scripts without spaces in pairs of characters.

const ASCII_WORD = /[A-Za-z0-9]+(?:'[A-Za-z0-9]+)*/g;
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*(?:['’][\p{L}\p{N}][\p{L}\p{N}\p{M}]*)*/gu;
const DENSE_RUN =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu;
const SETTLED = /^[\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3]$/;
// Marks that people leave out: diacritics, Hebrew points, Arabic vowel signs; soft hyphens, joiners, selectors.
const STRIPPED = new RegExp(
  "[\\u0300-\\u036f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f" +
    "\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7" +
    "\\u0610-\\u061a\\u0640\\u064b-\\u065f\\u0670\\u06d6-\\u06dc\\u06df-\\u06e4\\u06e7\\u06e8\\u06ea-\\u06ed" +
    "\\u00ad\\u034f\\u200d\\u2060\\ufeff\\ufe00-\\ufe0f]",
  "g",
);
const LONGEST_WORD = 64;
const MOST_TOKENS = 60;

const isAscii = (text) => !/[^\x00-\x7f]/.test(text);

// Folds case and accents of any text; words and the spaces between them stay.
const fold = (text) => {
  const low = text.toLowerCase();
  if (isAscii(low)) return low;
  const bare = text.normalize("NFKD").replace(STRIPPED, "").toLowerCase().replace(STRIPPED, "");
  // Greek writes sigma differently at the end of a word. Recomposing brings Hangul back into one character each.
  return bare.replaceAll("ς", "σ").normalize("NFC");
};

// English plurals, so that "beans" finds "bean".
const singular = (word) => {
  if (word.length < 4 || !word.endsWith("s") || !/^[a-z]+$/.test(word) || /(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith("ies")) return word.length > 4 ? `${word.slice(0, -3)}y` : word;
  return /(?:ch|sh|x|ss|zz)es$/.test(word) ? word.slice(0, -2) : word.slice(0, -1);
};

const toToken = (word) => {
  const bare = fold(word).replace(/['’]s$/, "").replace(/['’]/g, "");
  return singular(bare).slice(0, LONGEST_WORD);
};

const foldedWords = new Map();
const tokenOf = (word) => {
  const known = foldedWords.get(word);
  if (known !== undefined) return known;
  const token = toToken(word);
  // Most words of a palace are few; identifiers and hashes are many, and are not met again.
  if (foldedWords.size < 200_000) foldedWords.set(word, token);
  return token;
};

// Calls `take(token, start, end)` for the tokens of a text. To index, every character of a dense script is a token and
// every pair of them; to ask, the pairs are, and a character only where it stands alone.
const eachToken = (text, asks, take) => {
  if (isAscii(text)) {
    for (const { 0: word, index } of text.matchAll(ASCII_WORD)) take(tokenOf(word), index, index + word.length);
    return;
  }
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (isAscii(word)) {
      take(tokenOf(word), index, index + word.length);
      continue;
    }
    let at = 0;
    for (const { 0: run, index: begin } of word.matchAll(DENSE_RUN)) {
      takeSpaced(word, at, begin, index, take);
      takeDense(run, index + begin, asks, take);
      at = begin + run.length;
    }
    takeSpaced(word, at, word.length, index, take);
  }
};

const takeSpaced = (word, start, end, offset, take) => {
  if (start === end) return;
  const token = tokenOf(start === 0 && end === word.length ? word : word.slice(start, end));
  if (token) take(token, offset + start, offset + end);
};

const takeDense = (run, offset, asks, take) => {
  let [before, beforeAt, at, alone] = ["", 0, offset, true];
  for (const character of run) {
    const folded = SETTLED.test(character) ? character : fold(character);
    const end = at + character.length;
    if (before) {
      take(before + folded, beforeAt, end);
      alone = false;
    }
    if (!asks) take(folded, at, end);
    [before, beforeAt, at] = [folded, at, end];
  }
  if (asks && alone && before) take(before, beforeAt, at);
};

// Joins words around an apostrophe in folded text, as tokens do.
const joinApostrophes = (folded) => folded.replace(/(?<=[\p{L}\p{N}])['’](?=[\p{L}\p{N}])/gu, "");
const foldForPhrases = (text) => joinApostrophes(fold(text));

// The pattern of a phrase in folded text: its words with anything between them that is no word.
const phrasePattern = (phrase) => {
  const words = foldForPhrases(phrase).match(/[\p{L}\p{N}\p{M}]+/gu);
  if (!words) return null;
  // Letters, digits and marks mean nothing else in a pattern.
  const body = words.join("[^\\p{L}\\p{N}]+");
  const isDense = (word) => new RegExp(DENSE_RUN.source, "u").test(word);
  const before = isDense(words[0]) ? "" : "(?<![\\p{L}\\p{N}\\p{M}])";
  const behind = isDense(words.at(-1)) ? "" : "(?![\\p{L}\\p{N}\\p{M}])";
  return new RegExp(before + body + behind, "u");
};

// Reads a question: its tokens, its phrases, and the word that may still be typed.
const readQuestion = (question) => {
  const [tokens, phrases] = [new Set(), []];
  let open = "";
  for (const { 1: quoted, 2: word, index } of question.matchAll(/["“”„«»]([^"“”„«»]*)["“”„«»]?|([^\s"“”„«»]+)/gu)) {
    const pattern = quoted === undefined ? null : phrasePattern(quoted);
    if (pattern) phrases.push(pattern);
    let last = "";
    eachToken(quoted ?? word, true, (token) => {
      tokens.add(token);
      last = token;
    });
    open = quoted === undefined && index + word.length === question.length ? last : "";
  }
  return { tokens: [...tokens].slice(0, MOST_TOKENS), phrases, open: open.length >= 3 ? open : "" };
};
