// How the reference page at `/docs` is built: Swagger UI with a page around it, all from our own origin and
// without inline scripts or styles, so that the strictest policy fits.
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

// `validatorUrl`: it would ask a service of its authors what that thinks of the document.
const START = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null,
});
`;

/**
 * Writes the files of the page below `dir`, from where the platform serves them (wrangler.toml, `assets`).
 */
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
    // The maps of sources are not served.
    const served = text.replace(/\n(?:\/\/|\/\*)# sourceMappingURL=.*/, "");
    writeFileSync(join(dir, "docs", name), served);
  }
}
