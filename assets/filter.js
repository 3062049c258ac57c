/* A box that filters a long list: letters and formulas, or the terms of the glossary.
 *
 * A classic script without fetch or modules, so that it runs from file://. The box stands
 * in div.filter; what it filters is marked .filtered, in folds or not. A word matches the
 * beginning of any word of an entry: its text and its synonyms (data-also).
 */
(function () {
  "use strict";
  if (window.llmserveFilter) return;
  window.llmserveFilter = true;

  const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  const words = (text) => plain(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);

  /* What an entry is found by, without what MathJax has drawn. */
  function textOf(entry) {
    return ` ${words(`${entry.textContent} ${entry.dataset.also ?? ""}`).join(" ")}`;
  }

  /* An entry of the glossary is a list of one term; it is marked here. */
  function markTerms() {
    for (const list of document.querySelectorAll("dl[id^='term-']")) list.classList.add("filtered");
  }

  function start(box) {
    if (box.dataset.filter === "terms") markTerms();
    const entries = [...document.querySelectorAll(".filtered")].map((node) =>
      ({ node, text: textOf(node), fold: node.closest("details.index-part") }));
    const folds = [...document.querySelectorAll("details.index-part")];
    if (!entries.length) return;
    const { field, status } = make(box, entries.length);
    let open = null; // which folds the reader had open before the first letter

    field.addEventListener("input", () => {
      const asked = words(field.value);
      open ??= new Map(folds.map((fold) => [fold, fold.open]));
      let shown = 0;
      for (const { node, text } of entries) {
        node.hidden = !asked.every((word) => text.includes(` ${word}`));
        shown += !node.hidden;
      }
      for (const fold of folds) {
        const some = entries.some((entry) => entry.fold === fold && !entry.node.hidden);
        fold.hidden = !some;
        const part = fold.closest("section");
        if (part?.querySelectorAll("details.index-part").length === 1) part.hidden = !some;
        fold.open = asked.length ? some : open.get(fold);
      }
      if (!asked.length) open = null;
      status.textContent = asked.length
        ? `${shown} of ${entries.length} ${box.dataset.what}` : "";
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !field.value) return;
      field.value = "";
      field.dispatchEvent(new Event("input"));
    });
  }

  function make(box, count) {
    const label = document.createElement("label");
    const field = document.createElement("input");
    const status = document.createElement("span");
    field.type = "search";
    field.id = `filter-${box.dataset.filter}`;
    field.autocomplete = "off";
    field.spellcheck = false;
    label.htmlFor = field.id;
    label.textContent = `Find among ${count} ${box.dataset.what}`;
    status.setAttribute("role", "status");
    box.append(label, field, status);
    box.hidden = false;
    return { field, status };
  }

  /* A link into a fold opens it. */
  function reveal() {
    const id = decodeURIComponent(window.location.hash.slice(1));
    const at = id ? document.getElementById(id) : null;
    const fold = at?.closest("details.index-part");
    if (!fold) return;
    fold.open = true;
    at.scrollIntoView();
  }

  for (const box of document.querySelectorAll("div.filter")) start(box);
  window.addEventListener("hashchange", reveal);
  reveal();
})();
