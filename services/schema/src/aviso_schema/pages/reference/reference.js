// Shows an OpenAPI document: operations by tag, what they take and answer, and the shapes that they speak of.
"use strict";

const methods = ["get", "put", "post", "patch", "delete"];
let openapi = {};

function element(name, content, attributes = {}) {
  const made = document.createElement(name);
  made.append(...[content ?? []].flat());
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// A reference inside the document, followed.
function followed(value) {
  for (let steps = 0; value?.$ref && steps < 20; steps += 1) {
    value = value.$ref.replace(/^#\//, "").split("/")
      .reduce((part, step) => part?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], openapi);
  }
  return value ?? {};
}

const shapeId = (name) => `shape-${name}`;

function shapeLinks(schema) {
  const names = new Set([...JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map((found) => found[1]));
  if (!names.size) return [];
  const links = [...names].flatMap((name, place) => [place ? ", " : "", element("a", name, { href: `#${shapeId(name)}` })]);
  return [element("p", ["Shapes: ", ...links], { class: "soft" })];
}

function code(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  // A pair of coordinates reads better in one line.
  return element("pre", text.replace(/\[\s+(-?[\d.]+),\s+(-?[\d.]+)\s+\]/g, "[$1, $2]"), { tabindex: "0" });
}

function contents(content) {
  return Object.entries(content ?? {}).flatMap(([type, { schema, example, examples }]) => [
    element("p", element("code", type)),
    ...(schema && !schema.$ref ? [code(schema)] : []),
    ...(schema ? shapeLinks(schema) : []),
    ...(example === undefined ? [] : [element("p", "Example"), code(example)]),
    ...Object.entries(examples ?? {}).flatMap(([name, one]) => [
      element("p", followed(one).summary ?? name), code(followed(one).value ?? ""),
    ]),
  ]);
}

function table(titles, rows) {
  const head = element("thead", element("tr", titles.map((title) => element("th", title, { scope: "col" }))));
  const body = element("tbody", rows.map((cells) => element("tr", cells.map((cell) => element("td", cell)))));
  return element("div", element("table", [head, body]), { class: "scroll", tabindex: "0" });
}

function parameters(list) {
  if (!list.length) return [];
  const rows = list.map(followed).map((one) => [
    element("code", one.name), one.in, one.required ? "yes" : "no", one.description ?? "",
  ]);
  return [element("h3", "Parameters"), table(["Name", "In", "Required", "Description"], rows)];
}

function requestBody(value) {
  const body = followed(value);
  return body.content ? [element("h3", "Request body"), element("p", body.description ?? ""), ...contents(body.content)] : [];
}

function responses(all) {
  return [element("h3", "Responses"), ...Object.entries(all ?? {}).flatMap(([status, value]) => {
    const answer = followed(value);
    const headers = Object.keys(answer.headers ?? {});
    return [
      element("p", [element("strong", status), ` ${answer.description ?? ""}`]),
      ...(headers.length ? [element("p", `Headers: ${headers.join(", ")}`, { class: "soft" })] : []),
      ...contents(answer.content),
    ];
  })];
}

function access(operation) {
  const security = operation.security ?? openapi.security ?? [];
  const names = [...new Set(security.flatMap((one) => Object.keys(one)))];
  const isOptional = security.some((one) => !Object.keys(one).length);
  const when = isOptional ? "Credentials, where they are asked for" : "Credentials";
  return names.length ? [element("p", `${when}: ${names.join(" or ")}`, { class: "soft" })] : [];
}

function operationCard(path, method, item, operation) {
  const summary = [element("b", method.toUpperCase(), { class: method }), element("code", path), element("span", operation.summary ?? "")];
  return element("details", [
    element("summary", summary),
    element("div", [
      ...(operation.description ? [element("p", operation.description)] : []),
      ...access(operation),
      ...parameters([...(item.parameters ?? []), ...(operation.parameters ?? [])]),
      ...requestBody(operation.requestBody),
      ...responses(operation.responses),
    ]),
  ], { id: operation.operationId ?? `${method}-${path}` });
}

function cardsByTag() {
  const tags = new Map((openapi.tags ?? []).map((tag) => [tag.name, { tag, cards: [] }]));
  for (const [path, item] of Object.entries(openapi.paths ?? {})) {
    for (const method of methods.filter((one) => item[one])) {
      for (const name of item[method].tags ?? ["general"]) {
        if (!tags.has(name)) tags.set(name, { tag: { name }, cards: [] });
        tags.get(name).cards.push(operationCard(path, method, item, item[method]));
      }
    }
  }
  return [...tags.values()].filter(({ cards }) => cards.length);
}

function section(id, title, description, cards) {
  return element("section", [
    element("h2", title, { id: `${id}-title` }), element("p", description ?? "", { class: "soft" }), ...cards,
  ], { id, "aria-labelledby": `${id}-title` });
}

function shapes() {
  const all = Object.entries(openapi.components?.schemas ?? {});
  const cards = all.map(([name, schema]) => element("details", [
    element("summary", element("code", name)), element("div", [code(schema), ...shapeLinks(schema)]),
  ], { id: shapeId(name) }));
  return cards.length ? [section("shapes", "Shapes", "What the operations speak of, as JSON Schema.", cards)] : [];
}

// What a link leads to is opened, or nobody would see it.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

async function show() {
  const main = document.querySelector("#operations");
  try {
    const answer = await fetch("../api-docs/openapi.json");
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    openapi = await answer.json();
  } catch (error) {
    main.replaceChildren(element("p", `openapi.json could not be loaded: ${error.message}.`));
    return;
  }
  document.querySelector("#title").textContent = `${openapi.info.title} ${openapi.info.version}`;
  document.querySelector("#about").textContent = openapi.info.description ?? "";
  const sections = [
    ...cardsByTag().map(({ tag, cards }) => section(`tag-${tag.name}`, tag.name, tag.description, cards)), ...shapes(),
  ];
  main.replaceChildren(...sections);
  const links = sections.map((one) => element("li", element("a", one.querySelector("h2").textContent, { href: `#${one.id}` })));
  document.querySelector("#contents").replaceChildren(element("ul", links));
  addEventListener("hashchange", openTarget);
  openTarget();
}

show();
