/* A small card beside a letter or a term: one for each kind, shown, placed and hidden.
 *
 * A classic script without fetch or modules, so that it runs from file://. It is loaded
 * before the scripts that use it.
 */
(function () {
  "use strict";
  if (window.llmserveHoverCard) return;

  const LEAVE_MS = 200; // so that the pointer can travel from what is explained to its card

  window.llmserveHoverCard = function (id) {
    const card = document.createElement("div");
    card.id = id;
    card.className = "letters-card";
    card.setAttribute("role", "tooltip");
    card.hidden = true;
    (document.querySelector("main, [role=main]") ?? document.body).append(card);
    let owner = null, timer = 0;

    /* Below what it explains, or above it where the window ends; never beside the page. */
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

    /* Show lines beside an anchor; the owner is what the card describes. */
    function show(anchor, describes, lines) {
      hide();
      card.replaceChildren(...lines);
      card.hidden = false;
      owner = describes;
      owner.setAttribute("aria-describedby", card.id);
      place(anchor.getBoundingClientRect());
    }

    /* The pointer is on the card or on what it explains: it stays. */
    function stay() { clearTimeout(timer); }

    /* The pointer is elsewhere: it goes soon, unless the keyboard holds it. */
    function leave() {
      if (card.hidden || owner === document.activeElement) return;
      clearTimeout(timer);
      timer = setTimeout(hide, LEAVE_MS);
    }

    document.addEventListener("keydown", ({ key }) => { if (key === "Escape") hide(); });
    return {
      show, hide, stay, leave,
      holds: (target) => card.contains(target),
      describes: (element) => element === owner,
    };
  };
})();
