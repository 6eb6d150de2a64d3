// One drawer, a source from its beginning to its end, and the wings.

const PART = 100;
const MANY_ROOMS = 24;
const MANY_SOURCES = 12;

const title = (...words) => make("h1", { tabindex: "-1" }, words);
const row = (term, ...values) => [make("dt", {}, term), make("dd", { dir: "auto" }, values)];
const optionalRow = (term, value, show) => (value === undefined ? [] : row(term, show(value)));

const valueText = (value) => {
  const shown = make("span");
  appendVisible(shown, typeof value === "string" ? value : JSON.stringify(value), true);
  return shown;
};

const drawerView = (drawer, words) => {
  const text = drawer.text ?? "";
  const body = make("div", { class: "drawer-text", dir: "auto" });
  if (text) appendWhole(body, text, words);
  else body.append(make("span", { class: "muted" }, "no text"));
  const { door, origin, by } = drawer.provenance ?? {};
  const about = make("dl", { class: "kv about" },
    row("Id", name(drawer.id)),
    row("Filed under", place(drawer)),
    drawer.source === undefined ? [] : row("Source", sourceLink(drawer)),
    optionalRow("Speaker", drawer.speaker, name),
    optionalRow("Kind", drawer.kind, name),
    optionalRow("Said", drawer.said_at, time),
    optionalRow("Filed", drawer.filed_at, time),
    row("Trust", trust(drawer.trust), ` ${MEANINGS[drawer.trust] ?? "its origin is unknown"}`),
    door === undefined ? [] : row("Came through", name([door, origin, by].filter(Boolean).join(", "))));
  const noted = Object.entries(drawer.metadata ?? {});
  return make("article", { class: "drawer", "aria-label": "Drawer" },
    title("Drawer"),
    cardHead(drawer), damageOf(drawer), body,
    drawer.source === undefined ? null : make("p", {},
      make("a", { class: "button", route: sourceRoute(drawer.source, drawer.id) }, "Read it in its source")),
    about,
    noted.length === 0 ? null : make("section", {}, make("h2", {}, "Metadata"),
      make("dl", { class: "kv about" }, noted.map(([key, value]) => row(name(key), valueText(value))))));
};

// Whether a drawer goes on with what the one before it said.
const goesOn = (before, drawer) => before !== undefined
  && ["speaker", "kind", "said_at", "trust"].every((field) => before[field] === drawer[field])
  && before.metadata?.message_id === drawer.metadata?.message_id;

const passage = (before, drawer, chosen, words) => {
  const lines = linesOf(drawer);
  const isFile = drawer.kind === "file";
  const body = make("div", { class: isFile ? "said lines-of-file" : "said", dir: "auto" });
  appendWhole(body, drawer.text ?? "", words);
  const head = goesOn(before, drawer) ? null : make("div", { class: "card-head" },
    drawer.speaker === undefined ? null : make("span", { class: "speaker" }, name(drawer.speaker)),
    drawer.said_at === undefined ? null : time(drawer.said_at),
    kindOf(drawer),
    trust(drawer.trust));
  const label = lines === null ? "drawer" : `:${lines}`;
  return make("li", { class: `passage trust-edge-${trust(drawer.trust).textContent}${drawer.id === chosen ? " here" : ""}`,
    "data-item": "", "data-id": drawer.id },
  make("a", { class: "place-mark num", route: drawerRoute(drawer.id), title: "this drawer", "aria-label": `The drawer, ${
    lines === null ? plainName(drawer.id) : `lines ${lines}`}` }, label),
  make("div", {}, head, damageOf(drawer), body));
};

