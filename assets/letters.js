/* Letters that explain themselves: point at a symbol, tap it, or reach its formula with Tab.
 *
 * A classic script without fetch or modules, so that it runs from file://. The page holds
 * what its letters mean (script.letters); MathJax has given each symbol the class q-NAME.
 * Without this script the line under each displayed formula says the same.
 */
(function () {
  "use strict";
  if (window.llmserveLetters) return;
  window.llmserveLetters = true;

  const meanings = new Map();
  for (const script of document.querySelectorAll("script.letters")) {
    for (const [name, known] of Object.entries(JSON.parse(script.textContent))) {
      meanings.set(name, known);
    }
  }
  if (!meanings.size) return;

  const card = window.llmserveHoverCard("letters-card");

  /* The name of the quantity that an element stands for, if it is a letter of ours. */
  function nameOf(element) {
    for (const word of element.classList) {
      if (word.startsWith("q-") && meanings.has(word.slice(2))) return word.slice(2);
    }
    return null;
  }

  function letterAt(target) {
    const letter = target.closest?.("mjx-container [class*='q-']");
    return letter && nameOf(letter) ? letter : null;
  }

  /* The letters of one formula, each once, in the order in which they are read. */
  function lettersIn(formula) {
    const found = new Map();
    for (const letter of formula.querySelectorAll("[class*='q-']")) {
      const name = nameOf(letter);
      if (name && !found.has(name)) found.set(name, letter);
    }
    return [...found.values()];
  }

  /* One line: the symbol as it is drawn, what it means, its unit. */
  function line(letter) {
    const [meaning, unit] = meanings.get(nameOf(letter));
    const row = document.createElement("p"), shape = document.createElement("mjx-container");
    shape.className = "MathJax";
    shape.setAttribute("jax", "CHTML");
    shape.setAttribute("aria-hidden", "true");
    const body = document.createElement("mjx-math");
    body.className = "MJX-TEX";
    body.append(letter.cloneNode(true));
    shape.append(body);
    row.append(shape, ` ${meaning}`);
    if (unit) {
      const small = document.createElement("span");
      small.className = "letters-unit";
      small.textContent = unit;
      row.append(" ", small);
    }
    return row;
  }

  function show(anchor, letters) {
    card.show(anchor, anchor.closest("mjx-container"), letters.map(line));
  }

  document.addEventListener("pointerover", ({ target }) => {
    const letter = letterAt(target);
    if (letter) show(letter, [letter]);
    else if (card.holds(target)) card.stay();
    else card.leave();
  });
  document.addEventListener("click", ({ target }) => {
    const letter = letterAt(target);
    if (letter) show(letter, [letter]);
    else if (!card.holds(target)) card.hide();
  });
  document.addEventListener("focusin", ({ target }) => {
    const formula = target.closest?.("mjx-container") ?? target.querySelector?.("mjx-container");
    if (!target.matches?.("mjx-container, .math")) return;
    const letters = formula ? lettersIn(formula) : [];
    if (letters.length) show(formula, letters);
  });
  document.addEventListener("focusout", card.hide);
})();
