// Fills the home page with what the service says about itself. Everything shown comes from the service, and all of it
// is put in as text.
"use strict";

const base = new URL(".", document.baseURI).href.replace(/\/$/, "");

function element(name, content, attributes = {}) {
  const made = document.createElement(name);
  made.append(...[content ?? []].flat());
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

async function fetchJson(path) {
  const answer = await fetch(`${base}/${path}`, { headers: { Accept: "application/json" } });
  if (!answer.ok && answer.status !== 503) throw new Error(`${path} answered ${answer.status}`);
  return answer.json();
}

// --- commands ------------------------------------------------------------------------------------------------

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function curl(example) {
  const streams = example.path === "/api/v1/notification" ? "" : "-N ";
  return `curl -sS ${streams}${quoted(base + example.path)} \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoted(JSON.stringify(example.body))}`;
}

function client(example) {
  const start = `aviso --base-url ${quoted(base)}`;
  const { event_type: eventType, identifier, payload } = example.body;
  if (example.name === "notify") {
    const fields = Object.entries(identifier).map(([name, value]) =>
      typeof value === "string" ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`);
    const given = [`event=${eventType}`, ...(payload === undefined ? [] : [`data=${JSON.stringify(payload)}`])].join(",");
    return [`${start} notify ${quoted(given)}`, ...fields.map((field) => `  --identifier ${quoted(field)}`)].join(" \\\n");
  }
  if (example.name === "watch") {
    return `${start} listen --event ${quoted(eventType)} --identifiers ${quoted(JSON.stringify(identifier))}`;
  }
  return null;
}

function command(title, text) {
  const copy = element("button", "Copy", { type: "button", "aria-label": `Copy: ${title}` });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Select the text to copy it";
    }
  });
  return [element("div", [element("span", title), copy], { class: "command" }), element("pre", text, { tabindex: "0" })];
}

// --- event types ---------------------------------------------------------------------------------------------

function settings(field) {
  const known = ["type", "required", "description"];
  return Object.entries(field)
    .filter(([name, value]) => !known.includes(name) && value !== null)
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${Array.isArray(value) ? value.map((one) => one ?? "…").join(", ") : value}`)
    .join("; ");
}

function fieldTable(identifier) {
  const rows = Object.entries(identifier).map(([name, field]) => element("tr", [
    element("th", element("code", name), { scope: "row" }),
    element("td", field.type.replace(/Handler$/, "")),
    element("td", field.required ? "yes" : "no"),
    element("td", [field.description, settings(field)].filter(Boolean).join(" ")),
  ]));
  const head = ["Field", "Type", "Needed in filters", "Description"].map((title) => element("th", title, { scope: "col" }));
  const table = element("table", [element("thead", element("tr", head)), element("tbody", rows)]);
  return element("div", table, { class: "scroll", tabindex: "0" });
}

function documents(path) {
  const links = ["notification.schema.json", "filter.schema.json", "event.schema.json", "payload.schema.json", "asyncapi.json"];
  return element("ul", links.map((name) => element("li", element("a", name, { href: `${path}/${name}` }))), { class: "documents" });
}

async function commands(path) {
  const { examples, missing } = await fetchJson(`${path}/examples.json`);
  const shown = examples.flatMap((example) => {
    const ofClient = client(example);
    return [
      ...command(example.title, curl(example)),
      ...(ofClient ? command(`${example.title}, with the command-line client`, ofClient) : []),
    ];
  });
  const gaps = missing.length ? [element("p", `No example was found for: ${missing.join(", ")}.`)] : [];
  return [...shown, ...gaps];
}

function eventType(name, schema) {
  const path = `api/v1/schema/${encodeURIComponent(name)}`;
  const count = Object.keys(schema.identifier).length;
  const payload = schema.payload?.required ? "with a payload" : "payload optional";
  const tryOut = element("div");
  const card = element("details", [
    element("summary", [element("strong", name), element("span", `${count} ${count === 1 ? "field" : "fields"}, ${payload}`)]),
    element("div", [
      fieldTable(schema.identifier), element("h3", "Documents"), documents(path), element("h3", "Try it"), tryOut,
    ]),
  ]);
  card.addEventListener("toggle", async () => {
    if (!card.open || tryOut.hasChildNodes()) return;
    tryOut.append(element("p", "Loading…"));
    try {
      tryOut.replaceChildren(...(await commands(path)));
    } catch (error) {
      tryOut.replaceChildren(element("p", `Examples could not be loaded: ${error.message}.`, { class: "bad" }));
    }
  });
  return card;
}

function searchable(cards) {
  const label = document.querySelector(".search");
  label.hidden = cards.length < 8;
  document.querySelector("#search").addEventListener("input", (typed) => {
    const wanted = typed.target.value.toLowerCase();
    for (const [name, card] of cards) card.hidden = !name.toLowerCase().includes(wanted);
  });
}

async function showEventTypes() {
  const list = document.querySelector("#list");
  try {
    const answer = await fetchJson("api/v1/schema");
    const cards = answer.event_types.map((name) => [name, eventType(name, answer.schema[name])]);
    if (cards.length === 1) cards[0][1].open = true;
    list.replaceChildren(...(cards.length ? cards.map(([, card]) => card) : [element("p", answer.message ?? "None is declared.")]));
    searchable(cards);
  } catch (error) {
    list.replaceChildren(element("p", `The event types could not be loaded: ${error.message}.`, { class: "bad" }));
  }
}

async function showState() {
  const state = document.querySelector("#state");
  try {
    const isReady = (await fetchJson("ready")).status === "ready";
    state.textContent = isReady ? "ready" : "running, but not ready";
    state.className = isReady ? "good" : "bad";
  } catch {
    state.textContent = "state unknown";
  }
}

showState();
showEventTypes();