// A source in its order; it begins a little before the drawer that was asked for, and more comes on demand.
const sourceView = (source, chosen, words) => {
  const listed = listSource(source).map((number) => drawers[number]);
  if (listed.length === 0) return null;
  const at = Math.max(listed.findIndex((drawer) => drawer.id === chosen), 0);
  let [first, last] = [Math.max(at - PART / 4, 0), Math.min(Math.max(at - PART / 4, 0) + PART, listed.length)];
  const list = make("ol", { class: "transcript", "aria-label": "The source in order" });
  const render = (from, to) => listed.slice(from, to).map((drawer, index) =>
    passage(listed[from + index - 1], drawer, chosen, words));
  list.append(...render(first, last));
  const moreButton = (side, click) => make("button", { type: "button", class: "more", click }, side);
  const earlier = make("div", { class: "more-line" });
  const later = make("div", { class: "more-line" });
  const offer = () => {
    earlier.replaceChildren(...(first === 0 ? [] : [moreButton(`${count(first, "drawer")} earlier`, () => {
      const [from, height] = [Math.max(first - PART, 0), document.documentElement.scrollHeight];
      list.prepend(...render(from, first));
      first = from;
      offer();
      // What was read stays where it is.
      scrollBy(0, document.documentElement.scrollHeight - height);
    })]));
    later.replaceChildren(...(last === listed.length ? [] : [moreButton(`${count(listed.length - last, "drawer")} later`, () => {
      const to = Math.min(last + PART, listed.length);
      list.append(...render(last, to));
      last = to;
      offer();
    })]));
  };
  offer();
  const { wing = null } = listed[at];
  return make("article", { class: "source-view", "aria-label": "Source" },
    make("div", { class: "page-head" }, title(name(source)), make("span", { class: "muted" }, count(listed.length, "drawer"))),
    make("p", { class: "small" }, make("a", { route: route([facetPart("wing", wing)]) }, nameOf("wing", wing)), " · ",
      make("a", { route: route([["source", source]]) }, "Search in this source")),
    earlier, list, later);
};

// The names of a facet within a wing, with counts, largest first.
const countWithin = (facet, numbers) => {
  const counts = new Map();
  for (const number of numbers) {
    const value = facets[facet].names[facets[facet].of[number]];
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
};

const sourceLine = ([source, held]) => make("li", {},
  make("a", { route: sourceRoute(source), title: plainName(source) }, name(shortSource(source))),
  make("span", { class: "num" }, digits.format(held)));

const wingCard = (wing, numbers) => {
  const rooms = countWithin("room", numbers);
  const sources = countWithin("source", numbers);
  const newest = numbers.reduce((best, number) => (times[number] > times[best] ? number : best), numbers[0]);
  const when = drawers[newest].said_at ?? drawers[newest].filed_at;
  const roomTag = ([room, held]) => make("a", { class: "tag", route: route([facetPart("wing", wing), ["room", room]]) },
    name(room), ` ${digits.format(held)}`);
  const list = make("ul", { class: "source-list" }, sources.slice(0, MANY_SOURCES).map(sourceLine));
  const more = sources.length <= MANY_SOURCES ? null : make("button", { type: "button", class: "link", click: () => {
    list.append(...sources.slice(MANY_SOURCES).map(sourceLine));
    more.remove();
    list.children[MANY_SOURCES].querySelector("a").focus();
  } }, `${count(sources.length - MANY_SOURCES, "more source")}`);
  return make("section", { class: "panel wing-card", "data-item": "" },
    make("h2", {}, make("a", { route: route([facetPart("wing", wing)]) }, nameOf("wing", wing))),
    make("p", { class: "small muted" }, count(numbers.length, "drawer"), when === undefined ? null : [", newest ", time(when)]),
    rooms.length === 0 ? null : make("div", { class: "room-tags" }, rooms.slice(0, MANY_ROOMS).map(roomTag),
      rooms.length <= MANY_ROOMS ? null : make("a", { class: "small", route: route([facetPart("wing", wing)]) },
        `${count(rooms.length - MANY_ROOMS, "more room")}`)),
    sources.length === 0 ? null : make("details", {},
      make("summary", { class: "small" }, count(sources.length, "source")), list, more));
};

const wingsView = () => {
  const wings = new Map();
  facets.wing.of.forEach((name, number) => {
    const list = wings.get(name);
    if (list) list.push(number);
    else wings.set(name, [number]);
  });
  const sorted = [...wings].sort((a, b) => b[1].length - a[1].length);
  return make("div", { class: "wings" },
    make("div", { class: "page-head" }, title("Wings"), make("span", { class: "muted" },
      `${count(drawers.length, "drawer")} in ${count(sorted.length, "wing")}`)),
    make("div", { class: "wing-cards" }, sorted.map(([wing, numbers]) => wingCard(facets.wing.names[wing], numbers))));
};

// The sentence under the views: what this file is.
const fileNote = () => make("footer", { class: "file-note small muted" },
  `${count(drawers.length, "drawer")} of the palace `, name(head.palace), ", as of ", time(head.written_at), ".",
  head.about.length === 0 ? null : [" Only: ", head.about.flatMap(([field, value], at) => [
    at > 0 ? ", " : "", `${field} `, name(value)]), "."],
  " This file asks for nothing and changes nothing.");
