/* Phrases that a built page's data say often stand once; here they are put back.
 *
 * A classic script without fetch or modules, so that it runs from file://. It runs before
 * all others that read data. One line of script.phrases is a letter and what it stands for,
 * in which other letters may stand. A notebook's data have no such letters.
 */
(function () {
  "use strict";
  const phrases = new Map();
  const known = (letter) => phrases.get(letter) ?? letter;
  const spelled = (text) => text.replace(/[\u0400-\u058f\ue000-\uf8ff]/g, known);
  /* A phrase may hold others; none holds itself, so this comes to an end. */
  function full(text) {
    const longer = spelled(text);
    return longer === text ? text : full(longer);
  }
  for (const script of document.querySelectorAll("script.phrases")) {
    for (const line of script.textContent.split("\n")) phrases.set(line[0], line.slice(1));
  }
  for (const [letter, phrase] of phrases) phrases.set(letter, full(phrase));
  if (!phrases.size) return;
  for (const data of document.querySelectorAll("script[type='application/json']")) {
    data.textContent = spelled(data.textContent);
  }
})();
