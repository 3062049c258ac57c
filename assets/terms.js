/* Terms of the glossary: point at one, or reach it with Tab, and its entry is shown.
 *
 * A classic script without fetch or modules, so that it runs from file://. The page holds
 * the entries (script.terms); the link itself leads to the glossary, with or without this.
 */
(function () {
  "use strict";
  if (window.llmserveTerms) return;
  window.llmserveTerms = true;

  const LEAVE_MS = 200; // so that the pointer can travel from the term to its card
  const entries = new Map();
  for (const script of document.querySelectorAll("script.terms")) {
    for (const [anchor, entry] of Object.entries(JSON.parse(script.textContent))) {
      entries.set(anchor, entry);
    }
  }
  if (!entries.size) return;

  const card = document.createElement("div");
  card.id = "terms-card";
  card.className = "letters-card";
  card.setAttribute("role", "tooltip");
  card.hidden = true;
  (document.querySelector("main, [role=main]") ?? document.body).append(card);
  let owner = null, timer = 0;

  function termAt(target) {
    const link = target.closest?.("a.term");
    return link && entries.has(link.hash.slice(1)) ? link : null;
  }

  function show(link) {
    hide();
    const [name, meaning] = entries.get(link.hash.slice(1));
    const head = document.createElement("strong");
    head.textContent = name;
    const line = document.createElement("p");
    line.append(head, `: ${meaning}`);
    card.replaceChildren(line);
    card.hidden = false;
    owner = link;
    owner.setAttribute("aria-describedby", card.id);
    place(link.getBoundingClientRect());
  }

  /* Below the term, or above it where the window ends; never beside the page. */
  function place(at) {
    const { clientWidth: width, clientHeight: height } = document.documentElement;
    const left = Math.max(8, Math.min(at.left, width - card.offsetWidth - 8));
    const under = at.bottom + 6 + card.offsetHeight <= height || at.top < height / 2;
    const top = under ? at.bottom + 6 : at.top - card.offsetHeight - 6;
    card.style.left = card.style.top = "0";
    const origin = card.getBoundingClientRect();
    card.style.left = `${left - origin.left}px`;
    card.style.top = `${top - origin.top}px`;
  }

  function hide() {
    clearTimeout(timer);
    card.hidden = true;
    owner?.removeAttribute("aria-describedby");
    owner = null;
  }

  document.addEventListener("pointerover", ({ target }) => {
    const link = termAt(target);
    if (link) { if (link !== owner) show(link); else clearTimeout(timer); }
    else if (card.contains(target)) clearTimeout(timer);
    else if (!card.hidden && owner !== document.activeElement) {
      clearTimeout(timer);
      timer = setTimeout(hide, LEAVE_MS);
    }
  });
  document.addEventListener("focusin", ({ target }) => {
    const link = termAt(target);
    if (link) show(link);
    else if (!card.contains(target)) hide();
  });
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") hide(); });
})();
