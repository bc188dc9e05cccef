// Writes the pages' scripts to server/src/page, or with --check compares them: `cargo build` must not need Node, so the
// bundles are committed, and the test command shows that they are those made from these sources.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL("./", import.meta.url);
const served = new URL("../../../../server/src/page/", import.meta.url);
const vectors = new URL("../../../attest/testdata/", import.meta.url);
const { audience, nonce } = JSON.parse(readFileSync(new URL("cases.json", vectors), "utf8"));
// What the page that verifies fills in for somebody who has no attestation yet.
const example = {
  attestation: readFileSync(new URL("full.cbor", vectors), "base64"),
  audience,
  nonce,
  trustRoot: readFileSync(new URL("trust-root.json", vectors), "utf8"),
};
const made = {};
for (const [name, folder] of [["verify", ""], ["operator", "operator/"]]) {
  const { outputFiles } = await build({
    absWorkingDir: new URL("..", here).pathname,
    entryPoints: [`page/${folder}${name}.ts`],
    bundle: true,
    define: { EXAMPLE: JSON.stringify(example) },
    // A browser loads no module from a file.
    format: name === "verify" ? "iife" : "esm",
    target: "es2022",
    charset: "ascii",
    legalComments: "inline",
    minify: true,
    lineLimit: 160,
    write: false,
  });
  made[`${name}.js`] = outputFiles[0].text;
}
for (const [name, text] of Object.entries(made)) {
  const path = new URL(name, served);
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    console.error(`server/src/page/${name} is not what npm run page makes from its sources: run it and commit the result`);
    process.exit(1);
  }
}
