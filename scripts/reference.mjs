// How is the reference page at `/docs` built? It is Swagger UI in a page of ours, all from our own origin and
// without inline scripts or styles, so that it works under the strictest content security policy.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(import.meta.url);

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Drover: the HTTP API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<noscript>This page is drawn by a script, from <a href="/openapi.json">/openapi.json</a>.</noscript>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

// Without `validatorUrl: null`, Swagger UI would send the document to a service of its authors.
const START = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null,
});
`;

/** Writes the files of the page to `dir`, which the platform serves (`assets` in wrangler.toml). */
export function writeReference(dir) {
  const dist = (name) => readFileSync(require.resolve(`swagger-ui-dist/${name}`), "utf8");
  const files = {
    "index.html": PAGE,
    "start.js": START,
    "swagger-ui-bundle.js": dist("swagger-ui-bundle.js"),
    "swagger-ui.css": dist("swagger-ui.css"),
  };
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(join(dir, "docs"), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    // Source maps are not served.
    const served = text.replace(/\n(?:\/\/|\/\*)# sourceMappingURL=.*/, "");
    writeFileSync(join(dir, "docs", name), served);
  }
}
