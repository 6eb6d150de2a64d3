// Comfort on every page: local times, keys, and boxes that fold on narrow screens.
(() => {
  "use strict";

  // Times: the page has UTC; the reader's own time is shown, and UTC stays in the title.
  const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
  const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
  // A day of the calendar is the same everywhere, so it is not moved into another zone.
  const date = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeZone: "UTC" });
  const ownDay = new Intl.DateTimeFormat("sv", { dateStyle: "short" });
  const forms = {
    day: day,
    date: date,
    // The date is told beside it, unless the reader's own is another.
    clock: { format: (time) => (ownDay.format(time) === time.toISOString().slice(0, 10) ? clock : minute).format(time) },
  };
  const localize = (root) => {
    for (const element of root.querySelectorAll("time[datetime]:not([data-local])")) {
      const time = new Date(element.dateTime);
      if (Number.isNaN(time.getTime())) continue;
      element.textContent = (forms[element.dataset.form] ?? minute).format(time);
      element.dataset.local = "";
    }
  };
  localize(document);
  // Parts that other scripts add are local, too.
  document.addEventListener("loci:added", (event) => localize(event.target));

  // On a narrow screen the entries of the head scroll; the one of this page is always seen.
  const here = document.querySelector("header nav [aria-current]");
  const entries = here?.parentElement;
  if (entries) entries.scrollLeft = here.offsetLeft - entries.offsetLeft - (entries.clientWidth - here.offsetWidth) / 2;

  // The facets stand beside the results where there is room, and fold away where there is not.
  const narrow = matchMedia("(max-width: 820px)");
  const fold = () => {
    for (const box of document.querySelectorAll("details[data-fold-narrow]")) box.open = !narrow.matches;
  };
  fold();
  narrow.addEventListener("change", fold);

  // Keys. A key never acts while something is typed, or together with a modifier.
  const isTyping = (element) => element.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
  const items = () => [...document.querySelectorAll("[data-item]")].filter((item) => item.checkVisibility());
  let chosen = null;
  const choose = (item) => {
    chosen?.classList.remove("chosen");
    chosen = item;
    item.classList.add("chosen");
    // Its words, or else its name; the first link of a drawer leads to its wing.
    const link = item.querySelector("a.words") ?? item.querySelector("h2 a, td a") ?? item.querySelector("a") ?? item;
    link.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  };
  const move = (step) => {
    const all = items();
    if (all.length === 0) return;
    const at = all.indexOf(chosen);
    choose(all[Math.min(Math.max(at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step, 0), all.length - 1)]);
  };
  const press = (key) => {
    const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!target) return false;
    if (target.matches("input")) { target.focus(); target.select(); } else target.click();
    return true;
  };
  const edit = () => {
    const id = chosen?.dataset.id;
    if (id && document.querySelector("header nav a.act")) location.href = `${document.documentElement.dataset.base ?? ""}/edit?id=${encodeURIComponent(id)}`;
    return Boolean(id);
  };
  let prefix = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && isTyping(event.target)) { event.target.blur(); return; }
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const key = prefix ? `${prefix} ${event.key}` : event.key;
    prefix = "";
    if (key === "g") { prefix = "g"; return; }
    if (key === "?") document.getElementById("keys")?.showModal();
    else if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key === "u") document.querySelector('form[action$="/undo"] button')?.click();
    else if (key === "e" && edit()) { /* goes to the chosen item */ }
    else if (!press(key)) return;
    event.preventDefault();
  });
})();
