// Elements and texts. Everything is made by createElement and text nodes; nothing stored is ever read as HTML.

const head = JSON.parse(document.getElementById("head").textContent);
const hex = (code) => code.toString(16).toUpperCase().padStart(4, "0");
// The characters that control, reorder or have no shape, as the palace's own pages show them.
const UNSEEN = new RegExp(
  `[${head.unseen.map(([first, last]) => `\\u{${hex(first)}}-\\u{${hex(last)}}`).join("")}]`,
  "gu",
);
const EXCERPT = 420;
// The characters of a very long text that are searched for marks, and those that are shown before more is asked for.
const [MOST_MARKED, MOST_SHOWN] = [400_000, 200_000];

const ATTRIBUTES = ["class", "title", "dir", "id", "type", "datetime", "aria-label", "aria-current", "aria-hidden",
  "aria-pressed", "tabindex", "data-item", "data-id"];

const make = (name, attributes, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null) continue;
    if (key === "route") element.setAttribute("href", `#${value}`);
    else if (key === "click") element.addEventListener("click", value);
    else if (ATTRIBUTES.includes(key)) element.setAttribute(key, value);
    else throw new Error(`no attribute ${key}`);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
};

const unseenSign = (character) => {
  const code = `U+${hex(character.codePointAt(0))}`;
  return make("span", { class: "unseen", title: `the character ${code}` }, code);
};

// Appends a text, with what cannot be seen as its code; line breaks and tabs stay in a block of lines.
const appendVisible = (parent, text, isBlock) => {
  let plain = 0;
  for (const { 0: character, index } of text.matchAll(UNSEEN)) {
    if (isBlock && (character === "\n" || character === "\t")) continue;
    parent.append(text.slice(plain, index));
    plain = index + character.length;
    // A carriage return before a line break is the other half of it.
    if (!(isBlock && character === "\r" && text[plain] === "\n")) parent.append(unseenSign(character));
  }
  parent.append(text.slice(plain));
};

// Appends a text with some ranges of it marked.
const appendMarked = (parent, text, marks) => {
  let at = 0;
  for (const [start, end] of marks) {
    appendVisible(parent, text.slice(at, start), true);
    const mark = make("mark");
    appendVisible(mark, text.slice(start, end), true);
    parent.append(mark);
    at = end;
  }
  appendVisible(parent, text.slice(at), true);
};

const name = (text) => {
  // A name that imitates a mark of trust loses the sign that would make it a part of its own.
  const defused = text.includes("·") && /trust/i.test(text) ? text.replaceAll("·", "-") : text;
  const shown = make("bdi");
  appendVisible(shown, defused, false);
  return shown;
};

const plainName = (text) => text.replace(UNSEEN, "");
// The end of a path, which tells it from its neighbours in a narrow column.
const shortSource = (source) => {
  const parts = source.split("/");
  return parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : source;
};
const nameOf = (facet, value) => (value === null ? make("span", { class: "none" }, `no ${facet}`) : name(value));

const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const time = (exact) => {
  const at = new Date(exact);
  const shown = Number.isNaN(at.getTime()) ? exact : minute.format(at);
  return make("time", { datetime: exact, title: `${exact} (UTC)` }, shown);
};

const digits = new Intl.NumberFormat("en-US");
const count = (number, noun) => `${digits.format(number)} ${noun}${number === 1 ? "" : "s"}`;

const MEANINGS = {
  user: "the owner of this palace said it",
  agent: "an agent said it",
  tool: "a tool printed it",
  software: "an agent's harness added it",
  file: "it was read from a file",
};
const trust = (mark) => {
  const known = Object.hasOwn(MEANINGS, mark) ? mark : "unknown";
  const title = `trust: ${MEANINGS[known] ?? "its origin is unknown"}`;
  return make("span", { class: `trust trust-${known}`, title }, known);
};

// The ranges of a text whose tokens are among the words.
const findMarks = (text, words) => {
  const marks = [];
  if (words.size === 0) return marks;
  eachToken(text.slice(0, MOST_MARKED), false, (token, start, end) => {
    if (!words.has(token)) return;
    const last = marks.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else marks.push([start, end]);
  });
  return marks;
};

const isHalf = (text, at) => /[\udc00-\udfff]/.test(text[at] ?? "") || /^\p{M}/u.test(text.slice(at, at + 2));

