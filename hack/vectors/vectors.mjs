// SPDX-License-Identifier: Apache-2.0

// Prints the golden vectors of internal/canonical:
//
//     node hack/vectors/vectors.mjs > internal/canonical/testdata/vectors.json
//
// The expected values come from canonical.mjs, which knows nothing of the Go code.

import { agentSpec } from "./agentspec.mjs";
import { canonicalNumber, decode, digest, freeForm, parse, Refusal, rounds } from "./canonical.mjs";
import { agentSpecs, freeForms, numbers, refused } from "./inputs.mjs";

// one asserts that all inputs of a vector have one canonical form.
function one(name, inputs, canonicalOf) {
  const [canonical, ...others] = new Set(inputs.map(canonicalOf));
  if (others.length > 0) throw new Error(`${name}: ${canonical} and ${others}`);
  const hex = digest(canonical);
  return { name, inputs, canonical, digest: "sha256:" + hex, version: "v-" + hex.slice(0, 20) };
}

function refusal({ name, input, base64 }) {
  try {
    parse(decode(Buffer.from(base64 ?? input, base64 ? "base64" : "utf8")));
  } catch (e) {
    if (e instanceof Refusal) return { name, input, base64, rule: e.rule, path: e.path };
    throw e;
  }
  throw new Error(`${name}: not refused`);
}

// distinct asserts that no two vectors have one digest.
function distinct(vectors) {
  if (new Set(vectors.map((v) => v.digest)).size !== vectors.length) throw new Error("two vectors are one");
  return vectors;
}

const vectors = {
  freeForm: distinct(freeForms.map(({ name, inputs }) => one(name, inputs, (text) => freeForm(parse(text))))),
  agentSpec: distinct(agentSpecs.map(({ name, inputs }) => one(name, inputs, (text) => agentSpec.element(parse(text))))),
  numbers: numbers.map((literal) => ({ literal, canonical: canonicalNumber(literal, ""), rounded: rounds(literal) })),
  refused: refused.map(refusal),
};
process.stdout.write(JSON.stringify(vectors, null, 2) + "\n");
