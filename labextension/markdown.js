/* The chapters' MyST as Markdown that JupyterLab renders: boxes, exercises, citations.
 *
 * A fold may begin in one cell and end in a later one. What follows its opening in the
 * same cell becomes its content; what stands before its end in a later cell becomes a
 * "tail"; lab.js hides the cells between them while the fold is closed.
 */
(function () {
  "use strict";
  if (window.llmserveMarkdown) return;

  const FENCE = /^(`{3,}|:{3,})\{([\w-]+)\}[ \t]*(.*)\n([\s\S]*?)^\1[ \t]*$/gm;
  const OPTION = /^:([\w-]+):[ \t]*(.*)\n?/;
  const CITATION = /\{cite:[pt]\}`([^`]+)`/g;
  const TARGET = /^\(([\w.-]+)\)=[ \t]*$/gm;
  const CLASS = /^\{\.[\w-]+\}[ \t]*\n/gm;
  const BUILT = /(<a href="[\w-]+)\.html(?=[#"])/g;
  const DEFINITION = /\n: (?=\S)/g;
  const FOLD = /<details\b|<\/details>/g;
  const FOLDED = "fold";

  const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  function options(body) {
    const found = {};
    for (let m = OPTION.exec(body); m; m = OPTION.exec(body)) {
      found[m[1]] = m[2];
      body = body.slice(m[0].length);
    }
    return [found, body];
  }

  function box(title, body, set) {
    const head = `<p class="admonition-title">${escaped(title)}</p>`;
    return `<div class="admonition ${escaped(set.class ?? "")}">\n${head}\n\n${body}\n\n</div>`;
  }

  /* One directive; null leaves it as it is: it is not one of the book's. */
  function directive(name, title, text, references) {
    const [set, body] = options(text);
    if (name === "admonition") return box(title, body, set);
    if (name === "exercise-start") return `**Exercise · ${title}**`;
    if (name === "solution-start") {
      return `<details class="${FOLDED}"><summary>Solution</summary>\n`;
    }
    if (name === "solution-end") return "</details>";
    if (name === "exercise-end" || name === "raw") return "";
    if (name === "bibliography") return listed(references, set.keyprefix ?? "");
    return null;
  }

  function listed(references, prefix) {
    const { letter, keys } = references.chapters[prefix] ?? { keys: [] };
    return keys.map((key, i) => `- [${letter}${i + 1}] ${references.text[key]}`).join("\n");
  }

  /* "varlen-krell2021" is the second reference of its chapter: V2. */
  function label(key, references) {
    const known = Object.keys(references.chapters).find((prefix) => key.startsWith(prefix));
    const { letter, keys } = references.chapters[known] ?? { keys: [] };
    const at = keys.indexOf(key.slice((known ?? "").length));
    return at < 0 ? null : `${letter}${at + 1}`;
  }

  function cited(all, keys, references) {
    const labels = keys.split(",").map((key) => label(key.trim(), references));
    return labels.includes(null) ? all : `[${labels.join(", ")}]`;
  }

  /* Folds of a text: ends of folds that began before it, and folds it leaves open. */
  function folds(text) {
    let open = 0, ends = 0;
    for (const [mark] of text.matchAll(FOLD)) {
      if (mark !== "</details>") open += 1;
      else if (open) open -= 1;
      else ends += 1;
    }
    return { ends, open };
  }

  /* What stands before the end of an earlier cell's fold is that fold's tail. */
  function withTail(text) {
    if (!folds(text).ends) return text;
    let open = 0;
    for (const found of text.matchAll(FOLD)) {
      if (found[0] !== "</details>") open += 1;
      else if (open) open -= 1;
      else {
        const [head, rest] = [text.slice(0, found.index), text.slice(found.index + 10)];
        const tail = head.trim() ? `<div class="fold-tail">\n\n${head}\n\n</div>` : "";
        return `${tail}\n${rest}`;
      }
    }
    return text;
  }

  function directives(text, references) {
    return text.replace(FENCE, (all, fence, name, title, body) =>
      directive(name, title, body, references) ?? all);
  }

  function rewritten(text, references) {
    const plain = directives(text, references)
      .replace(TARGET, '<a id="$1"></a>')
      .replace(CLASS, "")
      .replace(BUILT, "$1.ipynb")
      .replace(DEFINITION, "  \n")
      .replace(CITATION, (all, keys) => cited(all, keys, references))
      .replace(/<details class="further">/g, `<details class="${FOLDED}">`);
    return withTail(plain);
  }

  window.llmserveMarkdown = { rewritten, directives, folds };
})();
