// SPDX-License-Identifier: Apache-2.0

// The canonical form of Specs and of free-form JSON, written from the rules and
// apart from the Go code, for the golden vectors. It is made to be read against
// the rules: nothing here is fast, and nothing is shared with internal/canonical.

import { createHash } from "node:crypto";

export class Refusal extends Error {
  constructor(rule, path) {
    super(`${rule} at ${path}`);
    this.rule = rule;
    this.path = path;
  }
}

const step = (path, key) => path + "/" + String(key).replaceAll("~", "~0").replaceAll("/", "~1");

// decode refuses bytes that are not UTF-8. The byte order mark is kept, so that
// the parser sees it.
export function decode(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal("invalid_utf8", undefined);
  }
}

// parse gives a tree that keeps what JSON.parse loses: the literal of a number,
// and keys that are there twice.
export function parse(text) {
  let pos = 0;
  const syntax = (path) => new Refusal("syntax", path);
  const token = (pattern) => {
    pattern.lastIndex = pos;
    const match = pattern.exec(text);
    if (match) pos += match[0].length;
    return match?.[0];
  };
  const space = () => token(/[ \t\n\r]*/y);

  function string(path) {
    const raw = token(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y);
    if (raw === undefined) throw syntax(path);
    const s = JSON.parse(raw);
    if (!s.isWellFormed()) throw new Refusal("lone_surrogate", path);
    return s;
  }

  function object(path, depth) {
    const members = new Map();
    let repeated;
    pos++;
    space();
    if (text[pos] === "}") {
      pos++;
      return { object: members };
    }
    for (;;) {
      space();
      const key = string(path);
      space();
      if (text[pos++] !== ":") throw syntax(path);
      const member = value(step(path, key), depth + 1);
      if (members.has(key)) repeated ??= key;
      members.set(key, member);
      space();
      const next = text[pos++];
      if (next === "}") break;
      if (next !== ",") throw syntax(path);
    }
    if (repeated !== undefined) throw new Refusal("duplicate_key", step(path, repeated));
    return { object: members };
  }

  function array(path, depth) {
    const elements = [];
    pos++;
    space();
    if (text[pos] === "]") {
      pos++;
      return { array: elements };
    }
    for (;;) {
      elements.push(value(step(path, elements.length), depth + 1));
      space();
      const next = text[pos++];
      if (next === "]") return { array: elements };
      if (next !== ",") throw syntax(path);
    }
  }

  function value(path, depth) {
    space();
    const c = text[pos];
    if (c === "{" || c === "[") {
      if (depth === 64) throw new Refusal("too_deep", path);
      return c === "{" ? object(path, depth) : array(path, depth);
    }
    if (c === '"') return { string: string(path) };
    const word = token(/true|false|null/y);
    if (word !== undefined) return { word };
    const number = token(/-?(?:0(?![0-9])|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y);
    if (number === undefined) throw syntax(path);
    return { number, canonical: canonicalNumber(number, path) };
  }

  const tree = value("", 0);
  space();
  if (pos !== text.length) throw syntax("");
  return tree;
}

// canonicalNumber: P4. An integer literal within int64 is an int64, anything
// else a float64, whose shortest form is what ECMAScript prints.
export function canonicalNumber(literal, path) {
  if (/^-?[0-9]+$/.test(literal)) {
    const i = BigInt(literal);
    if (BigInt.asIntN(64, i) === i) return i.toString();
  }
  const f = Number(literal);
  if (!Number.isFinite(f)) throw new Refusal("number_range", path);
  return f === 0 ? "0" : String(f);
}

// rounds reports whether a literal and its canonical form are two numbers.
export function rounds(literal) {
  const exact = (s) => {
    const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?$/.exec(s);
    return { mantissa: BigInt(sign + whole + fraction), exponent: Number(exponent) - fraction.length };
  };
  const a = exact(literal);
  const b = exact(canonicalNumber(literal, ""));
  const least = Math.min(a.exponent, b.exponent);
  const scaled = (d) => d.mantissa * 10n ** BigInt(d.exponent - least);
  return scaled(a) !== scaled(b);
}

// quote: RFC 8785, 3.2.2.2.
function quote(s) {
  const short = { 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\" };
  let out = "";
  for (const c of s) {
    const code = c.codePointAt(0);
    if (short[code]) out += short[code];
    else if (code < 0x20) out += "\\u" + code.toString(16).padStart(4, "0");
    else out += c;
  }
  return `"${out}"`;
}

// The order of keys is that of UTF-16 code units, which is how ECMAScript
// compares strings.
const byUnits = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function writeObject(members) {
  const sorted = [...members].sort(([a], [b]) => byUnits(a, b));
  return "{" + sorted.map(([key, text]) => quote(key) + ":" + text).join(",") + "}";
}

// freeForm: every array is ordered, and null is a value.
export function freeForm(tree) {
  if (tree.word) return tree.word;
  if (tree.number) return tree.canonical;
  if (tree.string !== undefined) return quote(tree.string);
  if (tree.array) return "[" + tree.array.map(freeForm).join(",") + "]";
  return writeObject([...tree.object].map(([key, member]) => [key, freeForm(member)]));
}

const isNull = (tree) => tree === undefined || tree.word === "null";

// Types. Each takes a tree, or undefined, and gives the canonical form, or
// undefined for absent (P5). The element function says how an element of a list
// or map is written, where even an empty one is there.
const type = (field, element = field) => ({ field, element });

const writeString = (tree) => quote(tree.string);

export const string = type(
  (tree) => (isNull(tree) || tree.string === "" ? undefined : writeString(tree)),
  writeString,
);

// text: P2.
export const text = type((tree) => {
  if (isNull(tree)) return undefined;
  const s = tree.string.replace(/\r\n?/g, "\n").replace(/\n+$/, "");
  return s === "" ? undefined : quote(s);
});

export const boolean = type((tree) => (isNull(tree) || tree.word === "false" ? undefined : tree.word));
export const tristate = type((tree) => (isNull(tree) ? undefined : tree.word));
export const integer = type((tree) => (isNull(tree) || tree.canonical === "0" ? undefined : tree.canonical));
export const json = type((tree) => (isNull(tree) ? undefined : freeForm(tree)), freeForm);

// duration: a length of time has one form, that of Go.
export const duration = type((tree) => {
  if (isNull(tree)) return undefined;
  const units = { ns: 1n, us: 1000n, ms: 1000000n, s: 1000000000n, m: 60000000000n, h: 3600000000000n };
  let ns = 0n;
  for (const [, whole, fraction = "", unit] of tree.string.matchAll(/([0-9]+)(?:\.([0-9]+))?(ns|us|ms|s|m|h)/g)) {
    ns += (BigInt(whole + fraction) * units[unit]) / 10n ** BigInt(fraction.length);
  }
  return ns === 0n ? undefined : quote(formatDuration(ns));
});

function formatDuration(ns) {
  const decimal = (n, unit) => {
    const fraction = (n % unit).toString().padStart(unit.toString().length - 1, "0").replace(/0+$/, "");
    return (n / unit).toString() + (fraction && "." + fraction);
  };
  if (ns < 1000n) return ns + "ns";
  if (ns < 1000000n) return decimal(ns, 1000n) + "µs";
  if (ns < 1000000000n) return decimal(ns, 1000000n) + "ms";
  const minutes = ns / 60000000000n;
  const seconds = decimal(ns % 60000000000n, 1000000000n) + "s";
  if (minutes === 0n) return seconds;
  if (minutes < 60n) return minutes + "m" + seconds;
  return minutes / 60n + "h" + (minutes % 60n) + "m" + seconds;
}

const list = (write) =>
  type((tree) => (isNull(tree) || tree.array.length === 0 ? undefined : "[" + write(tree.array).join(",") + "]"));

// P3: the three kinds of lists.
export const ordered = (element) => list((elements) => elements.map((e) => element.element(e)));
export const set = list((elements) => [...new Set(elements.map((e) => e.string))].sort(byUnits).map(quote));
export const keyed = (key, element) =>
  list((elements) =>
    elements
      .toSorted((a, b) => byUnits(a.object.get(key).string, b.object.get(key).string))
      .map((e) => element.element(e)),
  );

export const map = (element) =>
  type((tree) =>
    isNull(tree) || tree.object.size === 0
      ? undefined
      : writeObject([...tree.object].map(([key, member]) => [key, element.element(member)])),
  );

export function struct(fields) {
  const write = (tree) => {
    for (const key of tree.object.keys()) {
      if (!fields[key]) throw new Error(`no field ${key}`);
    }
    const members = Object.entries(fields)
      .map(([key, field]) => [key, field.field(tree.object.get(key))])
      .filter(([, text]) => text !== undefined);
    return writeObject(members);
  };
  return type((tree) => {
    if (isNull(tree)) return undefined;
    const written = write(tree);
    return written === "{}" ? undefined : written;
  }, write);
}

// digest: P8.
export function digest(canonical) {
  return createHash("sha256").update("remit.dev/version/v1\0").update(canonical).digest("hex");
}
