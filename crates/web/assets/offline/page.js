// The page: reads the drawers block by block, follows its own address, and listens to keys.

const at = (id) => document.getElementById(id);
const [box, status, bar, view] = [at("q"), at("status"), at("reading"), at("view")];
let isRead = false;
// The search that was asked for last; an older one gives up when it sees another number.
let asking = 0;
let shownRoute = null;
let lastWords = new Set();

const parseRoute = () => {
  const parts = new URLSearchParams(location.hash.slice(1));
  const chosen = new Map();
  for (const facet of FACETS) if (parts.has(facet)) chosen.set(facet, parts.get(facet));
  for (const facet of parts.getAll("no")) if (FACETS.includes(facet)) chosen.set(facet, null);
  const page = Number(parts.get("page") ?? 1);
  return {
    drawer: parts.get("d"),
    source: parts.get("open"),
    near: parts.get("at"),
    view: parts.get("view") === "wings" ? "wings" : "search",
    question: parts.get("q") ?? "",
    match: parts.get("match") === "any" ? "any" : "all",
    sort: Object.hasOwn(ORDERS, parts.get("sort") ?? "") ? parts.get("sort") : "best",
    page: Number.isInteger(page) && page > 0 ? page : 1,
    chosen,
  };
};

const say = (words) => {
  if (status.textContent !== words) status.textContent = words;
};

const readingWords = () => `Reading ${digits.format(drawers.length)}${
  head.drawers === null ? "" : ` of ${digits.format(head.drawers)}`} drawers…`;

const showView = (content, words) => {
  document.title = `${words} · ${plainName(head.palace)} · Loci`;
  view.replaceChildren(content, ...(isRead ? [fileNote()] : []));
};

const notHere = (what) => make("div", { class: "empty" }, title(`${what} is not in this file`),
  make("p", {}, "It may be in another part of the palace, or its link may be cut off."),
  make("p", {}, make("a", { route: "q=" }, "Search this file")));

// Shows what belongs to no search: a drawer, a source, the wings.
const showThing = (asked, isMoved) => {
  say(isRead ? "" : readingWords());
  if (asked.drawer !== null) {
    const drawer = findDrawer(asked.drawer);
    if (drawer) showView(drawerView(drawer, lastWords), "Drawer");
    else if (isRead) showView(notHere("This drawer"), "Drawer");
  } else if (!isRead) {
    // Half of a source, or of the counts, would pass for all of it.
    view.replaceChildren();
  } else if (asked.source !== null) {
    const shown = sourceView(asked.source, asked.near, lastWords);
    showView(shown ?? notHere("This source"), plainName(asked.source));
  } else {
    showView(wingsView(), "Wings");
  }
  if (!isMoved) return;
  scrollTo(0, 0);
  const here = view.querySelector(".passage.here");
  if (here) here.scrollIntoView({ block: "center" });
  // Not from under the hands of a reader who has begun to type.
  if (document.activeElement !== box) view.querySelector("h1")?.focus({ preventScroll: true });
};

const showResults = async (asked, isMoved) => {
  const number = (asking += 1);
  const isStale = () => number !== asking;
  // Without words there is nothing to rank, and a list that grows from all sides cannot be read.
  if (!isRead && !asked.question) {
    say(readingWords());
    view.replaceChildren();
    return;
  }
  const answer = await search(asked, isStale);
  if (!answer || isStale()) return;
  const last = Math.max(Math.ceil(answer.matches.length / PAGE), 1);
  const shown = { ...asked, page: Math.min(asked.page, last) };
  lastWords = answer.words;
  say(`${describeResults(shown, answer)}${isRead ? "" : ` so far. ${readingWords()}`}`);
  showView(resultsView(shown, answer), asked.question ? plainName(asked.question) : "Search");
  chosenItem = null;
  if (isMoved) scrollTo(0, 0);
};

// Shows what the address says. `isMoved` when the reader went there, rather than more being read.
const show = (isMoved) => {
  const asked = parseRoute();
  shownRoute = location.hash;
  const isThing = asked.drawer !== null || asked.source !== null || asked.view === "wings";
  for (const link of document.querySelectorAll("nav [data-view]")) {
    const isHere = asked.drawer === null && asked.source === null && link.dataset.view === asked.view;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  at("match").value = asked.match;
  at("sort").value = asked.sort;
  document.body.classList.toggle("thing", isThing);
  if (isThing) {
    asking += 1;
    showThing(asked, isMoved);
    return undefined;
  }
  if (document.activeElement !== box || isMoved) box.value = asked.question;
  return showResults(asked, isMoved);
};

// Going somewhere and back: a place that was left is found again as it was.
const left = new Map();
let isFollowed = false;
addEventListener("scroll", () => left.set(shownRoute, scrollY), { passive: true });
document.addEventListener("click", (event) => {
  isFollowed = Boolean(event.target.closest?.("a[href^='#']"));
});
addEventListener("hashchange", async () => {
  // The box changes the address, too, and has shown its results already.
  if (location.hash === shownRoute) return;
  const back = isFollowed ? undefined : left.get(location.hash);
  isFollowed = false;
  await show(true);
  if (back !== undefined) scrollTo(0, back);
});

// The search form.
let typing = 0;
const ask = () => {
  const before = parseRoute();
  const isThing = before.drawer !== null || before.source !== null || before.view === "wings";
  const chosen = isThing ? new Map() : before.chosen;
  const asked = { question: box.value, match: at("match").value, sort: at("sort").value, chosen };
  const next = `#${searchRoute(asked)}`;
  if (next === location.hash) return;
  // Letter by letter the address is replaced, so that one step back leads before the search.
  if (isThing) location.hash = next;
  else location.replace(next);
  show(false);
};
box.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(ask, drawers.length > 20_000 ? 220 : 90);
});
at("search").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(typing);
  ask();
});
for (const select of [at("match"), at("sort")]) select.addEventListener("change", ask);

