/* Questions in the page: judge a guess, give the hint that fits it, then unfold the reason.
 *
 * The right answer, the wrong ones and their hints come with the question, out of sight but
 * not secret. llmserve_lab.book.judge judges alike in a notebook; the tests compare the two.
 */
(function () {
  "use strict";
  if (window.llmserveQuestion) return;
  const inLab = Boolean(window.llmserveLab);

  const PREFIX = new Map(Object.entries({
    "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, m: 1e-3, u: 1e-6, "µ": 1e-6,
    "μ": 1e-6, n: 1e-9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40,
    kilo: 1e3, mega: 1e6, giga: 1e9, tera: 1e12, peta: 1e15, milli: 1e-3, micro: 1e-6,
    nano: 1e-9, kibi: 2 ** 10, mebi: 2 ** 20, gibi: 2 ** 30,
  }));
  const ATOMS = {
    B: ["byte", 1], byte: ["byte", 1], bit: ["byte", 1 / 8], FLOP: ["FLOP", 1],
    flop: ["FLOP", 1], s: ["s", 1], sec: ["s", 1], second: ["s", 1], min: ["s", 60],
    minute: ["s", 60], h: ["s", 3600], hour: ["s", 3600], token: ["token", 1],
    tok: ["token", 1], request: ["request", 1], req: ["request", 1],
    parameter: ["parameter", 1], param: ["parameter", 1], element: ["element", 1],
    layer: ["layer", 1], head: ["head", 1], pair: ["pair", 1], device: ["device", 1],
    GPU: ["device", 1], dollar: ["dollar", 1], $: ["dollar", 1],
    iteration: ["iteration", 1], step: ["iteration", 1], dimensionless: ["", 1],
    x: ["", 1], "×": ["", 1], times: ["", 1], "%": ["", 0.01], percent: ["", 0.01],
  };

  /* One factor of a unit, such as GB or tokens: its dimension and its size. */
  function atom(text) {
    for (const word of [text, text.replace(/s$/, "")]) {
      for (const name of Object.keys(ATOMS)) {
        const prefix = word.slice(0, word.length - name.length);
        if (word.endsWith(name) && PREFIX.has(prefix)) {
          return [ATOMS[name][0], ATOMS[name][1] * PREFIX.get(prefix)];
        }
      }
    }
    return null;
  }

  /* A whole unit: powers of its dimensions, and how many base units it is. */
  function parseUnit(text) {
    const dims = {};
    let scale = 1, sign = 1;
    const spelt = text.replace(/\bper\b/g, "/").replace(/\*\*|\^/g, "^").replace(/[()]/g, "");
    for (const part of spelt.split(/([/*·\s]+)/)) {
      const mark = part.trim();
      if (/^[/*·\s]*$/.test(part)) { if (mark.includes("/")) sign = -1; continue; }
      const [name, power] = mark === "1" ? ["dimensionless", "1"] : mark.split("^");
      const found = atom(name);
      if (!found) return null;
      const exponent = sign * Number(power ?? 1);
      if (found[0]) dims[found[0]] = (dims[found[0]] ?? 0) + exponent;
      scale *= found[1] ** exponent;
    }
    return { dims, scale };
  }

  function sameDimension(a, b) {
    const names = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...names].every((name) => (a[name] ?? 0) === (b[name] ?? 0));
  }

  /* "14,000", "1.4e10", "1.4×10^10", "3/4" and "14 GB" are all numbers to a reader. */
  const WHOLE = String.raw`(?:\d{1,3}(?:[,_\s]\d{3})+|\d+)(?!\d)`;
  const POSITIVE = String.raw`(?:${WHOLE}(?:\.\d*)?|\.\d+)`;
  const NUMBER = new RegExp(String.raw`^([-+−]?\s*${POSITIVE}(?:[eE][-+]?\d+)?)` +
    String.raw`(?:\s*[×x*]\s*10\s*\^?\s*([-+−]?\d{1,3}))?(?:\s*\/\s*(${POSITIVE}))?` +
    String.raw`\s*((?:1\s*\/|\/|\p{L}|[%×$(]).*)?$`, "u");

  function parseNumber(text) {
    const match = NUMBER.exec(text.trim());
    if (!match) return null;
    const number = (t) => Number(t.replace(/[,_\s]/g, "").replace("−", "-"));
    let value = number(match[1]);
    if (match[2]) value *= 10 ** number(match[2]);
    if (match[3]) value /= number(match[3]);
    return { value, unit: (match[4] ?? "").trim() };
  }

  /* The verdict on what was written: { right, text }. */
  function judge(data, text) {
    const given = parseNumber(text);
    if (!given || !Number.isFinite(given.value)) return { right: false, text: data.say.unreadable };
    let value = given.value * data.scale;
    if (given.unit) {
      const unit = parseUnit(given.unit);
      if (!unit) return { right: false, text: `The book does not know the unit ${given.unit}.` };
      if (!sameDimension(unit.dims, parseUnit(data.unit).dims)) {
        const asked = data.asked === "dimensionless" ? "a plain number" : data.asked;
        return { right: false, text: `Your answer is in ${given.unit}, but the question asks for ${asked}.` };
      }
      value = given.value * unit.scale;
    }
    return judgeValue(data, value);
  }

  function judgeValue(data, value) {
    if (Math.abs(value - data.answer) <= data.tol * Math.abs(data.answer)) {
      return { right: true, text: data.say.right + (data.said ? ` ${data.said}.` : "") };
    }
    const near = ([wrong]) => Math.abs(value - wrong) <= data.hint_tol * Math.abs(wrong);
    const hint = data.hints.find(near);
    return { right: false, text: hint ? hint[1] : value > data.answer ? data.say.high : data.say.low };
  }

  function judgeChoice(data, index) {
    if (index === data.answer) return { right: true, text: data.say.right };
    const hint = data.hints.find(([wrong]) => wrong === index);
    return { right: false, text: hint ? hint[1] : data.say.other };
  }

  function unveil(text, key) {
    const pad = new TextEncoder().encode(key || "?");
    const bytes = Uint8Array.from(atob(text), (c, i) => c.charCodeAt(0) ^ pad[i % pad.length]);
    return JSON.parse(new TextDecoder().decode(bytes));
  }

  function begin(root) {
    const data = unveil(root.dataset.veiled, root.dataset.name);
    const [form, why] = [root.querySelector("form"), root.querySelector("details")];
    const [result, more] = [form.querySelector("[role=status]"), form.querySelector("[type=button]")];
    let tries = 0;

    /* Out of the page, so that nobody finds it by searching; JupyterLab has to typeset it
       when the cell is drawn, so there it is only hidden. */
    const place = document.createComment("explanation");
    if (inLab) why.hidden = true;
    else why.replaceWith(place);

    function unfold() {
      if (place.parentNode) place.replaceWith(why);
      why.hidden = false;
      why.open = true;
      more.hidden = true;
      window.MathJax?.typesetPromise?.([why]);
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const answer = new FormData(form).get("answer");
      if (answer === null || answer.trim() === "") return;
      const choice = form.querySelector("[type=radio]");
      const verdict = choice ? judgeChoice(data, Number(answer)) : judge(data, answer);
      tries += verdict.text === data.say.unreadable ? 0 : 1;
      result.textContent = verdict.text;
      result.dataset.right = String(verdict.right);
      if (verdict.right || (data.kind === "predict" && tries)) unfold();
      else more.hidden = tries < 2 || Boolean(why.open && why.isConnected);
    });
    more.addEventListener("click", unfold);
    form.hidden = false;
    root.dataset.state = "running";
  }

  function scan() {
    document.querySelectorAll(".question:not([data-state])").forEach(begin);
  }

  window.llmserveQuestion = { judge, judgeChoice, parseNumber, parseUnit, scan };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", scan);
  else scan();
  if (inLab) {
    new MutationObserver(scan).observe(document.body, { childList: true, subtree: true });
  }
})();
