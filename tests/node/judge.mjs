// Has the real Mermaid and the real Graphviz read what we draw.
//
// One JSON line in, {"kind": "mermaid" | "dot", "text": …}, one out: {"ok": true, "labels": […],
// "edges": [["n1", "n2"], …]}, labels as a reader of the picture sees them, or {"ok": false,
// "error": …}.

import { text as read } from "node:stream/consumers";

import { Graphviz } from "@hpcc-js/wasm-graphviz";
import { JSDOM } from "jsdom";

// Mermaid looks for a browser while it is being imported.
const { window } = new JSDOM("<!doctype html>");
globalThis.window = window;
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");
const graphviz = await Graphviz.load();

// Standard output is for verdicts alone.
console.log = console.info = console.debug = console.error;

/** Text in which Mermaid has put marks for entities, as a browser would show it. */
function shown(text) {
  const place = document.createElement("div");
  place.innerHTML = text.replaceAll("ﬂ°°", "&#").replaceAll("ﬂ°", "&").replaceAll("¶ß", ";");
  return place.textContent;
}

async function judgeMermaid(text) {
  await mermaid.parse(text);
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  return {
    labels: [...db.getVertices().values()].map((vertex) => shown(vertex.text)),
    edges: db.getEdges().map((edge) => [edge.start, edge.end]),
  };
}

async function judgeDot(text) {
  const { objects = [], edges = [] } = JSON.parse(graphviz.layout(text, "json", "dot"));
  return {
    labels: objects.map((node) =>
      (node._ldraw_ ?? [])
        .filter((drawn) => drawn.op === "T")
        // The JSON writer takes drawn text from an attribute in which every backslash is doubled.
        .map((drawn) => drawn.text.replaceAll("\\\\", "\\"))
        .join("\n"),
    ),
    edges: edges.map((edge) => [objects[edge.tail].name, objects[edge.head].name]),
  };
}

const judges = { mermaid: judgeMermaid, dot: judgeDot };

for (const line of (await read(process.stdin)).split("\n").filter(Boolean)) {
  let verdict;
  try {
    const { kind, text } = JSON.parse(line);
    verdict = { ok: true, ...(await judges[kind](text)) };
  } catch (error) {
    verdict = { ok: false, error: String(error?.message ?? error) };
  }
  process.stdout.write(`${JSON.stringify(verdict)}\n`);
}
