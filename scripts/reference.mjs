// The reference page at `/docs`: Swagger UI as its authors build it, and a page around it. Nothing comes from
// another host, and no script or style stands in the page itself, so that the strictest policy fits.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";

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

/** The files of the page by name, each packed: they are most of the Worker, and seldom asked for. */
export function referenceFiles() {
  const dist = (name) => readFileSync(require.resolve(`swagger-ui-dist/${name}`), "utf8");
  const files = {
    "index.html": { type: "text/html", text: PAGE },
    "start.js": { type: "text/javascript", text: START },
    "swagger-ui-bundle.js": { type: "text/javascript", text: dist("swagger-ui-bundle.js") },
    "swagger-ui.css": { type: "text/css", text: dist("swagger-ui.css") },
  };
  return Object.entries(files).map(([name, { type, text }]) => {
    // The maps of sources are not served.
    const served = text.replace(/\n(?:\/\/|\/\*)# sourceMappingURL=.*/, "");
    const sha256 = createHash("sha256").update(served).digest("hex");
    return { name, type, sha256, gzip: gzipSync(served, { level: 9 }).toString("base64") };
  });
}
