// Writes the page's files to server/src/page, or with --check compares them: `cargo build` must not need Node, so the
// bundle is committed, and the test command shows that it is the one made from these sources.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL("./", import.meta.url);
const served = new URL("../../../../server/src/page/", import.meta.url);
const { outputFiles } = await build({
  absWorkingDir: new URL("..", here).pathname,
  entryPoints: ["page/verify.ts"],
  bundle: true,
  format: "esm",
  target: "es2022",
  charset: "ascii",
  legalComments: "inline",
  minify: true,
  lineLimit: 160,
  write: false,
});
const made = {
  "verify.js": outputFiles[0].text,
  "verify.html": readFileSync(new URL("verify.html", here), "utf8"),
  "verify.css": readFileSync(new URL("verify.css", here), "utf8"),
};
for (const [name, text] of Object.entries(made)) {
  const path = new URL(name, served);
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
  } else if (readFileSync(path, "utf8") !== text) {
    console.error(`server/src/page/${name} is not what npm run page makes from its sources: run it and commit the result`);
    process.exit(1);
  }
}
