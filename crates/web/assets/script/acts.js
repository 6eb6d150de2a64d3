// Acts: all of a page is chosen at once, a form is sent once, and words that are not saved are not left behind.
(() => {
  "use strict";

  for (const all of document.querySelectorAll("[data-choose-all]")) {
    const form = CSS.escape(all.dataset.chooseAll);
    const boxes = [...document.querySelectorAll(`input[type="checkbox"][form="${form}"]`)];
    const count = () => {
      const chosen = boxes.filter((box) => box.checked).length;
      all.checked = chosen === boxes.length;
      all.indeterminate = chosen > 0 && chosen < boxes.length;
    };
    all.closest("label").hidden = boxes.length === 0;
    all.addEventListener("change", () => { for (const box of boxes) box.checked = all.checked; });
    for (const box of boxes) box.addEventListener("change", count);
    addEventListener("pageshow", count);
  }

  // A second press while the first is under way would be told that nothing is left to do.
  for (const form of document.querySelectorAll("form[data-once]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent !== undefined) event.preventDefault();
      form.dataset.sent = "";
    });
    addEventListener("pageshow", () => { delete form.dataset.sent; });
  }

  for (const form of document.querySelectorAll("form[data-guard]")) {
    // What was refused is in the boxes, and nowhere else.
    let unsaved = document.querySelector("main [role=alert]") !== null;
    form.addEventListener("input", () => { unsaved = true; });
    form.addEventListener("submit", () => { unsaved = false; });
    addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) form.requestSubmit();
    });
  }
})();
