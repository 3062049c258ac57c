/* Questions in the page: judge a guess, give the hint that fits it, then unfold the reason.
 *
 * The right answer, the wrong ones and their hints come with the question. The package's
 * page/question/judge.py judges alike in a notebook; the tests compare the two. What the
 * reader answered stays in the reader's browser (keep.js).
 */
(function () {
  "use strict";
  if (window.llmserveQuestion) return;
  const say = () => window.llmserveTables.say;

  /* One factor of a unit, such as GB or tokens: its dimension and its size. */
  function atom(text) {
    const { units, prefixes } = window.llmserveTables;
    for (const word of [text, text.replace(/s$/, "")]) {
      for (const [name, [dimension, size]] of Object.entries(units)) {
        const prefix = word.slice(0, word.length - name.length);
        if (word.endsWith(name) && Object.prototype.hasOwnProperty.call(prefixes, prefix)) {
          return [dimension, size * prefixes[prefix]];
        }
      }
    }
    return null;
  }

  /* A whole unit: powers of its dimensions, and how many base units it is. */
  function parseUnit(text) {
    const dims = {};
    let scale = 1, sign = 1;
    const spelt = text.replace(/\bper\b/g, "/").replace(/\*\*/g, "^").replace(/²/g, "^2").replace(/[()]/g, "");
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

  /* "14,000", "1.4e10", "1.4×10^10", "3/4", "14 GB" and "989 TFLOP/s / 3.35 TB/s" are all
     numbers to a reader. */
  const WHOLE = String.raw`(?:\d{1,3}(?:[,_\s]\d{3})+|\d+)(?!\d)`;
  const POSITIVE = String.raw`(?:${WHOLE}(?:\.\d*)?|\.\d+)`;
  const PART = new RegExp(String.raw`^([-+−]?\s*${POSITIVE}(?:[eE][-+]?\d+)?)` +
    String.raw`(?:\s*\^\s*([-+−]?\d{1,3}))?` +
    String.raw`\s*((?:1\s*\/|\/|\p{L}|[%×$(]).*)?$`, "u");
  const BETWEEN = /\s*([/*×·x])\s*(?=[-+−]?\s*[\d.])/;

  /* Decimal commas as points: 0,125 and 1,4 but not 14,000, which is a thousand's. */
  function withPoints(text) {
    return text.replace(/(^|[^\d.,])(\d+),(\d+)(?![\d.,])/g, (all, before, whole, rest) =>
      rest.length !== 3 || whole.length > 3 || whole.startsWith("0") ? `${before}${whole}.${rest}` : all);
  }

  function parsePart(text) {
    const match = PART.exec(text);
    if (!match) return null;
    const number = (t) => Number(t.replace(/[,_\s]/g, "").replace("−", "-"));
    const value = number(match[1]) ** (match[2] ? number(match[2]) : 1);
    return { value, unit: (match[3] ?? "").trim() };
  }

  /* { value, units: [[unit, +1 or -1], …] }, or null. */
  function parseNumber(text) {
    const pieces = withPoints(text.trim().replaceAll("**", "^")).split(BETWEEN);
    let value = 1;
    const units = [];
    for (let i = 0; i < pieces.length; i += 2) {
      const part = parsePart(pieces[i]);
      if (!part) return null;
      const below = i > 0 && pieces[i - 1] === "/";
      value = below ? value / part.value : value * part.value;
      if (part.unit) units.push([part.unit, below ? -1 : 1]);
    }
    // In "28e9/2 B" the unit belongs to the whole.
    if (units.length === 1 && parsePart(pieces[pieces.length - 1]).unit) units[0][1] = 1;
    return { value, units };
  }

  /* The product of units: { dims, scale }, or the text of one that is not known. */
  function productOf(units) {
    const dims = {};
    let scale = 1;
    for (const [text, sign] of units) {
      const unit = parseUnit(text);
      if (!unit) return text;
      scale *= unit.scale ** sign;
      for (const [name, power] of Object.entries(unit.dims)) dims[name] = (dims[name] ?? 0) + sign * power;
    }
    return { dims, scale };
  }

  const wrong = (text) => ({ right: false, counts: false, text });

  /* The verdict on what was written: { right, counts, text }; what cannot be read does
     not count as an answer. */
  function judge(data, text) {
    if (!text.trim()) return wrong(say().empty);
    const given = parseNumber(text);
    if (!given || !Number.isFinite(given.value)) return wrong(say().unreadable);
    if (!given.units.length) return judgeValue(data, given.value * data.scale, text);
    const unit = productOf(given.units);
    if (typeof unit === "string") return wrong(`The book does not know the unit ${unit}.`);
    if (!sameDimension(unit.dims, parseUnit(data.unit).dims)) {
      const asked = data.asked === "dimensionless" ? "a plain number" : data.asked;
      const shown = given.units.map(([name]) => name).join(" and ");
      return wrong(`Your answer is in ${shown}, but the question asks for ${asked}.`);
    }
    return judgeValue(data, given.value * unit.scale, text);
  }

  function judgeValue(data, value, text) {
    const right = Math.abs(value - data.answer) <= data.tol * Math.abs(data.answer);
    const hint = right ? "" : hintFor(data, value, text);
    if (data.kind === "predict") return { right, counts: true, text: answered(data, value, right, hint) };
    if (right) return { right, counts: true, text: `${say().right} ${data.said}.` };
    return { right, counts: true, text: hint || (value > data.answer ? say().high : say().low) };
  }

  function hintFor(data, value, text) {
    const near = ([off]) => Math.abs(value - off) <= data.hint_tol * Math.abs(off);
    const hint = data.hints.find(near)?.[1] ?? "";
    const byThousands = [say().prefix, say().quotient].includes(hint);
    return byThousands && text.includes(",") ? say().thousands : hint;
  }

  /* A prediction is answered with both numbers and how far they are apart. */
  function answered(data, value, right, hint) {
    const guess = window.llmserveLive.si(value, data.said_unit);
    if (right) return `You said ${guess}; it is ${data.said}. Well guessed.`;
    return `You said ${guess}; it is ${data.said}${compared(data.answer, value)}.` + (hint && ` ${hint}`);
  }

  function compared(right, guess) {
    if (!(guess * right > 0)) return "";
    const side = Math.abs(right) > Math.abs(guess) ? "more" : "less";
    const ratio = Math.max(right / guess, guess / right);
    const { si } = window.llmserveLive;
    if (ratio < 1.5) return `, ${si(100 * Math.abs(right / guess - 1), "", 2)} % ${side}`;
    return `, ${si(ratio, "", 2)} times ${side}`;
  }

  function judgeChoice(data, index) {
    const right = index === data.answer;
    const hint = data.hints.find(([off]) => off === index)?.[1] ?? "";
    const verdict = (text) => ({ right, counts: true, text });
    const { choices, kind } = data;
    if (kind === "predict" && right) return verdict(`You said ${choices[index]}. That is it.`);
    if (kind === "predict") {
      return verdict(`You said ${choices[index]}; it is ${choices[data.answer]}. ${hint}`.trim());
    }
    if (right) return verdict(say().right);
    return verdict(hint || (choices.length === 2 ? say().of_two : say().other));
  }

  class Question {
    constructor(root) {
      this.root = root;
      this.data = JSON.parse(root.querySelector(".question-data").textContent);
      this.key = `question/${root.dataset.name}`;
      [this.form, this.why] = [root.querySelector("form"), root.querySelector("details")];
      this.result = this.form.querySelector("[role=status]");
      this.more = this.form.querySelector("[type=button]");
      this.inputs = [...this.form.querySelectorAll("input")];
      this.tries = 0;
    }

    start() {
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.check();
      });
      this.more.addEventListener("click", () => {
        this.unfold();
        this.keep();
      });
      for (const input of this.inputs) input.hidden = false;
      this.form.querySelector(".question-buttons").hidden = false;
      this.why.hidden = true; // so that nobody finds it by searching the page
      this.root.dataset.state = "running";
      window.llmserveKeep.task(this.key, () => this.forget());
      this.restore();
    }

    get answer() { return new FormData(this.form).get("answer"); }

    verdict() {
      const { answer, data } = this;
      if (!data.choices) return judge(data, answer ?? "");
      return answer === null ? wrong(say().unchosen) : judgeChoice(data, Number(answer));
    }

    check() {
      const verdict = this.verdict();
      if (verdict.counts) this.tries += 1;
      this.show(verdict);
      if (verdict.counts) this.keep();
    }

    show({ right, counts, text }) {
      const { data } = this;
      const over = right || data.kind === "predict" || data.choices?.length === 2;
      this.result.textContent = text;
      this.result.dataset.right = String(right);
      this.result.dataset.kind = counts ? data.kind : "";
      if (counts && over) {
        this.unfold();
        this.root.dataset.done = "true";
        window.llmserveKeep.done(this.key);
      } else this.more.hidden = this.tries < 2 || this.why.open;
    }

    unfold() {
      const first = this.why.hidden;
      this.why.hidden = false;
      this.why.open = true;
      this.more.hidden = true;
      if (first) window.MathJax?.typesetPromise?.([this.why]);
    }

    keep() {
      const { answer, tries, why, data } = this;
      window.llmserveKeep.write(this.key, { version: data.version, answer, tries, open: why.open });
    }

    /* What was answered before, if it still fits; else it is dropped. */
    restore() {
      const stored = window.llmserveKeep.read(this.key);
      if (stored === null) return;
      if (!this.fits(stored)) return window.llmserveKeep.drop(this.key);
      const { answer, tries, open } = stored;
      if (this.data.choices) this.inputs[Number(answer)].checked = true;
      else this.inputs[0].value = answer;
      this.tries = tries;
      this.show(this.verdict());
      if (open) this.unfold();
    }

    fits(stored) {
      const { version, answer, tries } = Object(stored);
      const { data, inputs } = this;
      if (version !== data.version || typeof answer !== "string" || answer.length > 200) return false;
      if (!Number.isInteger(tries) || tries < 0) return false;
      return data.choices ? /^\d$/.test(answer) && Number(answer) < inputs.length
        : judge(data, answer).counts;
    }

    forget() {
      this.form.reset();
      this.tries = 0;
      this.result.textContent = "";
      this.why.open = false;
      this.why.hidden = true;
      this.more.hidden = true;
      delete this.root.dataset.done;
    }
  }

  function scan() {
    if (!window.llmserveKeep || !window.llmserveTables || !window.llmserveLive) return;
    for (const root of document.querySelectorAll(".question:not([data-state])")) {
      new Question(root).start();
    }
  }

  window.llmserveQuestion = { judge, judgeChoice, compared, parseNumber, parseUnit, scan };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", scan);
  else scan();
})();