// The nearest place to cut at which no character is cut, and if there is one near, no word.
const cutNear = (text, at) => {
  const space = text.slice(at, at + 40).search(/\s/);
  let place = space < 0 ? at : at + space;
  while (place < text.length && isHalf(text, place)) place += 1;
  return place;
};

// The part of a text that has the most marks.
const chooseExcerpt = (text, marks) => {
  if (text.length <= EXCERPT) return [0, text.length];
  let [best, most, end] = [0, 0, 0];
  marks.forEach(([start], at) => {
    while (end < marks.length && marks[end][1] <= start + EXCERPT) end += 1;
    if (end - at > most) [best, most] = [start, end - at];
  });
  const begin = Math.min(Math.max(best - EXCERPT / 6, 0), text.length - EXCERPT);
  const start = begin === 0 ? 0 : cutNear(text, Math.floor(begin));
  return [start, start + EXCERPT >= text.length ? text.length : cutNear(text, start + EXCERPT)];
};

const appendExcerpt = (parent, text, words) => {
  const marks = findMarks(text, words);
  const [start, end] = chooseExcerpt(text, marks);
  if (start > 0) parent.append(make("span", { class: "cut" }, "… "));
  const within = marks.filter((mark) => mark[0] >= start && mark[1] <= end);
  // Line breaks at the end would only be a gap below.
  appendMarked(parent, text.slice(start, end).trimEnd(), within.map((mark) => [mark[0] - start, mark[1] - start]));
  if (end < text.length) parent.append(make("span", { class: "cut" }, " …"));
};

// Appends a whole text; of a very long one the rest comes when it is asked for.
const appendWhole = (parent, text, words, from = 0) => {
  const end = text.length - from <= MOST_SHOWN * 1.2 ? text.length : cutNear(text, from + MOST_SHOWN);
  const part = text.slice(from, end);
  appendMarked(parent, part, findMarks(part, words));
  if (end === text.length) return;
  const more = make("button", { type: "button", class: "more", click: () => {
    more.remove();
    appendWhole(parent, text, words, end);
  } }, `Show more; ${digits.format(text.length - end)} characters are left`);
  parent.append(more);
};

// Addresses within the page.
const route = (parts) => new URLSearchParams(parts.filter(([, value]) => value !== undefined)).toString();
const drawerRoute = (id) => route([["d", id]]);
const sourceRoute = (source, id) => route([["open", source], ["at", id]]);
// A name that is null has a parameter of its own, because any text may be a name.
const facetPart = (facet, value) => (value === null ? ["no", facet] : [facet, value]);

const place = (drawer) => make("span", { class: "place" },
  make("a", { route: route([facetPart("wing", drawer.wing ?? null)]) }, nameOf("wing", drawer.wing ?? null)),
  drawer.room === undefined ? null : [
    make("span", { class: "slash", "aria-hidden": "true" }, "/"),
    make("a", { route: route([facetPart("wing", drawer.wing ?? null), ["room", drawer.room]]) }, name(drawer.room)),
  ]);

// The kind, where it says more than the speaker and the mark beside it.
const kindOf = ({ kind, speaker, trust: mark }) =>
  (kind === undefined || kind === speaker || kind === mark ? null : make("span", { class: "kind" }, name(kind)));

const cardHead = (drawer) => {
  const when = drawer.said_at ?? drawer.filed_at;
  return make("div", { class: "card-head" },
    place(drawer),
    when === undefined ? null : time(when),
    drawer.speaker === undefined ? null : make("span", { class: "speaker" }, name(drawer.speaker)),
    kindOf(drawer),
    trust(drawer.trust));
};

const linesOf = (drawer) => {
  const { line_start: first = 0, line_end: last = 0 } = drawer.span ?? {};
  if (first === 0) return null;
  return last > first ? `${first}–${last}` : `${first}`;
};

const sourceLink = (drawer) => {
  if (drawer.source === undefined) return null;
  const lines = linesOf(drawer);
  return make("a", { class: "source", route: sourceRoute(drawer.source, drawer.id) },
    name(drawer.source), lines === null ? null : make("span", { class: "lines" }, ` :${lines}`));
};

const damageOf = (drawer) => (drawer.damage ?? []).map((words) => {
  const warning = make("p", { class: "warning small", dir: "auto" }, "Damaged: ");
  appendVisible(warning, words, true);
  return warning;
});
