/* Numbers with their units, as a page prints them.
 *
 * A classic script, before all that print numbers.
 */
(function () {
  "use strict";
  if (window.llmserveSi) return;

  /* Numbers as llmserve_lab.formula.text.si prints them; the tests compare the two. Units
     and prefixes are those of the package, written into tables.js. */
  const words = () => window.llmserveTables.text;

  function unitText(unit, plural) {
    if (unit === "" || unit === "dimensionless") return "";
    const shown = unit.replaceAll(" ", "").replaceAll("**2", "²").replaceAll("*", "·");
    const parts = shown.split("/");
    const [head, below] = [parts[0], parts.slice(1).join("/")];
    if (head === "1") return "per " + below.replace(/^\(+|\)+$/g, "");
    const named = plural && words().counted.includes(head) ? head + "s" : head;
    const first = words().takes_prefix[head] ?? named;
    return parts.length > 1 ? first + "/" + below : first;
  }

  /* Significant digits, and the power of ten of the first one. */
  function rounded(value, digits) {
    const [mantissa, power] = Math.abs(value).toExponential(digits - 1).split("e");
    return [mantissa.replace(".", ""), Number(power)];
  }

  /* The digits written out with their first one at 10^power, commas from 10,000. */
  function written(digits, power) {
    let whole = power < 0 ? "0" : digits.slice(0, power + 1).padEnd(power + 1, "0");
    let rest = power < 0 ? "0".repeat(-power - 1) + digits : digits.slice(power + 1);
    rest = rest.replace(/0+$/, "");
    if (power >= 4) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return rest ? whole + "." + rest : whole;
  }

  function scaleOf(value, unit, digits) {
    const { large, small, takes_prefix, no_prefix } = words();
    const takes = !no_prefix.includes(unit) && unit.split("/")[0] in takes_prefix;
    if (!takes || value === 0) return [0, ""];
    const power = rounded(value, digits)[1];
    const steps = power >= 0 ? large : small;
    return steps.find(([size]) => power >= size) ?? [0, ""];
  }

  function numberText(value, unit, scale, digits) {
    if (value === 0) return "0";
    const sign = value < 0 ? "-" : "";
    let [text, power] = rounded(value, digits);
    const counts = unit.split("/").every((name) => words().counted.includes(name));
    if (counts && Math.abs(value) >= 10 ** digits && Math.abs(value) < 1e7) {
      const whole = String(Math.floor(Math.abs(value) + 0.5));
      return sign + written(whole, whole.length - 1);
    }
    power -= scale;
    if (power >= -3 && power < 7) return sign + written(text, power);
    const raised = String(power).replace(/[-\d]/g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
    return sign + written(text, 0) + "×10" + raised;
  }

  function si(value, unit = "", digits = 3) {
    if (!Number.isFinite(value)) return "no value here";
    const [scale, prefix] = scaleOf(value, unit, digits);
    const text = numberText(value, unit, scale, digits);
    return (text + " " + prefix + unitText(unit, text !== "1")).trimEnd();
  }

  window.llmserveSi = si;
})();
