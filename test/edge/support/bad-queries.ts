import type { BadRequest } from "./bad-fields.ts";

const invalid = { status: 400, code: "invalid_request" };

/** One label more than a run can have. */
const MANY = Array.from({ length: 65 }, (_, index) => `l${index}`);
const manyLabels = Object.fromEntries(MANY.map((name) => [name, "v"]));

function abort(name: string, body: unknown, pointer: string, detail: string): BadRequest {
  return { name, method: "POST", path: "/v1/runs/abort", body, ...invalid, pointer, detail };
}

/** Bad queries about many runs. */
export const BAD_QUERIES: BadRequest[] = [
  {
    name: "more labels than a run can have",
    method: "GET",
    path: `/v1/runs?${MANY.map((name) => `label=${name}:v`).join("&")}`,
    ...invalid,
    pointer: "?label",
    detail: "at most 64",
  },
  {
    name: "a history that ends before it begins",
    method: "GET",
    path: "/v1/pools/default/history?since=2026-11-21T08:00:00Z&until=2026-11-21T08:00:00Z",
    ...invalid,
    pointer: "?since",
    detail: "before `until`",
  },
  {
    name: "the line at an offset and the place of a line",
    method: "GET",
    path: "/v1/runs/r/logs/main/stdout/lines?offset=1&line=2",
    ...invalid,
    pointer: "?line",
    detail: "cannot be used together with `offset`",
  },
  ...["samples", "tallies", "gone-workers"].map((past) => ({
    name: `${past} of a time that ends before it begins`,
    method: "GET" as const,
    path: `/v1/pools/default/${past}?since=2026-11-21T08:00:00Z&until=2026-11-21T08:00:00Z`,
    ...invalid,
    pointer: "?since",
    detail: "before `until`",
  })),
  abort("more labels than a run can have", { labels: manyLabels }, "/labels", "at most 64"),
  abort("a limit beside ids", { ids: ["a"], limit: 1 }, "/limit", "cannot be combined with `ids`"),
];