// Keys. A key never acts while something is typed, or together with a modifier.
let chosenItem = null;
let prefix = "";
const move = (step) => {
  const items = [...view.querySelectorAll("[data-item]")];
  if (items.length === 0) return;
  const before = items.indexOf(chosenItem);
  const next = before < 0 ? (step > 0 ? 0 : items.length - 1) : Math.min(Math.max(before + step, 0), items.length - 1);
  chosenItem?.classList.remove("chosen");
  chosenItem = items[next];
  chosenItem.classList.add("chosen");
  // One after the other: a list of selectors would find whichever comes first in the item.
  const link = ["a.words", "h2 a", "a"].map((one) => chosenItem.querySelector(one)).find(Boolean);
  (link ?? chosenItem).focus({ preventScroll: true });
  chosenItem.scrollIntoView({ block: "nearest" });
};
const follow = (address) => {
  isFollowed = true;
  location.hash = address;
};
const openKeys = () => {
  if (!at("keys").open) at("keys").showModal();
};
const THEMES = ["system", "light", "dark"];
const changeTheme = () => {
  const root = document.documentElement;
  const now = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  root.dataset.theme = now;
  const words = (theme) => (theme === "system" ? "as the system" : theme);
  at("theme").setAttribute("aria-label", `Colors: ${words(now)}. Change to ${words(next)}`);
  at("theme").title = `Colors: ${words(now)}`;
};
const ACTS = {
  "/": () => { box.focus(); box.select(); },
  "?": openKeys,
  j: () => move(1),
  k: () => move(-1),
  n: () => at("next")?.click(),
  p: () => at("previous")?.click(),
  t: changeTheme,
  "g s": () => follow("q="),
  "g w": () => follow("view=wings"),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || at("keys").open) return;
  const isTyping = event.target.closest?.("input, select, textarea");
  if (isTyping) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const key = prefix ? `${prefix} ${event.key}` : event.key;
  prefix = event.key === "g" && !prefix ? "g" : "";
  if (!Object.hasOwn(ACTS, key)) return;
  ACTS[key]();
  event.preventDefault();
});
at("keys-button").addEventListener("click", openKeys);
at("keys-close").addEventListener("click", () => at("keys").close());
at("theme").addEventListener("click", changeTheme);
at("skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("content").focus();
});

// Reading the file.
let unreadable = 0;
const readBlock = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    // The file was cut off or changed. Each line is a drawer, and those that are whole are still good.
    return text.split("\n").flatMap((line) => {
      if (!line.startsWith("{")) return [];
      try {
        return [JSON.parse(line.replace(/,$/, ""))];
      } catch {
        unreadable += 1;
        return [];
      }
    });
  }
};

const tellProgress = () => {
  bar.hidden = false;
  if (head.drawers) [bar.max, bar.value] = [head.drawers, drawers.length];
  if (!parseRoute().question) say(readingWords());
};

const notice = (words) => at("notices").append(make("p", { class: "notice problem", }, words));

const checkEnd = () => {
  const end = document.getElementById("end")?.textContent;
  const { drawers: expected = null, damaged = 0 } = end ? JSON.parse(end) : {};
  if (expected !== drawers.length || unreadable > 0) {
    const all = expected ?? head.drawers;
    notice(`This file is not whole: ${count(drawers.length, "drawer")}${all === null ? "" : ` of ${digits.format(all)}`} could be read. Copy it again from where it was made, or make it again with “loci web --export”.`);
  }
  if (damaged > 0) {
    notice(`The palace is damaged: ${count(damaged, "drawer")} could not be written to this file, or only in part. “loci verify” lists what is damaged.`);
  }
};

const readAll = async () => {
  let [began, told, again] = [performance.now(), performance.now(), 1500];
  for (;;) {
    const block = document.querySelector("script.drawers");
    const isLoaded = document.readyState !== "loading";
    if (!block && isLoaded) break;
    if (!block || !(block.nextSibling || isLoaded)) {
      await new Promise((go) => setTimeout(go, 8));
      continue;
    }
    for (const drawer of readBlock(block.textContent)) {
      addDrawer(drawer);
      if (performance.now() - began < SLICE) continue;
      await pause();
      began = performance.now();
      if (began - told > 250) tellProgress();
      // A search that was asked for meanwhile is answered by what has been read, less and less often.
      if (began - told > again) {
        told = began;
        again *= 1.6;
        if (parseRoute().question || parseRoute().drawer) await show(false);
      }
    }
    block.remove();
  }
};

const start = async () => {
  at("app").hidden = false;
  show(false);
  await readAll();
  isRead = true;
  bar.hidden = true;
  checkEnd();
  await show(location.hash.length > 1 && view.childElementCount === 0);
  if (!location.hash) box.focus({ preventScroll: true });
};
start();
