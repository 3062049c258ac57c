/* Terms of the glossary: point at one, or reach it with Tab, and its entry is shown.
 *
 * A classic script without fetch or modules, so that it runs from file://. The page holds
 * the entries (script.terms); the link itself leads to the glossary, with or without this.
 */
(function () {
  "use strict";
  if (window.llmserveTerms) return;
  window.llmserveTerms = true;

  const entries = new Map();
  for (const script of document.querySelectorAll("script.terms")) {
    for (const [anchor, entry] of Object.entries(JSON.parse(script.textContent))) {
      entries.set(anchor, entry);
    }
  }
  if (!entries.size) return;

  const card = window.llmserveHoverCard("terms-card");

  function termAt(target) {
    const link = target.closest?.("a.term");
    return link && entries.has(link.hash.slice(1)) ? link : null;
  }

  function show(link) {
    const [name, meaning] = entries.get(link.hash.slice(1));
    const head = document.createElement("strong");
    head.textContent = name;
    const line = document.createElement("p");
    line.append(head, `: ${meaning}`);
    card.show(link, link, [line]);
  }

  document.addEventListener("pointerover", ({ target }) => {
    const link = termAt(target);
    if (link) { if (!card.describes(link)) show(link); else card.stay(); }
    else if (card.holds(target)) card.stay();
    else card.leave();
  });
  document.addEventListener("focusin", ({ target }) => {
    const link = termAt(target);
    if (link) show(link);
    else if (!card.holds(target)) card.hide();
  });
})();
