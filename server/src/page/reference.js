// Shows /openapi.json: routes, parameters, bodies with examples, and the problems of each.

/** An element with attributes and children; a string becomes text and nothing else. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

const code = (text) => element("code", {}, text);
const told = (text) => element("p", { class: "told" }, text ?? "");
const pretty = (value) => element("pre", {}, typeof value === "string" ? value : JSON.stringify(value, null, 2));

function folded(title, ...children) {
  return element("details", {}, element("summary", {}, title), ...children);
}

function table(heads, rows) {
  const row = (cell, cells) => element("tr", {}, ...cells.map((content) => element(cell, {}, content)));
  return element("table", {}, element("thead", {}, row("th", heads)),
    element("tbody", {}, ...rows.map((cells) => row("td", cells))));
}

/** A schema with its references resolved, as deep as people read. */
function resolved(schema, root, depth = 0) {
  if (Array.isArray(schema)) return schema.map((item) => resolved(item, root, depth));
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref && depth < 6) {
    const name = schema.$ref.split("/").pop();
    return resolved({ ...root.components.schemas[name], ...schema, $ref: undefined }, root, depth + 1);
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolved(value, root, depth)]));
}

function body(title, part, root) {
  return Object.entries(part.content ?? {}).flatMap(([type, { schema, example }]) => [
    element("h3", {}, title, ": ", code(type)),
    told(part.description),
    example === undefined ? undefined : folded("example", pretty(example)),
    schema === undefined ? undefined : folded("schema", pretty(resolved(schema, root))),
  ]);
}

function caller(operation) {
  const [scheme] = operation.security;
  if (scheme === undefined) return "Anyone may call it.";
  const [[name, scopes]] = Object.entries(scheme);
  return name === "apiKey" ? `Authorization: Bearer, an API key with the scope ${scopes}.` : "Authorization: Bearer, the admin token.";
}

function problems(operation) {
  const rows = Object.entries(operation.responses).flatMap(([status, { content }]) =>
    Object.entries(content?.["application/problem+json"]?.examples ?? {}).map(([name, { summary, value }]) => [
      status, element("a", { href: value.type }, code(name)), summary, value.cure,
    ]));
  return folded(`${rows.length} problems`, table(["status", "code", "meaning", "cure"], rows));
}

function route(method, path, operation, root) {
  const [status, success] = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  const parameters = operation.parameters.map((parameter) => [
    code(parameter.name), `${parameter.in}${parameter.required ? ", required" : ""}`, parameter.description,
    code(String(parameter.example)),
  ]);
  return element("section", { id: operation.operationId },
    element("h2", {}, element("span", { class: "method" }, method.toUpperCase()), " ", code(path)),
    element("p", {}, element("strong", {}, operation.summary)),
    told(operation.description),
    told(caller(operation)),
    parameters.length ? table(["parameter", "where", "meaning", "example"], parameters) : undefined,
    ...(operation.requestBody ? body("Body", operation.requestBody, root) : []),
    ...(success.content ? body(`Answer ${status}`, success, root) : [told(`Answer ${status}: ${success.description}`)]),
    problems(operation));
}

function show(root) {
  document.title = document.getElementById("title").textContent = root.info.title;
  const all = Object.entries(root.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })));
  document.getElementById("index").replaceChildren(...all.map(({ method, path, operation }) =>
    element("li", {}, element("a", { href: `#${operation.operationId}` },
      element("span", { class: "method" }, method.toUpperCase()), " ", code(path)))));
  document.getElementById("routes").replaceChildren(told(root.info.description),
    ...all.map(({ method, path, operation }) => route(method, path, operation, root)));
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

try {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`the service answers ${answer.status}`);
  show(await answer.json());
} catch (why) {
  document.getElementById("routes").replaceChildren(told(`The description cannot be read: ${why.message}`));
}
